// The page draws at most once per frame, however many messages arrive. State calls changed
// after a change; components call follow.

const pulse = $state({ drawn: 0 })
let asked = false

export function changed(): void {
  if (asked) return
  asked = true
  requestAnimationFrame(() => {
    asked = false
    pulse.drawn += 1
  })
}

// follow makes a derived value recompute after each change.
export function follow(): number {
  return pulse.drawn
}
