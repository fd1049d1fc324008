import type { BookDelta, BookSnapshot, Level, Order, OutcomeName } from '../venue/wire.ts'

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

  // best returns the best bid for an outcome, 0 if there is none. What rests of the orders in own does not
  // count.
  best(outcome: OutcomeName, own: readonly Order[] = []): number {
    let best = 0
    for (const [tick, qty] of this.#bids[outcome]) {
      if (tick > best && qty > this.#held(outcome, tick, own)) best = tick
    }
    return best
  }

  #held(outcome: OutcomeName, tick: number, own: readonly Order[]): number {
    const there = own.map(bidOf).filter((o) => o.market === this.market && o.generation === this.generation && o.outcome === outcome && o.tick === tick)
    return there.reduce((sum, o) => sum + o.qty, 0)
  }

  // chance is the probability of YES in percent that the orders of others imply: the middle of their
  // best prices, or a bound if one side is empty. dx top computes the same (cmd/dx/top/series.go).
  chance(own: readonly Order[]): Chance | undefined {
    const bid = this.best('yes', own)
    const no = this.best('no', own)
    if (bid && no) return { value: (bid + 10000 - no) / 200, bound: '' }
    if (bid) return { value: bid / 100, bound: '≥' }
    return no ? { value: (10000 - no) / 100, bound: '≤' } : undefined
  }
}

// bidOf returns where an order rests: a sale of an outcome is among the bids for the other one.
export function bidOf(o: Order): { market: number; generation: number; outcome: OutcomeName; tick: number; qty: number } {
  const at = { market: o.market_id, generation: o.generation, qty: o.remaining_qty }
  return o.side === 'buy' ? { ...at, outcome: o.outcome, tick: o.tick } : { ...at, outcome: o.outcome === 'yes' ? 'no' : 'yes', tick: 10000 - o.tick }
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
