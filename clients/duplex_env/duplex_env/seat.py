"""A seat of an arena over REST, which sees and does what an agent of a training environment does."""

import base64
import hashlib
import hmac
import http.client
import itertools
import json
import os
import time
import urllib.parse

from .sight import BUY_NO, BUY_YES, HOLD, SELL_YES, Sight, checked


class VenueError(Exception):
    """An answer of the venue other than 2xx."""

    def __init__(self, status, code):
        super().__init__(f"{code} ({status})")
        self.status, self.code = status, code


class Connection:
    """One connection to a venue, which is kept open."""

    tries = 12  # with their pauses about 7 s: a venue may restart

    def __init__(self, url, key, secret):
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=float(os.environ.get("DX_TIMEOUT", 120)))
        self.key, self.secret = key, bytes.fromhex(secret)

    def call(self, method, target, body=None):
        """Sends a request. It is sent again, the same, if its answer is lost, or if the venue is busy or
        closes: an order has its client_order_id, so it cannot be placed twice."""
        for n in itertools.count(1):
            try:
                return self.once(method, target, body)
            except (OSError, http.client.HTTPException):
                self.http.close()  # the next request opens it again
                if n >= self.tries:
                    raise
            except VenueError as e:
                if e.status not in (429, 500, 503) or n >= self.tries:
                    raise
            time.sleep(0.1 * n)

    def once(self, method, target, body):
        raw = "" if body is None else json.dumps(body)
        now = str(time.time_ns() // 1_000_000)
        message = f"{now}\n{method}\n{target}\n{raw}".encode()
        signature = base64.b64encode(hmac.digest(self.secret, message, hashlib.sha256)).decode()
        headers = {"DX-ACCESS-KEY": self.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": signature}
        if raw:
            headers["Content-Type"] = "application/json"
        self.http.request(method, target, raw.encode() or None, headers)
        answer = self.http.getresponse()
        out = json.loads(answer.read())
        if answer.status >= 300:
            raise VenueError(answer.status, out["error"]["code"])
        return out

    def close(self):
        self.http.close()


class Seat:
    """What a policy sees and does as a seat of an arena."""

    def __init__(self, connection, qty=5, category=1, step_ms=1000):
        self.connection, self.qty, self.category, self.step_ms = connection, qty, category, step_ms
        self.next_id, self.now, self.sight = None, None, Sight(step_ms)

    def advance(self, ms):
        """Lets venue time pass, until a time that is the same if the request is sent again."""
        if self.now is None:
            self.now = int(self.connection.call("GET", "/v1/time")["venue_time"])
        until = self.now + ms * 1_000_000
        self.now = int(self.connection.call("POST", "/v1/arena/advance", {"until_ts": str(until)})["venue_time"])

    def act(self, action):
        action, live = checked(action), self.live
        if action == HOLD or live is None:
            return
        outcome = "yes" if action in (BUY_YES, SELL_YES) else "no"
        buys = action in (BUY_YES, BUY_NO)
        # The price of NO is 10000 less that of YES: who buys NO takes the best bid for YES.
        at_ask = buys == (outcome == "yes")
        yes = live["yes_ask"] if at_ask else live["yes_bid"]
        qty = self.qty if buys else min(self.qty, self.held[outcome])
        if yes == 0 or qty == 0:
            return
        if self.next_id is None:  # the account may have orders of an earlier process
            newest = self.connection.call("GET", "/v1/portfolio/orders?limit=1")["orders"]
            self.next_id = 1 + (int(newest[0]["client_order_id"]) if newest else 0)
        order = {"client_order_id": str(self.next_id), "market_id": live["market_id"], "generation": live["generation"], "side": "buy" if buys else "sell", "outcome": outcome, "tick": yes if outcome == "yes" else 10_000 - yes, "qty": qty, "tif": "ioc"}
        self.next_id += 1
        try:
            self.connection.call("POST", "/v1/portfolio/orders", order)
        except VenueError as e:
            if e.code != "duplicate_client_order_id":  # that is an order whose answer was lost
                raise

    def forecast(self, p):
        """Submits a probability of YES, from 0 to 1, for the score of the live round."""
        live = self.live
        self.connection.call("POST", "/v1/forecasts", {"market_id": live["market_id"], "generation": live["generation"], "p": round(10_000 * p)})

    def look(self):
        series = self.connection.call("GET", f"/v1/series?category={self.category}")["series"][0]
        pnl = self.connection.call("GET", "/v1/portfolio/pnl")
        self.live = series["live"]
        self.held, self.contracts = {"yes": 0, "no": 0}, 0
        for p in pnl["positions"]:
            self.contracts += p["qty"]
            if self.live is not None and p["market_id"] == self.live["market_id"]:
                self.held[p["outcome"]] += p["qty"]
        live = self.live or {"strike": "0", "secs_to_close": 0, "yes_bid": 0, "yes_ask": 0}
        self.seen = self.sight.see(int(series["index"]), int(live["strike"]), live["secs_to_close"], live["yes_bid"], live["yes_ask"], self.held["yes"], self.held["no"], int(pnl["equity"]))

    def observation(self):
        return self.seen
