import { ms, type Round } from '../venue/wire.ts'

// The nine series: three assets at three cadences (the category of a round).

export interface Asset {
  feed: number
  name: string
  long: string // in a sentence
  unit: string
  decimals: number
}

export interface Series {
  category: number
  asset: Asset
  minutes: number
  cadence: string
  span: string // the cadence in a sentence
}

export const assets: Asset[] = [
  { feed: 0, name: 'BTC', long: 'Bitcoin', unit: 'USD', decimals: 2 },
  { feed: 1, name: 'Gold', long: 'Gold', unit: 'USD/oz', decimals: 2 },
  { feed: 2, name: 'WTI', long: 'WTI crude', unit: 'USD/bbl', decimals: 3 },
]

const cadences = [
  { minutes: 1, cadence: '60 s', span: '60 seconds' },
  { minutes: 5, cadence: '5 min', span: '5 minutes' },
  { minutes: 15, cadence: '15 min', span: '15 minutes' },
]

export const allSeries: Series[] = assets.flatMap((asset, a) => cadences.map((c, i) => ({ category: a * 3 + i + 1, asset, ...c })))

export function seriesOf(category: number): Series | undefined {
  return allSeries[category - 1]
}

// periodEnd returns when the period of a series ends in which a time is, in ms.
function periodEnd(s: Series, at: number): number {
  const step = s.minutes * 60_000
  return Math.floor(at / step) * step + step
}

// wait returns how long a series without a round must wait for one, in ms. Rounds begin with their
// period, and those of more than a minute also later while a minute is left; 0 is any moment.
export function wait(s: Series, now: number): number {
  const left = periodEnd(s, now) - now
  return s.minutes > 1 && left >= 60_000 ? 0 : left
}

// boundary returns when a round freezes, in ms: the end of its cadence by the wall clock.
export function boundary(r: Pick<Round, 'open_ts'>, s: Series): number {
  return periodEnd(s, ms(r.open_ts))
}
