// The page draws at most once per frame, however many messages arrive, and once a second where the
// browser draws no frames, as in a hidden tab: its title and its alerts are made of the same state. State
// calls invalidate after a change; components call track.
//
// What the user did and what happened to their account are drawn in the next frame. What may wait is drawn
// together: most of the work of an idle page is the browser's, for each frame that shows a change.

// MARKET_MS is the shortest time between two draws for data of the market that is shown, ELSEWHERE_MS for
// anything else that changes by itself, and for everything while nobody touches the page.
export const MARKET_MS = 200
export const ELSEWHERE_MS = 1000

// GATHER_MS is how long a change that may wait does so in any case: messages come in bursts, and a part of
// them is no state of the market.
export const GATHER_MS = 50

// IN_USE_MS is how long after a touch the page counts as in use.
const IN_USE_MS = 10_000
let touched = -Infinity
const wakes = new Set<() => void>()
for (const type of ['pointermove', 'pointerdown', 'wheel', 'keydown', 'focusin']) globalThis.addEventListener?.(type, touch, { capture: true, passive: true })

// touch brings a page that was left alone up to date at once.
export function touch(): void {
  const alone = !inUse()
  touched = performance.now()
  if (!alone) return
  invalidate()
  for (const wake of wakes) wake()
}

// onWake calls a function when somebody touches a page that was left alone, until the returned function is called.
export function onWake(wake: () => void): () => void {
  wakes.add(wake)
  return () => wakes.delete(wake)
}

// inUse tells whether somebody has touched the page a moment ago. Else it is left alone.
export function inUse(): boolean {
  return performance.now() - touched < IN_USE_MS
}

const redraw = $state({ drawn: 0 })
const HIDDEN_MS = 1000
let last = -Infinity // draw
let due = Infinity // the planned draw
let timer: ReturnType<typeof setTimeout> | undefined
let frame = 0

// redraws is how often the page was drawn, for tests.
declare global {
  var redraws: number
}
globalThis.redraws = 0

function draw(): void {
  clearTimeout(timer)
  cancelAnimationFrame(frame)
  due = Infinity
  last = performance.now()
  redraw.drawn += 1
  globalThis.redraws += 1
}

// invalidate plans a draw in the next frame, or later, so that every ms pass since the one before.
export function invalidate(every = 0): void {
  const now = performance.now()
  const at = Math.max(now + GATHER_MS, last + (every > 0 && !inUse() ? ELSEWHERE_MS : every))
  if (every > 0 ? at >= due : due === -Infinity) return
  clearTimeout(timer)
  if (every > 0) {
    due = at
    timer = setTimeout(draw, at - now)
    return
  }
  due = -Infinity
  timer = setTimeout(draw, HIDDEN_MS)
  frame = requestAnimationFrame(draw)
}

// drawPending draws what waits, because a frame is due anyway.
export function drawPending(): void {
  if (due < Infinity) draw()
}

// track makes a derived value recompute after each change.
export function track(): number {
  return redraw.drawn
}
