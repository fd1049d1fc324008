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

// Detail is what the card of an agent shows beside its row of the list.
export interface Detail {
  activity: Activity[] // newest first, as many as are watched
  keys: Key[]
  seq: U64
}

// Agents is the state of the agents page: the agents of one owner, and the activity and the keys of those
// whose cards are in sight. It reads them every two seconds while the page is visible.
export class Agents {
  readonly clock: VenueClock
  signedIn = $state(false)
  list = $state.raw<Agent[]>([]) // newest first
  known = $state(false) // the list has been read
  mandates = $state.raw<ReadonlyMap<number, AgentMandate>>(new Map())
  details = $state.raw<ReadonlyMap<number, Detail>>(new Map())
  issued = $state.raw<IssuedKey>()
  unreachable = $state(false)
  now = $state(0)
  #owner: Owner | undefined
  #listSeq: U64 = '0'
  readonly #watched = new Map<number, number>() // the number of entries of the activity, by user_id
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
    this.details = new Map()
    this.issued = undefined
    this.#listSeq = '0'
  }

  // watch reads the newest entries of the activity of an agent, and its keys, until the returned function is called.
  watch(id: number, entries: number): () => void {
    this.#watched.set(id, entries)
    void this.#attempt((owner) => this.#readDetail(owner, id, entries))
    return () => this.#watched.delete(id)
  }

  // read reads everything once.
  async read(): Promise<void> {
    await this.#attempt(async (owner) => {
      await this.#readList(owner)
      await Promise.all([...this.#watched].map(([id, entries]) => this.#readDetail(owner, id, entries)))
      if (owner === this.#owner) this.unreachable = false
    })
  }

  // #attempt reads. A rejected token signs out; any other failure shows as unreachable until everything is read.
  async #attempt(reads: (owner: Owner) => Promise<void>): Promise<void> {
    const owner = this.#owner
    if (!owner) return
    try {
      await reads(owner)
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
    const changed = agents.filter((a) => a.state !== 'closed' && this.mandates.get(a.user_id)?.rev !== a.rev)
    const read = await Promise.all(changed.map(async (a) => [a.user_id, await owner.mandate(a.user_id)] as const))
    if (owner !== this.#owner) return
    const newer = read.filter(([id, m]) => m.rev >= (this.mandates.get(id)?.rev ?? 0)) // another read can have been faster
    if (newer.length > 0) this.mandates = new Map([...this.mandates, ...newer])
  }

  async #readDetail(owner: Owner, id: number, entries: number): Promise<void> {
    const [{ keys }, { activity, as_of_seq }] = await Promise.all([owner.agentKeys(id), owner.activity(id, entries)])
    const have = this.details.get(id)
    if (owner !== this.#owner || entries !== this.#watched.get(id) || (have && after(have.seq, as_of_seq))) return
    this.details = new Map([...this.details, [id, { activity, keys, seq: as_of_seq }]])
  }

  // create makes an agent and returns its user_id; undefined if its owner has signed out before the answer.
  async create(name: string, fund: U64, mandate: Mandate): Promise<number | undefined> {
    const owner = this.#signed()
    const { user_id } = await owner.create(name, fund, mandate)
    return owner === this.#owner ? user_id : undefined
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

// hostOf returns the host of a client whose client_id is the address of its document; '' for another one.
export function hostOf(client: string | undefined): string {
  return client && URL.canParse(client) ? new URL(client).host : ''
}
