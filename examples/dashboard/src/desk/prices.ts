import type { OracleTick, Round } from '../venue/wire.ts'
import { ms } from '../venue/wire.ts'

export interface Point {
  sec: number
  price: number
  seen: boolean // as it happened, and not read off a round's strike
}

const KEPT_SECS = 2400

// Prices keeps the index of one feed: one price a second since the page opened, and
// before that the strikes of past rounds, which are index ticks too.
export class Prices {
  readonly points: Point[] = []
  last: Point | undefined
  sources = 0

  tick(t: OracleTick): void {
    this.sources = t.fresh_source_count
    this.#put({ sec: Math.floor(ms(t.ts) / 1000), price: Number(t.price) / 1e8, seen: true })
  }

  // strike takes what a round's strike tells of the past.
  strike(r: Round): void {
    this.#put({ sec: Math.floor(ms(r.open_ts) / 1000), price: Number(r.strike) / 1e8, seen: false })
  }

  #put(p: Point): void {
    const at = this.#place(p.sec)
    const have = this.points[at]
    if (have?.sec === p.sec) this.points[at] = { ...p, seen: p.seen || have.seen }
    else this.points.splice(at, 0, p)
    const first = (this.points.at(-1)?.sec ?? 0) - KEPT_SECS
    while (this.points.length > 0 && this.points[0]!.sec < first) this.points.shift()
    this.last = this.points.at(-1)
  }

  // place is where a second is, or would be.
  #place(sec: number): number {
    let at = this.points.length
    while (at > 0 && this.points[at - 1]!.sec >= sec) at -= 1
    return at
  }

  // mean is that of a settlement over [from, to), with a missing second carrying the
  // last price on; undefined with nothing to carry. Seconds to come do not count.
  mean(from: number, to: number): number | undefined {
    let sum = 0
    let n = 0
    let at = this.#place(from + 1) - 1
    for (let sec = from; sec < to && sec <= (this.last?.sec ?? 0); sec++) {
      while (at + 1 < this.points.length && this.points[at + 1]!.sec <= sec) at += 1
      const p = this.points[at]
      if (!p || sec - p.sec > 5) continue
      sum += p.price
      n += 1
    }
    return n > 0 ? sum / n : undefined
  }
}
