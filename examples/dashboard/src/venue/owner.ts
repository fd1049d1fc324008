import { VenueError } from './rest.ts'
import type { Activity, Agent, AgentMandate, Mandate, NewKey, U64 } from './wire.ts'

// Owner calls the portal's routes about agents with the account token of their owner. No API
// key reaches these routes.
export class Owner {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  agents(): Promise<{ agents: Agent[]; as_of_seq: U64 }> {
    return this.#call('GET', '/agents?limit=1000') // an owner has at most 1,000 agents
  }

  create(name: string, fund: U64, mandate: Mandate): Promise<{ user_id: number }> {
    return this.#call('POST', '/agents', { name, fund, mandate })
  }

  mandate(id: number): Promise<AgentMandate> {
    return this.#call('GET', `/agents/${id}/mandate`)
  }

  activity(id: number): Promise<{ activity: Activity[]; as_of_seq: U64 }> {
    return this.#call('GET', `/agents/${id}/activity?limit=100`)
  }

  halt(id: number): Promise<unknown> {
    return this.#call('POST', `/agents/${id}/halt`)
  }

  resume(id: number): Promise<unknown> {
    return this.#call('POST', `/agents/${id}/resume`)
  }

  newKey(id: number, label: string): Promise<NewKey> {
    return this.#call('POST', `/agents/${id}/keys`, { label, scopes: ['read', 'trade'] })
  }

  // #call throws VenueError for an error response, and TypeError if the portal cannot be
  // reached.
  async #call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#token}` }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    const answer = await fetch(path, { method, headers, body: body === undefined ? null : JSON.stringify(body), cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer' })
    const said: unknown = await answer.json().catch(() => ({}))
    if (answer.ok) return said as T
    throw new VenueError(answer.status, (said as { error?: { code?: string } }).error?.code ?? `http_${answer.status}`)
  }
}

// The account token stays in this tab: sessionStorage survives a reload and ends with the tab.

const TOKEN = 'duplex-account-token'

export const ownerToken = {
  kept: (): string => sessionStorage.getItem(TOKEN) ?? '',
  keep: (token: string): void => sessionStorage.setItem(TOKEN, token),
  forget: (): void => sessionStorage.removeItem(TOKEN),
}
