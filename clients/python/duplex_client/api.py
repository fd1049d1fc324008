"""A method for each route. generate.py writes this file; do not edit it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from . import records
from .core import client_order_id as client_order_id_of
from .core import query, quote_with_client_order_ids, with_client_order_id


class Api:
    """The routes of a venue."""

    def call(self, method: str, target: str, body: Any = None) -> Any:
        """Sends one request and returns the body of its response."""
        raise NotImplementedError

    def arm_deadman(self, body: records.ArmDeadman) -> records.Armed:
        """Cancel your orders, or a group's, unless you call again in time: every third of timeout_ms. Scope `trade`, bucket `cancel`."""
        return self.call("POST", "/v1/portfolio/deadman", body)

    def cancel(self, order_id: str) -> records.Canceled:
        """Cancel one resting order. If it is unknown_order, see list_orders. Scope `trade`, bucket `cancel`."""
        return self.call("DELETE", f"/v1/portfolio/orders/{order_id}")

    def cancel_all(self, *, market_id: int | None = None, group_id: int | None = None) -> records.Sequenced:
        """Cancel all your orders, or those of a market_id, a group_id, or both. Scope `trade`, bucket `cancel`."""
        return self.call("DELETE", query("/v1/portfolio/orders", {"market_id": market_id, "group_id": group_id}))

    def cancel_by_client_order_id(self, client_order_id: str) -> records.Canceled:
        """Cancel the order placed with this client_order_id, after a placement whose answer was lost. Scope `trade`, bucket `cancel`."""
        return self.call("DELETE", f"/v1/portfolio/orders/by-client-order-id/{client_order_id_of(client_order_id)}")

    def cancel_orders(self, body: records.CancelOrders) -> records.CancelResults:
        """Cancel up to 20 orders, each with its own result. For all use cancel_all_orders. Scope `trade`, bucket `cancel`."""
        return self.call("DELETE", "/v1/portfolio/orders/batch", body)

    def decrease(self, order_id: str, body: records.DecreaseOrder) -> records.Decreased:
        """Lower what remains of an order; it keeps its place in the queue. For another price: replace_order. Scope `trade`, bucket `write`."""
        return self.call("POST", f"/v1/portfolio/orders/{order_id}/decrease", body)

    def delete_group(self, group_id: int) -> records.GroupChanged:
        """Remove the bound of a group; its orders stay. Scope `trade`, bucket `write`."""
        return self.call("DELETE", f"/v1/portfolio/groups/{group_id}")

    def disarm_deadman(self, *, group_id: int | None = None) -> records.Disarmed:
        """Disarm the dead-man switch; cancels nothing. Scope `trade`, bucket `cancel`."""
        return self.call("DELETE", query("/v1/portfolio/deadman", {"group_id": group_id}))

    def get_account(self, *, min_seq: str | None = None) -> records.Account:
        """Your state, cash and equity; as an agent, your mandate and what it still allows (headroom). Read it before trading and after mandate_violation. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/account", {"min_seq": min_seq}))

    def get_balance(self, *, min_seq: str | None = None) -> records.Balance:
        """Free and reserved cash. Contracts are in list_positions. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/balance", {"min_seq": min_seq}))

    def get_deadman(self, *, group_id: int | None = None) -> records.DeadmanRead:
        """The dead-man switch: armed, timeout, deadline. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/deadman", {"group_id": group_id}))

    def get_deposit_address(self, *, min_seq: str | None = None) -> records.DepositAddress:
        """Where to send a deposit, and which asset. Arrived: list_deposits. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/deposits/address", {"min_seq": min_seq}))

    def get_fees(self, *, min_seq: str | None = None) -> records.Fees:
        """Maker and taker rate in 1/10000 and the shares of the taker fee that go to makers and referrers. A fill's fee is ceil(rate × qty × p × (10000 − p) / 10^8) pips. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/exchange/fees", {"min_seq": min_seq}))

    def get_limits(self) -> records.Limits:
        """Scopes and token buckets of your key; read it once. Scope `read`, bucket `read`."""
        return self.call("GET", "/v1/account/limits")

    def get_market(self, market_id: int, *, min_seq: str | None = None) -> records.MarketRead:
        """One market slot: status, best prices, volume, close. For depth use get_orderbook. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/markets/{market_id}", {"min_seq": min_seq}))

    def get_oracle_price(self, *, feed: int | None = None, min_seq: str | None = None) -> records.OraclePrice:
        """The index of a feed, of which strikes and settle prices are made. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/oracle/price", {"feed": feed, "min_seq": min_seq}))

    def get_order(self, order_id: str, *, min_seq: str | None = None) -> records.OrderRead:
        """One order in any status. Without its order_id use list_orders. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/portfolio/orders/{order_id}", {"min_seq": min_seq}))

    def get_orderbook(self, market_id: int, *, depth: int | None = None, min_seq: str | None = None) -> records.Orderbook:
        """Bids for YES and for NO as [tick, qty], best first, each in its own pips. YES ask = 10000 - NO bid. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/markets/{market_id}/orderbook", {"depth": depth, "min_seq": min_seq}))

    def get_pnl(self, *, min_seq: str | None = None) -> records.PnL:
        """What you made, realized and unrealized, with each position at its mark price. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/pnl", {"min_seq": min_seq}))

    def get_price_history(self, *, feed: int | None = None, from_ts: str | None = None, to_ts: str | None = None, step_secs: int | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.PriceHistory:
        """Index of a feed over time, newest first, with its volatility. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/oracle/history", {"feed": feed, "from_ts": from_ts, "to_ts": to_ts, "step_secs": step_secs, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_price_history(self, *, feed: int | None = None, from_ts: str | None = None, to_ts: str | None = None, step_secs: int | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.PriceRow]:
        """Iterates over all pages of get_price_history."""
        cursor = ""
        while True:
            page = self.get_price_history(feed=feed, from_ts=from_ts, to_ts=to_ts, step_secs=step_secs, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["rows"]
            cursor = page["cursor"]
            if not cursor:
                return

    def get_retention(self) -> records.Retention:
        """How many trades a market keeps, and how many rows of each list an account keeps. Resting orders are always kept. Scope `read`, bucket `read`."""
        return self.call("GET", "/v1/exchange/retention")

    def get_round(self, market_id: int, *, min_seq: str | None = None) -> records.RoundRead:
        """The latest round of a slot: strike, times, winner. YES wins if and only if settle_price > strike. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/rounds/{market_id}", {"min_seq": min_seq}))

    def get_round_evidence(self, market_id: int, *, round_number: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.Evidence:
        """Ticks and arithmetic behind a settlement. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/rounds/{market_id}/evidence", {"round_number": round_number, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_round_evidence(self, market_id: int, *, round_number: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.EvidenceTick]:
        """Iterates over all pages of get_round_evidence."""
        cursor = ""
        while True:
            page = self.get_round_evidence(market_id, round_number=round_number, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["ticks"]
            cursor = page["cursor"]
            if not cursor:
                return

    def get_round_history(self, market_id: int, *, round_number: str | None = None, step_secs: int | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.RoundHistory:
        """Index and YES prices of a round over time, newest first. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/rounds/{market_id}/history", {"round_number": round_number, "step_secs": step_secs, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_round_history(self, market_id: int, *, round_number: str | None = None, step_secs: int | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.RoundRow]:
        """Iterates over all pages of get_round_history."""
        cursor = ""
        while True:
            page = self.get_round_history(market_id, round_number=round_number, step_secs=step_secs, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["rows"]
            cursor = page["cursor"]
            if not cursor:
                return

    def get_schedule(self) -> records.Schedule:
        """Planned maintenance and the next session boundaries of gold and WTI: session_open, session_close, holiday (a close that a holiday causes), and calendar_end, from which on no session is known and all stay closed. Scope `read`, bucket `read`."""
        return self.call("GET", "/v1/exchange/schedule")

    def get_status(self, *, min_seq: str | None = None) -> records.Status:
        """exchange_active is always true in v1: the freeze and settlement of each round is the operational pause. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/exchange/status", {"min_seq": min_seq}))

    def get_time(self) -> records.Time:
        """The clocks, in ns. Offset = server_time − (t0 + t1) / 2 with your times of sending and receiving. Rounds go by venue_time, which is server_time unless clock is virtual. Scope `read`, bucket `read`."""
        return self.call("GET", "/v1/time")

    def get_withdrawal(self, withdrawal_id: str, *, min_seq: str | None = None) -> records.WithdrawalRead:
        """One withdrawal request of yours. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/withdrawals/{withdrawal_id}", {"min_seq": min_seq}))

    def list_approvals(self, *, status: str | list[Literal["waiting", "placed", "refused", "rejected", "expired", "canceled"]] | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.AgentApprovalList:
        """Your orders that wait for your owner, or waited. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/approvals", {"status": status, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_approvals(self, *, status: str | list[Literal["waiting", "placed", "refused", "rejected", "expired", "canceled"]] | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.AgentApproval]:
        """Iterates over all pages of list_approvals."""
        cursor = ""
        while True:
            page = self.list_approvals(status=status, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["approvals"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_deposits(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.DepositList:
        """Your deposits, newest first. Other changes of cash: list_ledger. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/deposits", {"from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_deposits(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.DepositRow]:
        """Iterates over all pages of list_deposits."""
        cursor = ""
        while True:
            page = self.list_deposits(from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["deposits"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_fills(self, *, order_id: str | None = None, market_id: int | None = None, round_number: str | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.FillList:
        """Your fills, newest first. tick_yes is the price of YES; that of NO is 10000 minus it. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/fills", {"order_id": order_id, "market_id": market_id, "round_number": round_number, "side": side, "group_id": group_id, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_fills(self, *, order_id: str | None = None, market_id: int | None = None, round_number: str | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Fill]:
        """Iterates over all pages of list_fills."""
        cursor = ""
        while True:
            page = self.list_fills(order_id=order_id, market_id=market_id, round_number=round_number, side=side, group_id=group_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["fills"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_forecasts(self, *, market_id: int | None = None, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.ForecastList:
        """Your forecasts with their scores, newest first. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/forecasts", {"market_id": market_id, "round_number": round_number, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_forecasts(self, *, market_id: int | None = None, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Forecast]:
        """Iterates over all pages of list_forecasts."""
        cursor = ""
        while True:
            page = self.list_forecasts(market_id=market_id, round_number=round_number, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["forecasts"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_groups(self) -> records.GroupList:
        """What is set for your groups, and what counts. Scope `read`, bucket `read`."""
        return self.call("GET", "/v1/portfolio/groups")

    def list_ledger(self, *, kind: str | list[Literal["fill", "fee", "rebate", "referral", "settlement", "void", "redeem", "deposit", "withdrawal", "withdrawal_returned", "transfer"]] | None = None, market_id: int | None = None, round_number: str | None = None, order_id: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.LedgerList:
        """Each change of your money, newest first, with its cause and the balance after. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/ledger", {"kind": kind, "market_id": market_id, "round_number": round_number, "order_id": order_id, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_ledger(self, *, kind: str | list[Literal["fill", "fee", "rebate", "referral", "settlement", "void", "redeem", "deposit", "withdrawal", "withdrawal_returned", "transfer"]] | None = None, market_id: int | None = None, round_number: str | None = None, order_id: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.LedgerRow]:
        """Iterates over all pages of list_ledger."""
        cursor = ""
        while True:
            page = self.list_ledger(kind=kind, market_id=market_id, round_number=round_number, order_id=order_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["ledger"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_markets(self, *, status: str | list[Literal["trading", "frozen", "proposed", "settled", "void"]] | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.MarketList:
        """Market slots by market_id, closed too. What trades now: list_series. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/markets", {"status": status, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_markets(self, *, status: str | list[Literal["trading", "frozen", "proposed", "settled", "void"]] | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Market]:
        """Iterates over all pages of list_markets."""
        cursor = ""
        while True:
            page = self.list_markets(status=status, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["markets"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_orders(self, *, status: str | list[Literal["resting", "partially_filled", "executed", "canceled", "expired", "rejected"]] | None = None, order_id: str | None = None, client_order_id: str | None = None, market_id: int | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.OrderList:
        """Your orders, newest first, rejected ones too. By client_order_id after a lost answer. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/orders", {"status": status, "order_id": order_id, "client_order_id": client_order_id and client_order_id_of(client_order_id), "market_id": market_id, "side": side, "group_id": group_id, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_orders(self, *, status: str | list[Literal["resting", "partially_filled", "executed", "canceled", "expired", "rejected"]] | None = None, order_id: str | None = None, client_order_id: str | None = None, market_id: int | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Order]:
        """Iterates over all pages of list_orders."""
        cursor = ""
        while True:
            page = self.list_orders(status=status, order_id=order_id, client_order_id=client_order_id, market_id=market_id, side=side, group_id=group_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["orders"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_portfolio_rounds(self, *, category: int | None = None, round_number: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.AccountRoundList:
        """What you traded and made in each round, newest first, live rounds included. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/rounds", {"category": category, "round_number": round_number, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_portfolio_rounds(self, *, category: int | None = None, round_number: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.AccountRound]:
        """Iterates over all pages of list_portfolio_rounds."""
        cursor = ""
        while True:
            page = self.list_portfolio_rounds(category=category, round_number=round_number, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["rounds"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_positions(self, *, market_id: int | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.PositionList:
        """Contracts held in unresolved rounds; others: list_settlements. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/positions", {"market_id": market_id, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_positions(self, *, market_id: int | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Position]:
        """Iterates over all pages of list_positions."""
        cursor = ""
        while True:
            page = self.list_positions(market_id=market_id, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["positions"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_rounds(self, *, category: int | None = None, market_id: int | None = None, round_number: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.RoundList:
        """Rounds of all series, newest first. For the live ones use list_series. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/rounds", {"category": category, "market_id": market_id, "round_number": round_number, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_rounds(self, *, category: int | None = None, market_id: int | None = None, round_number: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Round]:
        """Iterates over all pages of list_rounds."""
        cursor = ""
        while True:
            page = self.list_rounds(category=category, market_id=market_id, round_number=round_number, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["rounds"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_series(self, *, category: int | None = None, min_seq: str | None = None) -> records.SeriesList:
        """Start here: the live market of each series with strike, index, seconds to close, YES bid and ask, and last results. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/series", {"category": category, "min_seq": min_seq}))

    def list_settlements(self, *, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.SettlementList:
        """Payouts of finished rounds, newest first; others: list_positions. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/portfolio/settlements", {"round_number": round_number, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_settlements(self, *, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Settlement]:
        """Iterates over all pages of list_settlements."""
        cursor = ""
        while True:
            page = self.list_settlements(round_number=round_number, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["settlements"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_trades(self, market_id: int, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.TradeList:
        """Public trades of a slot, newest first, earlier rounds too. Yours: list_fills. Scope `read`, bucket `read`."""
        return self.call("GET", query(f"/v1/markets/{market_id}/trades", {"from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_trades(self, market_id: int, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Trade]:
        """Iterates over all pages of list_trades."""
        cursor = ""
        while True:
            page = self.list_trades(market_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["trades"]
            cursor = page["cursor"]
            if not cursor:
                return

    def list_withdrawals(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.WithdrawalList:
        """Your withdrawals, newest first, with state. Scope `read`, bucket `read`."""
        return self.call("GET", query("/v1/withdrawals", {"from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    def all_withdrawals(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> Iterator[records.Withdrawal]:
        """Iterates over all pages of list_withdrawals."""
        cursor = ""
        while True:
            page = self.list_withdrawals(from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            yield from page["withdrawals"]
            cursor = page["cursor"]
            if not cursor:
                return

    def place_orders(self, body: records.PlaceOrders) -> list[records.PlaceResult]:
        """Place up to 20 independent orders, such as quotes; each has its own outcome or error. Scope `trade`, bucket `write`."""
        return self.call("POST", "/v1/portfolio/orders/batch", {"orders": [with_client_order_id(o) for o in body["orders"]]})

    def preview(self, body: records.PlaceOrder) -> records.Preview:
        """What place_order with these arguments would do now. Changes nothing; use it when unsure. Scope `read`, bucket `read`."""
        return self.call("POST", "/v1/portfolio/orders/preview", with_client_order_id(body))

    def put_quotes(self, body: records.PutQuotes) -> list[records.QuoteResult]:
        """Set a group's bid and ask in up to 20 markets. Scope `trade`, bucket `write`."""
        return self.call("PUT", "/v1/portfolio/quotes", {"quotes": [quote_with_client_order_ids(q) for q in body["quotes"]]})

    def redeem(self, body: records.Redeem) -> records.Redeemed:
        """Turn pairs of YES and NO that you hold into 10000 pips each, without a fee. Scope `trade`, bucket `write`."""
        return self.call("POST", "/v1/portfolio/redeem", body)

    def request_withdrawal(self, body: records.RequestWithdrawal) -> records.Withdrawal:
        """Withdraw free cash; it returns if rejected. A repeat shows it. Scope `withdraw`, bucket `write`."""
        return self.call("POST", "/v1/withdrawals", body)

    def reset_group(self, group_id: int) -> records.GroupChanged:
        """Let a group that has tripped take orders again; its count is 0. Scope `trade`, bucket `write`."""
        return self.call("POST", f"/v1/portfolio/groups/{group_id}/reset")

    def set_group(self, group_id: int, body: records.SetGroup) -> records.GroupChanged:
        """When fills of the group reach fill_limit in window_ms, its orders are canceled and new ones are group_tripped. Scope `trade`, bucket `write`."""
        return self.call("PUT", f"/v1/portfolio/groups/{group_id}", body)

    def submit_forecast(self, body: records.SubmitForecast) -> records.SubmittedForecast:
        """Record your P(YES) of a live round, for a score. It trades nothing; the last one counts. Scope `trade`, bucket `write`."""
        return self.call("POST", "/v1/forecasts", body)


class AsyncApi:
    """The routes of a venue, for asyncio."""

    async def call(self, method: str, target: str, body: Any = None) -> Any:
        """Sends one request and returns the body of its response."""
        raise NotImplementedError

    async def arm_deadman(self, body: records.ArmDeadman) -> records.Armed:
        """Cancel your orders, or a group's, unless you call again in time: every third of timeout_ms. Scope `trade`, bucket `cancel`."""
        return await self.call("POST", "/v1/portfolio/deadman", body)

    async def cancel(self, order_id: str) -> records.Canceled:
        """Cancel one resting order. If it is unknown_order, see list_orders. Scope `trade`, bucket `cancel`."""
        return await self.call("DELETE", f"/v1/portfolio/orders/{order_id}")

    async def cancel_all(self, *, market_id: int | None = None, group_id: int | None = None) -> records.Sequenced:
        """Cancel all your orders, or those of a market_id, a group_id, or both. Scope `trade`, bucket `cancel`."""
        return await self.call("DELETE", query("/v1/portfolio/orders", {"market_id": market_id, "group_id": group_id}))

    async def cancel_by_client_order_id(self, client_order_id: str) -> records.Canceled:
        """Cancel the order placed with this client_order_id, after a placement whose answer was lost. Scope `trade`, bucket `cancel`."""
        return await self.call("DELETE", f"/v1/portfolio/orders/by-client-order-id/{client_order_id_of(client_order_id)}")

    async def cancel_orders(self, body: records.CancelOrders) -> records.CancelResults:
        """Cancel up to 20 orders, each with its own result. For all use cancel_all_orders. Scope `trade`, bucket `cancel`."""
        return await self.call("DELETE", "/v1/portfolio/orders/batch", body)

    async def decrease(self, order_id: str, body: records.DecreaseOrder) -> records.Decreased:
        """Lower what remains of an order; it keeps its place in the queue. For another price: replace_order. Scope `trade`, bucket `write`."""
        return await self.call("POST", f"/v1/portfolio/orders/{order_id}/decrease", body)

    async def delete_group(self, group_id: int) -> records.GroupChanged:
        """Remove the bound of a group; its orders stay. Scope `trade`, bucket `write`."""
        return await self.call("DELETE", f"/v1/portfolio/groups/{group_id}")

    async def disarm_deadman(self, *, group_id: int | None = None) -> records.Disarmed:
        """Disarm the dead-man switch; cancels nothing. Scope `trade`, bucket `cancel`."""
        return await self.call("DELETE", query("/v1/portfolio/deadman", {"group_id": group_id}))

    async def get_account(self, *, min_seq: str | None = None) -> records.Account:
        """Your state, cash and equity; as an agent, your mandate and what it still allows (headroom). Read it before trading and after mandate_violation. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/account", {"min_seq": min_seq}))

    async def get_balance(self, *, min_seq: str | None = None) -> records.Balance:
        """Free and reserved cash. Contracts are in list_positions. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/balance", {"min_seq": min_seq}))

    async def get_deadman(self, *, group_id: int | None = None) -> records.DeadmanRead:
        """The dead-man switch: armed, timeout, deadline. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/deadman", {"group_id": group_id}))

    async def get_deposit_address(self, *, min_seq: str | None = None) -> records.DepositAddress:
        """Where to send a deposit, and which asset. Arrived: list_deposits. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/deposits/address", {"min_seq": min_seq}))

    async def get_fees(self, *, min_seq: str | None = None) -> records.Fees:
        """Maker and taker rate in 1/10000 and the shares of the taker fee that go to makers and referrers. A fill's fee is ceil(rate × qty × p × (10000 − p) / 10^8) pips. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/exchange/fees", {"min_seq": min_seq}))

    async def get_limits(self) -> records.Limits:
        """Scopes and token buckets of your key; read it once. Scope `read`, bucket `read`."""
        return await self.call("GET", "/v1/account/limits")

    async def get_market(self, market_id: int, *, min_seq: str | None = None) -> records.MarketRead:
        """One market slot: status, best prices, volume, close. For depth use get_orderbook. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/markets/{market_id}", {"min_seq": min_seq}))

    async def get_oracle_price(self, *, feed: int | None = None, min_seq: str | None = None) -> records.OraclePrice:
        """The index of a feed, of which strikes and settle prices are made. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/oracle/price", {"feed": feed, "min_seq": min_seq}))

    async def get_order(self, order_id: str, *, min_seq: str | None = None) -> records.OrderRead:
        """One order in any status. Without its order_id use list_orders. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/portfolio/orders/{order_id}", {"min_seq": min_seq}))

    async def get_orderbook(self, market_id: int, *, depth: int | None = None, min_seq: str | None = None) -> records.Orderbook:
        """Bids for YES and for NO as [tick, qty], best first, each in its own pips. YES ask = 10000 - NO bid. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/markets/{market_id}/orderbook", {"depth": depth, "min_seq": min_seq}))

    async def get_pnl(self, *, min_seq: str | None = None) -> records.PnL:
        """What you made, realized and unrealized, with each position at its mark price. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/pnl", {"min_seq": min_seq}))

    async def get_price_history(self, *, feed: int | None = None, from_ts: str | None = None, to_ts: str | None = None, step_secs: int | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.PriceHistory:
        """Index of a feed over time, newest first, with its volatility. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/oracle/history", {"feed": feed, "from_ts": from_ts, "to_ts": to_ts, "step_secs": step_secs, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_price_history(self, *, feed: int | None = None, from_ts: str | None = None, to_ts: str | None = None, step_secs: int | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.PriceRow]:
        """Iterates over all pages of get_price_history."""
        cursor = ""
        while True:
            page = await self.get_price_history(feed=feed, from_ts=from_ts, to_ts=to_ts, step_secs=step_secs, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["rows"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def get_retention(self) -> records.Retention:
        """How many trades a market keeps, and how many rows of each list an account keeps. Resting orders are always kept. Scope `read`, bucket `read`."""
        return await self.call("GET", "/v1/exchange/retention")

    async def get_round(self, market_id: int, *, min_seq: str | None = None) -> records.RoundRead:
        """The latest round of a slot: strike, times, winner. YES wins if and only if settle_price > strike. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/rounds/{market_id}", {"min_seq": min_seq}))

    async def get_round_evidence(self, market_id: int, *, round_number: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.Evidence:
        """Ticks and arithmetic behind a settlement. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/rounds/{market_id}/evidence", {"round_number": round_number, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_round_evidence(self, market_id: int, *, round_number: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.EvidenceTick]:
        """Iterates over all pages of get_round_evidence."""
        cursor = ""
        while True:
            page = await self.get_round_evidence(market_id, round_number=round_number, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["ticks"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def get_round_history(self, market_id: int, *, round_number: str | None = None, step_secs: int | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.RoundHistory:
        """Index and YES prices of a round over time, newest first. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/rounds/{market_id}/history", {"round_number": round_number, "step_secs": step_secs, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_round_history(self, market_id: int, *, round_number: str | None = None, step_secs: int | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.RoundRow]:
        """Iterates over all pages of get_round_history."""
        cursor = ""
        while True:
            page = await self.get_round_history(market_id, round_number=round_number, step_secs=step_secs, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["rows"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def get_schedule(self) -> records.Schedule:
        """Planned maintenance and the next session boundaries of gold and WTI: session_open, session_close, holiday (a close that a holiday causes), and calendar_end, from which on no session is known and all stay closed. Scope `read`, bucket `read`."""
        return await self.call("GET", "/v1/exchange/schedule")

    async def get_status(self, *, min_seq: str | None = None) -> records.Status:
        """exchange_active is always true in v1: the freeze and settlement of each round is the operational pause. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/exchange/status", {"min_seq": min_seq}))

    async def get_time(self) -> records.Time:
        """The clocks, in ns. Offset = server_time − (t0 + t1) / 2 with your times of sending and receiving. Rounds go by venue_time, which is server_time unless clock is virtual. Scope `read`, bucket `read`."""
        return await self.call("GET", "/v1/time")

    async def get_withdrawal(self, withdrawal_id: str, *, min_seq: str | None = None) -> records.WithdrawalRead:
        """One withdrawal request of yours. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/withdrawals/{withdrawal_id}", {"min_seq": min_seq}))

    async def list_approvals(self, *, status: str | list[Literal["waiting", "placed", "refused", "rejected", "expired", "canceled"]] | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.AgentApprovalList:
        """Your orders that wait for your owner, or waited. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/approvals", {"status": status, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_approvals(self, *, status: str | list[Literal["waiting", "placed", "refused", "rejected", "expired", "canceled"]] | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.AgentApproval]:
        """Iterates over all pages of list_approvals."""
        cursor = ""
        while True:
            page = await self.list_approvals(status=status, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["approvals"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_deposits(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.DepositList:
        """Your deposits, newest first. Other changes of cash: list_ledger. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/deposits", {"from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_deposits(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.DepositRow]:
        """Iterates over all pages of list_deposits."""
        cursor = ""
        while True:
            page = await self.list_deposits(from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["deposits"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_fills(self, *, order_id: str | None = None, market_id: int | None = None, round_number: str | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.FillList:
        """Your fills, newest first. tick_yes is the price of YES; that of NO is 10000 minus it. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/fills", {"order_id": order_id, "market_id": market_id, "round_number": round_number, "side": side, "group_id": group_id, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_fills(self, *, order_id: str | None = None, market_id: int | None = None, round_number: str | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Fill]:
        """Iterates over all pages of list_fills."""
        cursor = ""
        while True:
            page = await self.list_fills(order_id=order_id, market_id=market_id, round_number=round_number, side=side, group_id=group_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["fills"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_forecasts(self, *, market_id: int | None = None, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.ForecastList:
        """Your forecasts with their scores, newest first. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/forecasts", {"market_id": market_id, "round_number": round_number, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_forecasts(self, *, market_id: int | None = None, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Forecast]:
        """Iterates over all pages of list_forecasts."""
        cursor = ""
        while True:
            page = await self.list_forecasts(market_id=market_id, round_number=round_number, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["forecasts"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_groups(self) -> records.GroupList:
        """What is set for your groups, and what counts. Scope `read`, bucket `read`."""
        return await self.call("GET", "/v1/portfolio/groups")

    async def list_ledger(self, *, kind: str | list[Literal["fill", "fee", "rebate", "referral", "settlement", "void", "redeem", "deposit", "withdrawal", "withdrawal_returned", "transfer"]] | None = None, market_id: int | None = None, round_number: str | None = None, order_id: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.LedgerList:
        """Each change of your money, newest first, with its cause and the balance after. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/ledger", {"kind": kind, "market_id": market_id, "round_number": round_number, "order_id": order_id, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_ledger(self, *, kind: str | list[Literal["fill", "fee", "rebate", "referral", "settlement", "void", "redeem", "deposit", "withdrawal", "withdrawal_returned", "transfer"]] | None = None, market_id: int | None = None, round_number: str | None = None, order_id: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.LedgerRow]:
        """Iterates over all pages of list_ledger."""
        cursor = ""
        while True:
            page = await self.list_ledger(kind=kind, market_id=market_id, round_number=round_number, order_id=order_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["ledger"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_markets(self, *, status: str | list[Literal["trading", "frozen", "proposed", "settled", "void"]] | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.MarketList:
        """Market slots by market_id, closed too. What trades now: list_series. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/markets", {"status": status, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_markets(self, *, status: str | list[Literal["trading", "frozen", "proposed", "settled", "void"]] | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Market]:
        """Iterates over all pages of list_markets."""
        cursor = ""
        while True:
            page = await self.list_markets(status=status, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["markets"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_orders(self, *, status: str | list[Literal["resting", "partially_filled", "executed", "canceled", "expired", "rejected"]] | None = None, order_id: str | None = None, client_order_id: str | None = None, market_id: int | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.OrderList:
        """Your orders, newest first, rejected ones too. By client_order_id after a lost answer. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/orders", {"status": status, "order_id": order_id, "client_order_id": client_order_id and client_order_id_of(client_order_id), "market_id": market_id, "side": side, "group_id": group_id, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_orders(self, *, status: str | list[Literal["resting", "partially_filled", "executed", "canceled", "expired", "rejected"]] | None = None, order_id: str | None = None, client_order_id: str | None = None, market_id: int | None = None, side: Literal["buy", "sell"] | None = None, group_id: int | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Order]:
        """Iterates over all pages of list_orders."""
        cursor = ""
        while True:
            page = await self.list_orders(status=status, order_id=order_id, client_order_id=client_order_id, market_id=market_id, side=side, group_id=group_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["orders"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_portfolio_rounds(self, *, category: int | None = None, round_number: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.AccountRoundList:
        """What you traded and made in each round, newest first, live rounds included. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/rounds", {"category": category, "round_number": round_number, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_portfolio_rounds(self, *, category: int | None = None, round_number: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.AccountRound]:
        """Iterates over all pages of list_portfolio_rounds."""
        cursor = ""
        while True:
            page = await self.list_portfolio_rounds(category=category, round_number=round_number, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["rounds"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_positions(self, *, market_id: int | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.PositionList:
        """Contracts held in unresolved rounds; others: list_settlements. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/positions", {"market_id": market_id, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_positions(self, *, market_id: int | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Position]:
        """Iterates over all pages of list_positions."""
        cursor = ""
        while True:
            page = await self.list_positions(market_id=market_id, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["positions"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_rounds(self, *, category: int | None = None, market_id: int | None = None, round_number: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.RoundList:
        """Rounds of all series, newest first. For the live ones use list_series. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/rounds", {"category": category, "market_id": market_id, "round_number": round_number, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_rounds(self, *, category: int | None = None, market_id: int | None = None, round_number: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Round]:
        """Iterates over all pages of list_rounds."""
        cursor = ""
        while True:
            page = await self.list_rounds(category=category, market_id=market_id, round_number=round_number, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["rounds"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_series(self, *, category: int | None = None, min_seq: str | None = None) -> records.SeriesList:
        """Start here: the live market of each series with strike, index, seconds to close, YES bid and ask, and last results. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/series", {"category": category, "min_seq": min_seq}))

    async def list_settlements(self, *, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.SettlementList:
        """Payouts of finished rounds, newest first; others: list_positions. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/portfolio/settlements", {"round_number": round_number, "from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_settlements(self, *, round_number: str | None = None, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Settlement]:
        """Iterates over all pages of list_settlements."""
        cursor = ""
        while True:
            page = await self.list_settlements(round_number=round_number, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["settlements"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_trades(self, market_id: int, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.TradeList:
        """Public trades of a slot, newest first, earlier rounds too. Yours: list_fills. Scope `read`, bucket `read`."""
        return await self.call("GET", query(f"/v1/markets/{market_id}/trades", {"from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_trades(self, market_id: int, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Trade]:
        """Iterates over all pages of list_trades."""
        cursor = ""
        while True:
            page = await self.list_trades(market_id, from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["trades"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def list_withdrawals(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, cursor: str | None = None, min_seq: str | None = None) -> records.WithdrawalList:
        """Your withdrawals, newest first, with state. Scope `read`, bucket `read`."""
        return await self.call("GET", query("/v1/withdrawals", {"from_ts": from_ts, "to_ts": to_ts, "limit": limit, "cursor": cursor, "min_seq": min_seq}))

    async def all_withdrawals(self, *, from_ts: str | None = None, to_ts: str | None = None, limit: int | None = None, min_seq: str | None = None) -> AsyncIterator[records.Withdrawal]:
        """Iterates over all pages of list_withdrawals."""
        cursor = ""
        while True:
            page = await self.list_withdrawals(from_ts=from_ts, to_ts=to_ts, limit=limit, min_seq=min_seq, cursor=cursor or None)
            for row in page["withdrawals"]:
                yield row
            cursor = page["cursor"]
            if not cursor:
                return

    async def place_orders(self, body: records.PlaceOrders) -> list[records.PlaceResult]:
        """Place up to 20 independent orders, such as quotes; each has its own outcome or error. Scope `trade`, bucket `write`."""
        return await self.call("POST", "/v1/portfolio/orders/batch", {"orders": [with_client_order_id(o) for o in body["orders"]]})

    async def preview(self, body: records.PlaceOrder) -> records.Preview:
        """What place_order with these arguments would do now. Changes nothing; use it when unsure. Scope `read`, bucket `read`."""
        return await self.call("POST", "/v1/portfolio/orders/preview", with_client_order_id(body))

    async def put_quotes(self, body: records.PutQuotes) -> list[records.QuoteResult]:
        """Set a group's bid and ask in up to 20 markets. Scope `trade`, bucket `write`."""
        return await self.call("PUT", "/v1/portfolio/quotes", {"quotes": [quote_with_client_order_ids(q) for q in body["quotes"]]})

    async def redeem(self, body: records.Redeem) -> records.Redeemed:
        """Turn pairs of YES and NO that you hold into 10000 pips each, without a fee. Scope `trade`, bucket `write`."""
        return await self.call("POST", "/v1/portfolio/redeem", body)

    async def request_withdrawal(self, body: records.RequestWithdrawal) -> records.Withdrawal:
        """Withdraw free cash; it returns if rejected. A repeat shows it. Scope `withdraw`, bucket `write`."""
        return await self.call("POST", "/v1/withdrawals", body)

    async def reset_group(self, group_id: int) -> records.GroupChanged:
        """Let a group that has tripped take orders again; its count is 0. Scope `trade`, bucket `write`."""
        return await self.call("POST", f"/v1/portfolio/groups/{group_id}/reset")

    async def set_group(self, group_id: int, body: records.SetGroup) -> records.GroupChanged:
        """When fills of the group reach fill_limit in window_ms, its orders are canceled and new ones are group_tripped. Scope `trade`, bucket `write`."""
        return await self.call("PUT", f"/v1/portfolio/groups/{group_id}", body)

    async def submit_forecast(self, body: records.SubmitForecast) -> records.SubmittedForecast:
        """Record your P(YES) of a live round, for a score. It trades nothing; the last one counts. Scope `trade`, bucket `write`."""
        return await self.call("POST", "/v1/forecasts", body)
