"""Records of the REST interface. generate.py writes this file; do not edit it."""

from typing import Any, Literal, NotRequired, TypedDict


class Account(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cash: "str"  # Free cash, pips
    equity: "str"  # Pips
    equity_usd: "str"  # Dollars
    headroom: NotRequired["Headroom"]
    kind: "Literal['owner', 'agent']"
    mandate: NotRequired["Mandate"]
    name: "str"
    owner_id: NotRequired["int"]
    reserved: "str"  # Held by resting buys, pips
    rev: NotRequired["int"]
    state: "Literal['active', 'expired', 'halted', 'suspended', 'closed']"
    usage: "Usage"
    user_id: "int"


class AccountRound(TypedDict):
    bought_no: "int"
    bought_yes: "int"
    category: "int"
    fees: "str"  # Pips
    generation: "int"
    market_id: "int"
    paid: "str"  # Prices of buys without fees, pips
    payout: "str"  # Pips
    profit: "str | None"  # Pips, signed; null before the round is final
    profit_usd: "str | None"  # Dollars, signed
    received: "str"  # Prices of sales without fees, pips
    redeemed: "int"  # Pairs
    round_number: "str"
    sold_no: "int"
    sold_yes: "int"
    status: "Literal['trading', 'frozen', 'proposed', 'settled', 'void']"
    winner: "Literal['yes', 'no'] | None"  # yes or no; null when void or not final


class AccountRoundList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    rounds: "list[AccountRound]"


class AgentApproval(TypedDict):
    agent: "str"  # Its name
    approval_id: "str"
    category: "int"
    client_order_id: "str"
    cost: "str"  # Most that it can cost, pips
    created_ts: "str"  # ns
    decided_ts: "str"  # ns; 0 while it waits
    expires_ts: "str"  # ns
    flags: "int"  # As of orders
    generation: "int"
    group_id: "int"
    market_id: "int"
    max_cost: "str"  # Pips; 0 when unset
    open_cost: "str"  # What was at stake in the round, pips
    order_id: "str | None"  # Null unless placed
    outcome: "Literal['yes', 'no']"
    qty: "int"
    reason: "str"  # Of refused the code, of canceled the reason; else empty
    round_number: "str"
    side: "Literal['buy', 'sell']"
    status: "Literal['waiting', 'placed', 'refused', 'rejected', 'expired', 'canceled']"
    tick: "int"  # Pips in the order's own outcome; a market order's worst_tick
    tif: "Literal['gtc', 'gtt', 'ioc', 'fok']"
    type: "Literal['limit', 'market']"
    user_id: "int"  # The agent


class AgentApprovalList(TypedDict):
    approvals: "list[AgentApproval]"
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end


class ArmDeadman(TypedDict):
    group_id: NotRequired["int"]
    timeout_ms: "int"  # Time to the cancel, ms


class Armed(TypedDict):
    armed: "bool"
    group_id: "int"
    timeout_ms: "int"


class Balance(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cash: "str"  # Free cash, pips
    reserved: "str"  # Held by resting buys, pips


Band = TypedDict("Band", {"from": "int", "step": "int", "to": "int"})


class Bucket(TypedDict):
    burst: "int"
    sustained_rate_per_s: "int"


class CancelOrders(TypedDict):
    order_ids: "list[str]"


class CancelResults(TypedDict):
    results: "list[CancelResult]"


class Canceled(TypedDict):
    canceled_qty: "int"
    seq: "str"
    status: "Literal['canceled']"


class DeadmanRead(TypedDict):
    armed: "bool"
    deadline_ts: "str"  # ns
    group_id: "int"
    timeout_ms: "int"


class DecreaseOrder(TypedDict):
    client_request_id: NotRequired["str"]  # Digits; used once
    reduce_by: NotRequired["int"]  # Contracts to take off; give this or reduce_to
    reduce_to: NotRequired["int"]  # Contracts to remain; 0 cancels. Safe to repeat


class Decreased(TypedDict):
    order_id: "str"
    remaining_qty: "int"
    seq: "str"
    status: "Literal['resting', 'partially_filled', 'canceled']"


class DepositAddress(TypedDict):
    address: "str"
    as_of_seq: "str"  # Stream seq this is current as of
    asset: "str"


class DepositList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    deposits: "list[DepositRow]"


class DepositRow(TypedDict):
    amount: "str"  # Pips
    deposit_id: "str"
    seq: "str"
    ts: "str"  # ns


class Disarmed(TypedDict):
    armed: "bool"
    group_id: "int"


class Error(TypedDict):
    code: "ErrorCode"
    details: "Details"  # retry_after_ms for rate_limited and history_behind, the bound for mandate_violation, else null
    field: NotRequired["str"]  # What the code is about, such as orders[2].qty or a parameter by its name
    hint: NotRequired["str"]  # For people: what is legal there, or what to do next
    message: "str"  # The code; 'rate limited' for rate_limited
    num: "int | None"  # Reject code of the shared registry
    origin: "Literal['core', 'port', 'gateway']"


class ErrorBody(TypedDict):
    error: "Error"


class Evidence(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    boundary_ts: "str"  # ns; the window ends before it
    by_operator: "bool"  # settle_price is the operator's, not twap
    category: "int"
    covered_secs: "int"  # Seconds of the window with a price
    cursor: "str"  # For the next page; empty at the end
    feed: "int"  # 0 BTC, 1 gold, 2 WTI
    fresh_source_count_at_freeze: "int"
    generation: "int"
    market_id: "int"
    required_secs: "int"  # Least covered_secs to settle without the operator
    round_number: "str"
    settle_price: "str"  # At 1e8; 0 until proposed
    status: "Literal['trading', 'frozen', 'proposed', 'settled', 'void']"
    strike: "str"  # At 1e8
    strike_tick: "EvidenceTick"  # The index tick that is the strike
    ticks: "list[EvidenceTick]"  # Of the window and the 5 s before it, newest first
    twap: "str"  # At 1e8; 0 until frozen
    twap_window_secs: "int"
    weighted_sum: "str"  # Sum of price x counted_secs over all ticks; twap is its floored quotient by covered_secs
    winner: "Literal['yes', 'no'] | None"  # yes if and only if settle_price > strike


class EvidenceTick(TypedDict):
    counted_secs: "int"  # Seconds of the window it stands for, carried ones included
    fresh_source_count: "int"
    manual: "bool"  # Posted by an operator
    price: "str"  # At 1e8
    sources: "list[SourcePrice]"
    ts: "str"  # ns; the second it stands for


class Fees(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    maker_rate: "int"
    maker_rebate_pct: "int"
    referral_pct: "int"
    taker_rate: "int"


class Fill(TypedDict):
    api_key: "str | None"  # Of the order; null when unknown
    category: "int"
    client_order_id: "str"
    fee: "str"  # Pips
    generation: "int"
    market_id: "int"
    n: "str"  # Counts the fills of the account, from 1
    order_id: "str"
    outcome: "Literal['yes', 'no']"
    path: "Literal['direct', 'mint', 'merge']"
    qty: "int"
    role: "Literal['maker', 'taker']"
    round_number: "str"
    seq: "str"
    side: "Literal['buy', 'sell']"
    tick_yes: "int"  # Pips
    ts: "str"  # ns


class FillList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    fills: "list[Fill]"


class FinalRound(TypedDict):
    round_number: "str"
    settle_price: "str"  # At 1e8
    strike: "str"  # At 1e8
    winner: "Literal['yes', 'no'] | None"  # Null when void


class Forecast(TypedDict):
    brier: "int | None"  # Score at 1e8, 0 is best; null like winner
    category: "int"
    counts: "bool"  # The last of its round
    generation: "int"
    market_id: "int"
    n: "str"  # Counts the forecasts of the account, from 1
    p: "int"  # Probability of YES, basis points
    round_number: "str"
    seq: "str"
    ts: "str"  # ns
    winner: "Literal['yes', 'no'] | None"  # yes or no; null before settled, or when void


class ForecastList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    forecasts: "list[Forecast]"


class GroupChanged(TypedDict):
    bound: "bool"
    deadline_ts: "str"
    fill_limit: "int"
    filled: "int"
    group_id: "int"
    seq: "str"
    tripped: "bool"
    window_ms: "int"


class GroupList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    groups: "list[GroupRow]"


class GroupRow(TypedDict):
    bound: "bool"
    deadline_ts: "str"
    fill_limit: "int"
    filled: "int"
    group_id: "int"
    tripped: "bool"
    window_ms: "int"


class Headroom(TypedDict):
    max_daily_loss: NotRequired["str"]  # Pips
    max_open_cost: NotRequired["str"]  # Pips
    max_open_orders: NotRequired["int"]
    max_orders_per_day: NotRequired["int"]


class HistorySpan(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    since_seq: "str"  # Rows begin after this seq


class LedgerList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    ledger: "list[LedgerRow]"


class LedgerRow(TypedDict):
    amount: "str"  # Pips, signed
    amount_usd: "str"  # Dollars, signed
    balance_after: "str"  # Cash and reservations after this row, pips
    category: NotRequired["int"]
    fill_n: NotRequired["str"]  # The n of the fill
    generation: NotRequired["int"]
    kind: "Literal['fill', 'fee', 'rebate', 'referral', 'settlement', 'void', 'redeem', 'deposit', 'withdrawal', 'withdrawal_returned', 'transfer']"
    market_id: NotRequired["int"]
    n: "str"  # Counts the rows of the account, from 1
    order_id: NotRequired["str"]  # Of a fill and its fee
    ref: NotRequired["str"]  # Id of the deposit or withdrawal, or client_transfer_id
    round_number: NotRequired["str"]
    seq: "str"
    ts: "str"  # ns


class Limits(TypedDict):
    batch_cap: "int"
    cancel: "Bucket"
    read: "Bucket"
    response_budget_ms: "int"
    scopes: "list[Literal['read', 'trade', 'withdraw']]"
    trailing_volume_30d: "str"  # Contracts
    usd_per_extra_rps: "int"
    write: "Bucket"
    write_floor: "int"


class LiveRound(TypedDict):
    close_ts: "str"  # ns
    generation: "int"
    market_id: "int"
    paused: "bool"
    round_number: "str"
    secs_to_close: "int"
    strike: "str"  # At 1e8
    strike_decimal: "str"
    yes_ask: "int"  # Pips; 0 when none
    yes_bid: "int"  # Pips; 0 when none


class Mandate(TypedDict):
    ask_above: NotRequired["str"]  # Pips at stake in one round; above it an order waits for the owner
    categories: NotRequired["list[int]"]  # Series that it may trade: 1-3 BTC, 4-6 gold, 7-9 WTI: rounds of 60s, 5m, 15m
    expires_ts: NotRequired["str"]  # ns; placements are rejected from then on
    max_daily_loss: NotRequired["str"]  # Pips
    max_market_cost: NotRequired["str"]  # Pips
    max_open_cost: NotRequired["str"]  # Pips
    max_open_orders: NotRequired["int"]
    max_order_cost: NotRequired["str"]  # Pips
    max_order_qty: NotRequired["int"]  # Contracts
    max_orders_per_day: NotRequired["int"]
    price_collar: NotRequired["int"]  # Pips of price beyond the reference
    reduce_only: NotRequired["bool"]  # Only buys with the flag reduce_only, and sales


class Market(TypedDict):
    close_ts: "str"  # ns; when it will freeze
    generation: "int"
    last_tick_yes: "int"  # Pips; 0 when none
    market_id: "int"
    open_interest: "str"  # Contracts
    open_ts: "str"  # ns
    paused: "bool"  # No placements, cancels work
    round_number: "str"
    secs_to_close: "int"  # At as_of_seq; 0 unless trading
    status: "Literal['trading', 'frozen', 'proposed', 'settled', 'void']"
    tick_size: "TickSize"
    volume: "str"  # Contracts
    yes_ask: "int"  # Pips; 0 when none
    yes_ask_qty: "int"
    yes_bid: "int"  # Pips; 0 when none
    yes_bid_qty: "int"


class MarketList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    markets: "list[Market]"


class MarketRead(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    close_ts: "str"  # ns; when it will freeze
    generation: "int"
    last_tick_yes: "int"  # Pips; 0 when none
    market_id: "int"
    open_interest: "str"  # Contracts
    open_ts: "str"  # ns
    paused: "bool"  # No placements, cancels work
    round_number: "str"
    secs_to_close: "int"  # At as_of_seq; 0 unless trading
    status: "Literal['trading', 'frozen', 'proposed', 'settled', 'void']"
    tick_size: "TickSize"
    volume: "str"  # Contracts
    yes_ask: "int"  # Pips; 0 when none
    yes_ask_qty: "int"
    yes_bid: "int"  # Pips; 0 when none
    yes_bid_qty: "int"


class OraclePrice(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    fresh_source_count: "int"
    price: "str"  # At 1e8
    ts: "str"  # ns


class Order(TypedDict):
    api_key: "str | None"  # Null when unknown
    client_order_id: "str"
    created_seq: "str"
    created_ts: "str"  # ns
    expiry_ts: "str"  # ns; 0 when not gtt
    filled_qty: "int"
    flags: "int"  # bit0 post_only, bit1 reduce_only, bit2 cancel_on_pause, bit3 stp_maker
    generation: "int"
    group_id: "int"
    last_update_seq: "str"
    market_id: "int"
    max_cost: "str"  # Pips; 0 when unset
    order_id: "str | None"  # Null for a rejected order
    outcome: "Literal['yes', 'no']"
    qty: "int"
    reason: "OrderReason"  # Why it was canceled or rejected; empty otherwise
    remaining_qty: "int"
    side: "Literal['buy', 'sell']"
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled', 'expired', 'rejected']"
    tick: "int"  # Pips in the order's own outcome; a market order's worst_tick
    tif: "Literal['gtc', 'gtt', 'ioc', 'fok']"
    type: "Literal['limit', 'market']"


class OrderList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    orders: "list[Order]"


class OrderRead(TypedDict):
    api_key: "str | None"  # Null when unknown
    as_of_seq: "str"  # Stream seq this is current as of
    client_order_id: "str"
    created_seq: "str"
    created_ts: "str"  # ns
    expiry_ts: "str"  # ns; 0 when not gtt
    filled_qty: "int"
    flags: "int"  # bit0 post_only, bit1 reduce_only, bit2 cancel_on_pause, bit3 stp_maker
    generation: "int"
    group_id: "int"
    last_update_seq: "str"
    market_id: "int"
    max_cost: "str"  # Pips; 0 when unset
    order_id: "str | None"  # Null for a rejected order
    outcome: "Literal['yes', 'no']"
    qty: "int"
    queue_ahead: NotRequired["int"]  # Contracts ahead of it at its price; present while it rests
    reason: "OrderReason"  # Why it was canceled or rejected; empty otherwise
    remaining_qty: "int"
    side: "Literal['buy', 'sell']"
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled', 'expired', 'rejected']"
    tick: "int"  # Pips in the order's own outcome; a market order's worst_tick
    tif: "Literal['gtc', 'gtt', 'ioc', 'fok']"
    type: "Literal['limit', 'market']"


class Orderbook(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    generation: "int"
    market_id: "int"
    no: "list[list[int]]"  # [tick, qty] bids for NO, best first
    tick_size: "TickSize"
    ts: "str"  # ns; stamp of the command with the seq as_of_seq
    yes: "list[list[int]]"  # [tick, qty] bids for YES, best first


class Outcome(TypedDict):
    client_order_id: "str"
    fee: "str"  # Pips; of these fills
    fee_usd: "str"  # Dollars
    filled_qty: "int"
    fills: "list[OutcomeFill]"
    order_id: "str"
    queue_ahead: NotRequired["int"]  # Contracts ahead at its price; present when it rests
    reason: NotRequired["CancelReason"]  # Present when canceled
    resting_qty: "int"
    seq: "str"
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled']"
    worst_tick: NotRequired["int"]  # Pips; present when a price collar chose it


class OutcomeFill(TypedDict):
    path: "Literal['direct', 'mint', 'merge']"
    qty: "int"
    tick_yes: "int"  # Pips


class PlaceOrder(TypedDict):
    cancel_on_pause: NotRequired["bool"]  # Cancel at a freeze or pause
    client_order_id: "str"  # Digits, not 0; used once per account
    expiry_ts: NotRequired["str"]  # gtt: Unix ns; required
    generation: NotRequired["int"]  # Round of the slot
    group_id: NotRequired["int"]  # Group for cancel-all
    market_id: "int"  # Market slot
    max_cost: NotRequired["str"]  # Market buy: most pips to spend with fees; required
    not_after_ts: NotRequired["str"]  # Unix ns: later, too_late
    outcome: "Literal['yes', 'no']"
    post_only: NotRequired["bool"]  # Cancel rather than take
    qty: "int"  # Contracts
    reduce_only: NotRequired["bool"]  # Only close what is held
    side: "Literal['buy', 'sell']"
    stp_maker: NotRequired["bool"]  # At a self-trade cancel the resting one
    tick: NotRequired["int"]  # Limit: price in pips (4700 = 47 cents), 100-390 by 10, 400-9600 by 100, 9610-9990 by 10; required
    tif: NotRequired["Literal['gtc', 'gtt', 'ioc', 'fok']"]  # Limit; default gtc
    type: NotRequired["Literal['limit', 'market']"]  # Default limit
    worst_tick: NotRequired["int"]  # Market: worst price to accept, pips


class PlaceOrders(TypedDict):
    orders: "list[PlaceOrder]"  # Partial success is normal


class PnL(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    deposits_net: "str"  # Deposits less withdrawals, pips, signed
    equity: "str"  # Pips: cash, reservations and contracts at the mark price
    equity_usd: "str"  # Dollars
    fees: "str"  # Paid, pips
    open_cost: "str"  # Pips: reserved cash and cost of what is held, which bounds the loss
    positions: "list[PnLPosition]"  # By market_id, YES first
    realized: "str"  # Pips, signed
    realized_today: "str"  # Of this UTC day, pips, signed
    realized_today_usd: "str"  # Dollars, signed
    realized_usd: "str"  # Dollars, signed
    rebates: "str"  # Rebates and referral shares received, pips
    transfers_net: "str"  # Transfers received less transfers made, pips, signed
    unrealized: "str"  # Of what is held, at the mark price, pips, signed
    unrealized_usd: "str"  # Dollars, signed


class PnLPosition(TypedDict):
    avg_cost: "str"  # Pips a contract, rounded down
    category: "int"
    cost: "str"  # Pips paid for what is held, fees included
    generation: "int"
    mark: "int | None"  # Pips; null when there is no mark price
    market_id: "int"
    outcome: "Literal['yes', 'no']"
    qty: "int"
    round_number: "str"
    unrealized: "str"  # value less cost, pips, signed
    value: "str"  # At the mark, pips


class Position(TypedDict):
    cost: "str"  # Pips paid for what is held now, fees included
    generation: "int"
    market_id: "int"
    no_qty: "int"
    no_reserved: "int"
    round_number: "str"
    yes_qty: "int"  # Includes what is reserved
    yes_reserved: "int"


class PositionList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    positions: "list[Position]"


class Preview(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    avg_tick_yes: "int"  # Pips; 0 without a fill
    best_payout: "str"  # Pips
    best_payout_usd: "str"  # Dollars
    cash_after: "str"  # Free cash, pips
    cash_after_usd: "str"  # Dollars
    fee: "str"  # Pips
    fee_usd: "str"  # Dollars
    fills: "list[OutcomeFill]"
    needs_approval: NotRequired["bool"]  # It would wait for the owner; the rest is what it would do if approved now
    queue_ahead: NotRequired["int"]  # Contracts ahead at its price; present when it would rest
    reason: NotRequired["CancelReason"]  # Present when canceled
    reserved: "str"  # Pips
    reserved_usd: "str"  # Dollars
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled']"
    worst_loss: "str"  # Pips
    worst_loss_usd: "str"  # Dollars
    worst_tick: NotRequired["int"]  # Pips; present when a price collar chose it


class PriceHistory(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    feed: "int"
    rows: "list[PriceRow]"
    step_secs: "int"
    volatility_ppb: "str"  # Of the rows, per step, in parts per billion


class PriceRow(TypedDict):
    close: "str"  # At 1e8
    high: "str"  # At 1e8
    low: "str"  # At 1e8
    open: "str"  # At 1e8
    sources: "int"  # Of the last tick
    ts: "str"  # ns; start of the step


class PutQuotes(TypedDict):
    quotes: "list[Quote]"


class Quote(TypedDict):
    ask: "QuoteSide | None"  # To sell YES; null: none
    bid: "QuoteSide | None"  # To buy YES; null: none
    generation: "int"  # Round of the slot
    group_id: "int"  # The group has at most one order on each side
    market_id: "int"  # Market slot
    not_after_ts: NotRequired["str"]  # Unix ns: later, too_late


class QuoteEmptied(TypedDict):
    canceled: "int"  # Orders canceled
    seq: "str"


class QuoteOutcome(TypedDict):
    canceled: "int"  # Orders canceled for it
    client_order_id: "str"
    fee: "str"  # Pips; of these fills
    fee_usd: "str"  # Dollars
    filled_qty: "int"
    fills: "list[OutcomeFill]"
    kept: "bool"  # An older order, with its place in the queue
    order_id: "str"
    queue_ahead: NotRequired["int"]  # Contracts ahead at its price; present when it rests
    reason: NotRequired["CancelReason"]  # Present when canceled
    resting_qty: "int"
    seq: "str"
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled']"
    worst_tick: NotRequired["int"]  # Pips; present when a price collar chose it


class QuoteResult(TypedDict):
    ask: "QuotedSide"
    bid: "QuotedSide"
    group_id: "int"
    market_id: "int"


class QuoteSide(TypedDict):
    client_order_id: "str"  # Digits, not 0; used once per account
    qty: "int"  # Contracts
    tick: "int"  # Pips of YES


class Redeem(TypedDict):
    client_request_id: NotRequired["str"]  # Digits; used once
    market_id: "int"
    qty: "int"  # Number of pairs


class Redeemed(TypedDict):
    credit: "str"  # Pips
    market_id: "int"
    qty: "int"
    seq: "str"


class ReplaceOrder(TypedDict):
    cancel_on_pause: NotRequired["bool"]  # Cancel at a freeze or pause
    client_order_id: "str"  # Of the new order; never used before
    expiry_ts: NotRequired["str"]  # gtt: Unix ns
    group_id: NotRequired["int"]  # Group for cancel-all
    keep_total: NotRequired["bool"]  # qty counts what has filled
    max_cost: NotRequired["str"]  # Buy: most pips to spend with fees
    not_after_ts: NotRequired["str"]  # Unix ns: later, too_late
    post_only: NotRequired["bool"]  # Cancel rather than take
    qty: NotRequired["int"]  # Contracts; default: what remains
    reduce_only: NotRequired["bool"]  # Only close what is held
    stp_maker: NotRequired["bool"]  # At a self-trade cancel the resting one
    tick: NotRequired["int"]  # Pips
    tif: NotRequired["Literal['gtc', 'gtt', 'ioc', 'fok']"]
    type: NotRequired["Literal['limit']"]  # Default limit


class Replaced(TypedDict):
    canceled_qty: "int"  # Contracts that were left
    order_id: "str"


class Replacement(TypedDict):
    client_order_id: "str"
    fee: "str"  # Pips; of these fills
    fee_usd: "str"  # Dollars
    filled_qty: "int"
    fills: "list[OutcomeFill]"
    order_id: "str"
    queue_ahead: NotRequired["int"]  # Contracts ahead at its price; present when it rests
    reason: NotRequired["CancelReason"]  # Present when canceled
    replaced: "Replaced"
    resting_qty: "int"
    seq: "str"
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled']"
    worst_tick: NotRequired["int"]  # Pips; present when a price collar chose it


class RequestWithdrawal(TypedDict):
    amount: "str"  # Pips
    client_withdrawal_id: "str"  # Idempotency key
    destination: "str"


class Retention(TypedDict):
    deposits_cap: "int"
    event_cap: "int"  # Events of the user channel
    fill_cap: "int"
    forecast_cap: "int"
    history: "HistorySpan | None"  # Of the mirror; null without one
    ledger_cap: "int"
    portfolio_rounds_cap: "int"  # Final rounds; the others are always kept
    reject_cap: "int"
    tape_cap: "int"
    terminal_cap: "int"


class Round(TypedDict):
    category: "int"  # Series id, 0 unclassified
    close_ts: "str"  # ns; when trading ends
    freeze_ts: "str"  # ns; 0 until frozen
    fresh_source_count_at_freeze: "int"
    gen: "int"  # Proposals of this round so far
    generation: "int"  # Life of the slot
    market_id: "int"
    open_ts: "str"  # ns
    paused: "bool"
    resolve_ts: "str"  # ns; 0 until resolved
    round_number: "str"
    secs_to_close: "int"  # At as_of_seq; 0 unless trading
    settle_price: "str"  # Freeze price at 1e8; 0 until proposed
    status: "Literal['trading', 'frozen', 'proposed', 'settled', 'void']"
    strike: "str"  # Open price at 1e8
    twap_window_secs: "int"
    winner: "Literal['yes', 'no'] | None"  # yes or no; null until proposed, and when void
    yes_payout: "int"  # Cents per $1 to YES once decided, 0 or 100


class RoundHistory(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    round_number: "str"
    rows: "list[RoundRow]"
    step_secs: "int"


class RoundList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    rounds: "list[Round]"


class RoundRead(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    category: "int"  # Series id, 0 unclassified
    close_ts: "str"  # ns; when trading ends
    freeze_ts: "str"  # ns; 0 until frozen
    fresh_source_count_at_freeze: "int"
    gen: "int"  # Proposals of this round so far
    generation: "int"  # Life of the slot
    market_id: "int"
    open_ts: "str"  # ns
    paused: "bool"
    resolve_ts: "str"  # ns; 0 until resolved
    round_number: "str"
    secs_to_close: "int"  # At as_of_seq; 0 unless trading
    settle_price: "str"  # Freeze price at 1e8; 0 until proposed
    status: "Literal['trading', 'frozen', 'proposed', 'settled', 'void']"
    strike: "str"  # Open price at 1e8
    twap_window_secs: "int"
    winner: "Literal['yes', 'no'] | None"  # yes or no; null until proposed, and when void
    yes_payout: "int"  # Cents per $1 to YES once decided, 0 or 100


class RoundRow(TypedDict):
    index: "str"  # At 1e8
    last: "int"  # Pips of YES
    ts: "str"  # ns; start of the step
    volume: "str"  # Of the round so far
    yes_ask: "int"  # Pips
    yes_bid: "int"  # Pips


class Schedule(TypedDict):
    schedule: "list[Window]"


class Sequenced(TypedDict):
    seq: "str"


class Series(TypedDict):
    asset: "str"
    cadence_secs: "int"
    category: "int"
    feed: "int"  # 0 BTC, 1 gold, 2 WTI
    index: "str"  # At 1e8
    index_decimal: "str"
    last: "list[FinalRound]"  # Last 3 final rounds, newest first
    live: "LiveRound | None"  # Null when no round is trading
    name: "str"
    twap_window_secs: "int"
    volatility_per_minute: "str | None"  # Percent; null at first


class SeriesList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    series: "list[Series]"
    volatility_window_secs: "int"


class SetGroup(TypedDict):
    fill_limit: "int"  # Contracts
    window_ms: "int"


class Settlement(TypedDict):
    category: "int"
    cost: "str | None"  # Pips paid for what was held, fees included; null when unknown
    generation: "int"
    market_id: "int"
    no_qty: "int"
    outcome_status: "Literal['settled', 'void']"
    payout: "str"  # Pips
    profit: "str | None"  # payout less cost, pips, signed; null when unknown
    round_number: "str"
    seq: "str"
    settle_price: "str"  # At 1e8
    strike: "str"  # At 1e8
    ts: "str"  # ns
    winner: "Literal['yes', 'no'] | None"  # yes or no; null when void
    yes_qty: "int"


class SettlementList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    settlements: "list[Settlement]"


class SourcePrice(TypedDict):
    price: "str"  # At 1e8
    source: "str"


class Status(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    exchange_active: "bool"


class SubmitForecast(TypedDict):
    generation: "int"
    market_id: "int"
    p: "int"  # P(YES), basis points (6200 = 62 %)


class SubmittedForecast(TypedDict):
    n: "str"  # Counts the forecasts of the account, from 1
    seq: "str"
    ts: "str"  # ns


class TickSize(TypedDict):
    bands: "list[Band]"
    name: "str"


class Time(TypedDict):
    clock: "Literal['wall', 'virtual']"  # wall: both times are the same
    server_time: "str"  # ns; sign with it
    venue_time: "str"  # ns; stamps and rounds go by it


class Trade(TypedDict):
    generation: "int"
    market_id: "int"
    path: "Literal['direct', 'mint', 'merge']"
    qty: "int"
    seq: "str"
    taker_outcome: "Literal['yes', 'no']"
    taker_side: "Literal['buy', 'sell']"
    tick_yes: "int"  # Pips
    ts: "str"  # ns


class TradeList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    trades: "list[Trade]"


class Usage(TypedDict):
    loss_today: "str"  # Pips
    open_cost: "str"  # Pips
    open_orders: "int"
    orders_today: "int"


class Waiting(TypedDict):
    approval_id: "str"
    approve_url: "str"  # Where the owner decides
    client_order_id: "str"
    cost: "str"  # Most that it can cost, pips; nothing is reserved
    expires_ts: "str"  # ns
    seq: "str"
    status: "Literal['waiting']"


class Window(TypedDict):
    end_ts: "str"  # ns
    kind: "str"
    start_ts: "str"  # ns


class Withdrawal(TypedDict):
    amount: "str"  # Pips
    client_withdrawal_id: "str"
    destination: "str"
    reference: "str"
    seq: "str"
    state: "Literal['pending', 'approved', 'sent', 'completed', 'failed', 'rejected']"
    status: "Literal['pending', 'completed', 'rejected']"
    ts: "str"  # ns
    withdrawal_id: "str"


class WithdrawalList(TypedDict):
    as_of_seq: "str"  # Stream seq this is current as of
    cursor: "str"  # For the next page; empty at the end
    withdrawals: "list[Withdrawal]"


class WithdrawalRead(TypedDict):
    amount: "str"  # Pips
    as_of_seq: "str"  # Stream seq this is current as of
    client_withdrawal_id: "str"
    destination: "str"
    reference: "str"
    seq: "str"
    state: "Literal['pending', 'approved', 'sent', 'completed', 'failed', 'rejected']"
    status: "Literal['pending', 'completed', 'rejected']"
    ts: "str"  # ns
    withdrawal_id: "str"


CancelReason = Literal["post_only_cross", "fok_infeasible", "ioc_remainder", "self_trade_prevention", "max_cost_infeasible", "user_cancel", "mass_cancel", "deadman", "decreased_to_zero", "paused", "round_closed", "suspended", "operator", "reduce_only", "halted", "mandate_expired", "replaced", "group_limit", "requoted", "disconnect"]

CancelResult = Canceled | ErrorBody

Details = dict[str, str] | None

ErrorCode = Literal["unknown_market", "insufficient_balance", "insufficient_position", "duplicate_client_order_id", "bad_price_tick", "bad_qty", "per_market_limit", "market_not_trading", "market_paused", "unknown_order", "invalid_decrease", "client_order_id_required", "reduce_only_violation", "user_suspended", "open_order_limit", "bad_expiry", "mandate_violation", "stale_generation", "group_tripped", "too_late", "crossed_quote", "approval_limit", "unauthorized", "missing_scope", "self_approval", "forbidden_origin", "not_found", "method_not_allowed", "body_too_large", "unsupported_media_type", "unexpected_body", "malformed_json", "unknown_field", "invalid_timeout", "schema_violation", "bad_cursor", "bad_client_withdrawal_id", "bad_amount", "bad_destination", "round_not_found", "unknown_group", "group_limit_reached", "unknown_agent", "unknown_withdrawal", "unknown_user", "unknown_approval", "unknown_key", "duplicate_client_withdrawal_id", "duplicate_agent_name", "duplicate_client_transfer_id", "duplicate_client_request_id", "stale_mandate", "agent_limit", "too_many_keys", "bad_mandate", "duplicate_deposit_id", "duplicate_operator_name", "invalid_transition", "rate_limited", "too_many_connections", "shed", "draining", "node_behind", "read_only_node", "history_behind", "sequencing_timeout", "internal", "funding_unavailable", "withdrawal_refused"]

OrderReason = Literal["", "post_only_cross", "fok_infeasible", "ioc_remainder", "self_trade_prevention", "max_cost_infeasible", "user_cancel", "mass_cancel", "deadman", "decreased_to_zero", "paused", "round_closed", "suspended", "operator", "reduce_only", "halted", "mandate_expired", "replaced", "group_limit", "requoted", "disconnect", "unknown_market", "insufficient_balance", "insufficient_position", "duplicate_client_order_id", "bad_price_tick", "bad_qty", "per_market_limit", "market_not_trading", "market_paused", "unknown_order", "invalid_decrease", "client_order_id_required", "reduce_only_violation", "user_suspended", "open_order_limit", "bad_expiry", "mandate_violation", "stale_generation", "group_tripped", "too_late", "crossed_quote", "approval_limit"]

PlaceResult = Outcome | Waiting | ErrorBody

QuotedSide = QuoteOutcome | QuoteEmptied | ErrorBody
