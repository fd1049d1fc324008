import { type Bounds, agentFault, type Fault, mandateOf, pipsOf, presets } from '../agents/mandate.ts'
import { session } from '../account/owner.svelte.ts'
import { errorOf } from '../shared/errors.ts'
import { dollars, words } from '../shared/format.ts'
import { notices } from '../shared/notices.svelte.ts'
import type { VenueClock } from '../venue/clock.ts'
import type { Owner } from '../venue/owner.ts'
import { VenueError } from '../venue/rest.ts'
import { type Agent, type AgentMandate, type ConsentAnswer, type Mandate, ms } from '../venue/wire.ts'
import { type ConsentRequest, proposeName } from './request.ts'

const HOUR = 3600

// lives are how long a connection may last, in seconds.
export const lives = [
  [HOUR, '1 hour'],
  [24 * HOUR, '1 day'],
  [7 * 24 * HOUR, '7 days'],
  [30 * 24 * HOUR, '30 days'],
  [90 * 24 * HOUR, '90 days'],
] as const

const PROPOSED_FUND = 100 // dollars
const MOST_AGENTS = 32 // of an owner that are not closed
const GONE = -1 // the agent that was chosen is not active any more

// TEXTS are errors that mean something else here than elsewhere.
const TEXTS: Record<string, string> = {
  insufficient_balance: 'Your free cash does not cover this money.',
  forbidden_origin: 'This page was opened at another address than the portal’s public one. Start again in the application.',
  invalid_transition: 'This agent is not active any more.',
  stale_mandate: 'The bounds of this agent were changed meanwhile. They are shown as they are now: decide again.',
  duplicate_client_transfer_id: 'This money has moved already, and the answer was lost. Give no more, or another amount.',
  unknown_agent: 'This agent does not exist any more.',
  rate_limited: 'Too many requests or new keys. Wait a moment, and try again.',
}

// Consent is the state of the page on which an owner allows or denies what a client asks for. The choices
// outlive a failed attempt and a new sign-in of the same owner.
export class Consent {
  readonly request: ConsentRequest
  readonly clock: VenueClock
  agents = $state.raw<Agent[]>([]) // newest first, closed ones included
  cash = $state<number>() // free, in pips; undefined until it has been read
  account = $state('') // whose token it is
  mandates = $state.raw<ReadonlyMap<number, AgentMandate>>(new Map())
  chosen = $state(0) // user_id of the agent, 0 for a new one, GONE
  name = $state('')
  fund = $state<number | null>(0) // dollars
  bounds = $state<Bounds>({ ...presets.careful })
  secs = $state<number>(30 * 24 * HOUR)
  trouble = $state('') // why the last attempt failed
  uncertain = $state(false) // an answer was lost, and money may have moved
  sending = $state(false)
  ended = $state<'allowed' | 'denied'>()
  now = $state(0)
  #owner: Owner | undefined
  #shownTo: Owner | undefined
  #proposedTo: number | undefined // the account whose agents and money the choices are about
  readonly #transferIds = new Map<string, string>()

  constructor(request: ConsentRequest, clock: VenueClock) {
    this.request = request
    this.clock = clock
    this.now = clock.now()
  }

  readonly active = $derived(this.agents.filter((a) => a.state === 'active'))
  readonly agent = $derived(this.active.find((a) => a.user_id === this.chosen))
  // mandate is that of the agent; undefined until it has been read. That of a new one ends with the connection.
  readonly mandate = $derived(this.chosen === 0 ? mandateOf({ ...this.bounds, hours: null }, this.now) : this.mandates.get(this.chosen)?.mandate)
  readonly fault = $derived(this.#fault())
  // money is what the agent will have, in pips.
  readonly money = $derived(Number(this.agent?.equity ?? 0) + Number(pipsOf(this.fund ?? 0)))

  // until is when the client can place its last order, in ms.
  get until(): number {
    const ends = this.now + this.secs * 1000
    const expires = this.mandate?.expires_ts
    return expires === undefined ? ends : Math.min(ends, ms(expires))
  }

  #fault(): Fault | undefined {
    if (this.chosen === GONE) return { field: 'agent', must: 'be chosen again: it is not active any more' }
    if (this.chosen === 0 && this.agents.filter((a) => a.state !== 'closed').length >= MOST_AGENTS) return { field: 'agent', must: `be one that you have: ${MOST_AGENTS} are open, which is the most` }
    if (this.chosen === 0 && this.#taken().has(this.name)) return { field: 'name', must: 'be one that you have not used before' }
    const fault = this.chosen === 0 ? agentFault(this.name, this.fund, this.mandate!, this.now) : agentFault('agent', this.fund, {}, this.now)
    if (fault) return fault
    if (Number(pipsOf(this.fund ?? 0)) > (this.cash ?? 0)) return { field: 'fund', must: `be at most your free cash, ${dollars(this.cash ?? 0)}` }
    return undefined
  }

  #taken(): ReadonlySet<string> {
    return new Set(this.agents.map((a) => a.name))
  }

  // use reads the agents and the money of who is signed in. The first time it proposes an answer: the
  // agent that this client had, or a new one.
  async use(owner: Owner | undefined): Promise<void> {
    this.#owner = owner
    if (owner !== this.#shownTo) this.cash = undefined
    if (!owner) return
    this.trouble = ''
    try {
      await this.read()
    } catch (e) {
      await this.#failed(e, owner)
    }
  }

  // read throws as Owner does.
  async read(): Promise<void> {
    const owner = this.#owner
    if (!owner) return
    const [{ agents }, { cash }, { name, user_id }] = await Promise.all([owner.agents(), owner.balance(), owner.call<{ name: string; user_id: number }>('GET', '/account')])
    if (owner !== this.#owner) return
    this.agents = agents.toSorted((a, b) => b.user_id - a.user_id)
    this.cash = Number(cash)
    this.account = name || `account ${user_id}`
    this.now = this.clock.now()
    this.#shownTo = owner
    if (user_id !== this.#proposedTo) {
      this.#proposedTo = user_id
      this.mandates = new Map()
      this.name = proposeName(this.request.name, this.#taken())
      this.choose(this.active.find((a) => a.client === this.request.client_id)?.user_id ?? 0)
    } else if (this.chosen > 0 && !this.agent) this.choose(GONE)
    await this.#readMandate()
  }

  // choose selects an agent, and proposes the money for it unless that is to stay.
  choose(id: number, propose = true): void {
    this.chosen = id
    this.uncertain = false
    if (propose) this.fund = id === 0 ? Math.min(PROPOSED_FUND, Math.floor((this.cash ?? 0) / 100) / 100) : 0
  }

  // select is choose by the owner.
  async select(id: number): Promise<void> {
    const owner = this.#owner
    this.choose(id)
    this.trouble = ''
    try {
      await this.#readMandate()
    } catch (e) {
      await this.#failed(e, owner)
    }
  }

  async #readMandate(): Promise<void> {
    const owner = this.#owner
    const id = this.chosen
    if (!owner || id <= 0) return
    const read = await owner.mandate(id)
    if (owner === this.#owner) this.mandates = new Map([...this.mandates, [id, read]])
  }

  // answer sends the decision once, and leaves for the client.
  async answer(allow: boolean): Promise<void> {
    const owner = this.#owner
    if (this.sending || !owner || (allow && (this.fault || !this.mandate))) return
    this.sending = true
    this.trouble = ''
    const sent: ConsentAnswer = allow ? this.#allowed(this.mandate!) : { request: this.request.request, allow: false }
    try {
      const { redirect } = await owner.call<{ redirect: string }>('POST', '/oauth/consent', sent)
      this.ended = allow ? 'allowed' : 'denied'
      location.assign(redirect) // the page stays if an application opens it
    } catch (e) {
      await this.#failed(e, owner, sent)
    } finally {
      this.sending = false
    }
  }

  // #allowed is the answer of the form. The same money to the same agent keeps its id, also after an error,
  // because it may have moved.
  #allowed(mandate: Mandate): ConsentAnswer {
    const fund = pipsOf(this.fund ?? 0)
    const agent = this.chosen === 0 ? { name: this.name, mandate } : { user_id: this.chosen, if_rev: this.mandates.get(this.chosen)!.rev }
    const key = `${this.chosen} ${fund}`
    const id = this.#transferIds.get(key) ?? crypto.randomUUID()
    this.#transferIds.set(key, id)
    return { request: this.request.request, allow: true, agent, fund, client_transfer_id: id, expires_in_secs: this.secs }
  }

  // #failed says why an attempt failed, and reads what it may have changed: a new agent may have been made
  // all the same, and is then selected, without more money. It throws what is a bug again.
  async #failed(e: unknown, owner: Owner | undefined, sent?: ConsentAnswer): Promise<void> {
    if (!(e instanceof VenueError) && !(e instanceof TypeError)) throw e
    const text = await textOf(e, sent !== undefined)
    const made = sent?.agent?.name
    if (owner !== this.#owner) return
    if (e instanceof VenueError && e.status === 401) {
      this.trouble = 'The account token is not valid any more. Sign in again. What you have chosen is kept.'
      return session.close()
    }
    this.trouble = text
    if (sent && e instanceof TypeError) this.uncertain = true
    try {
      await this.read()
    } catch (e) {
      if (!(e instanceof VenueError) && !(e instanceof TypeError)) throw e
      return // the first error says enough
    }
    const there = made === undefined ? undefined : this.active.find((a) => a.name === made)
    if (!there || owner !== this.#owner) return
    await this.select(there.user_id)
    this.trouble ||= `${text} The agent ${made} exists and is selected now. It gets no more money unless you say so.`
  }
}

async function textOf(e: VenueError | TypeError, sent: boolean): Promise<string> {
  if (e instanceof TypeError) return sent ? 'No answer came. Try again: money moves at most once.' : 'The venue does not answer. Check your connection, and try again.'
  return TEXTS[e.code] ?? (errorOf(e) || (await notices.meaning(e.code)) || `The venue refused it: ${words(e.code)}.`)
}
