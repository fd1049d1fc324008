import type { Level, Order, OutcomeName } from '../venue/wire.ts'
import type { Book } from '../store/books.ts'
import type { Queue } from '../store/queue.ts'

// Rung is one price of the ladder, in ticks of the outcome shown: the quantity that rests
// there, the total from the best price to this one, and the user's orders with their quantity.
// ahead is what is ahead of the first of them; undefined if that is not known.
export interface Rung {
  tick: number
  qty: number
  sum: number
  mine: number
  ahead: number | undefined
  first: Order | undefined
}

interface Own {
  mine: number
  ahead: number | undefined
  first: Order | undefined
}

export interface Ladder {
  asks: Rung[] // best first
  bids: Rung[]
  most: number // the larger total, the full width of a bar
}

// ladder returns the rows of a book. The asks of an outcome are the bids for the other, at
// 10000 minus their price.
export function ladder(book: Book, looked: OutcomeName, own: Iterable<Order>, depth: number, queue: Queue): Ladder {
  const other: OutcomeName = looked === 'yes' ? 'no' : 'yes'
  const mine = ownAt(book, looked, own, queue)
  const bids = rungs(book.bids(looked), mine.bid, depth, false)
  const asks = rungs(book.bids(other).map(([tick, qty]) => [10000 - tick, qty]), mine.ask, depth, true)
  return { bids, asks, most: Math.max(1, bids.at(-1)?.sum ?? 0, asks.at(-1)?.sum ?? 0) }
}

// rungs returns every price of the grid from the best one on, including empty ones, so that
// equal distances on the ladder are equal price differences.
function rungs(levels: Level[], own: Map<number, Own>, depth: number, up: boolean): Rung[] {
  const at = new Map(levels)
  const out: Rung[] = []
  let sum = 0
  for (let tick = levels[0]?.[0] ?? 0; tick >= 100 && tick <= 9990 && out.length < depth; tick = next(tick, up)) {
    const qty = at.get(tick) ?? 0
    const mine = own.get(tick)
    out.push({ tick, qty, sum: (sum += qty), mine: mine?.mine ?? 0, ahead: mine?.ahead, first: mine?.first })
  }
  return out
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
