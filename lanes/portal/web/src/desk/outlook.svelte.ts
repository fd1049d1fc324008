import { VenueError } from '../venue/rest.ts'
import type { PlaceOrder, Preview } from '../venue/wire.ts'
import type { Desk } from './desk.ts'
import { preview } from './trade.ts'

const PAUSE_MS = 120
const AGAIN_MS = 250

// Outlook is the preview of the order in the ticket. It is requested soon after the terms
// change, and again after each change of the book. Only the latest response counts.
export class Outlook {
  shown = $state.raw<Preview>()
  refusal = $state.raw<VenueError>()
  #wanted = $state('')
  #answered = $state('')
  readonly #desk: Desk
  readonly #order: () => PlaceOrder | undefined
  behind = $state(false) // the book or the terms changed after what is shown was requested
  #changes = 0
  #timer = 0
  #asked = 0
  #askedAt = 0

  // order returns the order to preview; undefined if there is none.
  constructor(desk: Desk, order: () => PlaceOrder | undefined) {
    this.#desk = desk
    this.#order = order
  }

  // answered tells whether what is shown belongs to the present terms.
  get answered(): boolean {
    return this.#wanted === this.#answered
  }

  // soon requests a preview, because the terms or the book may have changed. A preview of another
  // round is not shown any more.
  soon(terms: string, round: string): void {
    const wanted = `${round} ${terms}`
    const anew = wanted !== this.#wanted
    this.#changes += 1
    this.behind = true
    if (!anew && this.#timer) return
    clearTimeout(this.#timer)
    if (!this.#wanted.startsWith(`${round} `)) this.shown = this.refusal = undefined
    this.#wanted = wanted
    const wait = anew ? PAUSE_MS : Math.max(0, AGAIN_MS - (performance.now() - this.#askedAt))
    this.#timer = window.setTimeout(() => void this.#ask(), wait)
  }

  // end discards a preview that is on its way.
  end(): void {
    clearTimeout(this.#timer)
    this.#asked += 1
  }

  async #ask(): Promise<void> {
    this.#timer = 0
    this.#askedAt = performance.now()
    this.#asked += 1
    const mine = this.#asked
    const wanted = this.#wanted
    const changes = this.#changes
    const order = this.#order()
    try {
      const shown = order && (await preview(this.#desk, order))
      if (mine === this.#asked) [this.shown, this.refusal, this.#answered] = [shown, undefined, wanted]
    } catch (e) {
      if (!(e instanceof VenueError || e instanceof TypeError)) throw e
      if (mine === this.#asked) [this.shown, this.refusal, this.#answered] = [undefined, e instanceof VenueError ? e : undefined, wanted]
    }
    if (mine === this.#asked) this.behind = changes !== this.#changes
  }
}
