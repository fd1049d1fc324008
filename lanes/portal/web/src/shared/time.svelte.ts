import { drawPending, GATHER_MS } from '../store/redraw.svelte.ts'
import type { VenueClock } from '../venue/clock.ts'

// LATE_MS is how long before the end of its round an order is too late to be sent.
export const LATE_MS = 700
const SECOND = 1000
const MINUTE = 60_000

// time.now is the venue's time in ms, for countdowns. It steps at every whole second, and LATE_MS before every
// whole minute, as rounds end with a minute. It does so GATHER_MS late, so that the prices of a second are drawn
// with it.
export const time = $state({ now: Date.now() })

// stepOf returns the last step of time.now at a time, and the next one.
export function stepOf(at: number): { last: number; next: number } {
  const second = Math.floor(at / SECOND) * SECOND
  const late = Math.floor((at + LATE_MS) / MINUTE) * MINUTE - LATE_MS
  return { last: Math.max(second, late), next: Math.min(second + SECOND, late + MINUTE) }
}

// run updates time.now until the returned function is called.
export function run(clock: VenueClock): () => void {
  let timer: ReturnType<typeof setTimeout>
  const step = (): void => {
    const at = clock.now()
    const { last, next } = stepOf(at)
    timer = setTimeout(step, Math.ceil(next - at) + GATHER_MS)
    if (time.now === last) return
    time.now = last
    drawPending()
  }
  step()
  return () => clearTimeout(timer)
}
