import type { Rounds } from '../store/rounds.ts'
import { seriesOf } from '../store/series.ts'
import type { Round } from '../venue/wire.ts'

// Names of market slots: the series of their round.

function named(r: Round | undefined, market: number): string {
  const s = r && seriesOf(r.category)
  return s ? `${s.asset.name} ${s.cadence}` : `market ${market}`
}

export function ofSlot(rounds: Rounds, o: { market_id: number; generation: number }): string {
  return named(rounds.inSlot(o.market_id, o.generation), o.market_id)
}

export function ofCategory(category: number): string {
  const s = seriesOf(category)
  return s ? `${s.asset.name} ${s.cadence}` : `series ${category}`
}
