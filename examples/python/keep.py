"""A local copy of one market's book and of the account, kept from the event lane over
connections that end. It does no I/O: connect it to any WebSocket library.

On each connection send begin(). For each message call take(json.loads(m)). If it returns
None, continue; if RESUME, close the connection and open a new one; else send the result.
"""

RESUME = "resume"


class Keep:
    def __init__(self, market, on=lambda seq, event: None):
        self.market, self.on = market, on
        self.book = None  # None until a snapshot arrives
        self.account = None
        # All events up to seq `whole` were received, and the first `part` events of seq `at`:
        # a command can cause several events, and a connection may end between them.
        self.whole, self.at, self.part = None, None, 0

    def begin(self):
        """Returns the first command to send on a new connection."""
        self.last, self.book, self.asked, self.skip = {}, None, False, self.part
        since = {} if self.whole is None else {"since_seq": self.whole}
        return {"cmd": "subscribe", "params": {"channels": ["orderbook_delta", "user"], "market_ids": [self.market], **since}}

    def take(self, m):
        """Applies a message. Returns a command to send, RESUME, or None."""
        if m["type"] == "error":
            raise RuntimeError(f"the venue rejected a command: {m['msg']['name']}")
        if "sid" not in m:
            return None  # the response to a command
        follows = self.last.get(m["sid"], "0") == m["prev_seq"]
        self.last[m["sid"]] = m["seq"]
        take = {"orderbook_snapshot": self._book, "orderbook_delta": self._delta, "user_snapshot": self._account, "user": self._event}.get(m["type"])
        return take and take(m["seq"], m["msg"], m["sid"], follows)

    def _book(self, seq, msg, *_):
        self.asked = False
        self.book = {"seq": seq, "generation": msg["generation"], "yes": msg["yes"], "no": msg["no"]}

    def _delta(self, seq, msg, sid, follows):
        if not (self.book and follows and self.book["generation"] == msg["generation"]):
            self.book = None
            if self.asked:
                return None  # a snapshot has been requested
            self.asked = True
            return {"cmd": "update_subscription", "params": {"sid": sid, "action": "get_snapshot", "market_ids": [self.market]}}
        for c in msg["changes"]:
            levels = dict(map(tuple, self.book[c["outcome"]]))
            levels[c["tick"]] = c["qty"]
            self.book[c["outcome"]] = [[t, q] for t, q in sorted(levels.items(), reverse=True) if q]
        self.book["seq"] = seq

    def _account(self, _, msg, *__):
        seq = msg["as_of_seq"]
        self.account = {
            "seq": seq, "cash": msg["cash"], "reserved": msg["reserved"],
            "orders": {o["order_id"]: o for o in msg["orders"]}, "positions": {p["market_id"]: p for p in msg["positions"]},
        }
        self.whole, self.at, self.part, self.skip = seq, seq, 0, 0

    def _event(self, seq, msg, _, follows):
        if self.account is None or not follows:
            return RESUME
        if self.skip and seq == self.at:
            self.skip -= 1
            return None
        self.skip = 0
        if seq != self.at:
            self.whole, self.at, self.part = self.at, seq, 0
        self.part += 1
        self.account["seq"] = seq
        self._fold(msg)
        self.on(seq, msg)

    def _fold(self, e):
        a = self.account
        if e["event"] == "balance":
            a["cash"], a["reserved"] = e["cash"], e["reserved"]
        elif e["event"] == "position":
            a["positions"].pop(e["market_id"], None)
            if e["yes_qty"] + e["no_qty"]:
                a["positions"][e["market_id"]] = e
        elif e["event"] == "order":
            a["orders"].pop(e["order"]["order_id"], None)
            if e["order"]["status"] in ("resting", "partially_filled"):
                a["orders"][e["order"]["order_id"]] = e["order"]
