"""The event lane: a WebSocket that connects again and resumes."""

import base64
import hashlib
import json
import os
import random
import socket
import ssl
import struct
import time
import urllib.parse
from typing import Any, Iterator

from .client import SAFE, UNKNOWN, Client, VenueError, refused

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
TARGET = "/v1/ws"


class Stream:
    """Subscribes to channels and yields their messages. One thread uses it at a time.

    After a lost connection it connects again. The channel user then continues after the last seq
    that it yielded (docs/rules/events.md); the others begin with new snapshots. A gap in the
    prev_seq of orderbook_delta also makes it connect again.
    """

    def __init__(self, client: Client, channels: list[str], market_ids: list[int] | None = None):
        self.client, self.channels, self.market_ids = client, channels, market_ids
        self._socket: socket.socket | None = None
        self._buffer = b""
        # A connection can end between two events of one command, and since_seq names whole commands.
        self._whole: str | None = None  # the last seq whose events have all been yielded
        self._seq, self._yielded = "", 0  # the newest seq, and how many of its events

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        if self._socket:
            self._socket.close()
        self._socket, self._buffer = None, b""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields messages without end. Raises VenueError if the handshake or a command is refused."""
        wait = 0.1
        while True:
            asked = 0.0  # seconds to wait that the venue names
            try:
                self._connect()
                for message in self._messages():
                    wait = 0.1
                    yield message
            except VenueError as e:
                if e.code not in SAFE and e.code not in UNKNOWN and e.status < 500:
                    raise
                asked = int(e.details.get("retry_after_ms", 0)) / 1000
            except OSError:
                pass
            finally:
                self.close()
            time.sleep(max(asked, wait * random.uniform(0.5, 1)))  # not all clients of a venue at once
            wait = min(2 * wait, 5)

    def _messages(self) -> Iterator[dict[str, Any]]:
        channel: dict[int, str] = {}
        last: dict[tuple[int, Any], str] = {}
        again = self._yielded  # events of the newest seq that a resume sends again
        for n, name in enumerate(self.channels, 1):
            params: dict[str, Any] = {"channels": [name]}
            if self.market_ids and name not in ("oracle", "user"):
                params["market_ids"] = self.market_ids
            if name == "user" and self._whole:
                params["since_seq"] = self._whole
            self._write(1, json.dumps({"id": n, "cmd": "subscribe", "params": params}).encode())
        while True:
            message = json.loads(self._read())
            kind, msg = message["type"], message["msg"]
            if kind == "error":
                details = {k: str(v) for k, v in msg.items() if k == "retry_after_ms"}
                raise VenueError(0, {"code": msg["name"], "num": None, "origin": "gateway", "message": msg["name"], "details": details})
            if kind == "subscribed":
                channel[msg["sid"]] = msg["channel"]
                yield message
                continue
            sid = message["sid"]
            if channel[sid] == "orderbook_delta":
                where = (sid, msg["market_id"])
                if kind == "orderbook_delta" and last.get(where) != message["prev_seq"]:
                    raise OSError("a message of the book is missing")
                last[where] = message["seq"]
            if kind == "user_snapshot":
                self._whole = self._seq = message["seq"]
                self._yielded = again = 0
            elif kind == "user":
                if message["seq"] == self._seq and again:
                    again -= 1
                    continue
                if message["seq"] != self._seq:
                    self._whole, self._seq, self._yielded = self._seq, message["seq"], 0
                self._yielded += 1
            yield message

    def _connect(self) -> None:
        at = urllib.parse.urlsplit(self.client.url)
        secure = at.scheme == "https"
        raw = socket.create_connection((at.hostname or "", at.port or (443 if secure else 80)), self.client.timeout)
        self._socket = ssl.create_default_context().wrap_socket(raw, server_hostname=at.hostname) if secure else raw
        # The venue sends a ping every 30 s, so a longer silence is a lost connection.
        self._socket.settimeout(75)
        key = base64.b64encode(os.urandom(16))
        headers = {"Host": at.netloc, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key.decode(), **self.client.headers("GET", TARGET)}
        self._socket.sendall((f"GET {TARGET} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode())
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        lines = head.split(b"\r\n")
        got = {k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in lines[1:])}
        status = int(lines[0].split()[1])
        if status != 101:
            body = self._take(int(got.get(b"content-length", b"0")))
            try:
                raise refused(status, json.loads(body))
            except ValueError as e:
                raise OSError(f"handshake: HTTP status {status}") from e
        if got.get(b"sec-websocket-accept") != base64.b64encode(hashlib.sha1(key + GUID).digest()):
            raise OSError("handshake: wrong Sec-WebSocket-Accept")

    def _fill(self) -> None:
        assert self._socket
        data = self._socket.recv(65536)
        if not data:
            raise OSError("the connection has ended")
        self._buffer += data

    def _take(self, n: int) -> bytes:
        while len(self._buffer) < n:
            self._fill()
        out, self._buffer = self._buffer[:n], self._buffer[n:]
        return out

    def _write(self, opcode: int, data: bytes) -> None:
        assert self._socket
        n = len(data)
        head = bytes([0x80 | opcode]) + (bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n) if n < 65536 else b"\xff" + struct.pack(">Q", n))
        mask = os.urandom(4)
        self._socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def _read(self) -> bytes:
        """Returns the next message. Answers pings."""
        whole = b""
        while True:
            first, second = self._take(2)
            n = second & 0x7F
            if n == 126:
                (n,) = struct.unpack(">H", self._take(2))
            elif n == 127:
                (n,) = struct.unpack(">Q", self._take(8))
            data, opcode = self._take(n), first & 0x0F
            if opcode == 8:
                raise OSError(f"closed with {int.from_bytes(data[:2], 'big')}")
            if opcode == 9:
                self._write(10, data)
            elif opcode in (0, 1, 2):
                whole += data
                if first & 0x80:
                    return whole
