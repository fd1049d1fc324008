import type { VenueClock } from '../venue/clock.ts'

// time.now is the venue's time in ms, for whatever counts down.
export const time = $state({ now: Date.now() })

const STEP_MS = 200

// run keeps it up to date until the function it gives is called.
export function run(clock: VenueClock): () => void {
  const timer = setInterval(() => (time.now = clock.now()), STEP_MS)
  return () => clearInterval(timer)
}
