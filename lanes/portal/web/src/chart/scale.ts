import { clock } from '../shared/format.ts'

// Scales and their ticks. Times are seconds.

export type Scale = (v: number) => number

// linear maps a to from and b to to.
export function linear(a: number, b: number, from: number, to: number): Scale {
  return (v) => from + ((v - a) / (b - a)) * (to - from)
}

export interface PriceAxis {
  low: number
  high: number
  decimals: number // that the ticks need
  ticks: number[]
}

// priceAxis returns the range of an axis that contains low to high, and its ticks: multiples of 1, 2 or 5
// × 10^n. It has at most most of them, and is widened until it has least.
export function priceAxis(low: number, high: number, least: number, most: number): PriceAxis {
  for (let n = Math.floor(Math.log10((high - low) / most)); ; n++) {
    for (const m of [1, 2, 5]) {
      const unit = m * 10 ** n
      let first = Math.ceil(low / unit - 1e-9)
      let last = Math.floor(high / unit + 1e-9)
      if (last - first >= most) continue
      let range = { low, high }
      while (last - first + 1 < least) {
        if (range.low - (first - 1) * unit <= (last + 1) * unit - range.high) range = { ...range, low: --first * unit }
        else range = { ...range, high: ++last * unit }
      }
      const decimals = Math.max(0, -n)
      return { ...range, decimals, ticks: Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * unit).toFixed(decimals))) }
    }
  }
}

const STEPS = [10, 30, 60, 300, 900, 3600, 14_400]

// timeTicks returns the times of an axis at whole steps: the shortest steps that are room px apart. Times
// with seconds need more room.
export function timeTicks(from: number, to: number, width: number, room: (seconds: boolean) => number): { seconds: boolean; at: number[] } {
  const step = STEPS.find((s) => (s / (to - from)) * width >= room(s < 60)) ?? STEPS.at(-1)!
  const at: number[] = []
  for (let sec = Math.ceil(from / step) * step; sec <= to; sec += step) at.push(sec)
  return { seconds: step < 60, at }
}

// timeOf formats a second as UTC time of day, "17:01" or "17:01:30".
export function timeOf(sec: number, seconds: boolean): string {
  return clock(sec * 1000).slice(0, seconds ? 8 : 5)
}
