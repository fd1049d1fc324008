import { VenueError } from '../venue/rest.ts'
import type { Order, PlaceOrder, Placed } from '../venue/wire.ts'
import type { Desk } from './desk.ts'
import { type Fate, placed, recovered } from './fate.ts'
import { retryAfter } from './patiently.ts'
import { place } from './trade.ts'

// After a lost answer these say that the first one may have arrived: the id is taken, or the order
// to replace is gone.
const ARRIVED = new Set(['duplicate_client_order_id', 'unknown_order'])

type Send = (desk: Desk, order: PlaceOrder) => Promise<Placed>

const REST_MS = 1000 // after an answer, so that a second press of the same hand sends nothing
const AGAIN_MS = 5000 // a signed request older than this is not accepted any more
const GONE_MS = 9000 // so that an order unknown by then was never placed
const PAUSE_MS = 400

// These codes leave open whether the order was placed, or say that it can be sent again.
const OPEN = new Set(['sequencing_timeout', 'internal', 'shed', 'draining', 'http_502', 'http_503', 'http_504'])

// Intent sends one order once. It is locked from the click to the answer, and for the same order a
// second longer. If no answer comes, it asks for the order by its client_order_id, and sends the same
// id again if there is none.
export class Intent {
  stage = $state<'ready' | 'sending' | 'asking'>('ready')
  #resting = $state('') // what was answered less than REST_MS ago
  fate = $state.raw<Fate>()
  readonly #desk: Desk
  readonly #patient: boolean
  #timer: ReturnType<typeof setTimeout> | undefined

  // A patient intent sends an order again that the venue rejected because of its rate.
  constructor(desk: Desk, patient = false) {
    this.#desk = desk
    this.#patient = patient
  }

  // locked tells whether an order is on its way.
  get locked(): boolean {
    return this.stage !== 'ready'
  }

  // locks tells whether the order of this wish cannot be sent now: an order is on its way, or the same
  // wish was answered a moment ago.
  locks(wish: string): boolean {
    return this.locked || this.#resting === wish
  }

  // send resolves when it is known what became of the order. by sends it, as a placement or in the
  // place of another order. wish is what the user sees of it: two orders of one wish are the same order.
  async send(order: PlaceOrder, rejected: (e: VenueError) => string, by: Send = place, wish = order.client_order_id): Promise<void> {
    if (this.locks(wish)) return
    this.stage = 'sending'
    this.fate = undefined
    try {
      this.fate = await this.#fate(order, rejected, by)
    } finally {
      this.stage = 'ready'
      this.#rest(wish)
    }
  }

  #rest(wish: string): void {
    this.#resting = wish
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => (this.#resting = ''), REST_MS)
  }

  async #fate(order: PlaceOrder, rejected: (e: VenueError) => string, by: Send): Promise<Fate> {
    let begun = performance.now()
    let lost = false // whether an answer was lost
    for (;;) {
      try {
        return placed(order, await by(this.#desk, order))
      } catch (e) {
        const wait = this.#patient ? retryAfter(e) : undefined
        if (wait !== undefined && !lost) {
          await new Promise((resolve) => setTimeout(resolve, wait))
          begun = performance.now() // nothing was placed until now
          continue
        }
        if (e instanceof VenueError) {
          const repeated = lost && ARRIVED.has(e.code)
          if (!OPEN.has(e.code) && !repeated) return { tone: 'bad', text: rejected(e), error: e }
        } else if (!(e instanceof TypeError)) throw e
      }
      lost = true
      this.stage = 'asking'
      const found = await this.#ask(order, begun)
      if (found) return found
      this.stage = 'sending'
    }
  }

  // ask waits until the venue says what it knows of an order. It returns nothing if the order can
  // be sent again.
  async #ask(order: PlaceOrder, begun: number): Promise<Fate | undefined> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      const asked = performance.now() - begun
      try {
        const { orders } = await this.#desk.rest.get<{ orders: Order[] }>(`/v1/portfolio/orders?client_order_id=${order.client_order_id}`)
        if (orders[0]) return recovered(orders[0])
        if (asked < AGAIN_MS) return undefined
        if (asked > GONE_MS) return { tone: 'bad', text: 'It did not reach the venue. Nothing was placed.' }
      } catch (e) {
        if (!(e instanceof VenueError || e instanceof TypeError)) throw e
      }
    }
  }
}
