import BeatWorker from './beat.worker.ts?worker'
import { VenueError } from '../venue/rest.ts'
import type { TradingStore } from '../store/store.ts'
import { arm, disarm } from './actions.ts'

// Heartbeat re-arms the dead-man switch three times per timeout while the page is open.
// When the page closes it stops, and the switch cancels all orders.
export class Heartbeat {
  on = $state(false)
  seconds = $state(10)
  readonly #store: TradingStore
  readonly #worker = new BeatWorker()
  readonly #failed: (why: unknown) => void
  #missed = false

  constructor(store: TradingStore, failed: (why: unknown) => void) {
    this.#store = store
    this.#failed = failed
    this.#worker.onmessage = () => void this.#beat(false)
  }

  async start(): Promise<void> {
    this.on = true
    this.#worker.postMessage((this.seconds * 1000) / 3)
    await this.#beat(true)
  }

  async stop(): Promise<void> {
    this.#still()
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
    this.#still()
  }

  end(): void {
    this.#worker.terminate()
  }

  #still(): void {
    this.on = false
    this.#worker.postMessage(0)
  }

  // beat re-arms the switch. The next beat retries a failure; of several failures in a row
  // only the first is reported. A beat that arrived after the switch was turned off has armed it again,
  // and a first one without an answer may have.
  async #beat(byHand: boolean): Promise<void> {
    if (!this.on) return
    try {
      await arm(this.#store, this.seconds * 1000, byHand)
      this.#missed = false
    } catch (e) {
      if (byHand) this.#still()
      if (!this.#missed) this.#failed(e)
      this.#missed = !byHand
      if (e instanceof VenueError) return
    }
    if (!this.on) await this.#disarm()
  }
}
