import { day } from '../shared/format.ts'
import { ms, type LedgerRow, type RoundResult, type Settlement } from '../venue/wire.ts'

// What the account has made, from the rows of the venue. Money is in pips, times are in ms.

// Moment is what the account was worth after a change. What it holds in rounds that are not final counts what it cost.
export interface Moment {
  at: number
  equity: number
  rounds: RoundResult[] // that ended then
  moved: number // by deposits, withdrawals and transfers
}

const MONEY: Record<string, true> = { deposit: true, withdrawal: true, withdrawal_returned: true, transfer: true } // kinds of the ledger

const MOMENT_MS = 1000 // what happens within it is one moment: rounds of several series end together

const ofRound = new Set(['fill', 'fee', 'settlement', 'void', 'redeem'])

// endsOf returns when each round became final: when it settled, or where nothing was held, its last row in the ledger.
function endsOf(ledger: readonly LedgerRow[], settlements: readonly Pick<Settlement, 'round_number' | 'ts'>[]): Map<string, number> {
  const ends = new Map<string, number>()
  for (const row of ledger) if (ofRound.has(row.kind) && row.round_number && !ends.has(row.round_number)) ends.set(row.round_number, ms(row.ts))
  for (const s of settlements) if (ends.has(s.round_number)) ends.set(s.round_number, ms(s.ts))
  return ends
}

// equityOf returns the equity after the final rounds and each other change, oldest first. The ledger is newest first;
// it may begin late.
export function equityOf(ledger: readonly LedgerRow[], rounds: readonly RoundResult[], settlements: readonly Pick<Settlement, 'round_number' | 'ts'>[]): Moment[] {
  const newest = ledger[0]
  if (!newest) return []
  const final = new Map(rounds.filter((r) => r.profit !== null).map((r) => [r.round_number, r]))
  const live = new Set(rounds.filter((r) => r.profit === null).map((r) => r.round_number))
  const ends = endsOf(ledger, settlements)
  const made = new Map<string, number>()
  const others: { at: number; by: number; moved?: number; round?: RoundResult }[] = []
  let equity = Number(newest.balance_after)
  for (const row of ledger) {
    const [by, number] = [Number(row.amount), row.round_number]
    if (number === undefined || !ofRound.has(row.kind)) others.push({ at: ms(row.ts), by, moved: MONEY[row.kind] ? by : 0 })
    else if (live.has(number)) equity -= by
    else made.set(number, (made.get(number) ?? 0) + by)
  }
  const changes = [...[...made].map(([number, by]) => ({ at: ends.get(number)!, by, moved: 0, round: final.get(number) })), ...others].sort((a, b) => b.at - a.at)
  const out: Moment[] = []
  for (const c of changes) {
    const last = out.at(-1)
    const [rounds, moved] = [c.round ? [c.round] : [], c.moved ?? 0]
    if (last && last.at - c.at < MOMENT_MS) {
      last.rounds.unshift(...rounds)
      last.moved += moved
    } else out.push({ at: c.at, equity, rounds, moved })
    equity -= c.by
  }
  return out.reverse()
}

export interface Day {
  day: string // UTC
  profit: number
  rounds: number
}

// daysOf returns what the rounds made that became final on each of the last days, oldest first. Days before the first
// round of the ledger are not among them.
export function daysOf(ledger: readonly LedgerRow[], rounds: readonly RoundResult[], settlements: readonly Pick<Settlement, 'round_number' | 'ts'>[], now: number, most: number): Day[] {
  const ends = endsOf(ledger, settlements)
  const days = new Map<string, Day>()
  for (const r of rounds) {
    const at = ends.get(r.round_number)
    if (r.profit === null || at === undefined) continue
    const key = day(at)
    const { profit, rounds } = days.get(key) ?? { profit: 0, rounds: 0 }
    days.set(key, { day: key, profit: profit + Number(r.profit), rounds: rounds + 1 })
  }
  const first = [...days.keys()].sort()[0]
  if (first === undefined) return []
  const out: Day[] = []
  for (let at = now; out.length < most && day(at) >= first; at -= 86_400_000) out.push(days.get(day(at)) ?? { day: day(at), profit: 0, rounds: 0 })
  return out.reverse()
}

export interface SeriesResult {
  category: number
  profit: number
  rounds: number
  won: number // rounds with a profit
}

// bySeries returns what the final rounds of each series made, the highest profit first.
export function bySeries(rounds: readonly RoundResult[]): SeriesResult[] {
  const all = new Map<number, SeriesResult>()
  for (const r of rounds) {
    if (r.profit === null) continue
    const profit = Number(r.profit)
    const s = all.get(r.category) ?? { category: r.category, profit: 0, rounds: 0, won: 0 }
    all.set(r.category, { ...s, profit: s.profit + profit, rounds: s.rounds + 1, won: s.won + (profit > 0 ? 1 : 0) })
  }
  return [...all.values()].sort((a, b) => b.profit - a.profit || a.category - b.category)
}

// extremes returns the rounds that made most and least; undefined before one is final.
export function extremes(rounds: readonly RoundResult[]): { best: RoundResult; worst: RoundResult } | undefined {
  const final = rounds.filter((r) => r.profit !== null)
  const [first] = final
  if (!first) return undefined
  return {
    best: final.reduce((a, b) => (Number(b.profit) > Number(a.profit) ? b : a), first),
    worst: final.reduce((a, b) => (Number(b.profit) < Number(a.profit) ? b : a), first),
  }
}
