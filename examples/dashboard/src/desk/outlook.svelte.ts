import { VenueError } from '../venue/rest.ts'
import type { PlaceOrder, Preview } from '../venue/wire.ts'
import type { Desk } from './desk.ts'
import { notices } from './notices.svelte.ts'
import { preview } from './trade.ts'

const PAUSE_MS = 180
const AGAIN_MS = 700

// Outlook is the preview of the order in the ticket. It is requested soon after the terms
// change, and repeatedly while the market moves. Only the latest response counts.
export class Outlook {
  shown = $state.raw<Preview>()
  refusal = $state.raw<{ code: string; means: string }>()
  readonly #desk: Desk
  readonly #order: () => PlaceOrder | undefined
  #terms = ''
  #timer = 0
  #asked = 0
  #askedAt = 0

  // order returns the order to preview; undefined if there is none.
  constructor(desk: Desk, order: () => PlaceOrder | undefined) {
    this.#desk = desk
    this.#order = order
  }

  // soon requests a preview, because the terms or the market may have changed.
  soon(terms: string): void {
    const anew = terms !== this.#terms
    if (!anew && this.#timer) return
    clearTimeout(this.#timer)
    this.#terms = terms
    const wait = anew ? PAUSE_MS : Math.max(PAUSE_MS, AGAIN_MS - (performance.now() - this.#askedAt))
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
    const order = this.#order()
    try {
      const shown = order && (await preview(this.#desk, order))
      if (mine === this.#asked) [this.shown, this.refusal] = [shown, undefined]
    } catch (e) {
      const refusal = e instanceof VenueError ? { code: e.code, means: await notices.meaning(e.code) } : undefined
      if (mine === this.#asked) [this.shown, this.refusal] = [undefined, refusal]
      if (!(e instanceof VenueError || e instanceof TypeError)) throw e
    }
  }
}
