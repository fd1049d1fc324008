import type { Order } from '../venue/wire.ts'
import { bidOf, type Book } from './books.ts'

const SOON_MS = 250 // between two reads of one order whose level changes
const AGAIN_MS = 5000 // after which the place of an order is read again in any case

interface Place {
  ahead: number
  level: number // quantity at the price of the order when its place was read
  at: number
}

// Queue knows how many contracts are ahead of the user's resting orders. Messages do not say it,
// so it is read again for an order after the quantity at its price changes. Nobody gets ahead of a
// resting order, so the number only falls: a response that comes late cannot raise it.
export class Queue {
  readonly #places = new Map<string, Place>()

  // learn stores what the venue said of an order.
  learn(id: string, ahead: number, level: number, now: number): void {
    this.#places.set(id, { ahead: Math.min(ahead, this.#places.get(id)?.ahead ?? ahead), level, at: now })
  }

  // ahead returns the contracts ahead of an order; undefined if that is not known. No more can be
  // ahead of it than what others have at its price.
  ahead(o: Order, book: Book): number | undefined {
    const p = this.#places.get(o.order_id!)
    return p && Math.max(0, Math.min(p.ahead, level(o, book) - o.remaining_qty))
  }

  // next returns the order of a book whose place is to be read now: the one that was read longest
  // ago, of those whose level changed.
  next(orders: Iterable<Order>, book: Book, now: number): Order | undefined {
    let found: Order | undefined
    let oldest = Number.MAX_VALUE
    for (const o of orders) {
      if (o.market_id !== book.market || o.generation !== book.generation) continue
      const p = this.#places.get(o.order_id!)
      const at = p?.at ?? -1
      const due = !p || now - at > (level(o, book) === p.level ? AGAIN_MS : SOON_MS)
      if (due && at < oldest) [found, oldest] = [o, at]
    }
    return found
  }

  // keep forgets the orders that are not open any more.
  keep(open: ReadonlyMap<string, Order>): void {
    for (const id of this.#places.keys()) if (!open.has(id)) this.#places.delete(id)
  }
}

// level is the quantity at the price of an order.
export function level(o: Order, book: Book): number {
  const { outcome, tick } = bidOf(o)
  return book.at(outcome, tick)
}
