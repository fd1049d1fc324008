import type { OutcomeName, PlaceOrder, Round, Side, U64 } from '../venue/wire.ts'
import { next } from '../book/ladder.ts'
import { SLIP, type Terms, type TicketInput } from './pricing.ts'
import { freshId } from './actions.ts'

export type Kind = 'limit' | 'market'
export type Tif = 'gtc' | 'gtt' | 'ioc' | 'fok'
export type Unit = 'contracts' | 'dollars'

// Draft is the order in the ticket. Prices are in cents and money in dollars, as the user
// types them; input converts them to pips.
export class Draft {
  side = $state<Side>('buy')
  outcome = $state<OutcomeName>('yes')
  kind = $state<Kind>('market')
  price = $state<number | null>(null)
  slip = $state<number | null>(SLIP / 100) // of a market order
  unit = $state<Unit>('dollars')
  qty = $state<number | null>(10)
  amount = $state<number | null>(10)
  most = $state(false) // the size is all that the cash covers, or all that is held, and follows both
  picked = $state(0) // how often the user chose an outcome by its price
  takes = $state.raw<ReadonlyMap<number, number>>(new Map()) // by tick of YES: the contracts that the order would take at once
  tif = $state<Tif>('gtc')
  seconds = $state<number | null>(30)
  group = $state<number | null>(null)
  postOnly = $state(false)
  reduceOnly = $state(false)
  cancelOnPause = $state(false)
  stpMaker = $state(false)
  typed = $state(false) // the user chose the price; else the ticket proposes one
  lapsed = $state(false) // the price was for a round that ended, and was cleared
  id = freshId()
  #series = 0
  #round: U64 = ''

  get rests(): boolean {
    return this.kind === 'limit' && (this.tif === 'gtc' || this.tif === 'gtt')
  }

  get byAmount(): boolean {
    return this.side === 'buy' && this.unit === 'dollars'
  }

  // pick chooses an outcome by its price.
  pick(outcome: OutcomeName): void {
    this.outcome = outcome
    this.picked += 1
  }

  // size sets how much the user wants, in the unit that the ticket shows.
  size(n: number | null): void {
    this.most = false
    if (this.byAmount) this.amount = n
    else this.qty = n
  }

  // choose sets a price that the user picked.
  choose(cents: number | null): void {
    this.price = cents
    this.typed = true
    this.lapsed = false
  }

  // propose sets the price of a ticket in which the user has not chosen one, to the best price of the
  // book that it follows: null if there is none. It reports whether that changed the price.
  propose(cents: number | null): boolean {
    if (this.typed || this.lapsed || this.price === cents) return false
    this.price = cents
    return true
  }

  // follows names the side of the book that a proposed price follows: one who waits joins their own
  // side, and one who trades now meets the other.
  get follows(): 'bid' | 'ask' {
    return (this.side === 'buy') === this.rests ? 'bid' : 'ask'
  }

  // reset forgets a proposed price: the market is another one.
  reset(): void {
    this.price = null
    this.typed = this.lapsed = false
  }

  // entered is called with the series that the ticket shows and its newest round; undefined if the series
  // has none yet. It reports whether that round took the place of an earlier one under the ticket. A price
  // that was typed for that one is cleared. Another series, with or without a round, begins anew.
  entered(series: number, round: U64 | undefined): boolean {
    const another = series !== this.#series
    const opened = round !== undefined && round !== this.#round
    if (!another && !opened) return false
    const next = !another && this.#round !== ''
    const lapsed = this.typed && next
    this.#series = series
    if (opened) this.#round = round
    this.reset()
    this.lapsed = lapsed
    return next
  }

  get input(): TicketInput {
    const market = this.kind === 'market'
    return {
      side: this.side, outcome: this.outcome, market, tick: market ? 0 : pips(this.price ?? 0), slip: pips(this.slip ?? 0),
      qty: this.qty ?? 0, amount: this.byAmount ? Math.round((this.amount ?? 0) * 10000) : 0,
    }
  }

  // wrong describes what is invalid in the draft; '' if it is a valid order.
  wrong(t: Terms): string {
    if (this.kind === 'limit' && this.lapsed && this.price === null) return 'A new round began, and your price was for the last one. Choose a price'
    if (this.kind === 'limit' && this.price === null && !this.typed) return `Nobody ${this.follows === 'bid' ? 'bids for' : 'offers'} ${this.outcome.toUpperCase()} now. Enter a price`
    if (this.kind === 'limit' && !onGrid(this.price)) return 'Price must be 1 to 99.9¢, in whole cents from 4 to 96'
    if (this.kind === 'market' && !within(this.slip, 0, 99)) return 'Slippage must be 0 to 99¢'
    if (this.kind === 'market' && t.worst === 0) return this.side === 'buy' ? `Nobody offers ${this.outcome.toUpperCase()} now` : `Nobody bids for ${this.outcome.toUpperCase()} now`
    if (this.byAmount && !(this.amount !== null && this.amount > 0)) return 'Enter an amount in dollars'
    if (this.byAmount && t.qty < 1) return 'This amount buys less than one contract'
    if (!whole(t.qty, 1, 1_000_000)) return 'Quantity must be 1 to 1,000,000'
    if (this.tif === 'gtt' && this.kind === 'limit' && !whole(this.seconds, 1, 86_400)) return 'Seconds must be 1 to 86,400'
    if (this.group !== null && !whole(this.group, 0, 4294967295)) return 'Group must be a whole number'
    return ''
  }

  // order returns the draft as an order for a round; now is the venue's time in ms. The
  // draft must be valid.
  order(r: Round, now: number, t: Terms): PlaceOrder {
    const o: PlaceOrder = { client_order_id: this.id, market_id: r.market_id, generation: r.generation, side: this.side, outcome: this.outcome, qty: t.qty }
    if (this.kind === 'market') {
      o.type = 'market'
      o.worst_tick = t.worst
      if (this.side === 'buy') o.max_cost = String(t.cap)
    } else this.#limit(o, now)
    if (this.group) o.group_id = this.group
    if (this.reduceOnly) o.reduce_only = true
    if (this.cancelOnPause) o.cancel_on_pause = true
    if (this.stpMaker) o.stp_maker = true
    return o
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
    this.choose(Math.min(9990, Math.max(100, next(pips(this.price ?? 50), up))) / 100)
  }
}

export function pips(cents: number): number {
  return Math.round(cents * 100)
}

function whole(n: number | null, low: number, high: number): boolean {
  return n !== null && Number.isInteger(n) && n >= low && n <= high
}

function within(n: number | null, low: number, high: number): boolean {
  return n !== null && n >= low && n <= high
}

// onGrid tells whether a price in cents lies on the grid `narrow`.
export function onGrid(cents: number | null): boolean {
  if (cents === null || Math.abs(cents * 100 - pips(cents)) > 1e-6) return false
  const p = pips(cents)
  return p >= 100 && p <= 9990 && p % (p >= 400 && p <= 9600 ? 100 : 10) === 0
}
