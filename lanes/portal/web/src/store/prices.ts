import type { OracleTick, OutcomeName, PriceRow } from '../venue/wire.ts'
import { ms } from '../venue/wire.ts'

export interface Point {
  sec: number
  price: bigint // at 1e8
}

const KEPT_SECS = 4500

// Prices keeps the index of one feed, one price per second: a history read over REST, continued
// by the ticks of the socket.
export class Prices {
  readonly points: Point[] = []
  last: Point | undefined
  sources = 0

  tick(t: OracleTick): void {
    this.sources = t.fresh_source_count
    this.#put({ sec: Math.floor(ms(t.ts) / 1000), price: BigInt(t.price) })
  }

  // read adds rows of the history, in any order.
  read(rows: readonly PriceRow[]): void {
    for (const r of rows) this.#put({ sec: Math.floor(ms(r.ts) / 1000), price: BigInt(r.close) })
  }

  #put(p: Point): void {
    const at = this.#place(p.sec)
    if (this.points[at]?.sec === p.sec) this.points[at] = p
    else this.points.splice(at, 0, p)
    const first = (this.points.at(-1)?.sec ?? 0) - KEPT_SECS
    while (this.points.length > 0 && this.points[0]!.sec < first) this.points.shift()
    this.last = this.points.at(-1)
  }

  // place returns the position of a second in points, or where to insert it.
  #place(sec: number): number {
    let at = this.points.length
    while (at > 0 && this.points[at - 1]!.sec >= sec) at -= 1
    return at
  }

  // mean returns the settlement mean over [from, to), rounded down; undefined without any price.
  mean(from: number, to: number): bigint | undefined {
    const { sum, n } = this.covered(from, to)
    return n > 0n ? sum / n : undefined
  }

  // covered returns the sum of the seconds in [from, to) that have a price, and their number. A missing
  // second takes the previous price, for up to 5 s; future seconds do not count.
  covered(from: number, to: number): { sum: bigint; n: bigint } {
    let sum = 0n
    let n = 0n
    let at = this.#place(from + 1) - 1
    for (let sec = from; sec < to && sec <= (this.last?.sec ?? 0); sec++) {
      while (at + 1 < this.points.length && this.points[at + 1]!.sec <= sec) at += 1
      const p = this.points[at]
      if (!p || sec - p.sec > 5) continue
      sum += p.price
      n += 1n
    }
    return { sum, n }
  }

  // needed returns the average that the losing side needs over the rest of [from, to), and that side: at most
  // this for NO, at least this for YES. It is undefined outside of the window, and 0 if nothing helps NO any
  // more.
  needed(from: number, to: number, strike: bigint): { side: OutcomeName; average: bigint } | undefined {
    const { sum, n } = this.covered(from, to)
    const left = BigInt(to - 1 - (this.last?.sec ?? 0))
    if (n === 0n || left <= 0n) return undefined
    const all = n + left
    const yes = sum / n > strike
    const rest = (yes ? (strike + 1n) * all - 1n : (strike + 1n) * all) - sum // the sum decides, rounded down
    return { side: yes ? 'no' : 'yes', average: rest <= 0n ? 0n : yes ? rest / left : (rest + left - 1n) / left }
  }
}
