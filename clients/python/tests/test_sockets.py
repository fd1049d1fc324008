"""Checks what the client does with connections, against sockets of this machine. It needs no venue."""

import asyncio
import queue
import socket
import threading
import unittest
from unittest import mock

from duplex_client import AsyncClient, Client, NotExecuted, client, core

SECRET = "00" * 32
STRAY = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Server:
    """Answers each request with its target. do("stray") or do("close") happens on the newest connection, at once."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.connections = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(c)
            threading.Thread(target=self._answer, args=(c,), daemon=True).start()

    def _answer(self, c):
        try:
            while request := c.recv(1 << 16):
                body = b'{"target":"%s"}' % request.split(b" ")[1]
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except OSError:
            pass

    def do(self, what):
        if what == "stray":
            self.connections[-1].sendall(STRAY)
        else:
            self.connections[-1].shutdown(socket.SHUT_RDWR)

    def close(self):
        self.socket.close()
        for c in self.connections:
            c.close()


class Kept(unittest.TestCase):
    """A kept connection on which something has arrived is not used again: the answers would be one behind."""

    TARGETS = [f"/v1/portfolio/redeem?{n}" for n in range(3)]  # not repeated after a lost response

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)

    def test_sync(self):
        for what in ("stray", "close"):
            with Client(self.server.url, "k", SECRET) as c:
                for target in self.TARGETS:
                    self.assertEqual(c.call("POST", target, {}), {"target": target}, what)
                    self.server.do(what)

    def test_async(self):
        """Also if the event loop was blocked, so that it has not heard of it."""

        async def use(what, blocked):
            async with AsyncClient(self.server.url, "k", SECRET) as c:
                for target in self.TARGETS:
                    self.assertEqual(await c.call("POST", target, {}), {"target": target}, (what, blocked))
                    if blocked:
                        self.server.do(what)
                    else:
                        connection = c._kept[-1]
                        await asyncio.to_thread(self.server.do, what)
                        while not (connection.reader._buffer or connection.reader.at_eof()):
                            await asyncio.sleep(0)

        for what in ("stray", "close"):
            for blocked in (True, False):
                asyncio.run(use(what, blocked))

    def test_one_without_anything_is_used_again(self):
        async def use():
            async with AsyncClient(self.server.url, "k", SECRET) as c:
                for target in self.TARGETS:
                    await c.call("POST", target, {})

        asyncio.run(use())
        self.assertEqual(len(self.server.connections), 1)
        with Client(self.server.url, "k", SECRET) as c:
            for target in self.TARGETS:
                c.call("POST", target, {})
        self.assertEqual(len(self.server.connections), 2)


class Times(unittest.TestCase):
    def test_one_time_for_the_connection_and_the_response(self):
        now, left = [1000.0], queue.SimpleQueue()

        class Slow:
            def __init__(self, address, until, tunnel):
                now[0] += 4
                self.until = until

            def send(self, data):
                left.put(self.until - now[0])

            def read(self):
                return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

        with mock.patch.object(client, "Connection", Slow), mock.patch.object(client.time, "monotonic", lambda: now[0]):
            Client("http://venue.test", "k", SECRET).do(core.Exchange("GET", "/", {}, b"", 5))
        self.assertEqual(left.get(), 1)

    def test_the_addresses_of_a_host_share_the_time(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        good = server.getsockname()
        given = []

        class Socket(socket.socket):
            def settimeout(self, seconds):
                given.append(seconds)
                super().settimeout(seconds)

            def connect(self, at):
                if at != good:
                    raise TimeoutError
                super().connect(at)

        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", at) for at in (("192.0.2.1", 80), good)]
        with mock.patch.object(socket, "getaddrinfo", lambda *_, **__: found), mock.patch.object(socket, "socket", Socket):
            client.Connection(core.Address.of("http://venue.test"), client.time.monotonic() + 60, False).close()
        self.assertLessEqual(given[0], 30)
        self.assertLessEqual(given[1], 60)

    def test_no_connection_in_time_says_so(self):
        silent = socket.create_server(("127.0.0.1", 0))  # no TLS
        self.addCleanup(silent.close)
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with self.assertRaisesRegex(NotExecuted, "in time|timed out"):
            Client(url, "k", SECRET, timeout=0.05, budget=0.06).call("GET", "/v1/time")
        with self.assertRaisesRegex(NotExecuted, "no connection in time"):
            asyncio.run(AsyncClient(url, "k", SECRET, timeout=0.05, budget=0.06).call("GET", "/v1/time"))


if __name__ == "__main__":
    unittest.main()
