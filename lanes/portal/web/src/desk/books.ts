import type { BookDelta, BookSnapshot, Level, OutcomeName } from '../venue/wire.ts'

export interface Chance {
  value: number
  bound: '' | '≥' | '≤'
}

// Book holds the bids for both outcomes in one generation of a market slot. The YES ask
// is 10000 minus the NO bid.
export class Book {
  readonly market: number
  readonly generation: number
  changes = 0 // grows with each change
  lost = false // the connection that kept it up to date was lost
  readonly #bids: Record<OutcomeName, Map<number, number>>

  constructor(s: BookSnapshot, changes = 0) {
    this.changes = changes
    this.market = s.market_id
    this.generation = s.generation
    this.#bids = { yes: new Map(s.yes), no: new Map(s.no) }
  }

  apply(d: BookDelta): void {
    this.changes += 1
    for (const c of d.changes) {
      if (c.qty > 0) this.#bids[c.outcome].set(c.tick, c.qty)
      else this.#bids[c.outcome].delete(c.tick)
    }
  }

  // bids returns the bids for an outcome, best first, in its own ticks.
  bids(o: OutcomeName): Level[] {
    return [...this.#bids[o]].sort((a, b) => b[0] - a[0])
  }

  // at returns the quantity of the bids for an outcome at one price.
  at(o: OutcomeName, tick: number): number {
    return this.#bids[o].get(tick) ?? 0
  }

  // best returns the best bid for an outcome; 0 if there is none.
  best(o: OutcomeName): number {
    let best = 0
    for (const tick of this.#bids[o].keys()) if (tick > best) best = tick
    return best
  }

  // mid is the mid price of YES in pips; undefined if a side is empty.
  get mid(): number | undefined {
    const bid = this.best('yes')
    const no = this.best('no')
    return bid && no ? (bid + 10000 - no) / 2 : undefined
  }

  // chance is the probability of YES in percent that the book implies: its mid price, or a
  // bound if one side is empty.
  get chance(): Chance | undefined {
    const bid = this.best('yes')
    const no = this.best('no')
    if (this.mid !== undefined) return { value: this.mid / 100, bound: '' }
    if (bid) return { value: bid / 100, bound: '≥' }
    return no ? { value: (10000 - no) / 100, bound: '≤' } : undefined
  }
}

export class Books {
  readonly #of = new Map<number, Book>()

  // get returns the book of a market; undefined if it is not up to date.
  get(market: number): Book | undefined {
    const b = this.#of.get(market)
    return b?.lost ? undefined : b
  }

  // last returns the book of a market as it was last seen, to be shown with its age.
  last(market: number): Book | undefined {
    return this.#of.get(market)
  }

  snapshot(s: BookSnapshot): void {
    this.#of.set(s.market_id, new Book(s, (this.#of.get(s.market_id)?.changes ?? 0) + 1))
  }

  // delta drops changes of another generation than the known one: each generation begins
  // with a snapshot.
  delta(d: BookDelta): void {
    const b = this.#of.get(d.market_id)
    if (b?.generation === d.generation) b.apply(d)
  }

  // lose keeps the books to be shown, until the snapshots of the next connection replace them.
  lose(): void {
    for (const b of this.#of.values()) b.lost = true
  }
}
