"""What a stream decides, without any input or output: handshake, frames, resume, books, age and silence."""

import base64
import copy
import hashlib
import json
import logging
import math
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from . import messages
from .core import SAFE, Core, Response, Sleep, Steps, VenueError, call, may_be_done, refused

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
TARGET = "/v1/ws"
MAX_AGE = 2.0  # seconds that a change of a book may be old
MEASURED_FOR = 10.0  # seconds after which a measure of the clock is repeated before a change counts as late
FIRST_WAIT, LAST_WAIT = 0.2, 2.0  # seconds between two attempts to connect; a wait is twice the one before

log = logging.getLogger("duplex_client")


class Book(messages.WSBook):
    """A book as of a seq."""

    seq: str


@dataclass
class Connect:
    """A step: open a connection. It raises NotExecuted."""

    timeout: float


@dataclass
class Write:
    """A step: send bytes."""

    data: bytes
    timeout: float


@dataclass
class Read:
    """A step: return the next bytes, b"" at the end of the connection. It raises TimeoutError if none arrive."""

    timeout: float


@dataclass
class Close:
    """A step: close the connection, if there is one."""


@dataclass
class Deliver:
    """A step: give a message to the caller."""

    message: Any


def frame(opcode: int, data: bytes) -> bytes:
    """Returns a masked frame of WebSocket."""
    n = len(data)
    head = bytes([0x80 | opcode]) + (bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else b"\xff" + struct.pack(">Q", n))
    mask = os.urandom(4)
    stream = (mask * (n // 4 + 1))[:n]
    return head + mask + (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(n, "big")


class Frames:
    """Reads frames from the bytes that arrive, and joins the fragments of a message."""

    def __init__(self, data: bytes = b""):
        self._buffer, self._whole = bytearray(data), b""

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yields the opcode and data of each frame that has arrived, 1 for a message."""
        while True:
            got = self._buffer
            if len(got) < 2:
                return
            n, at = got[1] & 0x7F, 2
            if n >= 126:
                size = 2 if n == 126 else 8
                if len(got) < 2 + size:
                    return
                n, at = int.from_bytes(got[2 : 2 + size], "big"), 2 + size
            if len(got) < at + n:
                return
            first, data = got[0], bytes(got[at : at + n])
            del got[: at + n]
            if first & 0x0F > 2:
                yield first & 0x0F, data
                continue
            self._whole += data
            if first & 0x80:
                data, self._whole = self._whole, b""
                yield 1, data


class Ended(OSError):
    """The venue has closed the connection."""


class HasCore(Protocol):
    """A client."""

    core: Core


Owner = TypeVar("Owner", bound=HasCore)


class Follower(Generic[Owner]):
    """What a Stream and an AsyncStream have in common. Stream says what the arguments mean."""

    def __init__(
        self,
        client: Owner,
        channels: list[str],
        market_ids: list[int] | None = None,
        *,
        silence: float = 10,
        on_disconnect: Callable[[Exception, float], None] | None = None,
        on_late: Callable[[int, float], None] | None = None,
        cancel_on_disconnect: list[int] | None = None,
    ):
        self.client = client
        self.state = State(client.core, channels, market_ids or [], silence, on_disconnect, on_late)
        self.state.bound = cancel_on_disconnect or []

    def book(self, market_id: int) -> Book | None:
        """Returns the book of a market, None while it is unknown."""
        return self.state.book(market_id)


class State:
    """The state of a stream over its connections."""

    def __init__(self, core: Core, channels: list[str], market_ids: list[int], silence: float, on_disconnect: Callable[[Exception, float], None] | None, on_late: Callable[[int, float], None] | None):
        self.core, self.channels, self.market_ids, self.silence = core, channels, market_ids, silence
        self.on_disconnect, self.on_late = on_disconnect, on_late
        self.bound: list[int] = []  # groups that end with the connection, 0: every order
        # A connection can end between two events of one command, and since_seq names whole commands.
        self.whole = ""  # the last seq whose events have all been delivered
        self.seq, self.delivered = "", 0  # the newest seq, and how many of its events
        self.books: dict[int, Any] = {}
        self.known: set[int] = set()  # markets whose book is complete
        self.measured = 0.0  # when the venue's clock was measured, or that was tried
        self.end = 0.0  # until when there must be a first message; math.inf: there was one
        self.opened = self.said = False  # the connection has brought a message; the log has a line about the outage
        self.lost_at = 0.0

    def book(self, market_id: int) -> Book | None:
        """Returns a copy of a book, None while it is unknown."""
        if market_id not in self.known:
            return None
        return copy.deepcopy(self.books[market_id])

    def follow(self) -> Steps:
        """Follows the stream without end."""
        wait, now = FIRST_WAIT, self.core.monotonic
        self.end, self.said, self.lost_at = now() + self.core.budget, False, self.core.wall()
        last: OSError | None = None  # what the attempt before ended with
        while True:
            self.opened = False
            error: Exception = Ended("the connection has ended")
            asked = 0.0  # seconds to wait that the venue names
            started = now()
            try:
                buffered = yield from self._connect()
                yield from self._messages(buffered)
            except VenueError as e:
                if e.code not in SAFE and not may_be_done(e):
                    yield Close()
                    raise
                asked, error = e.retry_after, e
            except OSError as e:
                # An attempt for which no time was left says nothing of the venue.
                error = last = last if last and isinstance(e, TimeoutError) and now() >= self.end else e
            yield Close()
            self.known.clear()
            if self.opened:
                self.lost_at = self.core.wall()
            if self.on_disconnect:
                self.on_disconnect(error, self.lost_at)
            if now() - started > LAST_WAIT:
                wait = FIRST_WAIT
            pause = max(asked, wait * self.core.jitter())
            if now() + pause > self.end:
                raise error if isinstance(error, OSError) else OSError(f"no stream: {error}")
            if self.end == math.inf and not self.said:
                self.said = True
                log.warning("the stream is lost since %s: %s; connecting again", time.strftime("%H:%M:%S", time.localtime(self.lost_at)), error)
            yield Sleep(pause)
            wait = min(2 * wait, LAST_WAIT)

    def _left(self, until: float = math.inf) -> float:
        """Returns the time until then, or until there must have been a first message. Raises TimeoutError if it is over."""
        left = min(until, self.end) - self.core.monotonic()
        if left <= 0:
            raise TimeoutError("no message in time" if self.end <= until else "no handshake in time")
        return left

    def _connect(self) -> Steps:
        """Opens a WebSocket, and returns what arrived behind the handshake. It signs again after a 401, as call does."""
        mended = set[str]()
        while True:
            until = self.core.monotonic() + self.core.timeout
            key = base64.b64encode(os.urandom(16))
            headers = {"Host": self.core.address.netloc, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key.decode()}
            yield Connect(self._left(until))
            headers |= self.core.headers("GET", TARGET)
            signed, ahead = self.core.monotonic(), self.core.ahead
            yield Write((f"GET {TARGET} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode(), self._left(until))
            response = Response()
            while not response.done:
                response.feed((yield Read(self._left(until))))
            if response.status == 101:
                if response.headers.get("sec-websocket-accept") != base64.b64encode(hashlib.sha1(key + GUID).digest()).decode():
                    raise OSError("handshake: wrong Sec-WebSocket-Accept")
                return response.rest
            yield Close()
            cause = self.core.cause_of_401(signed, ahead, response.headers.get("date", "")) if response.status == 401 else ""
            if not cause or cause in mended:
                raise refused(response.status, response.body)
            mended.add(cause)

    def _messages(self, buffered: bytes) -> Steps:
        frames = Frames(buffered)
        last: dict[tuple[int, int], str] = {}
        requested: set[int] = set()  # markets with a snapshot on the way
        again, commands = self.delivered, 1  # events of the newest seq that a resume sends again
        judges = "orderbook_delta" in self.channels and (yield from self._measure_clock())
        for group in self.bound:
            yield self._command(commands, "cancel_on_disconnect", {"enabled": True, "group_id": group})
            commands += 1
        params: dict[str, Any] = {"channels": self.channels}
        if self.market_ids:
            params["market_ids"] = self.market_ids
        if "user" in self.channels and self.whole:
            params["since_seq"] = self.whole
        yield self._command(commands, "subscribe", params)
        while True:
            data = yield from self._read(frames)
            deliver, late, market = True, 0.0, 0
            try:
                message = json.loads(data)
                kind, msg = message["type"], message["msg"]
                if kind == "error":
                    details = {k: str(v) for k, v in msg.items() if k == "retry_after_ms"}
                    raise VenueError(0, msg["name"], "gateway", details)
                if kind == "subscribed":
                    pass
                elif "id" in message:  # the answer to a command
                    deliver = False
                elif kind in ("orderbook_snapshot", "orderbook_delta"):
                    sid, market = message["sid"], msg["market_id"]
                    follows = last.get((sid, market)) == message["prev_seq"] and market in self.known
                    last[sid, market] = message["seq"]
                    if kind == "orderbook_snapshot":
                        self.books[market] = {**msg, "seq": message["seq"], "yes": [list(x) for x in msg["yes"]], "no": [list(x) for x in msg["no"]]}
                        self.known.add(market)
                        requested.discard(market)
                    else:
                        age = (yield from self._age(int(msg["ts"]) / 1e9)) if judges and follows else 0.0
                        if not follows or age > MAX_AGE or msg["generation"] != self.books[market]["generation"]:
                            self.known.discard(market)
                            if market not in requested:
                                requested.add(market)
                                commands += 1
                                yield self._command(commands, "update_subscription", {"sid": sid, "action": "get_snapshot", "market_ids": [market]})
                            deliver, late = False, age if age > MAX_AGE else 0.0
                        else:
                            self._change(self.books[market], msg, message["seq"])
                elif kind == "user_snapshot":
                    self.whole = self.seq = last[message["sid"], 0] = message["seq"]
                    self.delivered = again = 0
                elif kind == "user":
                    if last.get((message["sid"], 0), "0") != message["prev_seq"]:
                        raise OSError("an event of the account is missing")  # the next connection resumes
                    last[message["sid"], 0] = message["seq"]
                    if message["seq"] == self.seq and again:
                        again -= 1
                        deliver = False
                    else:
                        if message["seq"] != self.seq:
                            self.whole, self.seq, self.delivered = self.seq, message["seq"], 0
                        self.delivered += 1
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as e:
                raise OSError(f"what arrived is no message of the venue: {e!r}") from e
            if not self.opened:
                self._open()
            if late:
                log.warning("a change of the book of market %d is %.1f s old; its snapshot follows", market, late)
                if self.on_late:
                    self.on_late(market, late)
            if deliver:
                yield Deliver(message)

    def _open(self) -> None:
        """Notes the first message of a connection: one that is accepted and then closed brings nothing."""
        if self.said:
            log.warning("the stream is back after %.1f s", self.core.wall() - self.lost_at)
        self.opened, self.said, self.end = True, False, math.inf

    @staticmethod
    def _change(book: dict[str, Any], delta: dict[str, Any], seq: str) -> None:
        book["seq"], book["ts"] = seq, delta.get("ts")
        for c in delta["changes"]:
            side = [x for x in book[c["outcome"]] if x[0] != c["tick"]]
            if c["qty"]:
                side = sorted([*side, [c["tick"], c["qty"]]], reverse=True)
            book[c["outcome"]] = side

    def _age(self, venue_time: float) -> Steps:
        """Returns how old a message is.

        If it is late, or of the future, by a clock that was not measured just now, the clock is measured first: it
        stands still while a machine sleeps, and a wrong clock would make every change late.
        """
        age = self.core.now() - venue_time
        if abs(age) > MAX_AGE and self.core.monotonic() - self.measured > MEASURED_FOR:
            yield from self._measure_clock()
            age = self.core.now() - venue_time
        return age

    def _measure_clock(self) -> Steps:
        """Measures the venue's clock, and returns whether the age of a message can be told."""
        self.measured = self.core.monotonic()
        try:
            until = self.measured + min(self.core.timeout, self._left())
            yield from call(self.core, "GET", "/v1/time", until=until)  # opens the connection, so that the handshake is not measured
            sent = self.core.monotonic()
            time_read = yield from call(self.core, "GET", "/v1/time", until=until)
            self.core.ahead = int(time_read["server_time"]) / 1e9 - (sent + self.core.monotonic()) / 2
            return time_read["clock"] != "virtual"
        except (OSError, VenueError, ValueError, TypeError, LookupError):
            return False

    def _command(self, n: int, cmd: str, params: dict[str, Any]) -> Write:
        return Write(frame(1, json.dumps({"id": n, "cmd": cmd, "params": params}).encode()), self.silence)

    def _read(self, frames: Frames) -> Steps:
        """Returns the data of the next message. Answers pings, and asks when nothing arrives."""
        half = self.silence / 2
        while True:
            for opcode, data in frames:
                if opcode == 8:
                    raise Ended(f"closed with {int.from_bytes(data[:2], 'big')}")
                if opcode == 9:
                    yield Write(frame(10, data), self.silence)
                if opcode == 1:
                    return data
            try:
                data = yield Read(min(half, self._left()))
            except TimeoutError:
                yield Write(frame(9, b"?"), min(half, self._left()))
                try:
                    data = yield Read(min(half, self._left()))
                except TimeoutError:
                    raise OSError(f"nothing arrived for {self.silence:g} s") from None
            if not data:
                raise Ended("the connection has ended")
            frames.feed(data)
