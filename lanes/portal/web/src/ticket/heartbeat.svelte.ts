import HeartbeatTimer from './heartbeatTimer.worker.ts?worker'
import { VenueError } from '../venue/rest.ts'
import type { TradingStore } from '../store/store.ts'
import { arm, disarm } from './actions.ts'

// Heartbeat re-arms the dead-man switch three times per timeout while the page is open.
// When the page closes it stops, and the switch cancels all orders.
export class Heartbeat {
  on = $state(false)
  seconds = $state(10)
  readonly #store: TradingStore
  readonly #timer = new HeartbeatTimer()
  readonly #failed: (why: unknown) => void
  #missed = false
  #starts = 0

  constructor(store: TradingStore, failed: (why: unknown) => void) {
    this.#store = store
    this.#failed = failed
    this.#timer.onmessage = () => void this.#renew(false)
  }

  async start(): Promise<void> {
    this.on = true
    this.#starts += 1
    this.#timer.postMessage((this.seconds * 1000) / 3)
    await this.#renew(true)
  }

  async stop(): Promise<void> {
    this.#stopTimer()
    await this.#disarm()
  }

  async #disarm(): Promise<void> {
    try {
      await disarm(this.#store)
    } catch (e) {
      this.#failed(e)
    }
  }

  // fired stops the heartbeat after the switch has fired.
  fired(): void {
    this.#stopTimer()
  }

  end(): void {
    this.#timer.terminate()
  }

  #stopTimer(): void {
    this.on = false
    this.#timer.postMessage(0)
  }

  // renew re-arms the switch. The next renewal retries a failure; of several failures in a row
  // only the first is reported. A renewal that arrived after the switch was turned off has armed it again,
  // and a first one without an answer may have.
  async #renew(byHand: boolean): Promise<void> {
    if (!this.on) return
    const begun = this.#starts
    try {
      await arm(this.#store, this.seconds * 1000, byHand)
      this.#missed = false
    } catch (e) {
      if (byHand && begun === this.#starts) this.#stopTimer() // the user has not turned it on again meanwhile
      if (!this.#missed) this.#failed(e)
      this.#missed = !byHand
      if (e instanceof VenueError) return
    }
    if (!this.on) await this.#disarm()
  }
}
