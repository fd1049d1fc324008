"""Requests and streams with blocking sockets."""

import selectors
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

from . import core, events, messages, records
from .api import Api
from .core import Address, Exchange, NotExecuted, Response, Sleep, Steps

IDLE = 90.0  # seconds after which a kept connection is closed; the venue closes it after 120
KEPT = 64  # idle connections


def readable(s: Any) -> bool:
    """Reports whether a socket has something to read: bytes, or its end."""
    with selectors.DefaultSelector() as selector:
        selector.register(s, selectors.EVENT_READ)
        return bool(selector.select(0))


class Connection:
    """A connection to a venue, perhaps through a proxy and TLS."""

    def __init__(self, address: Address, until: float, tunnel: bool):
        """Connects until a time of the monotonic clock, with tunnel through a proxy also to a plain port. Raises NotExecuted."""
        self.until = until
        raw = None
        try:
            if address.proxy:
                host, _, port = address.proxy.rpartition(":")
                raw = self._connect(host, int(port))
                if address.secure or tunnel:
                    self._open_tunnel(raw, address)
            else:
                raw = self._connect(address.host, address.port)
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.secure:
                raw.settimeout(self._left())
                raw = ssl.create_default_context().wrap_socket(raw, server_hostname=address.host)
        except OSError as e:
            if raw:
                raw.close()
            raise NotExecuted(f"no connection to {address.netloc}: {e}") from e
        self.socket, self.used = raw, time.monotonic()

    def _connect(self, host: str, port: int) -> socket.socket:
        """Tries the addresses of a host, each for its part of the time that is left."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        error = OSError("no address")
        for i, (family, kind, protocol, _, at) in enumerate(found):
            raw = socket.socket(family, kind, protocol)
            try:
                raw.settimeout(self._left() / (len(found) - i))
                raw.connect(at)
                return raw
            except OSError as e:
                raw.close()
                error = e
        raise error

    def _left(self) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no response in time")
        return left

    def _open_tunnel(self, raw: socket.socket, address: Address) -> None:
        raw.sendall(address.connect_request())
        head = b""
        while not head.endswith(b"\r\n\r\n"):  # a byte at a time: what follows belongs to the venue
            raw.settimeout(self._left())
            byte = raw.recv(1)
            if not byte or len(head) > 1 << 16:
                raise OSError("the proxy opens no tunnel")
            head += byte
        if head.split(b" ", 2)[1:2] != [b"200"]:
            raise OSError(f"the proxy opens no tunnel: {head.splitlines()[0].decode('latin-1')}")

    def idle(self) -> bool:
        """Reports whether the connection can be used again: the venue has neither closed it nor sent anything."""
        return time.monotonic() - self.used < IDLE and not readable(self.socket)

    def send(self, data: bytes) -> None:
        self.socket.settimeout(self._left())
        self.socket.sendall(data)

    def read(self) -> bytes:
        """Returns the next bytes, b"" at the end. Raises TimeoutError after until."""
        self.socket.settimeout(self._left())
        return self.socket.recv(1 << 16)

    def close(self) -> None:
        self.socket.close()


class Client(Api):
    """Sends requests to a venue. It keeps connections, and threads may share it.

    url is http:// or https://, a host and perhaps a port. One attempt waits timeout seconds, 5 or DX_TIMEOUT, and a
    call budget seconds, 30 or DX_TIMEOUT if that is more. HTTPS_PROXY, HTTP_PROXY and NO_PROXY are honoured.
    """

    def __init__(self, url: str, key: str, secret: str, timeout: float | None = None, budget: float | None = None):
        self.core = core.Core(url, key, secret, timeout, budget)
        self._kept: list[Connection] = []
        self._lock = threading.Lock()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            kept, self._kept = self._kept, []
        for c in kept:
            c.close()

    def now(self) -> float:
        """Returns the venue's time in seconds since the Unix epoch, as far as it is known."""
        return self.core.now()

    def call(self, method: str, target: str, body: Any = None) -> Any:
        """Sends one request and returns the body of its response.

        A read, and a request that the venue did not execute, is signed again and repeated. A cancel, forecast,
        withdrawal or dead-man switch without a response is repeated with the same signed bytes while they are valid.
        The venue then returns the first response, with two exceptions. A repeated cancel of one order that finds no
        open order raises UnknownOutcome, because the order may have been canceled by the first request or have ended
        before it. In the response to a repeated batch of cancels, each such order has unknown_order. Other writes
        without a response are not repeated.

        Raises VenueError, UnknownOutcome, or OSError if a read gets no response: NotExecuted without a connection.
        """
        return self.run(core.call(self.core, method, target, body))

    def place(self, order: records.PlaceOrder) -> records.Outcome | records.Waiting | records.Order | records.AgentApproval:
        """Places an order once, even if responses are lost.

        The order needs a client_order_id that the account has not used; it may be any text. Returns the response, or
        the order as it is now if its response was lost. Raises VenueError if the venue rejected the order, and
        UnknownOutcome if a response was lost and the venue does not say what became of the order.

        An order whose status is "waiting" is not placed yet: it waits for the owner of the agent until expires_ts, and
        has an approval_id and no order_id. If its response was lost, it is the approval as it is now (all_approvals).
        """
        return self.run(core.place(self.core, order))

    def replace(self, order_id: str, order: records.ReplaceOrder) -> records.Replacement | records.Order:
        """Replaces an order as place places one. The new order needs a client_order_id of its own."""
        return self.run(core.place(self.core, order, order_id))

    def find(self, client_order_id: str) -> records.Order:
        """Returns the order with a client_order_id. Raises LookupError if there is none."""
        return self.run(core.find(self.core, client_order_id))

    def run(self, steps: Steps) -> Any:
        """Does the steps of a call and returns its result."""
        try:
            step = next(steps)
            while True:
                try:
                    result = self.do(step)
                except OSError as e:
                    step = steps.throw(e)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value

    def do(self, step: Any) -> Any:
        """Does one step."""
        if isinstance(step, Sleep):
            return time.sleep(step.seconds)
        assert isinstance(step, Exchange)
        return self._exchange(step)

    def _exchange(self, step: Exchange) -> tuple[int, dict[str, str], bytes]:
        until = time.monotonic() + step.timeout  # also for the connection and TLS
        connection = self._take() or Connection(self.core.address, until, False)
        connection.until = until
        try:
            connection.send(core.request_bytes(self.core.address, step))
            response = Response()
            while not response.done:
                response.feed(connection.read())
        except BaseException:
            connection.close()
            raise
        connection.used = time.monotonic()
        with self._lock:
            keeps = response.keeps and not response.rest and len(self._kept) < KEPT
            if keeps:
                self._kept.append(connection)
        if not keeps:
            connection.close()
        return response.status, response.headers, response.body

    def _take(self) -> Connection | None:
        while True:
            with self._lock:
                if not self._kept:
                    return None
                c = self._kept.pop()  # the one that was used last
            if c.idle():
                return c
            c.close()


class Stream(events.Follower[Client]):
    """Subscribes to channels and yields their messages. One thread uses it at a time.

    After a lost connection it connects again. The channel user then continues after the last event that it yielded
    (docs/rules/events.md#resume); the others begin with new snapshots. A change of a book that is over 2 s old, or
    before which one is missing, is not yielded: a snapshot of the book follows, and on_late hears of an old one.

    on_disconnect gets the error of a connection that ended or failed, and when the stream was lost, in seconds since
    the Unix epoch. silence is the time in seconds after which a connection on which nothing arrives is left; the
    stream asks at half of it.
    """

    _connection: Connection | None = None

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Every book is unknown then."""
        self.state.known.clear()
        if self._connection:
            self._connection.close()
        self._connection = None

    def __iter__(self) -> Iterator[messages.Message]:
        """Yields messages without end.

        Raises VenueError if the handshake or a command is refused, and OSError if there is no first connection within
        the budget of the client.
        """
        steps = self.state.follow()
        step = next(steps)
        try:
            while True:
                if isinstance(step, events.Deliver):
                    yield step.message
                    step = next(steps)
                    continue
                try:
                    result = self._do(step)
                except OSError as e:
                    step = steps.throw(e)
                else:
                    step = steps.send(result)
        finally:
            self.close()

    def _do(self, step: Any) -> Any:
        match step:
            case events.Connect():
                self._connection = Connection(self.client.core.address, time.monotonic() + step.timeout, True)
            case events.Close():
                self.close()
            case events.Write():
                self._open(step.timeout).send(step.data)
            case events.Read():
                return self._open(step.timeout).read()
            case _:
                return self.client.do(step)

    def _open(self, timeout: float) -> Connection:
        if not self._connection:
            raise OSError("the connection is closed")
        self._connection.until = time.monotonic() + timeout
        return self._connection
