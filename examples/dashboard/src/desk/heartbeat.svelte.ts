import BeatWorker from '../venue/beat.worker.ts?worker'
import type { Desk } from './desk.ts'
import { arm, disarm } from './trade.ts'

// Heartbeat keeps the dead-man switch armed while this page lives: three beats within
// each timeout. It does nothing when the page goes; that is what the switch is for.
export class Heartbeat {
  on = $state(false)
  seconds = $state(10)
  readonly #desk: Desk
  readonly #worker = new BeatWorker()
  readonly #failed: (why: unknown) => void
  #missed = false

  constructor(desk: Desk, failed: (why: unknown) => void) {
    this.#desk = desk
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
    try {
      await disarm(this.#desk)
    } catch (e) {
      this.#failed(e)
    }
  }

  // fired: the switch went off, so there is nothing left to guard.
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

  // beat that fails is tried again by the next, until the switch fires; of several in
  // a row the first is told.
  async #beat(byHand: boolean): Promise<void> {
    if (!this.on) return
    try {
      await arm(this.#desk, this.seconds * 1000, byHand)
      this.#missed = false
    } catch (e) {
      if (byHand) this.#still()
      if (!this.#missed) this.#failed(e)
      this.#missed = !byHand
    }
  }
}
