import type { Level, Order, OutcomeName } from '../venue/wire.ts'
import type { Book } from '../store/books.ts'
import type { Queue } from '../store/queue.ts'

// Rung is a price of the ladder at which contracts rest, in ticks of the outcome shown: their quantity, the
// user's orders with their quantity, and how many prices of the grid before it are empty. ahead is what is
// ahead of the user's first order there; undefined if that is not known.
export interface Rung {
  tick: number
  qty: number
  empty: number
  mine: number
  ahead: number | undefined
  first: Order | undefined
  more?: number // levels before it that are not shown
}

interface Own {
  mine: number
  ahead: number | undefined
  first: Order | undefined
}

export interface Ladder {
  asks: Rung[] // best first
  bids: Rung[]
  most: number // the largest quantity, the full width of a bar
}

// ladder returns the rows of a book. The asks of an outcome are the bids for the other, at
// 10000 minus their price.
export function ladder(book: Book, looked: OutcomeName, own: Iterable<Order>, queue: Queue): Ladder {
  const other: OutcomeName = looked === 'yes' ? 'no' : 'yes'
  const mine = ownAt(book, looked, own, queue)
  const bids = rungs(book.bids(looked), mine.bid, false)
  const asks = rungs(book.bids(other).map(([tick, qty]) => [10000 - tick, qty]), mine.ask, true)
  return { bids, asks, most: Math.max(1, ...bids.map((r) => r.qty), ...asks.map((r) => r.qty)) }
}

// rungs returns the levels of one side. Of the prices without orders it says how many there are.
function rungs(levels: Level[], own: Map<number, Own>, up: boolean): Rung[] {
  return levels.map(([tick, qty], i) => {
    const before = levels[i - 1]?.[0]
    const mine = own.get(tick)
    return { tick, qty, empty: before === undefined ? 0 : between(before, tick, up), mine: mine?.mine ?? 0, ahead: mine?.ahead, first: mine?.first }
  })
}

// between counts the prices of the grid that lie between two.
function between(from: number, to: number, up: boolean): number {
  let n = 0
  for (let tick = next(from, up); up ? tick < to : tick > to; tick = next(tick, up)) n += 1
  return n
}

// fitting returns as many rows as a height has room for, in px. A row is preceded by another one if it says
// that prices are empty. A level with orders of the user takes the place of the last rows.
export function fitting(rungs: readonly Rung[], room: number, row: number, gap: number): Rung[] {
  let left = room
  const end = rungs.findIndex((r) => (left -= row + (r.empty > 0 ? gap : 0)) < 0)
  if (end < 0) return [...rungs]
  const own = rungs.findIndex((r, i) => i >= end && r.mine > 0)
  if (own < 0) return rungs.slice(0, end)
  let kept = end
  const height = (n: number): number => rungs.slice(0, n).reduce((sum, r) => sum + row + (r.empty > 0 ? gap : 0), 0)
  while (kept > 0 && height(kept) + row + gap > room) kept -= 1
  return kept === 0 ? rungs.slice(0, end) : [...rungs.slice(0, kept), { ...rungs[own]!, more: own - kept }]
}

// next returns the next price on the grid `narrow`: whole cents from 4 to 96, tenths of a
// cent outside.
export function next(tick: number, up: boolean): number {
  const coarse = up ? tick >= 400 && tick < 9600 : tick > 400 && tick <= 9600
  return tick + (up ? 1 : -1) * (coarse ? 100 : 10)
}

// ownAt collects the user's resting orders by price and side of the ladder: both a buy of the
// outcome and a sell of the other outcome are bids.
function ownAt(book: Book, looked: OutcomeName, own: Iterable<Order>, queue: Queue): { bid: Map<number, Own>; ask: Map<number, Own> } {
  const out = { bid: new Map<number, Own>(), ask: new Map<number, Own>() }
  for (const o of own) {
    if (o.market_id !== book.market || o.generation !== book.generation) continue
    const same = o.outcome === looked
    const side = (o.side === 'buy') === same ? out.bid : out.ask
    const tick = same ? o.tick : 10000 - o.tick
    const at = side.get(tick) ?? { mine: 0, ahead: undefined, first: undefined }
    const ahead = queue.ahead(o, book)
    const leads = at.first === undefined || (ahead !== undefined && (at.ahead === undefined || ahead < at.ahead))
    side.set(tick, { mine: at.mine + o.remaining_qty, ahead: leads ? ahead : at.ahead, first: leads ? o : at.first })
  }
  return out
}
