import type { Order } from '../venue/wire.ts'
import { onGrid, pips } from '../ticket/draft.svelte.ts'
import { next } from '../book/ladder.ts'

// Amendment is the order that is being changed in place, with what the user types. Prices are in
// cents. What fills meanwhile comes off the new quantity, so that a change never buys more than
// the user saw.
export class Amendment {
  id = $state('')
  price = $state<number | null>(null)
  qty = $state<number | null>(null)
  #began = 0 // what remained then
  #times = 0

  // times is how often a change began.
  get times(): number {
    return this.#times
  }

  begin(o: Order): void {
    this.#times += 1
    this.id = o.order_id!
    this.price = o.tick / 100
    this.qty = this.#began = o.remaining_qty
  }

  end(): void {
    this.id = ''
  }

  // step moves the price by one step of the grid.
  step(up: boolean): void {
    this.price = Math.min(9990, Math.max(100, next(pips(this.price ?? 50), up))) / 100
  }

  // filled is what filled since the user began.
  filled(o: Order): number {
    return Math.max(0, this.#began - o.remaining_qty)
  }

  // change returns what to send. A lower quantity at the same price is a decrease, and anything
  // else a replacement.
  change(o: Order): { kind: 'none' | 'decrease' | 'replace'; tick: number; qty: number } {
    const tick = pips(this.price!)
    const qty = this.qty! - this.filled(o)
    const kind = tick !== o.tick || qty > o.remaining_qty ? 'replace' : qty < o.remaining_qty ? 'decrease' : 'none'
    return { kind, tick, qty }
  }

  // fault says why the change cannot be made; '' if it can.
  fault(o: Order): string {
    if (!onGrid(this.price)) return 'Price must be 1.0 to 99.9¢: whole cents from 4 to 96, tenths of a cent outside'
    if (this.qty === null || !Number.isInteger(this.qty) || this.qty < 1 || this.qty > 1_000_000) return 'Quantity must be 1 to 1,000,000'
    return this.qty <= this.filled(o) ? 'As much has filled meanwhile' : ''
  }
}

export const amendment = new Amendment()
