import type { Approval, Feed, Me, Round, Withdrawal, WithdrawalState } from './wire.ts'

// What waits for a person, in the order in which it runs out.

// byNeed sorts rounds: those that need a decision, the nearest to their void first, then those that an operator
// paused, those without prices, those between close and settlement, and the rest by their close.
export function byNeed(rounds: readonly Round[]): Round[] {
  const rank = (r: Round): number => (r.needs_decision ? 0 : r.halted ? 1 : r.paused ? 2 : r.status !== 'trading' ? 3 : 4)
  const at = (r: Round): bigint => BigInt(r.needs_decision && r.void_ts ? r.void_ts : r.close_ts)
  return [...rounds].sort((a, b) => rank(a) - rank(b) || Number(at(a) - at(b)) || a.category - b.category)
}

// Payouts are the withdrawals of a state that wait for a person.
export interface Payouts {
  state: WithdrawalState
  count: number
  amount: bigint // pips
  oldest: Withdrawal
}

// payouts groups withdrawals, the oldest of which come first, by their next step.
export function payouts(pending: readonly Withdrawal[]): Payouts[] {
  const groups = (['pending', 'approved', 'sent'] as const).map((state) => ({ state, of: pending.filter((w) => w.state === state) }))
  return groups.flatMap(({ state, of }) => (of[0] ? [{ state, count: of.length, amount: of.reduce((n, w) => n + BigInt(w.amount), 0n), oldest: of[0] }] : []))
}

// mayDecide reports whether an operator is a second person for a request: not the one who asked, and there before it.
export function mayDecide(a: Approval, me: Pick<Me, 'name' | 'created_ts'>): boolean {
  return a.requested_by !== me.name && BigInt(me.created_ts) < BigInt(a.requested_ts)
}

// undecided are the requests that wait for an operator, the first to expire on top.
export function undecided(approvals: readonly Approval[]): Approval[] {
  return approvals.filter((a) => a.status === 'pending').sort((a, b) => Number(BigInt(a.expires_ts) - BigInt(b.expires_ts)))
}

// silent are the feeds that should have prices and have none.
export function silent(feeds: readonly Feed[]): Feed[] {
  return feeds.filter((f) => f.session_open && f.stale)
}
