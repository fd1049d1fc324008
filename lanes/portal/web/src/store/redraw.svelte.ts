// The page draws at most once per frame, however many messages arrive, and once a second where the
// browser draws no frames, as in a hidden tab: its title and its alerts are made of the same state. State
// calls invalidate after a change; components call track.

const redraw = $state({ drawn: 0 })
const HIDDEN_MS = 1000
let asked = false

export function invalidate(): void {
  if (asked) return
  asked = true
  const draw = (): void => {
    clearTimeout(timer)
    cancelAnimationFrame(frame)
    asked = false
    redraw.drawn += 1
  }
  const timer = setTimeout(draw, HIDDEN_MS)
  const frame = requestAnimationFrame(draw)
}

// track makes a derived value recompute after each change.
export function track(): number {
  return redraw.drawn
}
