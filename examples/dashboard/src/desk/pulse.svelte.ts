// The page draws at most once a frame, however much comes in: what changes calls
// changed, what draws calls follow.

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

// follow makes whoever computes with it compute again after a change.
export function follow(): number {
  return pulse.drawn
}
