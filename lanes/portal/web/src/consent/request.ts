import type { Mandate } from '../venue/wire.ts'

// ConsentRequest is a valid authorization request, as the portal writes it into the page
// (docs/rules/oauth.md#consent).
export interface ConsentRequest {
  request: string // the authorize query, which goes back as it is
  client_id: string
  name: string // as the client calls itself
  document?: string // the host whose document vouches for the client; absent for a registered one
  redirect_host: string // a host, or scheme://host of an application
  loopback: boolean // the answer goes to this computer
  scopes: string[] // of read and trade
}

// readRequest returns the request of this page.
export function readRequest(): ConsentRequest {
  return JSON.parse(document.querySelector<HTMLMetaElement>('meta[name="request"]')!.content) as ConsentRequest
}

const NAME_MAX = 32

// proposeName returns a valid name of an agent that resembles the client's name and is not taken.
export function proposeName(client: string, taken: ReadonlySet<string>): string {
  const plain = client.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const cut = (max: number): string => plain.replace(/^-/, '').slice(0, max).replace(/-$/, '') || 'agent'
  for (let n = 1; ; n++) {
    const end = n === 1 ? '' : `-${n}`
    const name = cut(NAME_MAX - end.length) + end
    if (!taken.has(name)) return name
  }
}

// atRisk returns what an agent with this money can have at risk at a time, in pips. Open cost counts
// toward the daily loss as well.
export function atRisk(money: number, m: Mandate): number {
  return Math.min(money, Number(m.max_open_cost ?? Infinity), Number(m.max_daily_loss ?? Infinity))
}
