import { next } from '../book/ladder.ts'
import { type Book, bidOf } from '../store/books.ts'
import { grouped } from '../shared/format.ts'
import type { Order } from '../venue/wire.ts'

// Where an own order can move to in the book. A price is in ticks of the outcome of the order; on the axis
// of YES a price of NO is 10000 minus it.

const LOWEST = 100
const HIGHEST = 9990

export function onAxis(o: Pick<Order, 'outcome'>, tick: number): number {
  return o.outcome === 'yes' ? tick : 10000 - tick
}

// boundsOf returns the prices between which an order rests: it ends one step before the best price on the
// other side.
export function boundsOf(o: Order, book: Book): { low: number; high: number } {
  const { outcome } = bidOf(o)
  const best = book.best(outcome === 'yes' ? 'no' : 'yes') // in the way of a buy at 10000 − best, of a sale at best
  const low = o.side === 'sell' && best ? next(best, true) : LOWEST
  const high = o.side === 'buy' && best ? next(10000 - best, false) : HIGHEST
  return { low: Math.min(low, o.tick), high: Math.max(high, o.tick) }
}

// nearest returns the price of the grid that is nearest to a place on the axis.
export function nearest(o: Order, axis: number): number {
  const at = onAxis(o, axis)
  const step = at >= 400 && at <= 9600 ? 100 : 10
  return Math.round(at / step) * step
}

// stepped returns the price one step up or down on the axis.
export function stepped(o: Order, tick: number, up: boolean, book: Book): number {
  return rests(o, next(tick, up === (o.outcome === 'yes')), book)
}

// rests returns the nearest price at which an order rests.
export function rests(o: Order, tick: number, book: Book): number {
  const { low, high } = boundsOf(o, book)
  return Math.min(high, Math.max(low, tick))
}

// short formats a price in cents: "58¢", "3.7¢".
export function short(tick: number): string {
  return `${tick % 100 === 0 ? tick / 100 : (tick / 100).toFixed(1)}¢`
}

export function named(o: Order): string {
  return `${o.side === 'buy' ? 'Buy' : 'Sell'} ${grouped(o.remaining_qty)} ${o.outcome.toUpperCase()}`
}

// saying says what a move to a price would do.
export function saying(o: Order, tick: number, book: Book): string {
  if (tick === o.tick) return `${named(o)} ${short(tick)}: stays as it is`
  const { outcome, tick: bid } = bidOf({ ...o, tick })
  return `${named(o)} at ${short(tick)}: rests, ${book.at(outcome, bid) > 0 ? 'goes behind others at its price' : 'first at its price'}`
}
