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
SAME_BYTES = re.compile(r"DELETE /|POST /v1/(portfolio/deadman|forecasts|withdrawals)$")
CANCEL = re.compile(r"DELETE /v1/portfolio/orders/(?!batch$)")
READ = re.compile(r"GET /|POST /v1/portfolio/orders/preview$")

ATTEMPT = 5.0  # seconds that one attempt waits
BUDGET = 30.0  # seconds that a call may take
SAME_BYTES_FOR = 4.0  # seconds; a signature is valid for 5
FIRST_WAIT, LAST_WAIT = 0.05, 2.0  # seconds between two attempts; a wait is twice the one before
SMALLEST_OFFSET = 2.0  # seconds by which a Date must differ to explain a 401; it is cut to the second


class VenueError(Exception):
    """A response other than 2xx. Of one that the venue did not write, but a proxy, the code is ""."""

    def __init__(self, status: int, code: str, origin: str = "gateway", details: dict[str, str] | None = None, field: str = "", hint: str = ""):
        super().__init__(f"{code} ({status})" + (f": {hint}" if hint else "") if code else f"no response of the venue: HTTP status {status}")
        self.status, self.code, self.origin, self.details, self.field, self.hint = status, code, origin, details or {}, field, hint
        self.lost: Exception | None = None  # an attempt before that may have been executed


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
    if text.isascii() and text.isdigit() and int(text) < 2**64:
        return str(int(text))
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") & 2**63 - 1)


def with_client_order_id(order: Any) -> Any:
    """Returns an order of which client_order_id may be any text as the venue takes it."""
    return {**order, "client_order_id": client_order_id(order["client_order_id"])} if "client_order_id" in order else order


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
        if at.scheme not in ("http", "https") or not at.hostname or "@" in at.netloc or at.path not in ("", "/") or "?" in url or "#" in url or port == 0 or re.search(r"\s", url) or at.netloc.endswith(":"):
            raise wrong
        secure = at.scheme == "https"
        proxy = _proxy(at.scheme, at.hostname)
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


def _proxy(scheme: str, host: str) -> urllib.parse.SplitResult | None:
    """Returns the proxy of HTTPS_PROXY or HTTP_PROXY for a host; NO_PROXY and loopback go without one."""
    proxies = urllib.request.getproxies_environment()
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    text = proxies.get(scheme, "")
    if not text or loopback or urllib.request.proxy_bypass(host):
        return None
    return urllib.parse.urlsplit(text if "://" in text else "http://" + text)


def _timeout(otherwise: float) -> float:
    """Returns DX_TIMEOUT in seconds, which an arena sets for its agents. It is otherwise if that is no number above 0."""
    try:
        seconds = float(os.environ.get("DX_TIMEOUT", ""))
    except ValueError:
        return otherwise
    return seconds if 0 < seconds < math.inf else otherwise


class Core:
    """A key at a venue, the offset of the venue's clock, and the times of a call."""

    def __init__(self, url: str, key: str, secret: str, timeout: float | None, budget: float | None):
        self.address, self.key, self.secret = Address.of(url), key, secret
        self.timeout = timeout if timeout is not None else _timeout(ATTEMPT)
        self.budget = budget if budget is not None else max(BUDGET, _timeout(0), self.timeout)
        self.offset = 0.0  # seconds by which the venue's clock is ahead
        self.wall: Callable[[], float] = time.time
        self.monotonic: Callable[[], float] = time.monotonic
        self.jitter: Callable[[], float] = lambda: random.uniform(0.5, 1)  # not all clients of a venue at once

    def now(self) -> float:
        """Returns the venue's time in seconds since the Unix epoch."""
        return self.wall() + self.offset

    def headers(self, method: str, target: str, body: bytes = b"") -> dict[str, str]:
        """Returns the headers that sign a request now."""
        now = str(int(self.now() * 1000))
        return {"DX-ACCESS-KEY": self.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": sign(self.secret, now, method, target, body)}

    def correct_clock(self, date: str) -> bool:
        """Takes the offset from a Date header. Returns False if the clock agrees with it already."""
        try:
            venue = email.utils.parsedate_to_datetime(date).timestamp() + 0.5
        except ValueError:
            return False
        if abs(venue - self.now()) < SMALLEST_OFFSET:
            return False
        self.offset = venue - self.wall()
        return True

    def backoff(self, n: int) -> float:
        """Returns the wait after the n-th failure, in seconds."""
        return min(FIRST_WAIT * 2 ** min(n - 1, 10), LAST_WAIT) * self.jitter()


def refused(status: int, body: bytes) -> VenueError:
    """Returns the error of a response other than 2xx."""
    try:
        error = json.loads(body)["error"]
        return VenueError(status, str(error["code"]), str(error["origin"]), error.get("details"), error.get("field", ""), error.get("hint", ""))
    except (ValueError, TypeError, KeyError):
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
    signed, failures, corrected = 0.0, 0, False
    lost: Exception | None = None  # of the first attempt that may have been executed
    while True:
        if not headers or not (lost and same):
            headers, signed = core.headers(method, target, raw), core.monotonic()
        error: Exception
        head, wait = dict[str, str](), None
        try:
            status, head, answer = yield Exchange(method, target, headers, raw, max(0.001, min(core.timeout, until - core.monotonic())))
            if status < 300:
                return json.loads(answer)
            error = refused(status, answer)
        except OSError as e:
            error = e
        except ValueError as e:
            error = OSError(f"no response of the venue: {e}")
        if isinstance(error, VenueError):
            if error.status == 401 and not corrected and not (lost and same) and core.correct_clock(head.get("date", "")):
                corrected = True
                continue
            if error.code not in SAFE and not may_be_done(error):
                unclear = error.origin != "core" or cancel and error.code == "unknown_order"  # only the core knows the attempt before
                if lost and unclear:
                    raise UnknownOutcome(f"{request}: no response") from lost
                error.lost = lost
                raise error
            named = int(error.details.get("retry_after_ms", 0)) / 1000
            wait = named if error.code == "rate_limited" else max(named, core.backoff(failures + 1))
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


def place(core: Core, order: Any, replaces: str | None = None) -> Steps:
    """Places an order once, or replaces one. Returns the response, or the order as it is now if its response was lost."""
    order, until = with_client_order_id(order), core.monotonic() + core.budget
    target = f"{ORDERS}/{replaces}/replace" if replaces is not None else ORDERS
    try:
        return (yield from call(core, "POST", target, order, placement=True, until=until))
    except VenueError as e:
        if e.code != "duplicate_client_order_id" or e.lost is None:
            raise
        status, lost = e.status, UnknownOutcome(f"POST {target}: no response")
        lost.__cause__ = e.lost
    try:
        row = yield from find(core, order["client_order_id"], until=until)
    except (LookupError, OSError, VenueError):
        raise lost
    if row["order_id"] is None:
        raise VenueError(status, row["reason"], "core")
    return row


def find(core: Core, text: str, until: float = math.inf) -> Steps:
    """Returns the order with a client_order_id. Raises LookupError if there is none."""
    orders = (yield from call(core, "GET", f"{ORDERS}?client_order_id={client_order_id(text)}", until=until))["orders"]
    if not orders:
        raise LookupError(f"no order with client_order_id {text}")
    return orders[0]


def query(target: str, filters: dict[str, Any]) -> str:
    """Returns a target with a query of the filters that are not None."""
    pairs = {k: str(v) for k, v in filters.items() if v is not None}
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
