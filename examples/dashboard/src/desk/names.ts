import type { Rounds } from './rounds.ts'
import { seriesOf } from './series.ts'
import type { Round, U64 } from '../venue/wire.ts'

// What a market slot is called: by the series that its round was in.

function named(r: Round | undefined, market: number): string {
  const s = r && seriesOf(r.category)
  return s ? `${s.asset.name} ${s.cadence}` : `market ${market}`
}

export function ofSlot(rounds: Rounds, o: { market_id: number; generation: number }): string {
  return named(rounds.inSlot(o.market_id, o.generation), o.market_id)
}

// ofTime names by a time, ts, where the life of the slot is not told.
export function ofTime(rounds: Rounds, o: { market_id: number; ts: U64 }): string {
  return named(rounds.during(o.market_id, o.ts), o.market_id)
}

export function ofRound(rounds: Rounds, o: { market_id: number; round_number: U64 }): string {
  return named(rounds.numbered(o.round_number), o.market_id)
}
