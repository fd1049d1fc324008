"""What a stream decides, without any input or output: handshake, frames, resume, books, age and silence."""

import base64
import copy
import hashlib
import json
import logging
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
FIRST_WAIT, LAST_WAIT = 0.2, 10.0  # seconds between two attempts to connect; a wait is twice the one before

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
    ):
        self.client = client
        self.state = State(client.core, channels, market_ids or [], silence, on_disconnect, on_late)

    def book(self, market_id: int) -> Book | None:
        """Returns the book of a market, None while it is unknown."""
        return self.state.book(market_id)


class State:
    """The state of a stream over its connections."""

    def __init__(self, core: Core, channels: list[str], market_ids: list[int], silence: float, on_disconnect: Callable[[Exception, float], None] | None, on_late: Callable[[int, float], None] | None):
        self.core, self.channels, self.market_ids, self.silence = core, channels, market_ids, silence
        self.on_disconnect, self.on_late = on_disconnect, on_late
        # A connection can end between two events of one command, and since_seq names whole commands.
        self.whole = ""  # the last seq whose events have all been delivered
        self.seq, self.delivered = "", 0  # the newest seq, and how many of its events
        self.books: dict[int, Any] = {}
        self.known: set[int] = set()  # markets whose book is complete

    def book(self, market_id: int) -> Book | None:
        """Returns a copy of a book, None while it is unknown."""
        if market_id not in self.known:
            return None
        return copy.deepcopy(self.books[market_id])

    def follow(self) -> Steps:
        """Follows the stream without end."""
        wait, lost_at, began = FIRST_WAIT, self.core.wall(), self.core.monotonic()
        opened_once = said = False
        while True:
            opened = False
            error: Exception = Ended("the connection has ended")
            asked = 0.0  # seconds to wait that the venue names
            started = self.core.monotonic()
            try:
                buffered = yield from self._connect()
                if said:
                    log.warning("the stream is back after %.1f s", self.core.wall() - lost_at)
                opened = opened_once = True
                said = False
                yield from self._messages(buffered)
            except VenueError as e:
                if e.code not in SAFE and not may_be_done(e):
                    yield Close()
                    raise
                asked, error = int(e.details.get("retry_after_ms", 0)) / 1000, e
            except OSError as e:
                error = e
            yield Close()
            self.known.clear()
            if opened:
                lost_at = self.core.wall()
            if self.on_disconnect:
                self.on_disconnect(error, lost_at)
            if self.core.monotonic() - started > LAST_WAIT:
                wait = FIRST_WAIT
            pause = max(asked, wait * self.core.jitter())
            if not opened_once and self.core.monotonic() + pause > began + self.core.budget:
                raise error if isinstance(error, OSError) else OSError(f"no stream: {error}")
            if opened_once and not said:
                said = True
                log.warning("the stream is lost since %s: %s; connecting again", time.strftime("%H:%M:%S", time.localtime(lost_at)), error)
            yield Sleep(pause)
            wait = min(2 * wait, LAST_WAIT)

    def _connect(self) -> Steps:
        """Opens a WebSocket, and returns what arrived behind the handshake. It corrects the clock after a 401."""
        for last in (False, True):
            key = base64.b64encode(os.urandom(16))
            headers = {"Host": self.core.address.netloc, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key.decode()}
            yield Connect(self.core.timeout)
            headers |= self.core.headers("GET", TARGET)
            yield Write((f"GET {TARGET} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode(), self.core.timeout)
            response = Response()
            while not response.done:
                response.feed((yield Read(self.core.timeout)))
            if response.status == 101:
                if response.headers.get("sec-websocket-accept") != base64.b64encode(hashlib.sha1(key + GUID).digest()).decode():
                    raise OSError("handshake: wrong Sec-WebSocket-Accept")
                return response.rest
            yield Close()
            if last or response.status != 401 or not self.core.correct_clock(response.headers.get("date", "")):
                raise refused(response.status, response.body)

    def _messages(self, buffered: bytes) -> Steps:
        frames = Frames(buffered)
        last: dict[tuple[int, int], str] = {}
        requested: set[int] = set()  # markets with a snapshot on the way
        again, commands = self.delivered, 1  # events of the newest seq that a resume sends again
        judges = "orderbook_delta" in self.channels and (yield from self._measure_clock())
        params: dict[str, Any] = {"channels": self.channels}
        if self.market_ids:
            params["market_ids"] = self.market_ids
        if "user" in self.channels and self.whole:
            params["since_seq"] = self.whole
        yield self._command(commands, "subscribe", params)
        while True:
            message = yield from self._read(frames)
            kind, msg = message["type"], message["msg"]
            if kind == "error":
                details = {k: str(v) for k, v in msg.items() if k == "retry_after_ms"}
                raise VenueError(0, msg["name"], "gateway", details)
            if kind == "subscribed":
                pass
            elif "id" in message:  # the answer to a command
                continue
            elif kind in ("orderbook_snapshot", "orderbook_delta"):
                sid, market = message["sid"], msg["market_id"]
                follows = last.get((sid, market)) == message["prev_seq"] and market in self.known
                last[sid, market] = message["seq"]
                if kind == "orderbook_snapshot":
                    self.books[market] = {**msg, "seq": message["seq"], "yes": [list(x) for x in msg["yes"]], "no": [list(x) for x in msg["no"]]}
                    self.known.add(market)
                    requested.discard(market)
                else:
                    age = self.core.now() - int(msg["ts"]) / 1e9 if judges else 0.0
                    if not follows or age > MAX_AGE or msg["generation"] != self.books[market]["generation"]:
                        self.known.discard(market)
                        if market not in requested:
                            requested.add(market)
                            commands += 1
                            yield self._command(commands, "update_subscription", {"sid": sid, "action": "get_snapshot", "market_ids": [market]})
                        if follows and age > MAX_AGE:
                            log.warning("a change of the book of market %d is %.1f s old; its snapshot follows", market, age)
                            if self.on_late:
                                self.on_late(market, age)
                        continue
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
                    continue
                if message["seq"] != self.seq:
                    self.whole, self.seq, self.delivered = self.seq, message["seq"], 0
                self.delivered += 1
            yield Deliver(message)

    @staticmethod
    def _change(book: dict[str, Any], delta: dict[str, Any], seq: str) -> None:
        book["seq"], book["ts"] = seq, delta.get("ts")
        for c in delta["changes"]:
            side = [x for x in book[c["outcome"]] if x[0] != c["tick"]]
            if c["qty"]:
                side = sorted([*side, [c["tick"], c["qty"]]], reverse=True)
            book[c["outcome"]] = side

    def _measure_clock(self) -> Steps:
        """Measures the venue's clock, and returns whether the age of a message can be told."""
        try:
            until = self.core.monotonic() + self.core.timeout
            yield from call(self.core, "GET", "/v1/time", until=until)  # opens the connection, so that the handshake is not measured
            sent = self.core.wall()
            time_read = yield from call(self.core, "GET", "/v1/time", until=until)
        except (OSError, VenueError):
            return False
        self.core.offset = int(time_read["server_time"]) / 1e9 - (sent + self.core.wall()) / 2
        return time_read["clock"] != "virtual"

    def _command(self, n: int, cmd: str, params: dict[str, Any]) -> Write:
        return Write(frame(1, json.dumps({"id": n, "cmd": cmd, "params": params}).encode()), self.silence)

    def _read(self, frames: Frames) -> Steps:
        """Returns the next message. Answers pings, and asks when nothing arrives."""
        while True:
            for opcode, data in frames:
                if opcode == 8:
                    raise Ended(f"closed with {int.from_bytes(data[:2], 'big')}")
                if opcode == 9:
                    yield Write(frame(10, data), self.silence)
                if opcode == 1:
                    return json.loads(data)
            try:
                data = yield Read(self.silence / 2)
            except TimeoutError:
                yield Write(frame(9, b"?"), self.silence / 2)
                try:
                    data = yield Read(self.silence / 2)
                except TimeoutError:
                    raise OSError(f"nothing arrived for {self.silence:g} s") from None
            if not data:
                raise Ended("the connection has ended")
            frames.feed(data)
