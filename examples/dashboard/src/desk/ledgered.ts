import { after, type U64 } from '../venue/wire.ts'

// keyed gives each record a name: its seq, and which of that seq it is.
export function keyed<T extends { seq: U64 }>(newestFirst: readonly T[]): { key: string; row: T }[] {
  let n = 0
  return newestFirst.map((row, i) => {
    n = newestFirst[i - 1]?.seq === row.seq ? n + 1 : 0
    return { key: `${row.seq} ${n}`, row }
  })
}

// Ledgered is a list of records, newest first, that is whole from two sources: a page
// read over REST as of a seq, and what the socket told after that seq. A record has
// no name of its own, so the seq alone says from which source it is taken.
export class Ledgered<T extends { seq: U64 }> {
  rows: T[] = []
  #asOf: U64 | undefined
  #cap: number

  constructor(cap: number) {
    this.#cap = cap
  }

  // live takes a record from the socket; it tells whether that was news.
  live(row: T): boolean {
    if (this.#asOf !== undefined && !after(row.seq, this.#asOf)) return false
    this.rows.unshift(row)
    if (this.rows.length > this.#cap) this.rows.pop()
    return true
  }

  // read takes a page, newest first. What came by the socket after it stays.
  read(page: T[], asOf: U64): void {
    this.rows = [...this.rows.filter((r) => after(r.seq, asOf)), ...page].slice(0, this.#cap)
    this.#asOf = asOf
  }

  // forget makes the next page count whole; what the socket tells meanwhile is kept.
  forget(): void {
    this.rows = []
    this.#asOf = undefined
  }
}
