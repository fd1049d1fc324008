import type { LastDay } from './wire.ts'

// The last day of a node as bars of half an hour.

export const BARS = 48
const BAR_MS = 1_800_000

// Bar is what the node did in half an hour. Money is in pips. known is false before the node started.
export interface Bar {
  start: number // ms
  known: boolean
  contracts: number
  fees: number
  deposited: number
  paid: number
  requests: number
  rejected: number
  faults: number
  connections: number // the most at once
}

// barsOf returns the bars of the 24 hours up to now, in ms; the last one holds now.
export function barsOf(day: LastDay, now: number): Bar[] {
  const first = Math.floor(now / BAR_MS) - BARS + 1
  const since = Number(BigInt(day.since_ts) / 1_000_000n)
  const bars = Array.from({ length: BARS }, (_, i): Bar => ({
    start: (first + i) * BAR_MS, known: (first + i + 1) * BAR_MS > since, contracts: 0, fees: 0, deposited: 0, paid: 0, requests: 0, rejected: 0, faults: 0, connections: 0,
  }))
  for (const x of day.intervals) {
    const bar = bars[Math.floor(Number(BigInt(x.start_ts) / 1_000_000n) / BAR_MS) - first]
    if (!bar) continue // older than a day
    bar.contracts += Number(x.contracts)
    bar.fees += Number(x.fees)
    bar.deposited += Number(x.deposited)
    bar.paid += Number(x.paid_out)
    bar.requests += x.requests
    bar.rejected += x.rejected
    bar.faults += x.faults
    bar.connections = Math.max(bar.connections, x.connections)
  }
  return bars
}

type Figure = Exclude<keyof Bar, 'start' | 'known'>

export const sumOf = (bars: readonly Bar[], of: Figure): number => bars.reduce((n, b) => n + b[of], 0)
export const mostOf = (bars: readonly Bar[], of: Figure): number => Math.max(...bars.map((b) => b[of]))
