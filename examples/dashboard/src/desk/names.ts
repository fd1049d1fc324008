import type { Rounds } from './rounds.ts'
import { seriesOf } from './series.ts'
import type { Round, U64 } from '../venue/wire.ts'

// Names of market slots: the series of their round.

function named(r: Round | undefined, market: number): string {
  const s = r && seriesOf(r.category)
  return s ? `${s.asset.name} ${s.cadence}` : `market ${market}`
}

export function ofSlot(rounds: Rounds, o: { market_id: number; generation: number }): string {
  return named(rounds.inSlot(o.market_id, o.generation), o.market_id)
}

// ofTime names the slot by a time, for records that do not name the generation.
export function ofTime(rounds: Rounds, o: { market_id: number; ts: U64 }): string {
  return named(rounds.during(o.market_id, o.ts), o.market_id)
}

export function ofRound(rounds: Rounds, o: { market_id: number; round_number: U64 }): string {
  return named(rounds.numbered(o.round_number), o.market_id)
}
