"""Runs the client against the dev venue that DX_DEV_FILE describes, behind a proxy that loses responses."""

import asyncio
import dataclasses
import json
import os
import socket
import threading
import time
import unittest
import urllib.request
import uuid

from duplex_client import AsyncClient, AsyncStream, Client, NotExecuted, Stream, UnknownOutcome, VenueError, messages, records


def account(name="trader"):
    with open(os.environ["DX_DEV_FILE"], encoding="utf-8") as f:
        dev = json.load(f)
    a = next(a for a in dev["accounts"] if a["name"] == name)
    return dev["api"], a["api_key"], a["secret"]


def portal(method, path, body=None):
    """A request of the owner trader."""
    with open(os.environ["DX_DEV_FILE"], encoding="utf-8") as f:
        dev = json.load(f)
    token = next(a["account_token"] for a in dev["accounts"] if a["name"] == "trader")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(dev["portal"] + path, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


class Proxy:
    """Passes bytes on, and cuts a connection in place of the response to the next request of a method."""

    def __init__(self, url):
        host, _, port = url.removeprefix("http://").partition(":")
        self.venue = (host, int(port))
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.lose, self.connections, self.open = b"", 0, []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            far = socket.create_connection(self.venue)
            self.connections += 1
            self.open.append(near)
            losing = threading.Event()
            threading.Thread(target=self._pass, args=(near, far, losing, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, losing, False), daemon=True).start()

    def _pass(self, source, sink, losing, request):
        try:
            while data := source.recv(1 << 16):
                if request and self.lose and data.startswith(self.lose):
                    self.lose = b""
                    losing.set()
                if not request and losing.is_set():
                    break
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        for s in self.open:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.open.clear()


class ForwardProxy(Proxy):
    """A proxy as HTTPS_PROXY names one: it opens tunnels, and passes on requests that name the whole URL."""

    def _accept(self):
        self.tunnels = self.forwarded = 0
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        self.open.append(near)
        head = b""
        while b"\r\n\r\n" not in head:
            head += near.recv(1 << 16)
        far = socket.create_connection(self.venue)
        if head.startswith(b"CONNECT "):
            self.tunnels += 1
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            self.forwarded += 1
            method, url, rest = head.split(b" ", 2)
            far.sendall(method + b" /" + url.split(b"/", 3)[3] + b" " + rest.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        threading.Thread(target=self._pass, args=(near, far, threading.Event(), True), daemon=True).start()
        self._pass(far, near, threading.Event(), False)


class Blocking:
    """An AsyncClient with the methods of a Client, so that both pass the same tests."""

    def __init__(self, *args, **options):
        self.loop = asyncio.new_event_loop()
        self.client = AsyncClient(*args, **options)
        self.core = self.client.core

    def __getattr__(self, name):
        value = getattr(self.client, name)

        def use(*args, **options):
            out = value(*args, **options)
            if hasattr(out, "__aiter__"):
                return iter(self.loop.run_until_complete(all_of(out)))
            return self.loop.run_until_complete(out) if asyncio.iscoroutine(out) else out

        return use


async def all_of(rows):
    return [r async for r in rows]


class BlockingStream:
    """An AsyncStream as an iterator."""

    def __init__(self, client, *args, **options):
        self.stream, self.loop = AsyncStream(client.client, *args, **options), client.loop

    def __iter__(self):
        messages = self.stream.__aiter__()
        while True:
            yield self.loop.run_until_complete(anext(messages))

    def close(self):
        self.stream.close()

    def __getattr__(self, name):
        return getattr(self.stream, name)


class Live:
    def setUp(self):
        url, key, secret = account()
        self.proxy = Proxy(url)
        self.client = self.make(self.proxy.url, key, secret)

    def tearDown(self):
        self.client.close()
        self.proxy.cut()
        self.proxy.server.close()

    def order(self):
        """An order in a market that does not close within the test."""
        for _ in range(300):
            market = next((m for m in self.client.all_markets(status="trading") if m["secs_to_close"] > 60), None)
            if market:
                break
            time.sleep(1)  # all rounds end at a quarter of an hour
        return {"market_id": market["market_id"], "outcome": "yes", "side": "buy", "tick": 100, "qty": 1, "client_order_id": str(uuid.uuid4())}

    def members(self, record, body):
        self.assertLessEqual(record.__required_keys__, body.keys())
        self.assertLessEqual(body.keys(), record.__required_keys__ | record.__optional_keys__)

    def test_records(self):
        c = self.client
        for body, record in ((c.get_balance(), records.Balance), (c.list_markets(), records.MarketList), (c.get_account(), records.Account), (c.get_limits(), records.Limits)):
            self.members(record, body)
        self.members(records.Market, c.list_markets()["markets"][0])

    def test_connections_are_kept(self):
        for _ in range(20):
            self.client.get_balance()
        self.assertEqual(self.proxy.connections, 1)
        self.proxy.cut()
        self.assertIn("cash", self.client.get_balance())  # the venue's end of the kept one is closed
        self.assertLessEqual(self.proxy.connections, 3)

    def test_a_wrong_clock(self):
        for skew in (-60, 60):
            url, key, secret = account()
            c = self.make(url, key, secret)
            c.core.wall = lambda skew=skew: time.time() + skew
            self.assertIn("cash", c.get_balance())
            self.assertAlmostEqual(c.now(), time.time(), delta=2)
            c.close()

    def test_place_replace_cancel(self):
        c, o = self.client, self.order()
        placed = c.place(o)
        self.assertEqual(c.find(o["client_order_id"])["order_id"], placed["order_id"])
        other = str(uuid.uuid4())
        replaced = c.replace(placed["order_id"], {"client_order_id": other, "tick": 110, "qty": 2})
        self.assertEqual(replaced["replaced"]["order_id"], placed["order_id"])
        self.assertEqual(c.cancel_by_client_order_id(other)["canceled_qty"], 2)
        self.assertIn("seq", c.cancel_all())
        listed = [x["order_id"] for _, x in zip(range(5), c.all_orders(limit=2))]
        self.assertEqual(listed[:2], [replaced["order_id"], placed["order_id"]])
        self.assertEqual(len(set(listed)), len(listed))

    def test_an_order_that_waits_for_the_owner(self):
        made = portal("POST", "/agents", {"name": f"py-{uuid.uuid4().hex[:16]}", "fund": "100000", "mandate": {"ask_above": "0"}})
        key = portal("POST", f"/agents/{made['user_id']}/keys", {"label": "test", "scopes": ["read", "trade"]})
        c = self.make(self.proxy.url, key["api_key"], key["secret"])
        first, second = self.order(), self.order()
        waits = c.place(first)
        self.members(records.Waiting, waits)
        self.assertEqual(waits["status"], "waiting")
        self.proxy.lose = b"POST /v1/portfolio/orders "
        found = c.place(second)
        self.members(records.AgentApproval, found)
        self.assertEqual((found["status"], found["qty"]), ("waiting", 1))
        self.assertEqual([a["approval_id"] for a in c.all_approvals(status="waiting", limit=1)], [found["approval_id"], waits["approval_id"]])
        self.assertEqual([a["status"] for a in c.list_approvals()["approvals"]], ["waiting", "waiting"])
        done = portal("POST", f"/approvals/{waits['approval_id']}/approve")
        self.assertEqual(c.find(first["client_order_id"])["order_id"], done["approval"]["order_id"])
        self.assertEqual(portal("POST", f"/approvals/{found['approval_id']}/reject")["approval"]["status"], "rejected")
        stream = self.stream(c, ["user"])
        for message in stream:
            if message["type"] == "user_snapshot":
                self.assertEqual(message["msg"]["approvals"], [])
                third = c.place(self.order())
            if message["type"] == "user" and message["msg"]["event"] == "approval":
                self.members(messages.ApprovalEvent, message["msg"])
                self.assertEqual(message["msg"]["approval"]["approval_id"], third["approval_id"])
                break
        stream.close()
        c.close()

    def test_quotes(self):
        c, market = self.client, self.order()["market_id"]
        quote = {"market_id": market, "generation": c.get_market(market)["generation"], "group_id": 7}
        bid, ask = ({"client_order_id": str(uuid.uuid4()), "tick": tick, "qty": 2} for tick in (100, 9900))
        (first,) = c.put_quotes({"quotes": [{**quote, "bid": bid, "ask": ask}]})
        self.members(records.QuoteResult, first)
        self.members(records.QuoteOutcome, first["bid"])
        self.assertEqual([first[side]["status"] for side in ("bid", "ask")], ["resting", "resting"])
        self.assertEqual(c.find(bid["client_order_id"])["order_id"], first["bid"]["order_id"])
        (second,) = c.put_quotes({"quotes": [{**quote, "bid": {**bid, "client_order_id": str(uuid.uuid4()), "qty": 1}, "ask": None}]})
        self.assertEqual([second["bid"][m] for m in ("order_id", "kept", "resting_qty")], [first["bid"]["order_id"], True, 1])
        self.assertEqual(second["ask"]["canceled"], 1)
        (third,) = c.put_quotes({"quotes": [{**quote, "bid": None, "ask": None}]})
        self.assertEqual([third[side]["canceled"] for side in ("bid", "ask")], [1, 0])

    def test_lost_response_places_once(self):
        c, o = self.client, self.order()
        self.proxy.lose = b"POST "
        got = c.place(o)
        self.assertEqual(got["order_id"], c.find(o["client_order_id"])["order_id"])
        self.assertEqual(self.proxy.lose, b"")
        with self.assertRaises(VenueError) as e:
            c.place(o)  # an id of an earlier order is the caller's mistake
        self.assertEqual(e.exception.code, "duplicate_client_order_id")
        self.assertEqual(e.exception.field, "client_order_id")
        self.members(records.Order, c.find(o["client_order_id"]))
        c.cancel(got["order_id"])

    def test_lost_cancel_is_unknown(self):
        c = self.client
        placed = c.place(self.order())
        self.proxy.lose = b"DELETE "
        with self.assertRaises(UnknownOutcome):
            c.cancel(placed["order_id"])  # the repeat finds no open order
        with self.assertRaises(VenueError) as e:
            c.cancel(placed["order_id"])
        self.assertEqual(e.exception.code, "unknown_order")

    def test_lost_batch_is_unknown(self):
        self.proxy.lose = b"POST "
        with self.assertRaises(UnknownOutcome):
            self.client.call("POST", "/v1/portfolio/orders/batch", {"orders": []})

    def test_refused(self):
        free = socket.create_server(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        free.close()
        for url in (url, self.proxy.url.replace("http:", "https:")):
            c = self.make(url, "k", "00" * 32, budget=0.5, timeout=0.4)
            with self.assertRaises(NotExecuted):
                c.place({"client_order_id": "1"})
            with self.assertRaises(NotExecuted):
                next(iter(self.stream(c, ["trades"])))
            c.close()

    def test_proxy(self):
        url, key, secret = account()
        proxy = ForwardProxy(url)
        c = self.make(url, key, secret)
        c.core.address = dataclasses.replace(c.core.address, proxy=proxy.url.removeprefix("http://"))  # loopback goes without
        self.assertIn("cash", c.get_balance())
        self.assertIn("cash", c.get_balance())
        stream = self.stream(c, ["user"])
        for m in stream:
            if m["type"] == "user_snapshot":
                break
        stream.close()
        self.assertEqual((proxy.forwarded, proxy.tunnels), (2, 1))
        c.close()
        proxy.cut()
        proxy.server.close()

    def test_wrong_secret(self):
        url, key, _ = account()
        c = self.make(url, key, "00" * 32)
        for use in (c.get_time, lambda: next(iter(self.stream(c, ["user"])))):
            with self.assertRaises(VenueError) as e:
                use()
            self.assertEqual(e.exception.code, "unauthorized")
        c.close()

    def test_stream_resumes(self):
        c = self.client
        o = self.order()
        with_book = self.stream(c, ["orderbook_delta", "user"], [o["market_id"]])
        messages, seen = iter(with_book), set()
        while not {"orderbook_snapshot", "user_snapshot"} <= seen:
            seen.add(next(messages)["type"])
        self.assertEqual(with_book.book(o["market_id"])["market_id"], o["market_id"])
        self.proxy.cut()  # the network fails
        placed = c.place(o)
        resumed, found = None, 0
        while not found:
            m = next(messages)
            if m["type"] == "subscribed" and m["msg"]["channel"] == "user":
                resumed = m["msg"]["resumed"]
            event = m["msg"].get("order") or {} if m["type"] == "user" else {}
            found += event.get("order_id") == placed["order_id"]
        self.assertIs(resumed, True)
        with_book.close()
        c.cancel(placed["order_id"])


class LiveSync(Live, unittest.TestCase):
    make, stream = staticmethod(Client), staticmethod(Stream)


class LiveAsync(Live, unittest.TestCase):
    make, stream = staticmethod(Blocking), staticmethod(BlockingStream)


if __name__ == "__main__":
    unittest.main()
