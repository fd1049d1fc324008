import { after, type U64 } from '../venue/wire.ts'

// keyed gives each record a key: its seq, and its position among the records of that seq.
export function keyed<T extends { seq: U64 }>(newestFirst: readonly T[]): { key: string; row: T }[] {
  let n = 0
  return newestFirst.map((row, i) => {
    n = newestFirst[i - 1]?.seq === row.seq ? n + 1 : 0
    return { key: `${row.seq} ${n}`, row }
  })
}

// RecordList is a complete list of records, newest first, from two sources: a page read over
// REST as of a seq, and the messages of the socket after that seq. Records have no id, so
// their seq decides which source counts.
export class RecordList<T extends { seq: U64 }> {
  rows: T[] = []
  #asOf: U64 | undefined
  #cap: number

  constructor(cap: number) {
    this.#cap = cap
  }

  // known tells whether a page has been read.
  get known(): boolean {
    return this.#asOf !== undefined
  }

  // live adds a record from the socket and tells whether it was new.
  live(row: T): boolean {
    if (this.#asOf !== undefined && !after(row.seq, this.#asOf)) return false
    this.rows.unshift(row)
    if (this.rows.length > this.#cap) this.rows.pop()
    return true
  }

  // read replaces the list by a page, newest first, and keeps later records of the socket.
  read(page: T[], asOf: U64): void {
    this.rows = [...this.rows.filter((r) => after(r.seq, asOf)), ...page].slice(0, this.#cap)
    this.#asOf = asOf
  }

  // forget empties the list until the next page. Records of the socket are kept meanwhile.
  forget(): void {
    this.rows = []
    this.#asOf = undefined
  }
}
