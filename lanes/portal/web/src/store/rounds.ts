import { after, type Round, type U64 } from '../venue/wire.ts'

const KEPT = 120 // of each series, until the user pages back

// Rounds keeps the rounds of every series, newest first.
export class Rounds {
  readonly #of = new Map<number, Round[]>()
  readonly #kept = new Map<number, number>() // by category, if more than KEPT
  readonly #seqs = new Map<U64, U64>() // by round_number: the seq of the state that is stored

  // put stores the state of a round as of a seq and tells whether the round is new. A page that is read
  // over REST may be behind the socket: the later state counts.
  put(r: Round, seq: U64): boolean {
    const list = this.#of.get(r.category) ?? []
    this.#of.set(r.category, list)
    let at = 0
    while (at < list.length && after(list[at]!.round_number, r.round_number)) at += 1
    const known = list[at]?.round_number === r.round_number
    if (known && after(this.#seqs.get(r.round_number)!, seq)) return false
    list.splice(at, known ? 1 : 0, r)
    this.#seqs.set(r.round_number, seq)
    if (list.length > (this.#kept.get(r.category) ?? KEPT)) this.#seqs.delete(list.pop()!.round_number)
    return !known
  }

  // older stores rounds of a series that are read by paging back. All of them stay.
  older(category: number, rounds: readonly Round[], seq: U64): void {
    this.#kept.set(category, (this.#kept.get(category) ?? KEPT) + rounds.length)
    for (const r of rounds) this.put(r, seq)
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
