import type { VenueClock } from '../venue/clock.ts'

// time.now is the venue's time in ms, for countdowns.
export const time = $state({ now: Date.now() })

const STEP_MS = 200

// run updates time.now until the returned function is called.
export function run(clock: VenueClock): () => void {
  const timer = setInterval(() => (time.now = clock.now()), STEP_MS)
  return () => clearInterval(timer)
}
