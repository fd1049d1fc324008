import { ms, type RoundRow, type U64 } from '../venue/wire.ts'

// ChancePoint is the chance of YES at the end of a second.
export interface ChancePoint {
  time: number // second
  value: number // percent
}

const ROUNDS = 40

// ChanceHistory keeps the chance of YES in each round, one per second: the last state of that second.
// Rows of the history replace what the page saw itself.
export class ChanceHistory {
  readonly #of = new Map<U64, Map<number, number>>()
  readonly #read = new Set<U64>()

  // live records the present state of a round.
  live(round: U64, time: number, value: number): void {
    this.#points(round).set(time, value)
  }

  read(round: U64, rows: readonly RoundRow[]): void {
    const points = this.#points(round)
    for (const r of rows) {
      const time = Math.floor(ms(r.ts) / 1000)
      if (r.yes_bid && r.yes_ask) points.set(time, (r.yes_bid + r.yes_ask) / 200)
      else points.delete(time)
    }
  }

  // whole takes all rows of a round.
  whole(round: U64, rows: readonly RoundRow[]): void {
    this.#read.add(round)
    this.read(round, rows)
  }

  // known tells whether the history of a round has been read.
  known(round: U64): boolean {
    return this.#read.has(round)
  }

  of(round: U64): ChancePoint[] {
    return [...(this.#of.get(round) ?? [])].map(([time, value]) => ({ time, value })).sort((a, b) => a.time - b.time)
  }

  size(round: U64): number {
    return this.#of.get(round)?.size ?? 0
  }

  // forget makes the histories be read again, after a lost connection.
  forget(): void {
    this.#read.clear()
  }

  #points(round: U64): Map<number, number> {
    let points = this.#of.get(round)
    if (!points) {
      this.#of.set(round, (points = new Map()))
      for (const old of this.#of.keys()) if (this.#of.size > ROUNDS) this.#of.delete(old)
    }
    return points
  }
}
