import { after, type Round } from '../venue/wire.ts'

const KEPT = 120 // of each series, until the user pages back

// Rounds keeps the rounds of every series, newest first.
export class Rounds {
  readonly #of = new Map<number, Round[]>()
  readonly #kept = new Map<number, number>() // by category, if more than KEPT

  // put stores the current state of a round and tells whether the round is new.
  put(r: Round): boolean {
    const list = this.#of.get(r.category) ?? []
    this.#of.set(r.category, list)
    let at = 0
    while (at < list.length && after(list[at]!.round_number, r.round_number)) at += 1
    const known = list[at]?.round_number === r.round_number
    list.splice(at, known ? 1 : 0, known ? later(list[at]!, r) : r)
    if (list.length > (this.#kept.get(r.category) ?? KEPT)) list.pop()
    return !known
  }

  // older stores rounds of a series that are read by paging back. All of them stay.
  older(category: number, rounds: readonly Round[]): void {
    this.#kept.set(category, (this.#kept.get(category) ?? KEPT) + rounds.length)
    for (const r of rounds) this.put(r)
  }

  of(category: number): readonly Round[] {
    return this.#of.get(category) ?? []
  }

  // current returns the newest round of a series, in any status.
  current(category: number): Round | undefined {
    return this.#of.get(category)?.[0]
  }

  // inSlot returns the round of a generation of a market slot.
  inSlot(market: number, generation: number): Round | undefined {
    for (const list of this.#of.values()) {
      const found = list.find((r) => r.market_id === market && r.generation === generation)
      if (found) return found
    }
    return undefined
  }
}

const course = ['trading', 'frozen', 'proposed', 'settled', 'void']

// later returns the state that is further along: a page read over REST may be behind the
// socket.
function later(a: Round, b: Round): Round {
  return course.indexOf(a.status) > course.indexOf(b.status) ? a : b
}
