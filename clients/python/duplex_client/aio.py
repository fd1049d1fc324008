"""Requests and streams with asyncio."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any

from . import core, events, messages, records
from .api import AsyncApi
from .client import IDLE, KEPT, readable
from .core import Address, Exchange, NotExecuted, Response, Sleep, Steps


@contextlib.asynccontextmanager
async def within(seconds: float, what: str) -> AsyncIterator[None]:
    """Raises a TimeoutError that says what did not come in time."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as e:
        raise TimeoutError(str(e) or f"no {what} in time") from None


class AsyncConnection:
    """A connection to a venue, perhaps through a proxy and TLS."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer, self.used = reader, writer, time.monotonic()

    @staticmethod
    async def open(address: Address, timeout: float, tunnel: bool) -> "AsyncConnection":
        """Connects within timeout seconds, with tunnel through a proxy also to a plain port. Raises NotExecuted."""
        writer = None
        try:
            async with within(timeout, "connection"):
                if not address.proxy:
                    context = ssl.create_default_context() if address.secure else None
                    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=context, server_hostname=address.host if context else None)
                    return AsyncConnection(reader, writer)
                host, _, port = address.proxy.rpartition(":")
                reader, writer = await asyncio.open_connection(host, int(port))
                if address.secure or tunnel:
                    writer.write(address.connect_request())
                    head = await reader.readuntil(b"\r\n\r\n")
                    if head.split(b" ", 2)[1:2] != [b"200"]:
                        raise OSError(f"the proxy opens no tunnel: {head.splitlines()[0].decode('latin-1')}")
                if address.secure:
                    await writer.start_tls(ssl.create_default_context(), server_hostname=address.host)
                return AsyncConnection(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as e:
            if writer:
                writer.close()
            raise NotExecuted(f"no connection to {address.netloc}: {e}") from e

    async def idle(self) -> bool:
        """Reports whether the connection can be used again: the venue has neither closed it nor sent anything.

        What has arrived is with the kernel while something blocks the event loop, else in the reader.
        """
        if time.monotonic() - self.used >= IDLE or self.writer.is_closing() or readable(self.writer.get_extra_info("socket")):
            return False
        try:
            async with asyncio.timeout(0):
                await self.reader.read(1)
                return False  # bytes, or the end
        except TimeoutError:
            return True
        except OSError:
            return False

    async def send(self, data: bytes, timeout: float) -> None:
        async with within(timeout, "way for the request"):
            self.writer.write(data)
            await self.writer.drain()

    async def read(self, timeout: float) -> bytes:
        """Returns the next bytes, b"" at the end. Raises TimeoutError if none arrive in time."""
        async with within(timeout, "response"):
            return await self.reader.read(1 << 16)

    def close(self) -> None:
        self.writer.close()


class AsyncClient(AsyncApi):
    """Client for asyncio. Tasks of one event loop may share it."""

    def __init__(self, url: str, key: str, secret: str, timeout: float | None = None, budget: float | None = None):
        self.core = core.Core(url, key, secret, timeout, budget)
        self._kept: list[AsyncConnection] = []

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the idle connections."""
        kept, self._kept = self._kept, []
        for c in kept:
            c.close()

    def now(self) -> float:
        """Returns the venue's time in seconds since the Unix epoch, as far as it is known."""
        return self.core.now()

    async def call(self, method: str, target: str, body: Any = None) -> Any:
        """Sends one request and returns the body of its response, as Client.call does."""
        return await self.run(core.call(self.core, method, target, body))

    async def place(self, order: records.PlaceOrder) -> records.Outcome | records.Waiting | records.Order | records.AgentApproval:
        """Places an order once, as Client.place does."""
        return await self.run(core.place(self.core, order))

    async def replace(self, order_id: str, order: records.ReplaceOrder) -> records.Replacement | records.Order:
        """Replaces an order as place places one. The new order needs a client_order_id of its own."""
        return await self.run(core.place(self.core, order, order_id))

    async def find(self, client_order_id: str) -> records.Order:
        """Returns the order with a client_order_id. Raises LookupError if there is none."""
        return await self.run(core.find(self.core, client_order_id))

    async def run(self, steps: Steps) -> Any:
        """Does the steps of a call and returns its result."""
        try:
            step = next(steps)
            while True:
                try:
                    result = await self.do(step)
                except OSError as e:
                    step = steps.throw(e)
                else:
                    step = steps.send(result)
        except StopIteration as end:
            return end.value

    async def do(self, step: Any) -> Any:
        """Does one step."""
        if isinstance(step, Sleep):
            return await asyncio.sleep(step.seconds)
        assert isinstance(step, Exchange)
        until = time.monotonic() + step.timeout
        connection = await self._take() or await AsyncConnection.open(self.core.address, until - time.monotonic(), False)
        try:
            await connection.send(core.request_bytes(self.core.address, step), until - time.monotonic())
            response = Response()
            while not response.done:
                response.feed(await connection.read(until - time.monotonic()))
        except BaseException:
            connection.close()
            raise
        connection.used = time.monotonic()
        if response.keeps and not response.rest and len(self._kept) < KEPT:
            self._kept.append(connection)
        else:
            connection.close()
        return response.status, response.headers, response.body

    async def _take(self) -> AsyncConnection | None:
        while self._kept:
            c = self._kept.pop()  # the one that was used last
            try:
                if await c.idle():
                    return c
            except BaseException:  # canceled
                c.close()
                raise
            c.close()
        return None


class AsyncStream(events.Follower[AsyncClient]):
    """Stream for asyncio. One task iterates over it at a time."""

    _connection: AsyncConnection | None = None

    async def __aenter__(self) -> "AsyncStream":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Every book is unknown then."""
        self.state.known.clear()
        if self._connection:
            self._connection.close()
        self._connection = None

    async def __aiter__(self) -> AsyncIterator[messages.Message]:
        """Yields messages without end, as Stream does."""
        steps = self.state.follow()
        step = next(steps)
        try:
            while True:
                if isinstance(step, events.Deliver):
                    yield step.message
                    step = next(steps)
                    continue
                try:
                    result = await self._do(step)
                except OSError as e:
                    step = steps.throw(e)
                else:
                    step = steps.send(result)
        finally:
            self.close()

    async def _do(self, step: Any) -> Any:
        match step:
            case events.Connect():
                self._connection = await AsyncConnection.open(self.client.core.address, step.timeout, True)
            case events.Close():
                self.close()
            case events.Write():
                await self._open().send(step.data, step.timeout)
            case events.Read():
                return await self._open().read(step.timeout)
            case _:
                return await self.client.do(step)

    def _open(self) -> AsyncConnection:
        if not self._connection:
            raise OSError("the connection is closed")
        return self._connection
