import type { OutcomeName, PlaceOrder, Round, Side } from '../venue/wire.ts'
import { next } from './ladder.ts'
import { freshId } from './trade.ts'

export type Kind = 'limit' | 'market'
export type Tif = 'gtc' | 'gtt' | 'ioc' | 'fok'

// Draft is the order in the ticket. Prices are in cents and money in dollars, as the user
// types them; order() converts them to pips.
export class Draft {
  side = $state<Side>('buy')
  outcome = $state<OutcomeName>('yes')
  kind = $state<Kind>('limit')
  price = $state<number | null>(50)
  worst = $state<number | null>(null)
  maxCost = $state<number | null>(null)
  qty = $state<number | null>(10)
  tif = $state<Tif>('gtc')
  seconds = $state<number | null>(30)
  group = $state<number | null>(null)
  postOnly = $state(false)
  reduceOnly = $state(false)
  cancelOnPause = $state(false)
  stpMaker = $state(false)
  fresh = $state(true) // the user has not chosen a price: the ticket proposes one
  id = freshId()

  get rests(): boolean {
    return this.kind === 'limit' && (this.tif === 'gtc' || this.tif === 'gtt')
  }

  // wrong describes what is invalid in the draft; '' if it is a valid order.
  get wrong(): string {
    if (!whole(this.qty, 1, 1_000_000)) return 'Quantity must be 1 to 1,000,000'
    if (this.kind === 'limit' && !onGrid(this.price)) return 'Price must be 1.0 to 99.9¢: whole cents from 4 to 96, tenths of a cent outside'
    if (this.kind === 'market' && this.worst !== null && !whole(pips(this.worst), 1, 9999)) return 'Worst price must be 0.01 to 99.99¢'
    if (this.kind === 'market' && this.side === 'buy' && this.maxCost !== null && !(this.maxCost > 0)) return 'Max cost must be more than $0'
    if (this.tif === 'gtt' && this.kind === 'limit' && !whole(this.seconds, 1, 86_400)) return 'Seconds must be 1 to 86,400'
    if (this.group !== null && !whole(this.group, 0, 4294967295)) return 'Group must be a whole number'
    return ''
  }

  // order returns the draft as an order for a round; now is the venue's time in ms. The
  // draft must be valid.
  order(r: Round, now: number): PlaceOrder {
    const o: PlaceOrder = { client_order_id: this.id, market_id: r.market_id, generation: r.generation, side: this.side, outcome: this.outcome, qty: this.qty! }
    if (this.kind === 'market') this.#market(o)
    else this.#limit(o, now)
    if (this.group) o.group_id = this.group
    if (this.reduceOnly) o.reduce_only = true
    if (this.cancelOnPause) o.cancel_on_pause = true
    if (this.stpMaker) o.stp_maker = true
    return o
  }

  // A market buy must state its maximum cost. The default is $1 per contract, because no
  // contract is worth more than it can pay.
  #market(o: PlaceOrder): void {
    o.type = 'market'
    if (this.worst !== null) o.worst_tick = pips(this.worst)
    if (this.side === 'buy') o.max_cost = String(this.maxCost === null ? this.qty! * 10000 : Math.round(this.maxCost * 10000))
  }

  #limit(o: PlaceOrder, now: number): void {
    o.tick = pips(this.price!)
    if (this.tif !== 'gtc') o.tif = this.tif
    if (this.tif === 'gtt') o.expiry_ts = `${Math.round(now) + this.seconds! * 1000}000000`
    if (this.rests && this.postOnly) o.post_only = true
  }

  // placed gives the draft a new id, for the next order with the same terms.
  placed(): void {
    this.id = freshId()
  }

  // step moves the price by one step of the grid.
  step(up: boolean): void {
    this.price = Math.min(9990, Math.max(100, next(pips(this.price ?? 50), up))) / 100
  }
}

export function pips(cents: number): number {
  return Math.round(cents * 100)
}

function whole(n: number | null, low: number, high: number): boolean {
  return n !== null && Number.isInteger(n) && n >= low && n <= high
}

// onGrid tells whether a price in cents lies on the grid `narrow`.
export function onGrid(cents: number | null): boolean {
  if (cents === null || Math.abs(cents * 100 - pips(cents)) > 1e-6) return false
  const p = pips(cents)
  return p >= 100 && p <= 9990 && p % (p >= 400 && p <= 9600 ? 100 : 10) === 0
}
