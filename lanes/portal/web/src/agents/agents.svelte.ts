import type { VenueClock } from '../venue/clock.ts'
import type { Owner } from '../venue/owner.ts'
import { VenueError } from '../venue/rest.ts'
import { after, type Activity, type Agent, type AgentMandate, type Key, type Mandate, type NewKey, type U64 } from '../venue/wire.ts'
import { session } from '../account/owner.svelte.ts'
import { IdempotencyKeys } from '../venue/idempotency.ts'

const READ_EVERY_MS = 2000

// transferIds outlives the page of the agents.
const transferIds = new IdempotencyKeys()

// IssuedKey is a key with its secret, which the venue returns once.
export interface IssuedKey extends NewKey {
  name: string
  user_id: number
}

// Agents is the state of the agents page: the agents of one owner, and the activity and the keys of the
// one that is selected. It reads them every two seconds while the page is visible.
export class Agents {
  readonly clock: VenueClock
  signedIn = $state(false)
  list = $state.raw<Agent[]>([]) // newest first
  known = $state(false) // the list has been read
  mandates = $state.raw<ReadonlyMap<number, AgentMandate>>(new Map())
  selected = $state(0) // user_id, 0 for none
  activity = $state.raw<Activity[]>() // of the selected agent, as its keys are
  keys = $state.raw<Key[]>([])
  issued = $state.raw<IssuedKey>()
  unreachable = $state(false)
  now = $state(0)
  #owner: Owner | undefined
  #listSeq: U64 = '0'
  #activitySeq: U64 = '0'
  #timer = 0

  constructor(clock: VenueClock) {
    this.clock = clock
    this.now = clock.now()
  }

  // start uses the token of this tab, if there is one, and reads until stop.
  start(): void {
    if (session.owner) this.#use(session.owner)
    this.#timer = window.setInterval(() => document.visibilityState === 'visible' && void this.read(), READ_EVERY_MS)
    void this.read()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#owner = undefined
  }

  #use(owner: Owner): void {
    this.#owner = owner
    this.signedIn = true
  }

  // signIn keeps a token that the portal accepts. It throws as Owner does.
  async signIn(token: string): Promise<void> {
    const owner = await session.open(token)
    if (!owner) return
    this.#use(owner)
    await this.read()
  }

  signOut(): void {
    session.close()
    this.#owner = undefined
    this.signedIn = this.known = false
    this.list = []
    this.mandates = new Map()
    this.issued = undefined
    this.#listSeq = '0'
    this.select(0)
  }

  // select shows the activity of an agent.
  select(id: number): void {
    this.selected = id
    this.activity = undefined
    this.keys = []
    this.#activitySeq = '0'
    void this.read()
  }

  // read reads everything once. A rejected token signs out; any other failure shows as
  // unreachable until a read succeeds.
  async read(): Promise<void> {
    const owner = this.#owner
    if (!owner) return
    try {
      await this.#readList(owner)
      await this.#readSelected(owner)
      if (owner !== this.#owner) return
      this.unreachable = false
    } catch (e) {
      if (owner !== this.#owner) return
      if (e instanceof VenueError && e.status === 401) this.signOut()
      else if (e instanceof VenueError || e instanceof TypeError) this.unreachable = true
      else throw e
    }
    this.now = this.clock.now()
  }

  // #readList drops a response that is older than the one shown.
  async #readList(owner: Owner): Promise<void> {
    const { agents, as_of_seq } = await owner.agents()
    if (owner !== this.#owner || after(this.#listSeq, as_of_seq)) return
    this.#listSeq = as_of_seq
    this.list = agents.toSorted((a, b) => b.user_id - a.user_id)
    this.known = true
    if (this.selected === 0) this.selected = this.list.find((a) => a.state !== 'closed')?.user_id ?? 0
    const changed = agents.filter((a) => a.state !== 'closed' && this.mandates.get(a.user_id)?.rev !== a.rev)
    const read = await Promise.all(changed.map(async (a) => [a.user_id, await owner.mandate(a.user_id)] as const))
    if (owner !== this.#owner) return
    const newer = read.filter(([id, m]) => m.rev >= (this.mandates.get(id)?.rev ?? 0)) // another read can have been faster
    if (newer.length > 0) this.mandates = new Map([...this.mandates, ...newer])
  }

  async #readSelected(owner: Owner): Promise<void> {
    const id = this.selected
    if (id === 0) return
    const [{ keys }, { activity, as_of_seq }] = await Promise.all([owner.agentKeys(id), owner.activity(id)])
    if (owner !== this.#owner || id !== this.selected || after(this.#activitySeq, as_of_seq)) return
    this.#activitySeq = as_of_seq
    this.activity = activity
    this.keys = keys
  }

  // create makes an agent and selects it, and returns its user_id; undefined if its owner has signed out
  // before the answer.
  async create(name: string, fund: U64, mandate: Mandate): Promise<number | undefined> {
    const owner = this.#signed()
    const { user_id } = await owner.create(name, fund, mandate)
    if (owner !== this.#owner) return undefined
    this.select(user_id)
    return user_id
  }

  // issue makes a key and shows its secret, unless the owner has signed out before the answer.
  async issue(id: number, name: string): Promise<void> {
    const owner = this.#signed()
    const key = await owner.newKey(id, name)
    if (owner !== this.#owner) return
    this.issued = { ...key, name, user_id: id }
    await this.read()
  }

  // change sets a mandate in place of the one of a rev, from which it was made. It throws stale_mandate
  // if that was changed elsewhere, and reads it again.
  async change(id: number, rev: number, mandate: Mandate): Promise<void> {
    try {
      await this.#signed().setMandate(id, rev, mandate)
    } finally {
      await this.read()
    }
  }

  // move moves money to an agent, or back. After a lost answer the same transfer is repeated with its
  // id, which moves nothing if the first one arrived.
  async move(id: number, back: boolean, amount: U64): Promise<void> {
    await transferIds.send(`${id} ${back} ${amount}`, (transfer) => this.#signed().move(id, back, transfer, amount))
    await this.read()
  }

  async revoke(id: number, key: string): Promise<void> {
    await this.#signed().revokeAgentKey(id, key)
    await this.read()
  }

  async close(id: number): Promise<void> {
    await this.#signed().close(id)
    await this.read()
  }

  async halt(id: number): Promise<void> {
    await this.#signed().halt(id)
    await this.read()
  }

  async resume(id: number): Promise<void> {
    await this.#signed().resume(id)
    await this.read()
  }

  // haltAll halts every agent that is not halted or closed, and tries all of them even if one
  // fails. It throws the first failure. It reads the list first, because an agent may be new.
  async haltAll(): Promise<void> {
    const owner = this.#signed()
    const known = this.list
    const agents = await owner.agents().then((r) => r.agents, () => known)
    const halts = await Promise.allSettled(agents.filter(stoppable).map((a) => owner.halt(a.user_id)))
    await this.read()
    for (const h of halts) if (h.status === 'rejected') throw h.reason
  }

  #signed(): Owner {
    if (!this.#owner) throw new Error('not signed in')
    return this.#owner
  }
}

// stoppable tells whether halting an agent can change anything: an expired or a suspended agent
// could become active again.
export function stoppable(a: Agent): boolean {
  return a.state !== 'halted' && a.state !== 'closed'
}
