import type { VenueClock } from '../venue/clock.ts'
import { Meters } from '../venue/meters.ts'
import { type Action, VenueError, Rest } from '../venue/rest.ts'
import type { Credentials } from '../venue/sign.ts'
import { type Channel, type Frame, type Listener, Socket, type SocketState } from '../venue/socket.ts'
import type { BookDelta, BookSnapshot, Fill, Limits, Market, OracleTick, Order, Round, Settlement, Trade, U64, UserEvent, UserSnapshot } from '../venue/wire.ts'
import { ms } from '../venue/wire.ts'
import { Account } from './account.ts'
import { Books } from './books.ts'
import { Ledgered } from './ledgered.ts'
import { Prices } from './prices.ts'
import { changed } from './pulse.svelte.ts'
import { Rounds } from './rounds.ts'
import { allSeries, assets, boundary, seriesOf } from './series.ts'
import type { Station } from './station.ts'

// Chances are the mid prices of one round in cents, one per second while the page is open.
export interface Chances {
  round: U64
  points: { time: number; value: number }[]
}

const TAPE = 400
const CLOCK_EVERY_MS = 20_000
const MARKETS_EVERY_MS = 5000

// Desk is the state of the page: one venue as one API key sees it, kept up to date by one
// socket. It draws nothing; after a change it calls changed.
export class Desk implements Listener {
  readonly station: Station
  readonly credentials: Credentials
  readonly clock: VenueClock
  readonly meters = new Meters()
  readonly rest: Rest
  readonly socket: Socket
  readonly books = new Books()
  readonly rounds = new Rounds()
  readonly account = new Account()
  readonly prices = assets.map(() => new Prices())
  readonly tapes = new Map<string, Ledgered<Trade>>()
  readonly mids = new Map<number, Chances>()
  readonly markets = new Map<number, Market>()
  status: SocketState = 'connecting'
  why = ''
  lag: number | undefined
  limits: Limits | undefined
  last: Action | undefined
  onFill: (f: Fill) => void = () => {}
  onSettled: (s: Settlement) => void = () => {}
  onFired: () => void = () => {}
  onTrouble: (what: string) => void = () => {}
  #selected = 1
  #timers: number[] = []

  constructor(station: Station, credentials: Credentials, clock: VenueClock) {
    this.clock = clock
    this.station = station
    this.credentials = credentials
    this.rest = new Rest(station.api, credentials, this.clock, this.meters)
    this.socket = new Socket(station.ws, credentials, this.clock, this.meters, this)
  }

  start(): void {
    this.#timers = [
      window.setInterval(() => this.#sample(), 1000),
      window.setInterval(() => this.reachable && this.#quietly(this.#measure()), CLOCK_EVERY_MS),
      window.setInterval(() => this.#quietly(this.#readMarkets()), MARKETS_EVERY_MS),
    ]
    window.addEventListener('online', this.#online)
    void this.socket.open()
  }

  stop(): void {
    for (const t of this.#timers) clearInterval(t)
    window.removeEventListener('online', this.#online)
    this.socket.close()
  }

  #online = (): void => void this.socket.open()

  // ready measures the clock and reads the rate limits before each connection.
  async ready(): Promise<void> {
    await this.#measure()
    this.limits = await this.rest.get<Limits>('/v1/account/limits')
    this.meters.grant(this.limits, performance.now())
    changed()
  }

  async #measure(): Promise<void> {
    const t0 = Date.now()
    const { server_time } = await this.rest.get<{ server_time: U64 }>('/v1/time')
    this.clock.measured(ms(server_time), t0, Date.now())
    changed()
  }

  // reachable tells whether a read can succeed now.
  get reachable(): boolean {
    return this.status === 'live' && navigator.onLine
  }

  // quietly ignores network failures of a background read, which the state of the socket
  // shows already. It reports rejections.
  #quietly(work: Promise<unknown>): void {
    work.catch((e: unknown) => {
      if (e instanceof VenueError) this.onTrouble(e.message)
      else if (!(e instanceof TypeError)) throw e
    })
  }

  // sample records the mid price of each market.
  #sample(): void {
    const time = Math.floor(this.clock.now() / 1000)
    for (const s of allSeries) {
      const r = this.rounds.current(s.category)
      const mid = r?.status === 'trading' ? this.books.get(r.market_id)?.mid : undefined
      if (!r || mid === undefined) continue
      let kept = this.mids.get(s.category)
      if (kept?.round !== r.round_number) this.mids.set(s.category, (kept = { round: r.round_number, points: [] }))
      if (kept.points.at(-1)?.time !== time) kept.points.push({ time, value: mid / 100 })
    }
    changed()
  }

  began(): void {
    for (const key of this.tapes.keys()) if (key !== this.#tapeKey()) this.tapes.delete(key)
    this.#quietly(this.#readRounds())
    this.#quietly(this.#readMarkets())
    this.#quietly(this.#readTape())
  }

  state(s: SocketState, why: string): void {
    this.status = s
    this.why = why
    if (s === 'lost') this.books.clear()
    changed()
  }

  missed(channel: Channel): void {
    if (channel === 'trades') this.#quietly(this.#readTape())
  }

  frame(channel: Channel, f: Frame): void {
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
        this.#round(f.msg as Round)
        break
      case 'user':
        if (f.type === 'user_snapshot') this.#snapshot(f.msg as UserSnapshot)
        else this.#event(f.msg as UserEvent)
    }
    changed()
  }

  #trade(t: Trade): void {
    this.#late(t.ts)
    this.#tape(t.market_id, t.generation).live(t)
  }

  #tick(t: OracleTick): void {
    this.prices[t.feed]?.tick(t)
  }

  #round(r: Round): void {
    const fresh = this.rounds.put(r)
    const s = seriesOf(r.category)
    if (s) this.prices[s.asset.feed]?.strike(r)
    if (!fresh || r.category !== this.#selected) return
    this.#quietly(this.#readTape())
    this.#quietly(this.#readMarkets())
  }

  #snapshot(s: UserSnapshot): void {
    this.account.snapshot(s)
    this.#quietly(this.#readAccount())
  }

  #event(e: UserEvent): void {
    this.#late(e.ts)
    if (!this.account.event(e)) return
    if (e.event === 'fill') this.onFill(e)
    if (e.event === 'settlement') this.onSettled(e)
    if (e.event === 'deadman' && e.fired) this.onFired()
  }

  // late updates the average time from a frame's timestamp to its arrival.
  #late(ts: U64): void {
    const now = Math.max(0, this.clock.now() - ms(ts))
    this.lag = this.lag === undefined ? now : this.lag * 0.8 + now * 0.2
  }

  async #readRounds(): Promise<void> {
    const { rounds } = await this.rest.get<{ rounds: Round[] }>('/v1/rounds?limit=150')
    for (const r of rounds) this.#past(r)
    changed()
  }

  #past(r: Round): void {
    this.rounds.put(r)
    const s = seriesOf(r.category)
    if (s && boundary(r, s) > this.clock.now() - 40 * 60_000) this.prices[s.asset.feed]?.strike(r)
  }

  async #readPast(category: number): Promise<void> {
    const { rounds } = await this.rest.get<{ rounds: Round[] }>(`/v1/rounds?category=${category}&limit=50`)
    for (const r of rounds) this.#past(r)
    changed()
  }

  async #readMarkets(): Promise<void> {
    if (!this.reachable) return
    const { markets } = await this.rest.get<{ markets: Market[] }>('/v1/markets?status=trading')
    for (const m of markets) this.markets.set(m.market_id, m)
    changed()
  }

  async #readAccount(): Promise<void> {
    const [fills, settlements, orders] = await Promise.all([
      this.rest.get<{ fills: Fill[]; as_of_seq: U64 }>('/v1/portfolio/fills?limit=200'),
      this.rest.get<{ settlements: Settlement[]; as_of_seq: U64 }>('/v1/portfolio/settlements?limit=100'),
      this.rest.get<{ orders: Order[] }>('/v1/portfolio/orders?status=executed,canceled,expired,rejected&limit=100'),
    ])
    this.account.fills.read(fills.fills, fills.as_of_seq)
    this.account.settlements.read(settlements.settlements, settlements.as_of_seq)
    for (const o of orders.orders) this.account.order(o)
    changed()
  }

  // select makes a series the one that the screen shows.
  select(category: number): void {
    this.#selected = category
    this.#quietly(this.#readPast(category))
    this.#quietly(this.#readTape())
    changed()
  }

  get selected(): number {
    return this.#selected
  }

  #tape(market: number, generation: number): Ledgered<Trade> {
    const key = `${market}.${generation}`
    const have = this.tapes.get(key)
    if (have) return have
    for (const old of this.tapes.keys()) if (old.startsWith(`${market}.`)) this.tapes.delete(old)
    const made = new Ledgered<Trade>(TAPE)
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
    this.#tape(r.market_id, r.generation).read(page.trades.filter((t) => t.generation === r.generation), page.as_of_seq)
    changed()
  }
}
