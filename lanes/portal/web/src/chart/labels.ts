// The places of the words of a pane. Distances are px.

export interface Box {
  left: number
  top: number
  width: number
  height: number
}

export interface Point {
  x: number
  y: number
}

// Wanted is a box with the place that it would like best. It may move by dx and dy to be free, and into the
// pane from outside. Those with more weight choose first.
export interface Wanted extends Box {
  weight: number
  dx?: number
  dy?: number
  names?: number // y of the rule that it names, which may cross it
}

// Rule is a horizontal line over the whole pane, or from one x to another.
export interface Rule {
  y: number
  from?: number
  to?: number
}

const GAP = 2 // between two boxes
const STRIDE = 6 // of the places that are tried
const ON_LINE = 30 // what a point of the line behind a box costs, in px of distance
const CLOSE = 4 // between two points of a line that is looked at, and length of a rule that costs as much

export function intersect(a: Box, b: Box, gap = 0): boolean {
  return a.left < b.left + b.width + gap && b.left < a.left + a.width + gap && a.top < b.top + b.height + gap && b.top < a.top + a.height + gap
}

// dense returns a line with points so close that no word slips between two of them.
export function dense(line: readonly Point[]): Point[] {
  return line.flatMap((p, i) => {
    const was = line[i - 1] ?? p
    const n = Math.max(1, Math.ceil(Math.hypot(p.x - was.x, p.y - was.y) / CLOSE))
    return Array.from({ length: n }, (_, k) => ({ x: was.x + ((p.x - was.x) * (k + 1)) / n, y: was.y + ((p.y - was.y) * (k + 1)) / n }))
  })
}

// place returns where each box goes: the nearest free place within its reach, rather off the line and the
// rules than on them. It is undefined for a box that has none.
export function place(wanted: readonly Wanted[], pane: Box, line: readonly Point[] = [], rules: readonly Rule[] = []): (Box | undefined)[] {
  const out: (Box | undefined)[] = wanted.map(() => undefined)
  const taken: Box[] = []
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[b]!.weight - wanted[a]!.weight || a - b)
  for (const i of order) {
    const found = best(wanted[i]!, pane, taken, line, rules)
    if (!found) continue
    out[i] = found
    taken.push(found)
  }
  return out
}

function best(w: Wanted, pane: Box, taken: readonly Box[], line: readonly Point[], rules: readonly Rule[]): Box | undefined {
  const { width, height } = w
  if (width > pane.width || height > pane.height) return undefined
  const lefts = within(w.left, pane.left, pane.left + pane.width - width, w.dx ?? 0, taken.flatMap((t) => [t.left - width - GAP, t.left + t.width + GAP]))
  const tops = within(w.top, pane.top, pane.top + pane.height - height, w.dy ?? 0, taken.flatMap((t) => [t.top - height - GAP, t.top + t.height + GAP]))
  let found: Box | undefined
  let least = Infinity
  for (const left of lefts) {
    for (const top of tops) {
      const box = { left, top, width, height }
      const far = Math.abs(left - lefts[0]!) + Math.abs(top - tops[0]!)
      if (far >= least || taken.some((t) => intersect(t, box, GAP))) continue
      const cost = far + (w.dx || w.dy ? ON_LINE * crossings(box, line, rules.filter((r) => r.y !== w.names)) : 0)
      if (cost < least) [found, least] = [box, cost]
    }
  }
  return found
}

// crossings returns how many points of the line are in a box, or would be if the rules had points.
function crossings({ left, top, width, height }: Box, line: readonly Point[], rules: readonly Rule[]): number {
  const points = line.filter((p) => p.x > left && p.x < left + width && p.y > top && p.y < top + height).length
  const lengths = rules.map((r) => (r.y > top && r.y < top + height ? Math.min(left + width, r.to ?? Infinity) - Math.max(left, r.from ?? -Infinity) : 0))
  return points + lengths.reduce((sum, l) => sum + Math.max(0, l), 0) / CLOSE
}

// within returns the places on one axis: the wanted one, moved into the pane, then those within reach of it.
function within(at: number, low: number, high: number, reach: number, edges: readonly number[]): number[] {
  const first = Math.min(high, Math.max(low, at))
  const places = reach ? [...edges] : []
  for (let by = STRIDE; by <= reach; by += STRIDE) places.push(first - by, first + by)
  return [first, ...places.filter((v) => v >= low && v <= high && Math.abs(v - first) <= reach)]
}
