import { untrack } from 'svelte'
import { VenueError } from '../venue/rest.ts'
import type { PlaceOrder, Preview, U64 } from '../venue/wire.ts'
import type { Book } from '../store/books.ts'
import type { TradingStore } from '../store/store.ts'
import { inUse, onWake } from '../store/redraw.svelte.ts'
import { preview } from './actions.ts'

const PAUSE_MS = 120
const AGAIN_MS = 250 // between two requests
const IDLE_MS = 1000 // after which it is requested again though nothing changed
const OLD_MS = 2000
const ALONE_MS = 2000 // in place of the first two while nobody touches the page

// OrderPreview is the preview of the order in the ticket. It is requested soon after the terms change,
// again after a change of the book that the order would meet, and again after a second; every two seconds on
// a page that is left alone, and at once when it no longer is. Only the latest response counts.
export class OrderPreview {
  shown = $state.raw<Preview>()
  refusal = $state.raw<VenueError>()
  order = $state.raw<PlaceOrder>() // that shown and refusal are about
  old = $state(false) // the venue has not answered for OLD_MS
  behind = $state(false) // the book or the terms changed after what is shown was requested
  round = $state<U64>('') // of the latest response
  #wanted = $state('')
  #answered = $state('')
  readonly #store: TradingStore
  readonly #make: () => PlaceOrder | undefined
  #wantedRound: U64 = ''
  #meets = '' // what the order would meet, as of the latest change
  #changes = 0
  #timer = 0
  #timerAt = 0
  #idle = 0
  #aging = 0
  #asking = false
  #asked = 0
  #askedAt = 0
  readonly #sleep: () => void

  // make returns the order to preview; undefined if there is none.
  constructor(store: TradingStore, make: () => PlaceOrder | undefined) {
    this.#store = store
    this.#make = make
    this.#sleep = onWake(() => this.#wake())
  }

  // answered tells whether what is shown belongs to the present terms.
  get answered(): boolean {
    return this.#wanted === this.#answered
  }

  // soon requests a preview, because the terms or the book may have changed. A preview of another
  // round is not shown any more.
  soon(terms: string, round: U64): void {
    const wanted = `${round} ${terms}`
    const anew = wanted !== this.#wanted
    const meets = this.#met()
    if (!anew && meets === this.#meets) return
    this.#meets = meets
    this.#changes += 1
    this.behind = true
    if (!anew && this.#asking) return // its response is followed by another request
    if (round !== this.#wantedRound) this.shown = this.refusal = this.order = undefined
    this.#wanted = wanted
    this.#wantedRound = round
    if (anew) this.#askIn(PAUSE_MS)
    else this.#askAgain()
  }

  // met is all of the market and the account that the page knows and the order depends on.
  #met(): string {
    const order = untrack(this.#make)
    const book = order && this.#store.books.get(order.market_id)
    return order && book ? `${JSON.stringify({ ...order, expiry_ts: '' })} ${this.#store.account.cash} ${levels(order, book)}` : ''
  }

  // askAgain requests a preview of the same terms, unless one is due earlier.
  #askAgain(): void {
    const ms = again() - (performance.now() - this.#askedAt)
    if (!this.#timer || performance.now() + ms < this.#timerAt) this.#askIn(ms)
  }

  // end discards a preview that is on its way.
  end(): void {
    for (const timer of [this.#timer, this.#idle, this.#aging]) clearTimeout(timer)
    this.#asked += 1
    this.#sleep()
  }

  // again requests a preview now.
  again(): void {
    if (!this.#asking) this.#askIn(0)
  }

  // wake brings what is shown up to date, as somebody is back.
  #wake(): void {
    if (this.#asking || !this.#aging) return
    this.#age(OLD_MS)
    this.#askIn(0)
  }

  #askIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timerAt = performance.now() + ms
    this.#timer = window.setTimeout(() => void this.#ask(), Math.max(0, ms))
  }

  // age makes what is shown old after a time.
  #age(ms: number): void {
    clearTimeout(this.#aging)
    this.old = false
    this.#aging = window.setTimeout(() => (this.old = true), Math.max(0, ms))
  }

  async #ask(): Promise<void> {
    for (const timer of [this.#timer, this.#idle]) clearTimeout(timer) // either may have come first
    this.#timer = 0
    this.#askedAt = performance.now()
    this.#asked += 1
    const mine = this.#asked
    const [wanted, round, changes] = [this.#wanted, this.#wantedRound, this.#changes]
    const order = this.#make()
    if (!order) {
      clearTimeout(this.#aging)
      this.#aging = 0
      this.old = false
    } else if (!this.#aging) this.#age(OLD_MS)
    this.#asking = order !== undefined
    const answer = order && (await this.#read(order))
    if (mine !== this.#asked) return
    this.#asking = false
    if (answer || !order) {
      ;[this.shown, this.refusal, this.order, this.round, this.#answered] = [answer?.shown, answer?.refusal, order, round, wanted]
      this.behind = changes !== this.#changes
      if (order) this.#age(OLD_MS + (inUse() ? 0 : ALONE_MS) - (performance.now() - this.#askedAt))
    }
    if (this.#timer) return
    if (changes !== this.#changes) this.#askAgain()
    else this.#idle = window.setTimeout(() => void this.#ask(), Math.max(IDLE_MS, again()))
  }

  // read returns the preview or the rejection of an order; undefined if the venue gave no answer.
  async #read(order: PlaceOrder): Promise<{ shown?: Preview; refusal?: VenueError } | undefined> {
    try {
      return { shown: await preview(this.#store, order) }
    } catch (e) {
      if (e instanceof VenueError) return e.status === 200 ? { refusal: e } : undefined
      if (!(e instanceof TypeError)) throw e
      return undefined
    }
  }
}

// again is the shortest time between two requests for the same terms.
function again(): number {
  return inUse() ? AGAIN_MS : ALONE_MS
}

// levels returns the levels of a book that an order would trade with, and the one that it would join.
function levels(o: PlaceOrder, book: Book): string {
  const other = o.outcome === 'yes' ? 'no' : 'yes'
  const [against, beside] = o.side === 'buy' ? [other, o.outcome] as const : [o.outcome, other] as const
  const limit = o.tick ?? o.worst_tick ?? 0
  const lowest = o.side === 'buy' ? 10000 - limit : limit
  return `${book.bids(against).filter(([tick]) => tick >= lowest).join(' ')} / ${book.at(beside, 10000 - lowest)}`
}
