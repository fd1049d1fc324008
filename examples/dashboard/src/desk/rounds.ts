import { after, type Round, type U64 } from '../venue/wire.ts'

const KEPT = 120

// Rounds keeps the rounds of every series, newest first.
export class Rounds {
  readonly #of = new Map<number, Round[]>()

  // put takes a round as of now; it tells whether the round is new here.
  put(r: Round): boolean {
    const list = this.#of.get(r.category) ?? []
    this.#of.set(r.category, list)
    let at = 0
    while (at < list.length && after(list[at]!.round_number, r.round_number)) at += 1
    const known = list[at]?.round_number === r.round_number
    list.splice(at, known ? 1 : 0, known ? later(list[at]!, r) : r)
    if (list.length > KEPT) list.pop()
    return !known
  }

  of(category: number): readonly Round[] {
    return this.#of.get(category) ?? []
  }

  // current is the newest round of a series, whatever its status.
  current(category: number): Round | undefined {
    return this.#of.get(category)?.[0]
  }

  // inSlot finds the round that a market slot had in one of its lives.
  inSlot(market: number, generation: number): Round | undefined {
    for (const list of this.#of.values()) {
      const found = list.find((r) => r.market_id === market && r.generation === generation)
      if (found) return found
    }
    return undefined
  }

  // during finds the round that a slot had at a time, ts.
  during(market: number, ts: U64): Round | undefined {
    let found: Round | undefined
    for (const list of this.#of.values()) {
      for (const r of list) {
        if (r.market_id === market && !after(r.open_ts, ts) && (!found || after(r.open_ts, found.open_ts))) found = r
      }
    }
    return found
  }

  // numbered finds a round by its number.
  numbered(n: string): Round | undefined {
    for (const list of this.#of.values()) {
      const found = list.find((r) => r.round_number === n)
      if (found) return found
    }
    return undefined
  }
}

const course = ['trading', 'frozen', 'proposed', 'settled', 'void']

// later is the one further on its way: a page read over REST may be behind the socket.
function later(a: Round, b: Round): Round {
  return course.indexOf(a.status) > course.indexOf(b.status) ? a : b
}
