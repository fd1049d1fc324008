import { type PastRound, type TradingStore, lead } from '../store/store.ts'
import { cents, coordinate, grouped, price, telling } from '../shared/format.ts'
import { newestFirst } from '../store/account.ts'
import { boundary, type Series } from '../store/series.ts'
import { breakEven } from '../ticket/pricing.ts'
import { openIn } from '../ticket/actions.ts'
import { ms, type Fill, type Order, type OutcomeName, type Round, type Side } from '../venue/wire.ts'

// What the chart shows of the store.

export interface Value {
  time: number // second
  value: number
}

export interface Stretch {
  from: number
  to: number
}

// Entry is what the user traded of one outcome at about one time.
export interface Entry extends Stretch {
  side: Side
  outcome: OutcomeName
  qty: number
  cost: number // pips
}

export interface Ended extends Stretch {
  result: string
  winner: OutcomeName | null
}

// Even is the price at which a holding makes neither profit nor loss.
export interface Even {
  outcome: OutcomeName
  tick: number // of the outcome
}

// Plot is what the chart shows: the index above, the chance of YES in percent below.
export interface Plot {
  from: number
  to: number
  step: number // seconds between two values of the index
  decimals: number
  index: Value[]
  mids: Value[]
  trades: Value[]
  mine: Value[] // own fills of the rounds in view
  fills: Fill[] // own, of the round, oldest first
  strike: number
  strikePrice: string
  mean: number | undefined // so far, or the price at which the round settled
  meanLabel: string
  windows: Stretch[] // in which the rounds settle; the first one is that of the round
  ended: Ended[]
  evens: Even[]
  last: string // the newest price
  fresh: boolean // the last price is the present one, and the axis shows it
  live: boolean // the index goes on
  wide: boolean // a longer time than a round
}

const OLD_MS = 2500

// Range is a time longer than a round. The index is read at steps of it.
export interface Range {
  secs: number
  step: number
}

// livePlot returns what the chart shows of the live round, and of a part of the one before it. All times
// are whole seconds.
export function livePlot(store: TradingStore, s: Series, r: Round, range?: Range): Plot {
  const prices = store.prices[s.asset.feed]!
  const end = boundary(r, s) / 1000
  const to = Math.max(end, prices.last?.sec ?? 0) // no round follows at once where the market is closed
  const from = range ? end - range.secs : second(r.open_ts) - lead(s)
  const steps = range ? store.range(s.asset.feed, range.step) : []
  const index = [...steps, ...prices.points.filter((p) => p.sec > (steps.at(-1)?.sec ?? from - 1))].map((p) => ({ time: p.sec, value: coordinate(p.price) }))
  const recent = store.rounds.of(s.category).filter((x) => boundary(x, s) / 1000 > from)
  const mids = range ? [] : recent.toReversed().flatMap((x) => store.chanceHistory.of(x.round_number))
  const chance = store.reachable ? store.chance(r) : undefined
  if (chance?.bound === '' && !range) { // the same number as everywhere
    const time = Math.floor(store.clock.now() / 1000)
    if (mids.at(-1)?.time === time) mids.pop()
    mids.push({ time, value: chance.value })
  }
  return {
    ...base(store, s, r, recent), from, to, step: range?.step ?? 1, mids, index,
    trades: points(store.tape().toReversed().map((t) => ({ ts: t.ts, tick: t.tick_yes }))),
    ...average(prices.mean(end - r.twap_window_secs, end), r, s, r.status === 'trading' ? 'average so far' : 'average'),
    evens: (store.pnl?.positions ?? []).filter((h) => h.market_id === r.market_id && h.generation === r.generation)
      .map((h) => ({ outcome: h.outcome, tick: breakEven(store.takerRate, h.qty, Number(h.cost)) })).filter((e) => e.tick > 0),
    last: prices.last ? price(prices.last.price, s.asset.decimals) : '',
    fresh: store.reachable && store.silent(s.asset.feed) < OLD_MS, live: true, wide: range !== undefined,
  }
}

// pastPlot returns what the chart shows of a round that ended.
export function pastPlot(store: TradingStore, s: Series, past: PastRound): Plot {
  const r = past.round
  const rows = (past.rows ?? []).toReversed()
  return {
    ...base(store, s, r, [r]), from: second(r.open_ts), to: boundary(r, s) / 1000, step: 1,
    index: rows.filter((x) => x.index !== '0').map((x) => ({ time: second(x.ts), value: coordinate(BigInt(x.index)) })),
    mids: rows.filter((x) => x.yes_bid && x.yes_ask).map((x) => ({ time: second(x.ts), value: (x.yes_bid + x.yes_ask) / 200 })),
    trades: [], evens: [], ...average(r.settle_price === '0' ? undefined : BigInt(r.settle_price), r, s, 'average'),
    last: '', fresh: false, live: false, wide: false,
  }
}

function base(store: TradingStore, s: Series, r: Round, recent: readonly Round[]): Pick<Plot, 'decimals' | 'mine' | 'fills' | 'strike' | 'strikePrice' | 'windows' | 'ended'> {
  const own = store.account.fills.rows.toReversed()
  const numbers = recent.map((x) => x.round_number)
  return {
    decimals: s.asset.decimals,
    mine: points(own.filter((f) => numbers.includes(f.round_number)).map((f) => ({ ts: f.ts, tick: f.tick_yes }))),
    fills: own.filter((f) => f.round_number === r.round_number),
    strike: coordinate(BigInt(r.strike)), strikePrice: price(BigInt(r.strike), s.asset.decimals),
    windows: recent.map((x) => ({ from: boundary(x, s) / 1000 - x.twap_window_secs, to: boundary(x, s) / 1000 })),
    ended: recent.filter((x) => x.status !== 'trading').map((x) => ({
      from: second(x.open_ts), to: boundary(x, s) / 1000, winner: x.winner, result: x.winner ? (x.winner === 'yes' ? '▲ YES' : '▼ NO') : x.status,
    })),
  }
}

// average says what the window has come to, with enough decimals to differ from the strike.
function average(at: bigint | undefined, r: Round, s: Series, words: string): Pick<Plot, 'mean' | 'meanLabel'> {
  if (at === undefined) return { mean: undefined, meanLabel: '' }
  return { mean: coordinate(at), meanLabel: `${words} ${price(at, telling(at, BigInt(r.strike), s.asset.decimals))}` }
}

const second = (ts: string): number => Math.floor(ms(ts) / 1000)

// points returns one value a second, the last one, oldest first.
function points(trades: { ts: string; tick: number }[]): Value[] {
  const out: Value[] = []
  for (const t of trades) {
    const time = second(t.ts)
    if (out.at(-1)?.time === time) out.pop()
    out.push({ time, value: t.tick / 100 })
  }
  return out
}

// entriesOf joins fills of one side and outcome that follow each other within some seconds.
export function entriesOf(fills: readonly Fill[], within: number): Entry[] {
  const out: Entry[] = []
  for (const f of fills) {
    const time = second(f.ts)
    const cost = f.qty * (f.outcome === 'yes' ? f.tick_yes : 10000 - f.tick_yes)
    const near = out.findLast((e) => e.side === f.side && e.outcome === f.outcome)
    if (near && time - near.to <= within) {
      near.to = time
      near.qty += f.qty
      near.cost += cost
    } else out.push({ from: time, to: time, side: f.side, outcome: f.outcome, qty: f.qty, cost })
  }
  return out
}

// entryLabel is an entry in words: "30 YES at 60.4¢".
export function entryLabel(e: Entry): string {
  return `${e.side === 'sell' ? 'sold ' : ''}${grouped(e.qty)} ${e.outcome.toUpperCase()} at ${cents(e.cost / e.qty)}¢`
}

// at returns the newest of values, oldest first, that is at most old seconds before a time.
export function at(values: readonly Value[], time: number, old: number): Value | undefined {
  let [low, high] = [0, values.length]
  while (low < high) {
    const mid = (low + high) >> 1
    if (values[mid]!.time <= time) low = mid + 1
    else high = mid
  }
  const v = values[low - 1]
  return v && time - v.time <= old ? v : undefined
}

// ownOrders returns the user's orders that rest in a round, oldest first.
export function ownOrders(store: TradingStore, r: Round): Order[] {
  return newestFirst(openIn(store, r)).toReversed()
}
