import type { VenueClock } from '../venue/clock.ts'
import { RateLimits } from '../venue/rateLimits.ts'
import { type Action, VenueError, Rest } from '../venue/rest.ts'
import type { Credentials } from '../venue/sign.ts'
import { type Channel, type Frame, type Listener, Socket, type SocketState } from '../venue/socket.ts'
import type { AgentApproval, BookDelta, BookSnapshot, Evidence, EvidenceTick, Fill, Limits, Market, OracleTick, Order, Pnl, PriceRow, Round, RoundRow, Settlement, Trade, U64, UserEvent, UserSnapshot } from '../venue/wire.ts'
import { after, ms } from '../venue/wire.ts'
import { Account } from './account.ts'
import { type Book, Books, type Chance } from './books.ts'
import { ChanceHistory } from './chanceHistory.ts'
import { RecordList } from './records.ts'
import { type Point, Prices } from './prices.ts'
import { level, Queue } from './queue.ts'
import { ELSEWHERE_MS, invalidate, MARKET_MS } from './redraw.svelte.ts'
import { Rounds } from './rounds.ts'
import { allSeries, assets, boundary, type Series, seriesOf } from './series.ts'
import type { VenueInfo } from '../venue/venueInfo.ts'

// PastRound is a round that ended, with its history and the evidence of its result.
export interface PastRound {
  round: Round
  rows: RoundRow[] | undefined // undefined: the venue no longer keeps them
  evidence: Evidence | undefined
  trouble: string // why there is no evidence; empty if it is there or on its way
}

// IndexRange is the index of a feed over a longer time than a round, at steps.
interface IndexRange {
  feed: number
  step: number // seconds
  points: Point[] // oldest first
}

// lead is how many seconds before a round the chart shows: a fifth of its length.
export function lead(s: Series): number {
  return s.minutes * 12
}

const TAPE = 400
const OLDER = 200 // past rounds that are read at once
const CLOCK_EVERY_MS = 20_000
const MARKETS_EVERY_MS = 5000
const PNL_EVERY_MS = 2000 // while there are positions, whose marks move
const NEWEST_EVERY_MS = 10_000
const NEWEST = 30 // rows
const PNL_AFTER_MS = 150
const MISSING_EVERY_MS = 5000
const QUEUE_EVERY_MS = 500

// TradingStore is the state of the page: one venue as one API key sees it, kept up to date by one
// socket. It draws nothing; after a change it calls invalidate.
export class TradingStore implements Listener {
  readonly venueInfo: VenueInfo
  readonly credentials: Credentials
  readonly clock: VenueClock
  readonly rateLimits = new RateLimits()
  readonly rest: Rest
  readonly socket: Socket
  readonly books = new Books()
  readonly rounds = new Rounds()
  readonly account = new Account()
  readonly queue = new Queue()
  readonly prices = assets.map(() => new Prices())
  readonly tapes = new Map<string, RecordList<Trade>>()
  readonly chanceHistory = new ChanceHistory()
  past: PastRound | undefined
  #range: IndexRange | undefined
  readonly markets = new Map<number, Market>()
  status: SocketState = 'connecting'
  loaded = false // the rounds have been read once
  why = ''
  lag: number | undefined
  me: number | undefined // user_id of the account
  pnl: Pnl | undefined
  takerRate = 250 // in 1/10000, until it has been read
  readonly #lastPriceAt: number[] = [] // by feed: when its last price arrived
  #lastMessageAt = 0 // when the last message arrived
  limits: Limits | undefined
  last: Action | undefined
  onFill: (f: Fill) => void = () => {}
  onSettled: (s: Settlement) => void = () => {}
  onFired: () => void = () => {}
  onApproval: (a: AgentApproval) => void = () => {}
  onTrouble: (what: string) => void = () => {}
  #selected = 1
  readonly #olderCursors = new Map<number, string>() // by category: the cursor of the next page of past rounds, '' after the last
  #pnlTimer = 0
  #queueing = false
  #timers: number[] = []
  #sampleTimer = 0

  constructor(venueInfo: VenueInfo, credentials: Credentials, clock: VenueClock) {
    this.clock = clock
    this.venueInfo = venueInfo
    this.credentials = credentials
    this.rest = new Rest(venueInfo.api, credentials, this.clock, this.rateLimits)
    this.socket = new Socket(venueInfo.ws, credentials, this.clock, this.rateLimits, this)
  }

  start(): void {
    this.#timers = [
      window.setInterval(() => this.#readSlow(), CLOCK_EVERY_MS),
      window.setInterval(() => this.#background(this.#readMarkets()), MARKETS_EVERY_MS),
      window.setInterval(() => document.visibilityState === 'visible' && this.account.positions.size > 0 && this.#background(this.#readPnl()), PNL_EVERY_MS),
      window.setInterval(() => document.visibilityState === 'visible' && this.#background(this.#readNewest()), NEWEST_EVERY_MS),
      window.setInterval(() => this.#readMissing(), MISSING_EVERY_MS),
      window.setInterval(() => this.#background(this.#readQueue()), QUEUE_EVERY_MS),
    ]
    this.#sampleNext()
    window.addEventListener('online', this.#online)
    void this.socket.open()
  }

  stop(): void {
    for (const t of this.#timers) clearInterval(t)
    clearTimeout(this.#sampleTimer)
    window.removeEventListener('online', this.#online)
    this.socket.close()
  }

  #online = (): void => void this.socket.open()

  // ready measures the clock and reads the rate limits before each connection.
  async ready(): Promise<void> {
    await this.#measure()
    const [limits, fees, account] = await Promise.all([this.rest.get<Limits>('/v1/account/limits'), this.rest.get<{ taker_rate: number }>('/v1/exchange/fees'), this.rest.get<{ user_id: number }>('/v1/account')])
    this.limits = limits
    this.me = account.user_id
    this.takerRate = fees.taker_rate
    this.rateLimits.grant(this.limits, performance.now())
    invalidate()
  }

  // readSlow reads what hardly changes: the clock, and the profit of an account, whose day ends without an event.
  #readSlow(): void {
    if (!this.reachable) return
    this.#background(this.#measure())
    this.#background(this.#readPnl())
  }

  async #measure(): Promise<void> {
    const t0 = Date.now()
    const { server_time } = await this.rest.get<{ server_time: U64 }>('/v1/time')
    this.clock.measured(ms(server_time), t0, Date.now())
    invalidate(ELSEWHERE_MS)
  }

  // reachable tells whether a read can succeed now.
  get reachable(): boolean {
    return this.status === 'live' && navigator.onLine
  }

  // age is how old the prices on the screen are, in seconds; undefined while they are up to date.
  get age(): number | undefined {
    return this.reachable || !this.#lastMessageAt ? undefined : Math.floor((performance.now() - this.#lastMessageAt) / 1000)
  }

  // bookShown returns the book of a market; while the venue cannot be reached, as it was last seen.
  bookShown(market: number): Book | undefined {
    return this.reachable ? this.books.get(market) : this.books.last(market)
  }

  // accountRead tells whether the lists of the account have been read since its snapshot.
  get accountRead(): boolean {
    return this.account.fills.known && this.account.settlements.known
  }

  // readMissing reads lists that an earlier read did not bring.
  #readMissing(): void {
    if (!this.reachable) return
    if (this.account.known && !this.accountRead) this.#background(this.#readAccount())
    if (this.round && !this.#tape(this.round.market_id, this.round.generation).known) this.#background(this.#readTape())
  }

  // background ignores network failures of a background read, which the state of the socket
  // shows already. It reports rejections.
  #background(work: Promise<unknown>): void {
    work.catch((e: unknown) => {
      if (e instanceof VenueError) this.onTrouble(e.message)
      else if (!(e instanceof TypeError)) throw e
    })
  }

  // chance is the probability of YES in a round that trades, the one number that every part of the
  // screen shows.
  chance(r: Round): Chance | undefined {
    const book = this.bookShown(r.market_id)
    return r.status === 'trading' && book?.generation === r.generation ? book.chance([...this.account.open.values()]) : undefined
  }

  // sampleNext samples at the end of this second, and of each after it.
  #sampleNext(): void {
    this.#sampleTimer = window.setTimeout(() => {
      this.#sample(Math.round(this.clock.now() / 1000) - 1)
      this.#sampleNext()
    }, Math.ceil(1000 - (this.clock.now() % 1000)))
  }

  // sample records the chance at the end of a second in each market where both sides have orders.
  #sample(time: number): void {
    for (const s of allSeries) {
      const r = this.rounds.current(s.category)
      const chance = r && this.reachable ? this.chance(r) : undefined
      if (r && chance?.bound === '') this.chanceHistory.live(r.round_number, time, chance.value)
    }
    invalidate(ELSEWHERE_MS)
  }

  // #readQueue reads the place of one of the user's orders in the market that is shown.
  async #readQueue(): Promise<void> {
    const r = this.round
    const book = r && this.books.get(r.market_id)
    if (!book || !this.reachable || document.visibilityState !== 'visible') return
    this.queue.keep(this.account.open)
    const o = this.queue.next(this.account.open.values(), book, performance.now())
    if (!o || this.#queueing) return
    this.#queueing = true
    try {
      const there = level(o, book) // before the read, so that a change during it is read again
      const read = await this.rest.get<Order & { queue_ahead?: number }>(`/v1/portfolio/orders/${o.order_id}`)
      if (read.queue_ahead !== undefined) this.queue.learn(o.order_id!, read.queue_ahead, there, performance.now())
    } finally {
      this.#queueing = false
    }
    invalidate()
  }

  began(): void {
    for (const key of this.tapes.keys()) if (key !== this.#tapeKey()) this.tapes.delete(key)
    this.#background(this.#readRounds())
    this.#background(this.#readMarkets())
    this.#background(this.#readTape())
    this.chanceHistory.forget()
    this.#background(this.#readChart())
  }

  state(s: SocketState, why: string): void {
    this.status = s
    this.why = why
    if (s === 'lost' || s === 'refused') this.books.lose()
    invalidate()
  }

  missed(channel: Channel): void {
    if (channel === 'trades') this.#background(this.#readTape())
  }

  frame(channel: Channel, f: Frame): void {
    this.#lastMessageAt = performance.now()
    invalidate(this.#waits(channel, f.msg))
    switch (channel) {
      case 'orderbook_delta':
        if (f.type === 'orderbook_snapshot') this.books.snapshot(f.msg as BookSnapshot)
        else this.books.delta(f.msg as BookDelta)
        break
      case 'trades':
        this.#trade(f.msg as Trade)
        break
      case 'oracle':
        this.#tick(f.msg as OracleTick)
        break
      case 'rounds':
        this.#round(f.msg as Round, f.seq)
        break
      case 'user':
        if (f.type === 'user_snapshot') this.#snapshot(f.msg as UserSnapshot)
        else this.#event(f.msg as UserEvent, f.seq)
    }
  }

  // waits returns the shortest time between two draws for a message.
  #waits(channel: Channel, msg: unknown): number {
    if (channel === 'user' || channel === 'rounds') return 0
    const shown = channel === 'oracle' ? (msg as OracleTick).feed === seriesOf(this.#selected)?.asset.feed : (msg as { market_id: number }).market_id === this.round?.market_id
    return shown ? MARKET_MS : ELSEWHERE_MS
  }

  #trade(t: Trade): void {
    this.#late(t.ts)
    this.#tape(t.market_id, t.generation).live(t)
  }

  #tick(t: OracleTick): void {
    this.prices[t.feed]?.tick(t)
    this.#lastPriceAt[t.feed] = performance.now()
  }

  // silent returns how long ago the last price of a feed arrived, in ms.
  silent(feed: number): number {
    return performance.now() - (this.#lastPriceAt[feed] ?? -Infinity)
  }

  #round(r: Round, seq: U64): void {
    const fresh = this.rounds.put(r, seq)
    if (!fresh || r.category !== this.#selected) return
    this.#background(this.#readTape())
    this.#background(this.#readMarkets())
  }

  #snapshot(s: UserSnapshot): void {
    this.account.snapshot(s)
    this.#background(this.#readAccount())
    this.#pnlSoon()
  }

  #event(e: UserEvent, seq: U64): void {
    this.#late(e.ts)
    this.account.seq = seq
    if (!this.account.event(e)) return
    if (e.event !== 'order' && e.event !== 'approval') this.#pnlSoon()
    if (e.event === 'approval') this.onApproval(e.approval)
    if (e.event === 'fill') this.onFill(e)
    if (e.event === 'settlement') this.onSettled(e)
    if (e.event === 'deadman' && e.fired && !e.group_id) this.onFired()
  }

  // late updates the average time from a frame's timestamp to its arrival.
  #late(ts: U64): void {
    const now = Math.max(0, this.clock.now() - ms(ts))
    this.lag = this.lag === undefined ? now : this.lag * 0.8 + now * 0.2
  }

  async #readRounds(): Promise<void> {
    const { rounds, as_of_seq } = await this.rest.get<{ rounds: Round[]; as_of_seq: U64 }>('/v1/rounds?limit=150')
    for (const r of rounds) this.rounds.put(r, as_of_seq)
    this.loaded = true
    invalidate()
  }

  async #readPast(category: number): Promise<void> {
    const { rounds, as_of_seq } = await this.rest.get<{ rounds: Round[]; as_of_seq: U64 }>(`/v1/rounds?category=${category}&limit=50`)
    for (const r of rounds) this.rounds.put(r, as_of_seq)
    await this.#readChart()
  }

  // #readChart reads the index and the chance of YES for what the chart shows. What the socket
  // delivers meanwhile continues it.
  async #readChart(): Promise<void> {
    const s = seriesOf(this.#selected)
    if (!s || !this.reachable) return
    const from = Math.floor(this.clock.now() / 1000) - s.minutes * 60 - lead(s)
    await Promise.all([this.#readIndex(s.asset.feed, from), this.#readChanceHistory(s.category, from)])
    invalidate()
  }

  async #readIndex(feed: number, from: number): Promise<void> {
    let cursor = ''
    do {
      const page = await this.rest.get<{ rows: PriceRow[]; cursor: string }>(`/v1/oracle/history?feed=${feed}&from_ts=${from}000000000&limit=1000${cursor && `&cursor=${cursor}`}`)
      this.prices[feed]?.read(page.rows)
      cursor = page.cursor
    } while (cursor)
  }

  // readRange reads the index of a feed for the last seconds, one value a step.
  readRange(feed: number, secs: number, step: number): void {
    if (this.#range?.feed !== feed || this.#range.step !== step) this.#range = { feed, step, points: [] }
    if (this.reachable) this.#background(this.#readRange(this.#range, secs))
  }

  // #readRange drops what it read if another range is shown by then. A step that goes on ends now.
  async #readRange(range: IndexRange, secs: number): Promise<void> {
    const now = Math.floor(this.clock.now() / 1000)
    const { rows } = await this.rest.get<{ rows: PriceRow[] }>(`/v1/oracle/history?feed=${range.feed}&from_ts=${now - secs}000000000&step_secs=${range.step}&limit=1000`)
    if (this.#range !== range) return
    range.points = rows.toReversed().map((r) => ({ sec: Math.min(now, Math.floor(ms(r.ts) / 1000) + range.step - 1), price: BigInt(r.close) }))
    invalidate()
  }

  // range returns what has been read of a range.
  range(feed: number, step: number): readonly Point[] {
    return this.#range?.feed === feed && this.#range.step === step ? this.#range.points : []
  }

  async #readChanceHistory(category: number, from: number): Promise<void> {
    const s = seriesOf(category)!
    const wanted = this.rounds.of(category).filter((r) => boundary(r, s) / 1000 > from && !this.chanceHistory.known(r.round_number))
    await Promise.all(wanted.map(async (r) => this.chanceHistory.whole(r.round_number, (await this.#history(r)) ?? [])))
  }

  // #readNewest reads the newest seconds of the chart: the history has the state at the end of each, and
  // the page has seen the one at some time before it.
  async #readNewest(): Promise<void> {
    if (!this.reachable) return
    await Promise.all(this.rounds.of(this.#selected).slice(0, 2).map(async (r) => this.chanceHistory.read(r.round_number, (await this.#history(r, NEWEST)) ?? [])))
    invalidate(ELSEWHERE_MS)
  }

  // #history returns the newest rows of a round; undefined if the venue no longer keeps them.
  async #history(r: Round, limit = 1000): Promise<RoundRow[] | undefined> {
    try {
      return (await this.rest.get<{ rows: RoundRow[] }>(`/v1/rounds/${r.market_id}/history?round_number=${r.round_number}&limit=${limit}`)).rows
    } catch (e) {
      if (e instanceof VenueError && e.code === 'round_not_found') return undefined
      throw e
    }
  }

  // rowAt returns the last second of a round that had ended at a time in ms, or the one of the opening, in which the
  // time is; undefined if the venue has none, or does not answer.
  async rowAt(r: Round, at: number): Promise<RoundRow | undefined> {
    const secs = Math.ceil((this.clock.now() - at) / 1000)
    try {
      const rows = await this.#history(r, Math.min(1000, Math.max(0, secs) + 5))
      return rows?.find((row) => ms(row.ts) + 1000 <= at) ?? rows?.findLast((row) => ms(row.ts) <= at)
    } catch (e) {
      if (e instanceof VenueError || e instanceof TypeError) return undefined
      throw e
    }
  }

  // showRound shows a round that ended, or the live one again.
  showRound(r: Round | undefined): void {
    this.past = r && { round: r, rows: undefined, evidence: undefined, trouble: '' }
    invalidate()
    if (r) this.#background(this.#readPastRound(this.past!))
  }

  async #readPastRound(p: PastRound): Promise<void> {
    const [rows, evidence] = await Promise.allSettled([this.#history(p.round), this.#evidence(p.round)])
    if (rows.status === 'fulfilled') p.rows = rows.value
    if (evidence.status === 'fulfilled') p.evidence = evidence.value
    else p.trouble = evidence.reason instanceof VenueError ? evidence.reason.message : 'the venue cannot be reached'
    invalidate()
    for (const read of [rows, evidence]) if (read.status === 'rejected') throw read.reason
  }

  // readOlder reads the next page of past rounds of a series.
  async readOlder(category: number): Promise<void> {
    const cursor = this.#olderCursors.get(category) ?? ''
    const page = await this.rest.get<{ rounds: Round[]; cursor: string; as_of_seq: U64 }>(`/v1/rounds?category=${category}&limit=${OLDER}${cursor && `&cursor=${cursor}`}`)
    this.#olderCursors.set(category, page.cursor)
    this.rounds.older(category, page.rounds, page.as_of_seq)
    invalidate()
  }

  // hasOlder tells whether the venue has more past rounds of a series than have been read.
  hasOlder(category: number): boolean {
    return this.#olderCursors.get(category) !== ''
  }

  async #evidence(r: Round): Promise<Evidence> {
    const target = `/v1/rounds/${r.market_id}/evidence?round_number=${r.round_number}&limit=1000`
    const first = await this.rest.get<Evidence>(target)
    const ticks: EvidenceTick[] = [...first.ticks]
    for (let cursor = first.cursor; cursor; ) {
      const more = await this.rest.get<Evidence>(`${target}&cursor=${cursor}`)
      ticks.push(...more.ticks)
      cursor = more.cursor
    }
    return { ...first, ticks }
  }

  async #readMarkets(): Promise<void> {
    if (!this.reachable) return
    const { markets } = await this.rest.get<{ markets: Market[] }>('/v1/markets?status=trading')
    for (const m of markets) this.markets.set(m.market_id, m)
    invalidate(ELSEWHERE_MS)
  }

  // #readPnl drops a response that is older than the one shown.
  async #readPnl(): Promise<void> {
    if (!this.reachable) return
    const pnl = await this.rest.get<Pnl>('/v1/portfolio/pnl')
    if (this.pnl && after(this.pnl.as_of_seq, pnl.as_of_seq)) return
    this.pnl = pnl
    invalidate(MARKET_MS)
  }

  // #pnlSoon reads profit and loss after a change of the account.
  #pnlSoon(): void {
    if (this.#pnlTimer) return
    this.#pnlTimer = window.setTimeout(() => {
      this.#pnlTimer = 0
      this.#background(this.#readPnl())
    }, PNL_AFTER_MS)
  }

  async #readAccount(): Promise<void> {
    const [fills, settlements, orders] = await Promise.all([
      this.rest.get<{ fills: Fill[]; as_of_seq: U64 }>('/v1/portfolio/fills?limit=200'),
      this.rest.get<{ settlements: Settlement[]; as_of_seq: U64 }>('/v1/portfolio/settlements?limit=100'),
      this.rest.get<{ orders: Order[] }>('/v1/portfolio/orders?status=executed,canceled,expired,rejected&limit=100'),
    ])
    if ([fills, settlements].some((page) => after(this.account.asOf, page.as_of_seq))) return // from before the snapshot
    this.account.fills.read(fills.fills, fills.as_of_seq)
    this.account.settlements.read(settlements.settlements, settlements.as_of_seq)
    for (const o of orders.orders) this.account.order(o)
    invalidate()
  }

  // select makes a series the one that the screen shows.
  select(category: number): void {
    this.#selected = category
    this.past = undefined
    this.#background(this.#readPast(category))
    this.#background(this.#readTape())
    invalidate()
  }

  get selected(): number {
    return this.#selected
  }

  #tape(market: number, generation: number): RecordList<Trade> {
    const key = `${market}.${generation}`
    const have = this.tapes.get(key)
    if (have) return have
    for (const old of this.tapes.keys()) if (old.startsWith(`${market}.`)) this.tapes.delete(old)
    const made = new RecordList<Trade>(TAPE)
    this.tapes.set(key, made)
    return made
  }

  #tapeKey(): string {
    const r = this.rounds.current(this.#selected)
    return r ? `${r.market_id}.${r.generation}` : ''
  }

  // round is the newest round of the selected series.
  get round(): Round | undefined {
    return this.rounds.current(this.#selected)
  }

  tape(): readonly Trade[] {
    return this.tapes.get(this.#tapeKey())?.rows ?? []
  }

  async #readTape(): Promise<void> {
    const r = this.rounds.current(this.#selected)
    if (!r) return
    const page = await this.rest.get<{ trades: Trade[]; as_of_seq: U64 }>(`/v1/markets/${r.market_id}/trades?limit=${TAPE}`)
    if (this.rounds.current(r.category)?.round_number !== r.round_number) return // its tape would take the place of the next round's
    this.#tape(r.market_id, r.generation).read(page.trades.filter((t) => t.generation === r.generation), page.as_of_seq)
    invalidate()
  }
}
