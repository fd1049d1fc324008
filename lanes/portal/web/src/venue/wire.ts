// The venue's records as sent on the wire. 64-bit numbers are decimal strings. Money is in
// pips, index prices are at 1e8 scale, and *_ts fields are in ns.

export type U64 = string
export type OutcomeName = 'yes' | 'no'
export type Side = 'buy' | 'sell'
export type Path = 'direct' | 'mint' | 'merge'
export type RoundStatus = 'trading' | 'frozen' | 'proposed' | 'settled' | 'void'
export type OrderStatus = 'resting' | 'partially_filled' | 'executed' | 'canceled' | 'expired' | 'rejected'
export type Level = [tick: number, qty: number]

export interface Round {
  market_id: number
  status: RoundStatus
  strike: U64
  settle_price: U64
  winner: OutcomeName | null
  open_ts: U64
  freeze_ts: U64
  resolve_ts: U64
  round_number: U64
  generation: number
  category: number
  twap_window_secs: number
  fresh_source_count_at_freeze: number
  paused: boolean
}

export interface Market {
  market_id: number
  generation: number
  round_number: U64
  volume: U64
  open_interest: U64
}

export interface Order {
  order_id: U64 | null
  client_order_id: U64
  market_id: number
  generation: number
  side: Side
  outcome: OutcomeName
  type: 'limit' | 'market'
  tick: number
  qty: number
  tif: 'gtc' | 'gtt' | 'ioc' | 'fok'
  expiry_ts: U64
  max_cost: U64
  group_id: number
  flags: number
  status: OrderStatus
  reason: string
  filled_qty: number
  remaining_qty: number
  created_seq: U64
  created_ts: U64
  last_update_seq: U64
}

export interface Fill {
  seq: U64
  ts: U64
  market_id: number
  order_id: U64
  client_order_id: U64
  role: 'maker' | 'taker'
  side: Side
  outcome: OutcomeName
  qty: number
  tick_yes: number
  path: Path
  fee: U64
  n: U64
  generation: number
  round_number: U64
  category: number
}

export interface Position {
  market_id: number
  generation: number
  round_number: U64
  yes_qty: number
  no_qty: number
  yes_reserved: number
  no_reserved: number
  cost: U64
}

export interface Settlement {
  seq: U64
  ts: U64
  market_id: number
  generation: number
  round_number: U64
  outcome_status: 'settled' | 'void'
  winner: OutcomeName | null
  yes_qty: number
  no_qty: number
  payout: U64
  category: number
  cost: U64
  profit: string
}

// Pnl is profit and loss of the account. Signed amounts are in pips.
export interface Pnl {
  realized: string
  realized_today: string
  unrealized: string
  fees: U64
  rebates: string
  equity: U64
  open_cost: U64
  deposits_net: string
  transfers_net: string
  positions: Holding[]
  as_of_seq: U64
}

// Holding is a position in one outcome.
export interface Holding {
  market_id: number
  generation: number
  round_number: U64
  category: number
  outcome: OutcomeName
  qty: number
  cost: U64
  avg_cost: U64
  mark: number | null
  value: U64
  unrealized: string
}

export interface LedgerRow {
  n: U64
  seq: U64
  ts: U64
  kind: string
  amount: string
  balance_after: U64
  market_id?: number
  round_number?: U64
  category?: number
  order_id?: U64
  ref?: string
}

// RoundResult is what the account made in one round.
export interface RoundResult {
  round_number: U64
  market_id: number
  generation: number
  category: number
  status: RoundStatus
  winner: OutcomeName | null
  bought_yes: number
  bought_no: number
  sold_yes: number
  sold_no: number
  redeemed: number
  paid: U64
  received: U64
  fees: U64
  payout: U64
  profit: string | null
}

export interface PriceRow {
  ts: U64
  close: U64
  sources: number
}

export interface RoundRow {
  ts: U64
  index: U64
  yes_bid: number
  yes_ask: number
  last: number
}

export interface EvidenceTick {
  ts: U64
  price: U64
  fresh_source_count: number
  counted_secs: number
  manual: boolean
  sources: { source: string; price: U64 }[]
}

export interface Evidence {
  market_id: number
  round_number: U64
  status: RoundStatus
  strike: U64
  strike_tick: EvidenceTick | null
  boundary_ts: U64
  twap_window_secs: number
  covered_secs: number
  required_secs: number
  weighted_sum: string
  twap: U64
  by_operator: boolean
  settle_price: U64
  winner: OutcomeName | null
  ticks: EvidenceTick[]
  cursor: string
}

export interface Trade {
  seq: U64
  ts: U64
  market_id: number
  generation: number
  tick_yes: number
  qty: number
  path: Path
  taker_side: Side
  taker_outcome: OutcomeName
}

export interface Deadman {
  armed: boolean
  timeout_ms: number
  deadline_ts: U64
}

export interface BookSnapshot {
  market_id: number
  generation: number
  yes: Level[]
  no: Level[]
}

export interface BookDelta {
  market_id: number
  generation: number
  changes: { outcome: OutcomeName; tick: number; qty: number }[]
}

export interface OracleTick {
  feed: number
  price: U64
  ts: U64
  fresh_source_count: number
}

export interface UserSnapshot {
  as_of_seq: U64
  cash: U64
  reserved: U64
  positions: Position[]
  orders: Order[]
  deadman: Deadman
  approvals?: AgentApproval[] // that wait, newest first; absent from a venue of before they were
}

export type ApprovalStatus = 'waiting' | 'placed' | 'refused' | 'rejected' | 'expired' | 'canceled'

// AgentApproval is an order of an agent that waits for its owner, or that has ended waiting.
export interface AgentApproval {
  approval_id: U64
  user_id: number // the agent
  agent: string // its name
  status: ApprovalStatus
  reason: string // of refused the code, of canceled the reason
  market_id: number
  generation: number
  round_number: U64
  category: number
  side: Side
  outcome: OutcomeName
  type: 'limit' | 'market'
  tick: number // in the outcome of the order; of a market order the worst
  qty: number
  tif: 'gtc' | 'gtt' | 'ioc' | 'fok'
  flags: number // bits: post_only 1, reduce_only 2, cancel_on_pause 4, stp_maker 8
  cost: U64 // the most that it can cost
  open_cost: U64 // what was at stake in the round when it was asked
  client_order_id: U64
  created_ts: U64
  expires_ts: U64
  decided_ts: U64
  order_id: U64 | null
}

// DecidedApproval is the answer of a decision. order is what became of an order that it placed.
export interface DecidedApproval {
  approval: AgentApproval
  order?: Placed
}

export type UserEvent =
  | { event: 'order'; ts: U64; order: Order }
  | ({ event: 'fill' } & Fill)
  | { event: 'balance'; ts: U64; cash: U64; reserved: U64; change: number; cause: string }
  | ({ event: 'position'; ts: U64 } & Position)
  | ({ event: 'settlement' } & Settlement)
  | ({ event: 'deadman'; ts: U64; fired: boolean; group_id?: number } & Deadman)
  | { event: 'approval'; ts: U64; approval: AgentApproval }
  | { event: 'deposit' | 'withdrawal' | 'key_revoked'; ts: U64 }

export interface Bucket {
  sustained_rate_per_s: number
  burst: number
}

export interface Limits {
  scopes: ('read' | 'trade' | 'withdraw')[]
  read: Bucket
  write: Bucket
  cancel: Bucket
  trailing_volume_30d: U64
}

export interface PlaceOrder {
  client_order_id: U64
  market_id: number
  side: Side
  outcome: OutcomeName
  type?: 'market'
  tick?: number
  worst_tick?: number
  qty: number
  tif?: 'gtt' | 'ioc' | 'fok'
  expiry_ts?: U64
  max_cost?: U64
  group_id?: number
  post_only?: true
  reduce_only?: true
  cancel_on_pause?: true
  stp_maker?: true
  generation?: number
}

export interface Placed {
  order_id: U64
  status: OrderStatus
  filled_qty: number
  resting_qty: number
  fills: { tick_yes: number; qty: number; path: Path }[]
  reason?: string
  queue_ahead?: number // contracts, while it rests
}

// Waiting is the answer of a placement that waits for the owner of the agent.
export interface Waiting {
  status: 'waiting'
  approval_id: U64
  expires_ts: U64
}

export interface Preview {
  status: OrderStatus
  fills: { tick_yes: number; qty: number; path: Path }[]
  avg_tick_yes: number
  fee: U64
  reserved: U64
  worst_loss: U64
  best_payout: U64
  cash_after: U64
  reason?: string
  queue_ahead?: number // contracts, if it would rest
  needs_approval?: true // it would wait for the owner, and do this if approved now
  as_of_seq: U64
}

// Mandate bounds an agent. An absent field sets no bound. Costs and losses are in pips, and
// price_collar is in pips of price.
export interface Mandate {
  expires_ts?: U64
  categories?: number[]
  reduce_only?: boolean
  max_order_qty?: number
  price_collar?: number
  max_open_orders?: number
  max_orders_per_day?: number
  max_order_cost?: U64
  max_market_cost?: U64
  max_open_cost?: U64
  max_daily_loss?: U64
  ask_above?: U64 // at stake in one round
}

export interface AgentMandate {
  rev: number
  mandate: Mandate
}

export interface Usage {
  open_cost: U64
  loss_today: U64
  orders_today: number
  open_orders: number
}

// Headroom is what the bounds that depend on the account leave.
export interface Headroom {
  max_open_orders?: number
  max_orders_per_day?: number
  max_open_cost?: U64
  max_daily_loss?: U64
}

export type AgentState = 'active' | 'expired' | 'halted' | 'suspended' | 'closed'

export interface Agent {
  user_id: number
  name: string
  state: AgentState
  rev: number
  usage: Usage
  headroom: Headroom
  equity: U64
  realized_today: string // signed
  client?: string // client_id of the newest OAuth client that was allowed to act as the agent
}

// Activity is one command of an agent, or of its owner about it. code is empty if the venue
// accepted it.
export interface Activity {
  ts: U64
  seq: U64
  api_key: string | null
  operation: string
  client_order_id?: U64
  order_id?: U64
  approval_id?: U64 // asked for or decided
  code: string
  rule?: string
  order?: ActivityOrder // that the command placed, asked for or named
  amount?: string // of a transfer in pips, above 0 to the agent
}

export interface ActivityOrder {
  market_id: number
  generation: number
  category?: number
  side: Side
  outcome: OutcomeName
  type: 'limit' | 'market'
  tick: number
  qty: number
  filled_qty: number
  status: string // of the order, or of the approval if nothing was placed
  reason?: string
}

export interface NewKey {
  api_key: string
  secret: string
  scopes: string[]
}

export interface Key {
  api_key: string
  label: string
  scopes: string[]
  created_ts: U64
  kind: 'hmac' | 'oauth'
  client?: string // client_id of an oauth key
  expires_ts?: U64 // of an oauth key
}

// ConsentAnswer is what an owner answers to an OAuth client.
export interface ConsentAnswer {
  request: string
  allow: boolean
  agent?: { user_id: number; if_rev: number; name?: undefined } | { name: string; mandate: Mandate }
  fund?: U64
  client_transfer_id?: string
  expires_in_secs?: number
}

export interface Deposit {
  deposit_id: string
  amount: U64
  ts: U64
}

export interface Balance {
  cash: U64
  reserved: U64
  as_of_seq: U64
}

export interface NewWithdrawal {
  client_withdrawal_id: string
  amount: U64
  destination: string
}

export interface Withdrawal {
  withdrawal_id: string
  amount: U64
  destination: string
  status: string
  ts: U64
}

// after tells whether a > b. Both are decimal numbers without leading zeros.
export function after(a: U64, b: U64): boolean {
  return a.length === b.length ? a > b : a.length > b.length
}

// ms converts a *_ts field to milliseconds.
export function ms(ts: U64): number {
  return ts.length > 6 ? Number(ts.slice(0, -6)) : 0
}
