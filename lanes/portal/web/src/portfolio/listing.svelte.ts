import type { Rest } from '../venue/rest.ts'
import { retryRateLimited } from '../venue/retry.ts'
import type { U64 } from '../venue/wire.ts'

export const PAGE = 100 // rows that a list shows more of at once
const MOST = 1000 // rows of one read
const READS = 10 // reads in search of rows that pass the filter of the page

// ListOf says where the rows of a list are, and which of them it shows.
export interface ListOf<T> {
  field: string
  target: () => string // with the filters of the venue; its query has begun
  keeps?: () => ((row: T) => boolean) | undefined // for what the venue has no filter; undefined keeps all
  learn?: (rows: T[]) => Promise<void> // reads what keeps and the columns need
}

// Listing is a list of the account, newest first, read page by page as far as the user looks.
export class Listing<T> {
  rows = $state.raw<T[]>([]) // that have been read
  known = $state(false)
  reading = $state(false)
  saving = $state<number>() // rows read so far for a file; undefined while none is made
  #cursor = $state('')
  #target = '' // a cursor belongs to its filters
  #turn = 0
  #of = '' // the state of the account that the rows show
  readonly #rest: Pick<Rest, 'get'>
  readonly #list: ListOf<T>

  constructor(rest: Pick<Rest, 'get'>, list: ListOf<T>) {
    this.#rest = rest
    this.#list = list
  }

  get shown(): T[] {
    return this.#kept(this.rows)
  }

  // more tells whether the venue has older rows.
  get more(): boolean {
    return this.#cursor !== ''
  }

  // choose reads the list of other filters from its beginning, as of a seq of the account and a state of it.
  async choose(asOf: U64, state = asOf): Promise<void> {
    this.rows = []
    this.#cursor = ''
    this.#of = ''
    this.known = this.reading = false
    await this.refresh(asOf, state)
  }

  // refresh reads what is shown again, unless it shows that state already.
  async refresh(asOf: U64, state = asOf): Promise<void> {
    if (this.reading || this.#of === state) return
    if (await this.#read(this.#list.target(), '', Math.max(PAGE, this.shown.length), asOf)) this.#of = state
  }

  // next reads the next page.
  async next(): Promise<void> {
    if (this.more) await this.#read(this.#target, this.#cursor, this.shown.length + PAGE, '')
  }

  // whole returns all rows that pass the filters, however many there are.
  async whole(): Promise<T[]> {
    this.saving = 0
    try {
      const rows: T[] = []
      const target = this.#list.target()
      for (let cursor: string | undefined; cursor !== ''; ) {
        const page: { rows: T[]; cursor: string } = await this.#page(target, cursor ?? '', MOST)
        rows.push(...page.rows)
        cursor = page.cursor
        this.saving = rows.length
      }
      return this.#kept(rows)
    } finally {
      this.saving = undefined
    }
  }

  // read reads on from a cursor until there are as many rows as wanted. It tells whether it came to an end: a later
  // one ends it. A network failure leaves what is shown; the screen says that the venue is not reachable.
  async #read(target: string, from: string, wanted: number, asOf: U64): Promise<boolean> {
    const turn = ++this.#turn
    this.reading = true
    try {
      let rows = from ? this.rows : []
      let cursor = from
      for (let reads = 0; reads < READS || rows.length < wanted; reads++) {
        const limit = this.#list.keeps?.() ? MOST : Math.min(MOST, wanted - rows.length)
        const page = await this.#page(target, cursor, limit, asOf)
        if (turn !== this.#turn) return false
        rows = [...rows, ...page.rows]
        cursor = page.cursor
        if (!cursor || this.#kept(rows).length >= wanted) break
      }
      this.rows = rows
      this.#cursor = cursor
      this.#target = target
      this.known = true
      return true
    } catch (e) {
      if (turn === this.#turn && !(e instanceof TypeError)) throw e
      return false
    } finally {
      if (turn === this.#turn) this.reading = false
    }
  }

  async #page(target: string, cursor: string, limit: number, asOf = ''): Promise<{ rows: T[]; cursor: string }> {
    const page = await retryRateLimited(() => this.#rest.get<Record<string, T[]> & { cursor: string }>(`${target}limit=${limit}${asOf && `&min_seq=${asOf}`}${cursor && `&cursor=${cursor}`}`))
    const rows = page[this.#list.field]!
    await this.#list.learn?.(rows)
    return { rows, cursor: page.cursor }
  }

  #kept(rows: T[]): T[] {
    const keeps = this.#list.keeps?.()
    return keeps ? rows.filter(keeps) : rows
  }
}
