"""Signed REST requests and their repeats."""

import base64
import hashlib
import hmac
import http.client
import json
import math
import os
import re
import time
import urllib.parse
from typing import Any

from . import records

# The request was not executed, so a new request with a new signature is safe
# (docs/rules/errors.md#retry-safe).
SAFE = frozenset({"rate_limited", "too_many_connections", "shed", "draining", "node_behind", "history_behind", "funding_unavailable"})
# The request may have been executed (docs/rules/errors.md#retry-unknown).
UNKNOWN = frozenset({"sequencing_timeout", "internal"})
# A signature is valid for 5 s. The same signed bytes are sent again for this many seconds.
SAME_BYTES = 4.0
# Writes whose exact repeat has no second effect (docs/rules/accounts.md#exact-repeats) and does no harm after a
# restart, over which the venue forgets its first responses, as that of a decrease and a redemption would.
REPEATABLE = re.compile(r"DELETE /|POST /v1/(portfolio/deadman|forecasts|withdrawals)$")
# Requests without an effect.
READ = re.compile(r"GET /|POST /v1/portfolio/orders/preview$")


def sign(secret: str, timestamp: str, method: str, target: str, body: str = "") -> str:
    """Returns the signature in base64. secret is 64 hex characters; target is path and query as sent."""
    message = f"{timestamp}\n{method}\n{target}\n{body}".encode()
    return base64.b64encode(hmac.digest(bytes.fromhex(secret), message, hashlib.sha256)).decode()


class VenueError(Exception):
    """A response of the venue other than 2xx."""

    def __init__(self, status: int, error: records.Error):
        super().__init__(f"{error['code']} ({status})")
        self.status, self.code, self.origin, self.details = status, error["code"], error["origin"], error["details"] or {}


class UnknownOutcome(Exception):
    """A write got no response: it may have been executed. Read the state before you repeat it."""


def refused(status: int, body: Any) -> VenueError | OSError:
    """Returns the error of a response other than 2xx: VenueError, or OSError if the venue did not write it, but a proxy."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str) or not isinstance(error.get("origin"), str):
        return OSError(f"no response of the venue: HTTP status {status}")
    return VenueError(status, error)


def _default_timeout() -> float:
    """Returns DX_TIMEOUT in seconds, which an arena sets for its agents. It is 15 if that is no number above 0."""
    try:
        seconds = float(os.environ.get("DX_TIMEOUT", ""))
    except ValueError:
        return 15
    return seconds if 0 < seconds < math.inf else 15


class Client:
    """Sends requests to a venue. It holds no connection, so threads may share one.

    tries bounds the attempts of one call; timeout is in seconds, for each attempt. Its default is that of
    the variable DX_TIMEOUT, or 15.
    """

    def __init__(self, url: str, key: str, secret: str, tries: int = 8, timeout: float | None = None):
        self.url, self.key, self.secret, self.tries = url, key, secret, tries
        self.timeout = timeout if timeout is not None else _default_timeout()

    def headers(self, method: str, target: str, body: str = "") -> dict[str, str]:
        """Returns the headers that sign a request now."""
        now = str(time.time_ns() // 1_000_000)
        return {"DX-ACCESS-KEY": self.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": sign(self.secret, now, method, target, body)}

    def call(self, method: str, target: str, body: Any = None) -> Any:
        """Sends one request and returns the body of its response.

        A read, and a request that the venue did not execute, is signed again and repeated. A cancel,
        forecast, withdrawal or dead-man switch without a response is repeated with the same signed
        bytes while they are valid. The venue then returns the first response, with two exceptions. A
        repeated cancel of one order that finds no open order raises UnknownOutcome, because the order
        may have been canceled by the first request or have ended before it. In the response to a
        repeated batch of cancels, each such order has unknown_order. Other writes without a response
        are not repeated.

        Raises VenueError, UnknownOutcome, or OSError if a read gets no response.
        """
        raw = "" if body is None else json.dumps(body)
        request = f"{method} {target}"
        repeatable, read = REPEATABLE.match(request), READ.match(request)
        headers, signed, lost = self.headers(method, target, raw), time.monotonic(), False
        for left in reversed(range(self.tries)):
            wait = 0.2
            try:
                return self._send(method, target, raw, headers)
            except VenueError as e:
                if e.code in SAFE and not lost:
                    if not left:
                        raise
                    wait = int(e.details.get("retry_after_ms", 200)) / 1000
                elif e.code in SAFE or e.code in UNKNOWN or e.status >= 500:  # of a later version of the venue, or of a proxy
                    lost, last = True, e
                elif lost and e.origin != "core":  # such as an expired signature: only the core knows the first request
                    raise UnknownOutcome(f"{request}: no response") from e
                elif lost and e.code == "unknown_order":
                    raise UnknownOutcome(f"{request}: no first response; the order is not open now") from e
                else:
                    raise
            except OSError as e:
                lost, last = True, e
            if lost and read:
                if not left:
                    raise last
                lost = False
            if lost and (not left or not repeatable or time.monotonic() - signed + wait > SAME_BYTES):
                raise UnknownOutcome(f"{request}: no response") from last
            time.sleep(wait)
            if not lost:
                headers, signed = self.headers(method, target, raw), time.monotonic()

    def _send(self, method: str, target: str, raw: str, headers: dict[str, str]) -> Any:
        at = urllib.parse.urlsplit(self.url)
        if raw:
            headers = {**headers, "Content-Type": "application/json"}
        connection = (http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection)(at.netloc, timeout=self.timeout)
        try:
            connection.request(method, target, raw.encode() or None, headers)
            response = connection.getresponse()
            out = json.loads(response.read())
        except (http.client.HTTPException, ValueError) as e:
            raise OSError(f"no response: {e!r}") from e
        finally:
            connection.close()
        if response.status < 300:
            return out
        raise refused(response.status, out)

    def place(self, order: records.PlaceOrder) -> records.Outcome | records.Order:
        """Places an order once, even if responses are lost. The order needs a client_order_id that
        the account has not used.

        Returns the response, or the order as it is now if its response was lost. Raises VenueError if
        the venue rejected the order, and UnknownOutcome if a response was lost and the venue does not
        say what became of the order.
        """
        lost = None  # the first attempt that may have been executed
        for left in reversed(range(self.tries)):
            try:
                return self.call("POST", "/v1/portfolio/orders", order)
            except UnknownOutcome as e:
                lost = lost or e
                if not left:
                    raise lost
                time.sleep(0.2)
            except VenueError as e:
                if lost and e.code == "duplicate_client_order_id":
                    return self._first(order["client_order_id"], e.status, lost)
                if lost and e.origin != "core":  # it says nothing about the first attempt
                    raise lost from e
                raise
        raise AssertionError("tries is less than 1")

    def _first(self, client_order_id: str, status: int, lost: UnknownOutcome) -> records.Order:
        """Returns the order that an earlier attempt placed. Raises VenueError with its reason if it was rejected."""
        try:
            row = self.find(client_order_id)
        except (LookupError, OSError, VenueError) as e:
            raise lost from e
        if row["order_id"] is None:
            raise VenueError(status, {"code": row["reason"], "num": None, "origin": "core", "message": row["reason"], "details": None})
        return row

    def find(self, client_order_id: str) -> records.Order:
        """Returns the order with a client_order_id. Raises LookupError if there is none."""
        target = "/v1/portfolio/orders?" + urllib.parse.urlencode({"client_order_id": client_order_id})
        orders = self.call("GET", target)["orders"]
        if not orders:
            raise LookupError(f"no order with client_order_id {client_order_id}")
        return orders[0]
