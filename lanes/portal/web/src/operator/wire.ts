// The records of the operator's listener as sent on the wire. 64-bit numbers are decimal strings.
// Money is in pips, index prices are at 1e8 scale, and *_ts fields are in ns.
import type { U64 } from '../venue/wire.ts'

export interface Health {
  live: boolean
  ready: boolean
  environment: string
  oracle: string
  reasons: string[]
  warnings: string[]
  stale_feeds: string[]
  state?: string
  start?: { phase: string; unit: string; done: number; total: number }
}

export interface Me {
  name: string
  role: string
  actions: string[]
  created_ts: U64 // 0 of the shared token
  four_eyes: U64 | null
}

export interface Source {
  name: string
  status: string
  price: U64 | null
  age_ms: number | null
  reconnects: number
}

export interface Feed {
  feed: number
  name: string
  stale: boolean
  session_open: boolean
  price: U64 | null
  age_ms: number | null
  source_count: number
  min_sources: number
  manual: boolean
  sources: Source[]
}

export interface Round {
  market_id: number
  round_number: U64
  category: number
  series: string
  status: string
  paused: boolean // by an operator, or because its feed is stale
  halted: boolean // by an operator
  strike: U64
  close_ts: U64
  settle_price: U64 | null
  open_interest: number
  volume: number
  needs_decision: boolean
  void_ts: U64 | null
}

export interface LastDay {
  since_ts: U64
  interval_seconds: number
  places: number
  intervals: { start_ts: U64; contracts: U64; fees: U64; deposited: U64; paid_out: U64; requests: number; rejected: number; faults: number; connections: number }[]
}

export interface Withdrawal {
  user_id: number
  withdrawal_id: U64
  client_withdrawal_id: string
  amount: U64
  destination: string
  status: 'pending' | 'completed' | 'rejected'
  state: WithdrawalState
  reference: string // of the payment
  ts: U64
}

export type WithdrawalState = 'pending' | 'approved' | 'sent' | 'completed' | 'failed' | 'rejected'

export interface Approval {
  approval_id: U64
  status: 'pending' | 'approved' | 'rejected'
  action: string
  requested_by: string
  reason: string
  requested_ts: U64
  expires_ts: U64
  decided_by?: string
  decided_ts?: U64
  user_id?: number
  deposit_id?: string
  amount?: U64
  withdrawal_id?: U64
  destination?: string
  market_id?: number
  round_number?: U64
  settle_price?: U64
  feed?: number
  source?: string
  price?: U64
  fees?: { maker_rate: number; taker_rate: number; maker_rebate_pct: number; referral_pct: number }
}

// Pending is the answer 202 of an action that waits for a second operator.
export interface Pending {
  approval_id?: U64
}

export interface User {
  user_id: number
  name: string
  suspended: boolean
  created_ts: U64
  matched?: string
}

export interface Account {
  user_id: number
  name: string
  kind: string
  state: string
  created_ts: U64
  referrer_id: number | null
  cash: U64
  reserved: U64
  positions: { market_id: number; round_number: U64; yes_qty: number; no_qty: number; cost: U64 }[]
  open_orders: { order_id: U64; market_id: number; side: string; outcome: string; tick: number; remaining_qty: number; created_ts: U64 }[]
  keys: { api_key: string; label: string; scopes: string[]; created_ts: U64; kind: 'hmac' | 'oauth'; client?: string; expires_ts?: U64 }[]
  withdrawals_pending: Withdrawal[]
  volume_30d: U64
}

export interface LedgerRow {
  n: U64
  ts: U64
  kind: string
  amount: string
  balance_after: U64
  market_id?: number
  ref?: string
}

export interface Event {
  seq: U64
  ts: U64
  event: Record<string, unknown>
}

export interface Action {
  seq: U64
  ts: U64
  who: string
  why: string
  action: string
  user_id?: number
  market_id?: number
  detail?: Record<string, string>
  refused?: string
}

export interface Operator {
  name: string
  role: string
  created_ts: U64
}

export interface Sums {
  seq: U64
  state_hash: string
  cash: U64
  reserved: U64
  collateral: U64
  fees: U64
  deposits: U64
  withdrawals: U64
}
