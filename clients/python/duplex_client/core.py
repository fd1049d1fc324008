"""What a client decides, without any input or output.

A call is a generator. It yields steps, such as Exchange and Sleep, and a driver does them: client.py with blocking
sockets, aio.py with asyncio. So both repeat and give up alike, by the table that the clients in all languages share
(schemas/vectors/retries.json).
"""

import base64
import email.utils
import hashlib
import hmac
import ipaddress
import json
import math
import os
import random
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

# The request was not executed, so a new request with a new signature is safe
# (docs/rules/errors.md#retry-safe). read_only_node is not here: the same address answers it again.
SAFE = frozenset({"rate_limited", "too_many_connections", "shed", "draining", "node_behind", "history_behind", "funding_unavailable"})
# The request may have been executed (docs/rules/errors.md#retry-unknown).
UNKNOWN = frozenset({"sequencing_timeout", "internal"})
# Writes whose exact repeat has no second effect (docs/rules/accounts.md#exact-repeats) and does no harm after a
# restart, over which the venue forgets its first responses, as that of a decrease and a redemption would.
SAME_BYTES = re.compile(r"DELETE /|PUT /|POST /v1/(portfolio/deadman|forecasts|withdrawals)$")
CANCEL = re.compile(r"DELETE /v1/portfolio/orders/(?!batch$)")
READ = re.compile(r"GET /|POST /v1/portfolio/orders/preview$")

ATTEMPT = 5.0  # seconds that one attempt waits
BUDGET = 30.0  # seconds that a call may take
LONGEST = 86400  # seconds that DX_TIMEOUT may be
SAME_BYTES_FOR = 4.0  # seconds; a signature is valid for 5
FIRST_WAIT, LAST_WAIT = 0.05, 2.0  # seconds between two attempts; a wait is twice the one before
SMALLEST_OFFSET = 2.0  # seconds by which a Date must differ to explain a 401; it is cut to the second


class VenueError(Exception):
    """A response other than 2xx. Of one that the venue did not write, but a proxy, the code is ""."""

    def __init__(self, status: int, code: str, origin: str = "gateway", details: dict[str, str] | None = None, field: str = "", hint: str = ""):
        super().__init__(f"{code} ({status})" + (f": {hint}" if hint else "") if code else f"no response of the venue: HTTP status {status}")
        self.status, self.code, self.origin, self.details, self.field, self.hint = status, code, origin, details or {}, field, hint
        self.lost: Exception | None = None  # an attempt before that may have been executed
        self.order: Any = None  # the other order that has the client_order_id, if an attempt before was lost

    @property
    def retry_after(self) -> float:
        """The wait in seconds that the venue names, or 0."""
        ms = str(self.details.get("retry_after_ms", ""))
        return int(ms) / 1000 if re.fullmatch("[0-9]{1,12}", ms) else 0.0


class UnknownOutcome(Exception):
    """A write got no response: it may have been executed. Read the state before you repeat it."""


class NotExecuted(OSError):
    """The request got no connection: refused, no such host, TLS to a plain port, a certificate that nobody knows."""


@dataclass
class Exchange:
    """A step: send a request, and return the status, the headers by lower-case name, and the body.

    It raises NotExecuted without a connection, and OSError without a response within timeout seconds.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    timeout: float


@dataclass
class Sleep:
    """A step: wait."""

    seconds: float


Steps = Generator[Any, Any, Any]


def sign(secret: str, timestamp: str, method: str, target: str, body: str | bytes = "") -> str:
    """Returns the signature in base64. secret is 64 hex characters; target is path and query as sent."""
    raw = body.encode() if isinstance(body, str) else body
    message = f"{timestamp}\n{method}\n{target}\n".encode() + raw
    return base64.b64encode(hmac.digest(bytes.fromhex(secret), message, hashlib.sha256)).decode()


def client_order_id(text: str | int) -> str:
    """Returns the client_order_id of any text, such as a UUID.

    Digits up to 2^64 - 1 are the number. Of another text it is the first 8 bytes of its SHA-256, big-endian, without
    the highest bit, as in the clients in Go and TypeScript. Two texts with one id are as two orders with one id: the
    second is duplicate_client_order_id.
    """
    text = str(text)
    if not text:
        raise ValueError("an empty client_order_id")
    digits = (text.lstrip("0") or "0") if text.isascii() and text.isdigit() else ""
    if digits and len(digits) <= 20 and int(digits) < 2**64:
        return digits
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise ValueError("a client_order_id with half of a surrogate pair, which is no text") from None
    return str(int.from_bytes(hashlib.sha256(raw).digest()[:8], "big") & 2**63 - 1)


def with_client_order_id(order: Any) -> Any:
    """Returns an order of which client_order_id may be any text as the venue takes it."""
    return {**order, "client_order_id": client_order_id(order["client_order_id"])} if "client_order_id" in order else order


def quote_with_client_order_ids(quote: Any) -> Any:
    """Returns a quote of which each client_order_id may be any text as the venue takes it."""
    return {**quote, **{side: quote[side] and with_client_order_id(quote[side]) for side in ("bid", "ask") if side in quote}}


@dataclass(frozen=True)
class Address:
    """Where a venue is: a host and a port, and a proxy on the way to it."""

    host: str
    port: int
    secure: bool
    netloc: str  # for Host
    proxy: str  # host:port, or "": none
    proxy_auth: str  # for Proxy-Authorization, or ""

    @staticmethod
    def of(url: str) -> "Address":
        """Returns the address of a base URL: http or https, a host, perhaps a port, and nothing behind."""
        wrong = ValueError("the address of a venue is http:// or https://, a host and perhaps a port, with nothing behind")
        try:
            at = urllib.parse.urlsplit(url)
            port = at.port
            (at.hostname or "").encode("idna")  # fails with a name that no host can have
        except ValueError:
            raise wrong from None
        if at.scheme not in ("http", "https") or not at.hostname or at.path not in ("", "/") or port == 0 or at.netloc.endswith(":") or re.search(r"[\s\x00-\x1f\x7f?#@%\\]", url):
            raise wrong
        secure = at.scheme == "https"
        proxy = _proxy(at.scheme, at.hostname, port or (443 if secure else 80))
        auth = ""
        if proxy and proxy.username is not None:
            pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
            auth = "Basic " + base64.b64encode(pair.encode()).decode()
        return Address(at.hostname, port or (443 if secure else 80), secure, at.netloc, f"{proxy.hostname}:{proxy.port or 80}" if proxy else "", auth)

    def connect_request(self) -> bytes:
        """Returns the request with which a proxy opens a tunnel."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        auth = f"Proxy-Authorization: {self.proxy_auth}\r\n" if self.proxy_auth else ""
        return f"CONNECT {host}:{self.port} HTTP/1.1\r\nHost: {host}:{self.port}\r\n{auth}\r\n".encode()


def _proxy(scheme: str, host: str, port: int) -> urllib.parse.SplitResult | None:
    """Returns the proxy of HTTPS_PROXY or HTTP_PROXY for a host; NO_PROXY and loopback go without one."""
    proxies = urllib.request.getproxies_environment()
    text = proxies.get(scheme, "")
    if not text or _bypasses(proxies.get("no", ""), host, port):
        return None
    return urllib.parse.urlsplit(text if "://" in text else "http://" + text)


def _bypasses(no_proxy: str, host: str, port: int) -> bool:
    """Reports whether a host goes without a proxy, by the rules of Go (schemas/vectors/proxies.json)."""
    host, ip = host.lower(), None
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        pass
    if host == "localhost" or ip and ip.is_loopback:
        return True
    for entry in no_proxy.lower().split(","):
        entry = entry.strip()
        if entry == "*":
            return True
        try:
            if ip and "/" in entry and ip in ipaddress.ip_network(entry, strict=False):
                return True
        except ValueError:
            pass
        with_port = re.fullmatch(r"(\[.+\]|[^:]*):([0-9]+)", entry)
        name, number = with_port.groups() if with_port else (entry, "")
        name = name.strip("[]")
        if not name or number and int(number) != port:
            continue
        if name == host or not ip and host.endswith("." + name.removeprefix("*").removeprefix(".")):
            return True
    return False


def _timeout() -> float:
    """Returns DX_TIMEOUT in seconds, which an arena sets for its agents, 0 if it is not set."""
    text = os.environ.get("DX_TIMEOUT", "")
    if not text:
        return 0
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) or not 0 < float(text) <= LONGEST:
        raise ValueError(f"DX_TIMEOUT is {text!r}: it must be seconds, a number above 0 and at most {LONGEST}")
    return float(text)


class Core:
    """A key at a venue, the venue's time, and the times of a call.

    The venue's time is the local clock at the first use, or what the venue said last, plus what has passed since by
    the monotonic clock: a local clock that is set, forward or back, changes nothing. A clock that stands still while a
    machine sleeps is corrected by the next 401, or by a stream (events.py).
    """

    def __init__(self, url: str, key: str, secret: str, timeout: float | None, budget: float | None):
        self.address, self.key, self.secret = Address.of(url), key, secret
        set_to = _timeout()
        self.timeout = timeout if timeout is not None else set_to or ATTEMPT
        self.budget = budget if budget is not None else max(BUDGET, set_to, self.timeout)
        self.ahead: float | None = None  # the venue's time less the monotonic clock, in seconds
        self.wall: Callable[[], float] = time.time
        self.monotonic: Callable[[], float] = time.monotonic
        self.jitter: Callable[[], float] = lambda: random.uniform(0.5, 1)  # not all clients of a venue at once

    def now(self) -> float:
        """Returns the venue's time in seconds since the Unix epoch."""
        if self.ahead is None:
            self.ahead = self.wall() - self.monotonic()
        return self.monotonic() + self.ahead

    def headers(self, method: str, target: str, body: bytes = b"") -> dict[str, str]:
        """Returns the headers that sign a request now."""
        now = str(int(self.now() * 1000))
        return {"DX-ACCESS-KEY": self.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": sign(self.secret, now, method, target, body)}

    def correct_clock(self, date: str) -> bool:
        """Takes the time from a Date header. Returns False if the clock agrees with it already."""
        try:
            venue = email.utils.parsedate_to_datetime(date).timestamp() + 0.5
        except (ValueError, TypeError, OverflowError):
            return False
        if abs(venue - self.now()) < SMALLEST_OFFSET:
            return False
        self.ahead = venue - self.monotonic()
        return True

    def cause_of_401(self, signed: float, ahead: float | None, date: str) -> str:
        """Returns why the venue did not accept a signature, "" if another one would not be accepted either.

        signed and ahead are the monotonic clock and Core.ahead when it was made. "late": the request was too long on
        its way, and then the Date may be old as well. "clock": it was wrong, and is right now; another call may have
        corrected it in the meantime.
        """
        if self.monotonic() - signed >= SAME_BYTES_FOR:
            return "late"
        return "clock" if self.correct_clock(date) or self.ahead != ahead else ""

    def backoff(self, n: int) -> float:
        """Returns the wait after the n-th failure, in seconds."""
        return min(FIRST_WAIT * 2 ** min(n - 1, 10), LAST_WAIT) * self.jitter()


def refused(status: int, body: bytes) -> VenueError:
    """Returns the error of a response other than 2xx."""
    try:
        error = json.loads(body)["error"]
        details = error.get("details")
        return VenueError(status, str(error["code"]), str(error["origin"]), details if isinstance(details, dict) else None, error.get("field", ""), error.get("hint", ""))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return VenueError(status, "", "")


def may_be_done(e: Exception) -> bool:
    """Reports whether a request that ended with e may have been executed."""
    if isinstance(e, VenueError):
        return e.code in UNKNOWN or e.code not in SAFE and e.status >= 500
    return not isinstance(e, NotExecuted)


def call(core: Core, method: str, target: str, body: Any = None, *, placement: bool = False, until: float = math.inf) -> Steps:
    """Sends one request until it has a final response or may not be repeated, and returns the body of its response.

    A placement is sent again with the same client_order_id. Raises VenueError, UnknownOutcome, or OSError if a
    read gets no response.
    """
    raw = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    request = f"{method} {target}"
    read, same, cancel = READ.match(request), SAME_BYTES.match(request.split("?")[0]), CANCEL.match(request)
    until = min(until, core.monotonic() + core.budget)
    headers: dict[str, str] = {}
    signed, ahead, failures, mended = 0.0, core.ahead, 0, set[str]()
    lost: Exception | None = None  # of the first attempt that may have been executed
    while True:
        if not headers or not (lost and same):
            headers, signed, ahead = core.headers(method, target, raw), core.monotonic(), core.ahead
        error: Exception
        head, wait = dict[str, str](), None
        try:
            status, head, answer = yield Exchange(method, target, headers, raw, max(0.001, min(core.timeout, until - core.monotonic())))
            if status < 300:
                return json.loads(answer)
            error = refused(status, answer)
        except OSError as e:
            error = e
        except (ValueError, RecursionError) as e:
            error = OSError(f"no response of the venue: {e}")
        if isinstance(error, VenueError):
            if error.status == 401 and not (lost and same):
                cause = core.cause_of_401(signed, ahead, head.get("date", ""))
                if cause and cause not in mended:  # each once
                    mended.add(cause)
                    continue
            if error.code not in SAFE and not may_be_done(error):
                unclear = error.origin != "core" or cancel and error.code == "unknown_order"  # only the core knows the attempt before
                if lost and unclear:
                    raise UnknownOutcome(f"{request}: no response") from lost
                error.lost = lost
                raise error
            wait = error.retry_after if error.code == "rate_limited" else max(error.retry_after, core.backoff(failures + 1))
        if wait is None:
            wait = core.backoff(failures + 1)
        if not (isinstance(error, VenueError) and error.code == "rate_limited"):
            failures += 1
        if may_be_done(error) and not read:
            lost = lost or error
        now = core.monotonic()
        again = not lost or placement or same and now - signed + wait <= SAME_BYTES_FOR
        if not again or now + wait > until:
            if lost:
                raise UnknownOutcome(f"{request}: no response") from lost
            raise error
        yield Sleep(wait)


ORDERS = "/v1/portfolio/orders"
APPROVALS = "/v1/portfolio/approvals"


def place(core: Core, order: Any, replaces: str | None = None) -> Steps:
    """Places an order once, or replaces one.

    Returns the response. If that was lost, the order as it is now, or its approval if it waits for the owner of the
    agent or has ended waiting without an order.
    """
    order, until = with_client_order_id(order), core.monotonic() + core.budget
    target = f"{ORDERS}/{replaces}/replace" if replaces is not None else ORDERS
    try:
        return (yield from call(core, "POST", target, order, placement=True, until=until))
    except VenueError as e:
        if e.code != "duplicate_client_order_id" or e.lost is None:
            raise
        duplicate, lost = e, UnknownOutcome(f"POST {target}: no response")
        lost.__cause__ = e.lost
    try:
        row = yield from find_placed(core, order["client_order_id"], until)
    except (LookupError, OSError, VenueError):
        raise lost
    if differs(order, row) or replaces is not None and "approval_id" in row:  # a replace does not wait
        duplicate.order = row
        raise duplicate
    if "approval_id" not in row and row["order_id"] is None:
        raise VenueError(duplicate.status, row["reason"], "core")
    return row


def differs(order: Any, row: Any) -> bool:
    """Reports whether a row, of an order or an approval, is another order than one that was sent, with the same id.

    It compares what a decrease, a fill or a price collar does not change. A rejected row may lack a tick and a
    quantity that were not valid. A replace may leave out members, and with keep_total the row has another quantity.
    """
    names = ["market_id", "side", "outcome"]
    if row["order_id"] is not None or "approval_id" in row:
        names += ["tick"] if row["type"] == "limit" else []
        names += [] if order.get("keep_total") else ["qty"]
    return order.get("type", "limit") != row["type"] or any(n in order and order[n] != row[n] for n in names)


def find(core: Core, text: str, until: float = math.inf) -> Steps:
    """Returns the order with a client_order_id. Raises LookupError if there is none."""
    orders = (yield from call(core, "GET", f"{ORDERS}?client_order_id={client_order_id(text)}", until=until))["orders"]
    if not orders:
        raise LookupError(f"no order with client_order_id {text}")
    return orders[0]


def find_placed(core: Core, text: str, until: float) -> Steps:
    """Returns the order with a client_order_id, or its approval if there is no order. Raises LookupError if there is neither."""
    try:
        return (yield from find(core, text, until=until))
    except LookupError:
        asked = yield from find_approval(core, text, until=until)
    if asked["status"] in ("placed", "refused"):  # the owner has decided since the orders were read
        return (yield from find(core, text, until=until))
    return asked


def find_approval(core: Core, text: str, until: float = math.inf) -> Steps:
    """Returns the approval of a client_order_id. Raises LookupError if there is none."""
    number, cursor = client_order_id(text), ""
    while True:
        page = yield from call(core, "GET", query(APPROVALS, {"cursor": cursor or None}), until=until)
        for row in page["approvals"]:
            if row["client_order_id"] == number:
                return row
        cursor = page["cursor"]
        if not cursor:
            raise LookupError(f"no approval with client_order_id {text}")


def query(target: str, filters: dict[str, Any]) -> str:
    """Returns a target with a query of the filters that are not None. A list is joined with commas."""
    pairs = {k: ",".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v) for k, v in filters.items() if v is not None}
    return f"{target}?{urllib.parse.urlencode(pairs)}" if pairs else target


class Response:
    """Reads one HTTP/1.1 response from the bytes that arrive."""

    def __init__(self) -> None:
        self._buffer, self._body = b"", b""
        self._left: int | None = None  # bytes of the body; None: until the end of the connection
        self._chunked = False
        self.status, self.headers = 0, dict[str, str]()
        self.done = self.keeps = False  # keeps: the connection can be used again

    def feed(self, data: bytes) -> None:
        """Takes bytes, b"" at the end of the connection. Raises OSError if they are no response."""
        self._buffer += data
        while not self.status:
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                if not data or len(head) > 1 << 16:
                    raise OSError("the connection ended before a response" if not data else "the head of the response is too long")
                return
            self._buffer = rest
            self._begin(head)
        if self._chunked:
            self._take_chunks()
        elif self._left is None:
            self._body, self._buffer, self.done = self._body + self._buffer, b"", not data
        elif len(self._buffer) >= self._left:
            self._body, self._buffer, self.done = self._buffer[: self._left], self._buffer[self._left :], True
        if not data and not self.done:
            raise OSError("the connection ended within a response")

    def _begin(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        found = re.fullmatch(r"HTTP/1\.([01]) (\d{3})(?: .*)?", first)
        if not found:
            raise OSError(f"no HTTP response: {first[:80]!r}")
        if found[2][0] == "1" and found[2] != "101":
            return  # an interim response
        self.status = int(found[2])
        self.headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length", "")
        if self.status in (101, 204, 304):
            self._left, self.done = 0, True
        elif length:
            if not length.isdigit():
                raise OSError(f"no HTTP response: a length of {length!r}")
            self._left = int(length)
        connection = self.headers.get("connection", "").lower()
        self.keeps = found[1] == "1" and "close" not in connection and (self._chunked or self._left is not None)

    def _take_chunks(self) -> None:
        while True:
            size, end, rest = self._buffer.partition(b"\r\n")
            if not end:
                return
            try:
                n = int(size.partition(b";")[0], 16)
            except ValueError:
                raise OSError("no HTTP response: a chunk without a size") from None
            if n == 0:  # then perhaps trailers, and an empty line
                _, end, after = (b"\r\n" + rest).partition(b"\r\n\r\n")
                if end:
                    self._buffer, self.done = after, True
                return
            if len(rest) < n + 2:
                return
            self._body, self._buffer = self._body + rest[:n], rest[n + 2 :]

    @property
    def body(self) -> bytes:
        return self._body

    @property
    def rest(self) -> bytes:
        """What follows the response."""
        return self._buffer


def request_bytes(address: Address, step: Exchange) -> bytes:
    """Returns the bytes of a request. To a plain port through a proxy the target is the whole URL."""
    target, extra = step.target, ""
    if address.proxy and not address.secure:
        target = f"http://{address.netloc}{step.target}"
        extra = f"Proxy-Authorization: {address.proxy_auth}\r\n" if address.proxy_auth else ""
    if step.body or step.method == "POST":
        extra += f"Content-Type: application/json\r\nContent-Length: {len(step.body)}\r\n" if step.body else "Content-Length: 0\r\n"
    head = "".join(f"{k}: {v}\r\n" for k, v in step.headers.items())
    return f"{step.method} {target} HTTP/1.1\r\nHost: {address.netloc}\r\n{head}{extra}\r\n".encode() + step.body
