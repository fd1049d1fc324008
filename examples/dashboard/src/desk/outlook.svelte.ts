import { Refused } from '../venue/rest.ts'
import type { PlaceOrder, Preview } from '../venue/wire.ts'
import type { Desk } from './desk.ts'
import { words } from './format.ts'
import { preview } from './trade.ts'

const PAUSE_MS = 180
const AGAIN_MS = 700

// Outlook is what the order in the ticket would do. It is asked for soon after the
// terms change, and now and then while the market moves; only the latest answer counts.
export class Outlook {
  shown = $state.raw<Preview>()
  refusal = $state.raw<{ code: string; hint: string }>()
  readonly #desk: Desk
  readonly #order: () => PlaceOrder | undefined
  #terms = ''
  #timer = 0
  #asked = 0
  #askedAt = 0

  // order gives the order to ask about; undefined when there is none to send.
  constructor(desk: Desk, order: () => PlaceOrder | undefined) {
    this.#desk = desk
    this.#order = order
  }

  // soon notes that terms or market may have changed.
  soon(terms: string): void {
    const anew = terms !== this.#terms
    if (!anew && this.#timer) return
    clearTimeout(this.#timer)
    this.#terms = terms
    const wait = anew ? PAUSE_MS : Math.max(PAUSE_MS, AGAIN_MS - (performance.now() - this.#askedAt))
    this.#timer = window.setTimeout(() => void this.#ask(), wait)
  }

  // end lets an answer under way count no more.
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
      if (mine === this.#asked) [this.shown, this.refusal] = [undefined, e instanceof Refused ? { code: words(e.code), hint: e.hint } : undefined]
      if (!(e instanceof Refused || e instanceof TypeError)) throw e
    }
  }
}
