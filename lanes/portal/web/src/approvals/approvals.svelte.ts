import { session } from '../account/owner.svelte.ts'
import { alerts } from '../shared/alerts.svelte.ts'
import { errorOf } from '../shared/errors.ts'
import type { TradingStore } from '../store/store.ts'
import type { Owner } from '../venue/owner.ts'
import { VenueError } from '../venue/rest.ts'
import { after, type AgentApproval, type Placed, type U64 } from '../venue/wire.ts'
import { wanted } from './approval.ts'

const NEWEST = 30 // of those that are listed
const WAITING = 1000 // of a page: more than anybody can decide
const KEPT = 200
const LATER = 'duplex-later'

// stored returns the approvals that were put off before the tab was loaded again.
function stored(): ReadonlySet<U64> {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(LATER) ?? '[]') as U64[])
  } catch {
    return new Set()
  }
}

// Approvals is what the agents of the owner ask, from two sources: the socket of an API key of the owner, and the
// portal with the account token. The token alone decides.
export class Approvals {
  all = $state.raw<ReadonlyMap<U64, AgentApproval>>(new Map())
  cards = $state.raw<readonly U64[]>([]) // those shown over the page, in the order in which they appeared
  orders = $state.raw<ReadonlyMap<U64, Placed>>(new Map()) // what became of those that this page has approved
  deciding = $state.raw<ReadonlySet<U64>>(new Set())
  troubles = $state.raw<ReadonlyMap<U64, string>>(new Map()) // why a decision did not work
  unreachable = $state(false)
  later = $state.raw<ReadonlySet<U64>>(stored()) // those that the owner has put off in this tab
  #owner: Owner | undefined
  readonly #bySocket = new Set<U64>()
  readonly #byToken = new Set<U64>()
  readonly #decided = new Set<U64>() // on this page

  // newest are all that are known, the newest first.
  get newest(): AgentApproval[] {
    return [...this.all.values()].sort((a, b) => (after(a.approval_id, b.approval_id) ? -1 : 1))
  }

  // live takes what the socket of a store says. What an agent's own key sees of itself is no card for an owner.
  live(store: TradingStore | undefined): void {
    const said = store?.account.approvals ?? new Map<U64, AgentApproval>()
    const theirs = [...said.values()].filter((a) => a.user_id !== store!.me)
    const gone = [...this.#bySocket].filter((id) => !said.has(id))
    for (const id of gone) this.#bySocket.delete(id)
    for (const a of theirs) this.#bySocket.add(a.approval_id)
    this.#forget(gone)
    this.#merge(theirs)
  }

  // use takes the account token of the tab, and forgets what another one has shown.
  use(owner: Owner | undefined): void {
    if (owner === this.#owner) return
    this.#owner = owner
    const theirs = [...this.#byToken]
    this.#byToken.clear()
    this.troubles = new Map()
    this.#forget(theirs)
  }

  // #forget drops what neither source has.
  #forget(ids: readonly U64[]): void {
    const gone = new Set(ids.filter((id) => !this.#bySocket.has(id) && !this.#byToken.has(id)))
    if (gone.size === 0) return
    this.all = new Map([...this.all].filter(([id]) => !gone.has(id)))
    this.cards = this.cards.filter((id) => !gone.has(id))
  }

  // read reads what waits, and with list the newest of all. A rejected token is forgotten; any other failure
  // shows as unreachable until a read succeeds.
  async read(list: boolean): Promise<void> {
    const owner = this.#owner
    if (!owner) return
    try {
      const [waiting, newest] = await Promise.all([owner.approvals(WAITING, 'waiting'), list ? owner.approvals(NEWEST) : { approvals: [] }])
      const there = new Set(waiting.approvals.map((a) => a.approval_id))
      const gone = [...this.#byToken].filter((id) => this.all.get(id)?.status === 'waiting' && !there.has(id) && !after(id, waiting.as_of_seq))
      const ended = await Promise.all(gone.map((id) => owner.approval(id)))
      if (owner !== this.#owner) return
      this.#take([...newest.approvals, ...waiting.approvals, ...ended])
      this.unreachable = false
    } catch (e) {
      if (owner !== this.#owner) return
      if (e instanceof VenueError && e.status === 401) session.close()
      else if (e instanceof VenueError || e instanceof TypeError) this.unreachable = true
      else throw e
    }
  }

  // open reads one approval. It throws as Owner does.
  async open(owner: Owner, id: U64): Promise<void> {
    const a = await owner.approval(id)
    if (owner === this.#owner) this.#take([a])
  }

  // decide approves or rejects. After a lost answer the same decision can be sent again: it counts once.
  async decide(id: U64, approve: boolean): Promise<void> {
    const owner = this.#owner
    if (!owner || this.deciding.has(id)) return
    this.deciding = new Set([...this.deciding, id])
    this.#decided.add(id)
    this.#say(id, '')
    try {
      const { approval, order } = await owner.decide(id, approve)
      if (owner !== this.#owner) return
      if (order) this.orders = new Map([...this.orders, [id, order]])
      this.#take([approval])
    } catch (e) {
      if (owner !== this.#owner) return
      await this.#failed(owner, id, e)
    } finally {
      this.deciding = new Set([...this.deciding].filter((other) => other !== id))
    }
  }

  async #failed(owner: Owner, id: U64, e: unknown): Promise<void> {
    if (e instanceof TypeError) return this.#say(id, 'No answer came. Press the same button again: the decision counts once.')
    if (!(e instanceof VenueError)) throw e
    if (e.status === 401) return session.close()
    if (e.code === 'unknown_approval') return this.#say(id, 'The account token of this tab is not the one of the owner of this agent.')
    this.#say(id, e.code === 'invalid_transition' ? '' : errorOf(e) || `The venue did not accept this: ${e.message}.`)
    await this.open(owner, id).catch((e: unknown) => {
      if (!(e instanceof VenueError || e instanceof TypeError)) throw e // the next read shows how it ended
    })
  }

  #say(id: U64, trouble: string): void {
    this.troubles = new Map([...this.troubles].filter(([other]) => other !== id).concat(trouble ? [[id, trouble]] : []))
  }

  // putOff folds the cards that are there, also after a reload of the tab.
  putOff(): void {
    this.#keep(this.cards)
  }

  // takeUp shows them again.
  takeUp(): void {
    this.#keep([])
  }

  #keep(ids: readonly U64[]): void {
    this.later = new Set(ids)
    sessionStorage.setItem(LATER, JSON.stringify(ids))
  }

  // dismiss takes a card off the page.
  dismiss(...ids: U64[]): void {
    this.cards = this.cards.filter((id) => !ids.includes(id))
  }

  #take(list: readonly AgentApproval[]): void {
    for (const a of list) this.#byToken.add(a.approval_id)
    this.#merge(list)
  }

  // #merge stores approvals from either source, of which one may be behind: what has ended never waits again. The
  // card of one that the owner has decided elsewhere goes; any other end stays until it is dismissed.
  #merge(list: readonly AgentApproval[]): void {
    const all = new Map(this.all)
    const changed = new Map<U64, AgentApproval>()
    for (const a of list) { // one can be in it twice
      const have = all.get(a.approval_id)
      if (have && (have.status !== 'waiting' || a.status === 'waiting')) continue
      all.set(a.approval_id, a)
      changed.set(a.approval_id, a)
    }
    if (changed.size === 0) return
    const news = [...changed.values()]
    for (const [id, a] of all) if (all.size > KEPT && a.status !== 'waiting') all.delete(id)
    this.all = all
    const asked = news.filter((a) => a.status === 'waiting').sort((a, b) => (after(a.approval_id, b.approval_id) ? 1 : -1))
    const elsewhere = new Set(news.filter((a) => !this.#decided.has(a.approval_id) && ['placed', 'refused', 'rejected'].includes(a.status)).map((a) => a.approval_id))
    this.cards = [...this.cards.filter((id) => all.has(id) && !elsewhere.has(id)), ...asked.map((a) => a.approval_id)]
    for (const a of asked) if (!this.later.has(a.approval_id)) alerts.raise('approval', `${a.agent} asks: ${wanted(a)}`)
  }
}

export const approvals = new Approvals()
