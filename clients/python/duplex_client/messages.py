"""Messages of the event lane. generate.py writes this file; do not edit it."""

from typing import Any, Literal, NotRequired, TypedDict


class AccountEvent(TypedDict):
    event: "Literal['account']"
    rev: "int"
    state: "Literal['active', 'expired', 'halted', 'suspended', 'closed']"
    ts: "str"  # ns


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


class ApprovalEvent(TypedDict):
    approval: "AgentApproval"
    event: "Literal['approval']"
    ts: "str"  # ns


class BalanceEvent(TypedDict):
    cash: "str"  # Free cash, pips
    cause: "BalanceCause"
    change: "str"  # Pips, signed
    event: "Literal['balance']"
    reserved: "str"  # Held by resting buys, pips
    ts: "str"  # ns


Band = TypedDict("Band", {"from": "int", "step": "int", "to": "int"})


class BoundMessage(TypedDict):
    id: "int"  # Chosen by the client; the answer repeats it
    msg: "WSBound"
    type: "Literal['ok']"


class CancelOnDisconnectMessage(TypedDict):
    cmd: "Literal['cancel_on_disconnect']"
    id: "int"  # Chosen by the client; the answer repeats it
    params: "WSCancelOnDisconnect"


class Deadman(TypedDict):
    armed: "bool"
    deadline_ts: "str"  # ns
    timeout_ms: "int"


class DeadmanEvent(TypedDict):
    armed: "bool"
    deadline_ts: "str"  # ns
    event: "Literal['deadman']"
    fired: "bool"
    group_id: "int"  # 0: the switch of the account
    timeout_ms: "int"
    ts: "str"  # ns


class DepositEvent(TypedDict):
    amount: "str"  # Pips
    deposit_id: "str"
    event: "Literal['deposit']"
    ts: "str"  # ns


class DrainingMessage(TypedDict):
    id: NotRequired["int"]  # Chosen by the client; the answer repeats it
    msg: "WSDraining"
    type: "Literal['draining']"


class ErrorMessage(TypedDict):
    id: NotRequired["int"]  # Chosen by the client; the answer repeats it
    msg: "WSError"
    type: "Literal['error']"


class FillEvent(TypedDict):
    api_key: "str | None"  # Of the order; null when unknown
    category: "int"
    client_order_id: "str"
    event: "Literal['fill']"
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


class GroupEvent(TypedDict):
    change: "Literal['set', 'tripped', 'reset', 'deleted']"
    event: "Literal['group']"
    group: "GroupRow"
    ts: "str"  # ns


class GroupRow(TypedDict):
    bound: "bool"
    deadline_ts: "str"
    fill_limit: "int"
    filled: "int"
    group_id: "int"
    tripped: "bool"
    window_ms: "int"


HandshakeHeaders = TypedDict("HandshakeHeaders", {"DX-ACCESS-KEY": NotRequired["str"], "DX-ACCESS-SIGNATURE": NotRequired["str"], "DX-ACCESS-TIMESTAMP": NotRequired["str"], "Origin": NotRequired["str"], "Sec-WebSocket-Protocol": NotRequired["str"]})


class KeyRevokedEvent(TypedDict):
    api_key: "str"
    event: "Literal['key_revoked']"
    ts: "str"  # ns


class ListSubscriptionsMessage(TypedDict):
    cmd: "Literal['list_subscriptions']"
    id: "int"  # Chosen by the client; the answer repeats it
    params: NotRequired["WSListSubscriptions"]


class OracleMessage(TypedDict):
    msg: "WSOracle"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['oracle']"


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
    reason: "OrderReason"
    remaining_qty: "int"
    side: "Literal['buy', 'sell']"
    status: "Literal['resting', 'partially_filled', 'executed', 'canceled', 'expired', 'rejected']"
    tick: "int"  # Pips in the order's own outcome; a market order's worst_tick
    tif: "Literal['gtc', 'gtt', 'ioc', 'fok']"
    type: "Literal['limit', 'market']"


class OrderEvent(TypedDict):
    event: "Literal['order']"
    order: "Order"
    ts: "str"  # ns


class OrderbookDeltaMessage(TypedDict):
    msg: "WSBookDelta"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['orderbook_delta']"


class OrderbookSnapshotMessage(TypedDict):
    msg: "WSBook"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['orderbook_snapshot']"


class Position(TypedDict):
    cost: "str"  # Pips paid for what is held now, fees included
    generation: "int"
    market_id: "int"
    no_qty: "int"
    no_reserved: "int"
    round_number: "str"
    yes_qty: "int"  # Includes what is reserved
    yes_reserved: "int"


class PositionEvent(TypedDict):
    cost: "str"  # Pips paid for what is held now, fees included
    event: "Literal['position']"
    generation: "int"
    market_id: "int"
    no_qty: "int"
    no_reserved: "int"
    round_number: "str"
    ts: "str"  # ns
    yes_qty: "int"  # Includes what is reserved
    yes_reserved: "int"


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


class RoundMessage(TypedDict):
    msg: "Round"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['round']"


class SettlementEvent(TypedDict):
    category: "int"
    cost: "str | None"  # Pips paid for what was held, fees included; null when unknown
    event: "Literal['settlement']"
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


class SubscribeMessage(TypedDict):
    cmd: "Literal['subscribe']"
    id: "int"  # Chosen by the client; the answer repeats it
    params: "WSSubscribe"


class SubscribedMessage(TypedDict):
    id: "int"  # Chosen by the client; the answer repeats it
    msg: "WSSubscribed"
    type: "Literal['subscribed']"


class SubscriptionUpdatedMessage(TypedDict):
    id: "int"  # Chosen by the client; the answer repeats it
    msg: "WSUpdated"
    type: "Literal['ok']"


class SubscriptionsMessage(TypedDict):
    id: "int"  # Chosen by the client; the answer repeats it
    msg: "WSSubscriptions"
    type: "Literal['ok']"


class TickSize(TypedDict):
    bands: "list[Band]"
    name: "str"


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


class TradeMessage(TypedDict):
    msg: "Trade"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['trade']"


class TransferEvent(TypedDict):
    event: "Literal['transfer']"
    transfer: "Transferred"
    ts: "str"  # ns


Transferred = TypedDict("Transferred", {"amount": "str", "client_transfer_id": "str", "from": "int", "seq": "str", "to": "int", "ts": "str"})


class UnsubscribeMessage(TypedDict):
    cmd: "Literal['unsubscribe']"
    id: "int"  # Chosen by the client; the answer repeats it
    params: "WSUnsubscribe"


class UnsubscribedMessage(TypedDict):
    id: "int"  # Chosen by the client; the answer repeats it
    msg: "WSUnsubscribed"
    type: "Literal['unsubscribed']"


class UpdateSubscriptionMessage(TypedDict):
    cmd: "Literal['update_subscription']"
    id: "int"  # Chosen by the client; the answer repeats it
    params: "WSUpdate"


class UserAccountMessage(TypedDict):
    msg: "AccountEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserApprovalMessage(TypedDict):
    msg: "ApprovalEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserBalanceMessage(TypedDict):
    msg: "BalanceEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserDeadmanMessage(TypedDict):
    msg: "DeadmanEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserDepositMessage(TypedDict):
    msg: "DepositEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserFillMessage(TypedDict):
    msg: "FillEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserGroupMessage(TypedDict):
    msg: "GroupEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserKeyRevokedMessage(TypedDict):
    msg: "KeyRevokedEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserOrderMessage(TypedDict):
    msg: "OrderEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserPositionMessage(TypedDict):
    msg: "PositionEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserSettlementMessage(TypedDict):
    msg: "SettlementEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserSnapshotMessage(TypedDict):
    msg: "WSUserSnapshot"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user_snapshot']"


class UserTransferMessage(TypedDict):
    msg: "TransferEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class UserWithdrawalMessage(TypedDict):
    msg: "WithdrawalEvent"
    prev_seq: "str"  # seq of the message before it on this sid (of books: and market); 0 for the first
    seq: "str"  # Stream seq of the command that caused it, or that a snapshot is as of
    sid: "int"  # The subscription
    type: "Literal['user']"


class WSBook(TypedDict):
    generation: "int"
    market_id: "int"
    no: "list[list[int]]"  # [tick, qty] bids for NO, best first
    round_number: "str"
    tick_size: "TickSize"
    ts: "str"  # ns; stamp of the command with the message's seq
    yes: "list[list[int]]"  # [tick, qty] bids for YES, best first


class WSBookDelta(TypedDict):
    changes: "list[WSChange]"
    generation: "int"
    market_id: "int"
    ts: "str"  # ns; stamp of the command with the message's seq


class WSBound(TypedDict):
    enabled: "bool"
    group_id: "int"
    seq: "str"


class WSCancelOnDisconnect(TypedDict):
    enabled: "bool"
    group_id: NotRequired["int"]  # Orders of this group; 0: all


class WSChange(TypedDict):
    delta: "int"
    outcome: "Literal['yes', 'no']"
    qty: "int"
    tick: "int"  # In the outcome's own pips


class WSDraining(TypedDict):
    close_ts: "str"  # When the connection is closed, ns


class WSError(TypedDict):
    code: "int"
    name: "Literal['malformed_json', 'bad_params', 'unknown_command', 'unknown_channel', 'already_subscribed', 'unknown_sid', 'unknown_market', 'missing_scope', 'rate_limited', 'unsupported_action', 'too_many_subscriptions', 'sequencing_timeout', 'shed', 'read_only_node', 'group_limit_reached']"
    retry_after_ms: NotRequired["str"]  # Of rate_limited


class WSOracle(TypedDict):
    feed: "int"  # Its number; GET /v1/series names it
    fresh_source_count: "int"
    price: "str"  # At 1e8
    ts: "str"  # ns


class WSSubscribe(TypedDict):
    channels: "list[Literal['orderbook_delta', 'orderbook_snapshot', 'trades', 'oracle', 'rounds', 'user']]"
    market_ids: NotRequired["list[int]"]  # Default all
    min_seq: NotRequired["str"]  # Wait for this seq
    since_seq: NotRequired["str"]  # user only: the last seq seen


class WSSubscribed(TypedDict):
    channel: "Literal['orderbook_delta', 'orderbook_snapshot', 'trades', 'oracle', 'rounds', 'user']"
    resumed: NotRequired["bool"]  # user only: whether what came after since_seq follows, instead of a snapshot
    sid: "int"  # Names the subscription on this connection


class WSSubscription(TypedDict):
    channel: "Literal['orderbook_delta', 'orderbook_snapshot', 'trades', 'oracle', 'rounds', 'user']"
    market_ids: "list[int]"  # None: all markets
    sid: "int"


class WSSubscriptions(TypedDict):
    subscriptions: "list[WSSubscription]"


class WSUnsubscribe(TypedDict):
    sids: "list[int]"


class WSUnsubscribed(TypedDict):
    sids: "list[int]"


class WSUpdate(TypedDict):
    action: "Literal['get_snapshot', 'add_markets', 'delete_markets']"
    market_ids: NotRequired["list[int]"]
    min_seq: NotRequired["str"]  # get_snapshot only: wait for this seq
    sid: "int"


class WSUpdated(TypedDict):
    market_ids: "list[int]"  # None: all markets
    sid: "int"


class WSUserSnapshot(TypedDict):
    approvals: "list[AgentApproval]"  # Orders that wait: of the account, or of the owner's agents; newest first
    as_of_seq: "str"
    cash: "str"  # Free cash, pips
    deadman: "Deadman"
    groups: "list[GroupRow]"  # Those with a bound, by id
    orders: "list[Order]"  # Resting orders, newest first
    positions: "list[Position]"
    reserved: "str"  # Held by resting buys, pips


class WithdrawalEvent(TypedDict):
    amount: "str"  # Pips
    client_withdrawal_id: "str"
    destination: "str"
    event: "Literal['withdrawal']"
    reference: "str"
    seq: "str"
    state: "Literal['pending', 'approved', 'sent', 'completed', 'failed', 'rejected']"
    status: "Literal['pending', 'completed', 'rejected']"
    ts: "str"  # ns
    withdrawal_id: "str"


BalanceCause = Literal["order", "decrease", "cancel", "expiry", "fill", "rebate", "referral", "redeem", "deposit", "withdrawal", "settlement", "transfer"]

OrderReason = Literal["", "post_only_cross", "fok_infeasible", "ioc_remainder", "self_trade_prevention", "max_cost_infeasible", "user_cancel", "mass_cancel", "deadman", "decreased_to_zero", "paused", "round_closed", "suspended", "operator", "reduce_only", "halted", "mandate_expired", "replaced", "group_limit", "requoted", "disconnect", "unknown_market", "insufficient_balance", "insufficient_position", "duplicate_client_order_id", "bad_price_tick", "bad_qty", "per_market_limit", "market_not_trading", "market_paused", "unknown_order", "invalid_decrease", "client_order_id_required", "reduce_only_violation", "user_suspended", "open_order_limit", "bad_expiry", "mandate_violation", "stale_generation", "group_tripped", "too_late", "crossed_quote", "approval_limit"]

WSListSubscriptions = dict[str, Any]

Message = DrainingMessage | OracleMessage | OrderbookDeltaMessage | OrderbookSnapshotMessage | RoundMessage | SubscribedMessage | TradeMessage | UserAccountMessage | UserApprovalMessage | UserBalanceMessage | UserDeadmanMessage | UserDepositMessage | UserFillMessage | UserGroupMessage | UserKeyRevokedMessage | UserOrderMessage | UserPositionMessage | UserSettlementMessage | UserSnapshotMessage | UserTransferMessage | UserWithdrawalMessage
