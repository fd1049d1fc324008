import { after, type Fill, type LedgerRow, type Order, type Round, type RoundResult, type Settlement, type U64 } from '../venue/wire.ts'
import type { TradingStore } from '../store/store.ts'
import { retryRateLimited } from '../venue/retry.ts'
import { storedFilters, type When } from './filters.ts'
import { Listing } from './listing.svelte.ts'

const PAGE = 1000 // the most that one read returns
export const MOST = 10_000 // rows of each list that the figures are made of
const LIVE = 200 // rounds that are read again: more than can be live
const DAY_MS = 86_400_000

// since is when a time of UTC days begins, as the venue's from_ts.
export function since(when: When, now: number): U64 {
  const days = { today: 0, week: 6, all: Infinity }[when]
  return days === Infinity ? '0' : `${(Math.floor(now / DAY_MS) - days) * DAY_MS}000000`
}

// PortfolioData is the state of the portfolio page: what its figures are made of, and its lists.
export class PortfolioData {
  every = $state.raw<RoundResult[]>([]) // rounds, newest first
  ledger = $state.raw<LedgerRow[]>([]) // newest first
  settlements = $state.raw<Settlement[]>([]) // newest first
  at = $state(0) // ms; when they were read
  known = $state(false)
  filters = $state(storedFilters())
  readonly rounds: Listing<RoundResult>
  readonly fills: Listing<Fill>
  readonly orders: Listing<Order>
  readonly rows: Listing<LedgerRow> // of the ledger
  readonly #store: TradingStore
  readonly #slots = new Map<string, number>() // the series of the rounds of orders, by market and generation
  #reads = 0
  #of = '' // the state of the account that the figures show

  constructor(store: TradingStore) {
    this.#store = store
    const from = (): string => (this.filters.when === 'all' ? '' : `from_ts=${since(this.filters.when, store.clock.now())}&`)
    const side = (): string => this.filters.side && `side=${this.filters.side}&`
    this.rounds = new Listing(store.rest, { field: 'rounds', target: () => `/v1/portfolio/rounds?${this.filters.category ? `category=${this.filters.category}&` : ''}` })
    this.fills = new Listing(store.rest, { field: 'fills', target: () => `/v1/portfolio/fills?${from()}${side()}`, keeps: () => (this.filters.category ? (f) => f.category === this.filters.category : undefined) })
    this.orders = new Listing(store.rest, {
      field: 'orders', target: () => `/v1/portfolio/orders?${from()}${side()}`,
      keeps: () => (this.filters.category ? (o) => this.seriesOf(o) === this.filters.category : undefined), learn: (orders) => this.#learn(orders),
    })
    this.rows = new Listing(store.rest, { field: 'ledger', target: () => `/v1/portfolio/ledger?${this.filters.kinds && `kind=${this.filters.kinds}&`}${from()}`, keeps: () => (this.filters.category ? (r) => r.category === this.filters.category : undefined) })
  }

  // seriesOf returns the series of an order; 0 if the venue no longer has its round.
  seriesOf(o: Pick<Order, 'market_id' | 'generation'>): number {
    return this.#store.rounds.inSlot(o.market_id, o.generation)?.category ?? this.#slots.get(`${o.market_id}.${o.generation}`) ?? 0
  }

  // read reads what the figures are made of, if the account has changed, and the rounds that may have ended without
  // that. A network failure leaves what is shown; the screen says that the venue is not reachable.
  async read(): Promise<void> {
    const mine = ++this.#reads
    const { account, clock } = this.#store
    const asOf = account.seq
    try {
      const every = await this.#rounds(asOf)
      // The ledger is as new as the rounds or newer, so that it has all rows of those that are final.
      const [ledger, settlements] = asOf === this.#of ? [this.ledger, this.settlements] : await Promise.all([this.#grown(this.ledger, 'ledger', asOf), this.#grown(this.settlements, 'settlements', asOf)])
      if (mine !== this.#reads) return
      ;[this.every, this.ledger, this.settlements, this.known] = [every, ledger, settlements, true]
      this.at = clock.now()
      this.#of = asOf
    } catch (e) {
      if (!(e instanceof TypeError)) throw e
    }
  }

  // cut says whether the venue has older rows than the figures are made of.
  get cut(): boolean {
    return Math.max(this.every.length, this.ledger.length, this.settlements.length) >= MOST
  }

  // final says how many rounds have a result.
  get final(): number {
    return this.every.reduce((n, r) => n + (r.profit === null ? 0 : 1), 0)
  }

  // rounds returns the results with those that may have changed read again.
  async #rounds(asOf: U64): Promise<RoundResult[]> {
    const oldest = this.every.findLast((r) => r.profit === null)
    const first = !this.known
    const fresh = await this.#all<RoundResult>(`/v1/portfolio/rounds?limit=${first ? PAGE : LIVE}&min_seq=${asOf}`, 'rounds', (rows) => first || (oldest !== undefined && after(rows.at(-1)!.round_number, oldest.round_number)))
    const last = fresh.at(-1)
    return last ? [...fresh, ...this.every.filter((r) => after(last.round_number, r.round_number))].slice(0, MOST) : []
  }

  // grown returns a list with what the venue has added to it since its newest row.
  async #grown<T extends { ts: U64 }>(have: T[], field: string, asOf: U64): Promise<T[]> {
    const newest = have[0]?.ts ?? '0'
    const fresh = await this.#all<T>(`/v1/portfolio/${field}?limit=${PAGE}&from_ts=${newest}&min_seq=${asOf}`, field, () => true)
    return [...fresh, ...have.filter((r) => r.ts !== newest)].slice(0, MOST)
  }

  // all reads page after page, while there is a next one that is wanted.
  async #all<T>(target: string, field: string, wanted: (rows: T[]) => boolean): Promise<T[]> {
    const out: T[] = []
    let cursor = ''
    do {
      const page = await retryRateLimited(() => this.#store.rest.get<Record<string, T[]> & { cursor: string }>(cursor ? `${target}&cursor=${cursor}` : target))
      out.push(...page[field]!)
      cursor = page.cursor
    } while (cursor && out.length < MOST && wanted(out))
    return out
  }

  // learn reads the series of orders in rounds that the page does not know: past lives of their market slots.
  async #learn(orders: Order[]): Promise<void> {
    for (const r of this.every) this.#slots.set(`${r.market_id}.${r.generation}`, r.category)
    const oldest = new Map<number, number>()
    for (const o of orders) if (!this.seriesOf(o)) oldest.set(o.market_id, Math.min(o.generation, oldest.get(o.market_id) ?? Infinity))
    for (const [market, generation] of oldest) {
      const rounds = await this.#all<Round>(`/v1/rounds?market_id=${market}&limit=${PAGE}`, 'rounds', (rows) => rows.at(-1)!.generation > generation)
      for (const r of rounds) this.#slots.set(`${r.market_id}.${r.generation}`, r.category)
    }
  }
}
