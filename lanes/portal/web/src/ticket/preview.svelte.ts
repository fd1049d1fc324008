import { VenueError } from '../venue/rest.ts'
import type { PlaceOrder, Preview, U64 } from '../venue/wire.ts'
import type { TradingStore } from '../store/store.ts'
import { preview } from './actions.ts'

const PAUSE_MS = 120
const AGAIN_MS = 250
const IDLE_MS = 1000 // after which it is requested again though nothing changed
const OLD_MS = 2000

// OrderPreview is the preview of the order in the ticket. It is requested soon after the terms change,
// again after each change of the book, and again after a second. Only the latest response counts.
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
  #changes = 0
  #timer = 0
  #idle = 0
  #aging = 0
  #asking = false
  #asked = 0
  #askedAt = 0

  // make returns the order to preview; undefined if there is none.
  constructor(store: TradingStore, make: () => PlaceOrder | undefined) {
    this.#store = store
    this.#make = make
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
    this.#changes += 1
    this.behind = true
    if (!anew && (this.#timer || this.#asking)) return // its response is followed by another request
    if (round !== this.#wantedRound) this.shown = this.refusal = this.order = undefined
    this.#wanted = wanted
    this.#wantedRound = round
    this.#askIn(anew ? PAUSE_MS : AGAIN_MS - (performance.now() - this.#askedAt))
  }

  // end discards a preview that is on its way.
  end(): void {
    for (const timer of [this.#timer, this.#idle, this.#aging]) clearTimeout(timer)
    this.#asked += 1
  }

  #askIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = window.setTimeout(() => void this.#ask(), Math.max(0, ms))
  }

  // age makes what is shown old after a time.
  #age(ms: number): void {
    clearTimeout(this.#aging)
    this.old = false
    this.#aging = window.setTimeout(() => (this.old = true), Math.max(0, ms))
  }

  async #ask(): Promise<void> {
    clearTimeout(this.#idle)
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
      if (order) this.#age(OLD_MS - (performance.now() - this.#askedAt))
    }
    if (this.#timer) return
    if (changes !== this.#changes) this.#askIn(AGAIN_MS - (performance.now() - this.#askedAt))
    else this.#idle = window.setTimeout(() => void this.#ask(), IDLE_MS)
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
