import { VenueError } from '../venue/rest.ts'
import type { AgentApproval, Order, PlaceOrder, Placed, Waiting } from '../venue/wire.ts'
import type { TradingStore } from '../store/store.ts'
import { asked, type OrderResult, placed, recovered } from './orderResult.ts'
import { retryAfter } from '../venue/retry.ts'
import { place } from './actions.ts'

// After a lost answer these say that the first one may have arrived: the id is taken, or the order
// to replace is gone.
const ARRIVED = new Set(['duplicate_client_order_id', 'unknown_order'])

type Send = (store: TradingStore, order: PlaceOrder) => Promise<Placed | Waiting>

const COOLDOWN_MS = 1000 // after an answer, so that a second press of the same hand sends nothing
const AGAIN_MS = 5000 // a signed request older than this is not accepted any more
const GONE_MS = 9000 // so that no request for the order can arrive any more
const PAUSE_MS = 400

// These codes leave open whether the order was placed, or say that it can be sent again.
const OPEN = new Set(['sequencing_timeout', 'internal', 'shed', 'draining'])

// Submission sends one order once. It is locked from the click to the answer, and for the same order a
// second longer. If no answer comes, it asks for the order by its client_order_id, and sends the same
// id again if there is none, or cancels by that id.
export class Submission {
  stage = $state<'ready' | 'sending' | 'asking'>('ready')
  #cooling = $state('') // what was answered less than COOLDOWN_MS ago
  result = $state.raw<OrderResult>()
  order = $state.raw<PlaceOrder>() // the result is of it
  readonly #store: TradingStore
  readonly #retries: boolean
  #timer: ReturnType<typeof setTimeout> | undefined
  #said: OrderResult | undefined

  // With retries it repeats an order that the venue rejected because of its rate.
  constructor(store: TradingStore, retries = false) {
    this.#store = store
    this.#retries = retries
  }

  // say shows a text in the place of a result, where nothing was sent.
  say(text: string): void {
    this.order = undefined
    this.result = this.#said = { tone: 'plain', text }
  }

  // said tells whether the result is a text of say.
  get said(): boolean {
    return this.result !== undefined && this.result === this.#said
  }

  // hush takes back what was said last.
  hush(): void {
    if (this.said) this.result = undefined
  }

  // locked tells whether an order is on its way.
  get locked(): boolean {
    return this.stage !== 'ready'
  }

  // locks tells whether an order with this key cannot be sent now: another one is on its way, or one with
  // the same key was answered a moment ago.
  locks(key: string): boolean {
    return this.locked || this.#cooling === key
  }

  // send returns the result of the order once it is known; undefined if the order was locked and is not
  // sent. by sends it, as a placement or in the place of another order. Two orders with one key, which is what the user sees, are the same order.
  async send(order: PlaceOrder, rejected: (e: VenueError) => string, by: Send = place, key = order.client_order_id): Promise<OrderResult | undefined> {
    if (this.locks(key)) return undefined
    this.stage = 'sending'
    this.result = undefined
    this.order = order
    try {
      return (this.result = await this.#submit(order, rejected, by))
    } finally {
      this.stage = 'ready'
      this.#coolDown(key)
    }
  }

  #coolDown(key: string): void {
    this.#cooling = key
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => (this.#cooling = ''), COOLDOWN_MS)
  }

  async #submit(order: PlaceOrder, rejected: (e: VenueError) => string, by: Send): Promise<OrderResult> {
    let begun = performance.now()
    let lost = false // whether an answer was lost
    for (;;) {
      const sent = performance.now()
      try {
        return placed(order, await by(this.#store, order))
      } catch (e) {
        const wait = this.#retries ? retryAfter(e) : undefined
        if (wait !== undefined && !lost) {
          await new Promise((resolve) => setTimeout(resolve, wait))
          begun = performance.now() // nothing was placed until now
          continue
        }
        if (e instanceof VenueError) {
          const settled = lost ? isCore(e) && !ARRIVED.has(e.code) : !OPEN.has(e.code)
          if (settled) return { tone: 'bad', text: rejected(e), error: e }
        } else if (!(e instanceof TypeError)) throw e
      }
      lost = true
      this.stage = 'asking'
      const found = await this.#lookUp(order, begun, sent)
      if (found) return found
      this.stage = 'sending'
    }
  }

  // lookUp waits until the venue says what it knows of an order. It returns nothing if the order can
  // be sent again. begun is when it was sent first, sent when it was sent last. A look-up does not find
  // an order that the venue still has in hand, but a cancel is sequenced behind it: what is unknown after
  // that was never placed.
  async #lookUp(order: PlaceOrder, begun: number, sent: number): Promise<OrderResult | undefined> {
    let canceled = false
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      try {
        const { orders } = await this.#store.rest.get<{ orders: Order[] }>(`/v1/portfolio/orders?client_order_id=${order.client_order_id}`)
        if (orders[0]) return recovered(orders[0])
        const waiting = await this.#approval(order)
        if (waiting) return waiting
        if (canceled) return { tone: 'bad', text: 'It did not reach the venue. Nothing was placed.' }
        if (performance.now() - begun < AGAIN_MS) return undefined
        if (performance.now() - sent < GONE_MS) continue
        await this.#cancel(order)
        canceled = true
      } catch (e) {
        if (!(e instanceof VenueError || e instanceof TypeError)) throw e
        if (e instanceof VenueError && e.status === 401) return { tone: 'bad', text: 'The venue no longer accepts this key, and whether the order was placed is not known. Sign in with another key and look under Orders and Fills.' }
      }
    }
  }

  // approval says what became of an order that is in no list of orders because it waits for the owner of this
  // agent. An account that is no agent has none.
  async #approval(order: PlaceOrder): Promise<OrderResult | undefined> {
    const { approvals } = await this.#store.rest.get<{ approvals: AgentApproval[] }>('/v1/portfolio/approvals?limit=100')
    const a = approvals.find((a) => a.client_order_id === order.client_order_id)
    return a && asked(a)
  }

  // cancel cancels an order by its client_order_id, if there is one.
  async #cancel(order: PlaceOrder): Promise<void> {
    try {
      await this.#store.rest.call('DELETE', `/v1/portfolio/orders/by-client-order-id/${order.client_order_id}`)
    } catch (e) {
      if (!(e instanceof VenueError && e.code === 'unknown_order')) throw e
    }
  }
}

// isCore tells whether the core rejected an order: then it is in the log, and its client_order_id is used.
// Any other rejection is of that request alone, and says nothing of an earlier one.
function isCore(e: VenueError): boolean {
  return (e.body as { error?: { origin?: string } } | undefined)?.error?.origin === 'core'
}
