import type { Evidence, OutcomeName } from '../venue/wire.ts'

// The settlement of a round, computed again from its ticks as the rules say
// (docs/rules/rounds.md#settle-price), in whole numbers.

const CARRY_SECS = 5n
const NS = 1_000_000_000n

export interface Proof {
  sum: bigint
  covered: bigint
  mean: bigint // rounded down; 0 without any price
  winner: OutcomeName | undefined // undefined until there is a price
  counts: Map<string, number> // by ts of a tick: the seconds it stands for
  matches: boolean // the venue says the same
}

export function prove(e: Evidence): Proof {
  const ticks = e.ticks.map((t) => ({ ts: t.ts, sec: BigInt(t.ts) / NS, price: BigInt(t.price) })).sort((a, b) => (a.sec < b.sec ? -1 : 1))
  const end = BigInt(e.boundary_ts) / NS
  const counts = new Map<string, number>()
  let sum = 0n
  let covered = 0n
  let at = -1
  for (let sec = end - BigInt(e.twap_window_secs); sec < end; sec++) {
    while (at + 1 < ticks.length && ticks[at + 1]!.sec <= sec) at += 1
    const t = ticks[at]
    if (!t || sec - t.sec > CARRY_SECS) continue
    sum += t.price
    covered += 1n
    counts.set(t.ts, (counts.get(t.ts) ?? 0) + 1)
  }
  const mean = covered > 0n ? sum / covered : 0n
  const price = e.by_operator ? BigInt(e.settle_price) : mean
  const winner = price === 0n ? undefined : price > BigInt(e.strike) ? 'yes' : 'no'
  const priced = e.settle_price !== '0'
  return {
    sum, covered, mean, winner: priced ? winner : undefined, counts,
    matches: sum === BigInt(e.weighted_sum) && covered === BigInt(e.covered_secs) && mean === BigInt(e.twap) && (!priced || (e.by_operator || mean === BigInt(e.settle_price)) && (e.winner === null || winner === e.winner)),
  }
}
