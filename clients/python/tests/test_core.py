"""Runs what the client decides on the tables that the clients in all languages share. It needs no venue."""

import asyncio
import email.utils
import json
import os
import pathlib
import unittest
from unittest import mock

from duplex_client import AsyncClient, AsyncStream, Client, NotExecuted, Stream, UnknownOutcome, VenueError, client_order_id, core, events

ROOT = pathlib.Path(__file__).parents[3]
SECRET = "00" * 32
STATUS = {e["code"]: e for e in json.loads((ROOT / "schemas/testdata/errors.json").read_text("utf-8"))}


def vectors(name):
    return json.loads((ROOT / f"schemas/vectors/{name}.json").read_text("utf-8"))


ORDER = {"client_order_id": "7", "market_id": 1, "side": "buy", "outcome": "yes", "tick": 4700, "qty": 10}


class Venue:
    """Plays the answers of a case, with a clock that only waits move."""

    def __init__(self, case):
        self.left, self.sent, self.waits, self.time = list(case["answers"]), [], [], 1_800_000_000.0
        self.core = core.Core("http://venue.test", "k", SECRET, None, None)
        skew = case.get("clock_ms", 0) / 1000
        self.core.wall, self.core.monotonic, self.core.jitter = lambda: self.time + skew, lambda: self.time, lambda: 1.0

    def run(self, steps):
        try:
            step = next(steps)
            while True:
                if isinstance(step, core.Sleep):
                    self.waits.append(step.seconds)
                    self.time += step.seconds
                    step = steps.send(None)
                    continue
                self.sent.append((step.headers["DX-ACCESS-TIMESTAMP"], step.headers["DX-ACCESS-SIGNATURE"]))
                try:
                    answer = self.answer()
                except OSError as e:
                    step = steps.throw(e)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return end.value

    def answer(self):
        what = self.left[0]
        if what.endswith("..."):
            what = what[:-3]
        else:
            self.left.pop(0)
        word, _, more = what.partition(" ")
        order = {**ORDER, "order_id": "9", "type": "limit", "reason": ""}
        other, asked = {"approval_id": "8", "client_order_id": "8"}, {**ORDER, "approval_id": "9", "order_id": None, "type": "limit", "status": "waiting", "reason": ""}

        def reply(status, body, **headers):
            return status, headers, json.dumps(body).encode()

        def refuse(code, status=0, details=None, **headers):
            known = STATUS.get(code, {"http": status, "origin": "gateway"})
            return reply(known["http"], {"error": {"code": code, "origin": known["origin"], "message": code, "details": details}}, **headers)

        match what:
            case "ok":
                return reply(200, {})
            case "lost":
                raise OSError("the connection was cut")
            case "refused":
                raise NotExecuted("connection refused")
            case "order":
                return reply(200, {"orders": [order]})
            case "another order":
                return reply(200, {"orders": [order | {"tick": 100}]})
            case "not JSON":
                return 200, {}, b"<html>"
            case "rejected order":
                return reply(200, {"orders": [order | {"order_id": None, "reason": "insufficient_balance"}]})
            case "no order":
                return reply(200, {"orders": []})
            case "no approval":
                return reply(200, {"approvals": [other], "cursor": ""})
            case "another approval":
                return reply(200, {"approvals": [other, asked | {"tick": 100}], "cursor": ""})
            case "unauthorized with a date":
                return refuse("unauthorized", date=email.utils.formatdate(self.time, usegmt=True))
        match word:
            case "unauthorized" if more:
                self.time += int(more.removeprefix("after ")) / 1000
                return refuse(word)
            case "approval":
                return reply(200, {"approvals": [other, asked | {"status": more}], "cursor": ""})
            case "status":
                return reply(int(more), "not found")
            case "rate_limited":
                return refuse("rate_limited", details={"retry_after_ms": more})
            case "later_code":
                return refuse(word, int(more))
        assert what in STATUS, what
        return refuse(what)


CALLS = {
    "read": lambda c: core.call(c, "GET", "/v1/time"),
    "place": lambda c: core.place(c, ORDER),
    "replace": lambda c: core.place(c, {"client_order_id": "7", "tick": 4700}, "9"),
    "cancel": lambda c: core.call(c, "DELETE", "/v1/portfolio/orders/9"),
    "cancel_all": lambda c: core.call(c, "DELETE", "/v1/portfolio/orders"),
    "decrease": lambda c: core.call(c, "POST", "/v1/portfolio/orders/9/decrease", {"reduce_by": 1}),
    "redeem": lambda c: core.call(c, "POST", "/v1/portfolio/redeem", {}),
    "quote": lambda c: core.call(c, "PUT", "/v1/portfolio/quotes", {}),
    "forecast": lambda c: core.call(c, "POST", "/v1/forecasts", {}),
    "deadman": lambda c: core.call(c, "POST", "/v1/portfolio/deadman", {}),
    "withdraw": lambda c: core.call(c, "POST", "/v1/withdrawals", {}),
}


class Retries(unittest.TestCase):
    def test_table(self):
        cases = vectors("retries")
        self.assertGreater(len(cases), 30)
        for case in cases:
            with self.subTest(case["name"]):
                venue = Venue(case)
                began = venue.time
                try:
                    out = venue.run(CALLS[case["call"]](venue.core))
                    result = out["status"] if "approval_id" in out else "order" if out.get("order_id") == "9" else "ok"
                except VenueError as e:
                    result = e.code or f"status {e.status}"
                except UnknownOutcome:
                    result = "unknown"
                except NotExecuted:
                    result = "refused"
                except OSError:
                    result = "lost"
                self.assertEqual((result, len(venue.sent)), (case["result"], case["sent"]))
                self.assertLessEqual(venue.time - began, 30)
                for i, want in enumerate(case.get("signatures", [])):
                    self.assertEqual(i > 0 and venue.sent[i] == venue.sent[i - 1], want == "same", f"request {i + 1}")
                for wait, want in zip(venue.waits, case.get("waits_ms", [])):
                    self.assertAlmostEqual(wait * 1000, want)


    def test_what_makes_another_order(self):
        market = {**ORDER, "type": "market", "max_cost": "1000", "worst_tick": 5000}
        row = {**ORDER, "order_id": "9", "type": "limit", "max_cost": "0", "filled_qty": 4, "remaining_qty": 1}
        for order, change, want in (
            (ORDER, {}, False),
            (ORDER, {"market_id": 2}, True),
            (ORDER, {"side": "sell"}, True),
            (ORDER, {"outcome": "no"}, True),
            (ORDER, {"qty": 11}, True),
            (ORDER, {"tick": 4600}, True),
            (ORDER, {"order_id": None, "tick": 0, "qty": 0}, False),
            (ORDER, {"order_id": None, "side": "sell"}, True),
            (ORDER, {"type": "market"}, True),
            (market, {"type": "market", "tick": 4900, "max_cost": "990"}, False),
            (market, {"type": "market", "qty": 11}, True),
            (ORDER, {"order_id": None, "approval_id": "9"}, False),
            (ORDER, {"order_id": None, "approval_id": "9", "qty": 11}, True),
            (ORDER, {"order_id": None, "approval_id": "9", "tick": 4600}, True),
            ({"client_order_id": "7", "qty": 10}, {"tick": 4600}, False),
            ({"client_order_id": "7", "qty": 12, "keep_total": True}, {}, False),
        ):
            self.assertEqual(core.differs(order, row | change), want, (order, change))

    def test_what_waits_is_found_on_every_page(self):
        asked = {**ORDER, "approval_id": "9", "order_id": None, "type": "limit", "status": "waiting", "expires_ts": "300"}
        pages = iter([{"approvals": [asked | {"client_order_id": "8"}], "cursor": "next page"}, {"approvals": [asked], "cursor": ""}])
        steps, targets = core.find_approval(Venue({"answers": []}).core, "7"), []
        step = next(steps)
        with self.assertRaises(StopIteration) as end:
            while True:
                targets.append(step.target)
                step = steps.send((200, {}, json.dumps(next(pages)).encode()))
        self.assertEqual((targets, end.exception.value), (["/v1/portfolio/approvals", "/v1/portfolio/approvals?cursor=next+page"], asked))

    def test_the_error_of_another_order_has_its_row(self):
        venue = Venue({"answers": ["lost", "duplicate_client_order_id", "another order"]})
        with self.assertRaises(VenueError) as e:
            venue.run(core.place(venue.core, ORDER))
        self.assertEqual(e.exception.order["tick"], 100)

    def test_a_wrong_clock_and_calls_at_the_same_time(self):
        """Each call was signed before the first 401 came."""
        for skew in (-60, 60):
            venue = Venue({"answers": [], "clock_ms": skew * 1000})
            calls = [core.call(venue.core, "GET", "/v1/time") for _ in range(8)]
            steps = [next(c) for c in calls]
            body = json.dumps({"error": {"code": "unauthorized", "origin": "gateway"}}).encode()
            for c in calls:
                again = c.send((401, {"date": email.utils.formatdate(venue.time, usegmt=True)}, body))
                self.assertIsInstance(again, core.Exchange)
                self.assertLess(abs(int(again.headers["DX-ACCESS-TIMESTAMP"]) / 1000 - venue.time), 1)
                with self.assertRaises(StopIteration):
                    c.send((200, {}, b"{}"))
            self.assertEqual(len(steps), 8)

    def test_a_clock_that_is_set(self):
        venue = Venue({"answers": ["ok", "ok"]})
        venue.run(core.call(venue.core, "GET", "/v1/time"))
        venue.core.wall = lambda: venue.time + 3600
        venue.run(core.call(venue.core, "GET", "/v1/time"))
        self.assertEqual(venue.sent[0], venue.sent[1])

    def test_lists_are_joined(self):
        self.assertEqual(core.query("/v1/x", {"status": ["resting", "executed"], "kind": "fill", "side": None, "market_id": 3}), "/v1/x?status=resting%2Cexecuted&kind=fill&market_id=3")


class Values(unittest.TestCase):
    def test_retry_rules(self):
        self.assertEqual(core.SAFE, {c for c, e in STATUS.items() if e["retry"] == "safe"} - {"read_only_node"})
        self.assertEqual(core.UNKNOWN, {c for c, e in STATUS.items() if e["retry"] == "unknown"})

    def test_client_order_ids(self):
        for case in vectors("client_order_ids"):
            self.assertEqual(client_order_id(case["text"]), case["id"], case["text"])
        self.assertRaises(ValueError, client_order_id, "")
        with self.assertRaisesRegex(ValueError, "surrogate"):
            client_order_id("a\ud800")

    def test_base_urls(self):
        for case in vectors("base_urls"):
            try:
                core.Address.of(case["url"])
                accepted = True
            except ValueError as e:
                accepted = False
                self.assertNotIn("secret", str(e))
            self.assertEqual(accepted, case["accepted"], case["url"])

    def test_signatures(self):
        for case in vectors("signing"):
            got = core.sign(case["secret"], case["timestamp"], case["method"], case["target"], case["body"])
            self.assertEqual(got, case["signature"])

    def test_timeouts(self):
        for value, want in (("", (5, 30)), ("20", (20, 30)), ("86400", (86400, 86400))):
            with mock.patch.dict(os.environ, {"DX_TIMEOUT": value}):
                c = core.Core("http://venue.test", "k", SECRET, None, None)
                self.assertEqual((c.timeout, c.budget), want, value)
        for case in vectors("timeouts"):
            with mock.patch.dict(os.environ, {"DX_TIMEOUT": case["value"]}):
                if case["ms"] is None:
                    with self.assertRaisesRegex(ValueError, "DX_TIMEOUT", msg=case["value"]):
                        core.Core("http://venue.test", "k", SECRET, 5, 30)
                else:
                    self.assertEqual(core.Core("http://venue.test", "k", SECRET, None, None).timeout * 1000, case["ms"])

    def test_proxies(self):
        for case in vectors("proxies"):
            environment = {k.upper(): v for k, v in case.items() if k.endswith("_proxy")}
            with mock.patch.dict(os.environ, environment, clear=True):
                self.assertEqual(core.Address.of(case["url"]).proxy, case["proxy"].removeprefix("http://"), case)


class Responses(unittest.TestCase):
    def read(self, *parts):
        r = core.Response()
        for p in parts:
            r.feed(p)
        return r.status if r.done else None, r.body, r.keeps

    def test_bodies(self):
        for whole, want in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", (200, b"{}", True)),
            (b"HTTP/1.1 200\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", (200, b"", False)),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n1", (201, b"1", True)),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x\r\n}\r\n0\r\n\r\n", (200, b"{}", True)),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nT: 1\r\n\r\n", (200, b"{}", True)),
        ):
            self.assertEqual(self.read(whole), want, whole)
            self.assertEqual(self.read(*(bytes([b]) for b in whole)), want, whole)
        self.assertEqual(self.read(b"HTTP/1.0 200 OK\r\n\r\n{", b"}", b""), (200, b"{}", False))

    def test_cut(self):
        for whole in (b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):
            with self.assertRaises(OSError, msg=whole):
                self.read(whole, b"")
        with self.assertRaises(OSError):
            self.read(b"SSH-2.0-OpenSSH\r\n\r\n")


class Frames(unittest.TestCase):
    def test_frames_in_parts(self):
        texts = [b"x" * n for n in (0, 1, 125, 126, 65535, 65536)]
        data = b"".join(unmasked(1, t) for t in texts) + b"\x01\x01a\x89\x00\x80\x01b"
        for size in (1, 7, len(data)):
            f, got = events.Frames(), []
            for i in range(0, len(data), size):
                f.feed(data[i : i + size])
                got += f
            self.assertEqual(got, [(1, t) for t in texts] + [(9, b""), (1, b"ab")])

    def test_masked(self):
        for n in (0, 5, 126, 70000):
            text = os.urandom(n)
            sent = events.frame(2, text)
            head = 2 + (0 if n < 126 else 2 if n < 65536 else 8)
            mask, body = sent[head : head + 4], sent[head + 4 :]
            self.assertEqual(bytes(b ^ mask[i % 4] for i, b in enumerate(body)), text)


class Socket:
    """Plays the venue's end of the connections of a stream, and records the commands."""

    def __init__(self, venue=None):
        self.core = core.Core("http://venue.test", "k", SECRET, None, None)
        self.time, self.waits, self.sent, self.delivered, self.frames = 1_800_000_000.0, [], [], [], events.Frames()
        self.core.wall = self.core.monotonic = lambda: self.time
        self.core.jitter = lambda: 1.0
        self.answers, self.clock, self.exchanges, self.mute = [], "virtual", 0, False

    def handshake(self, request):
        key = next(line.split(b": ")[1] for line in request.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key"))
        accept = events.base64.b64encode(events.hashlib.sha1(key + events.GUID).digest())
        self.answers, self.frames = [b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"], events.Frames()

    def play(self, state, venue):
        """Follows a stream. venue gets each step that it must answer and returns the result; StopIteration ends."""
        steps = state.follow()
        step = next(steps)
        while True:
            try:
                match step:
                    case core.Sleep():
                        self.waits.append(step.seconds)
                        self.time += step.seconds
                        result = None
                    case core.Exchange():
                        self.exchanges += 1
                        result = 200, {}, json.dumps({"server_time": str(int(self.time * 1e9)), "clock": self.clock}).encode()
                    case events.Deliver():
                        self.delivered.append(step.message)
                        result = None
                    case events.Close():
                        result = None
                    case events.Write() if step.data.startswith(b"GET "):
                        result = self.handshake(step.data)
                        if self.mute:
                            self.answers.clear()
                    case events.Write():
                        head = 2 if step.data[1] & 0x7F < 126 else 4
                        mask = step.data[head : head + 4]
                        text = bytes(b ^ mask[i % 4] for i, b in enumerate(step.data[head + 4 :]))
                        self.sent.append(json.loads(text) if step.data[0] & 0x0F == 1 else step.data[0] & 0x0F)
                        result = None
                    case events.Read() if self.answers:
                        result = self.answers.pop(0)
                    case _:
                        result = venue(step)
                        if result is StopIteration:
                            steps.close()
                            return
            except OSError as e:
                step = steps.throw(e)
            else:
                step = steps.send(result)


def unmasked(opcode, data):
    n = len(data)
    return bytes([0x80 | opcode]) + (bytes([n]) if n < 126 else b"\x7e" + n.to_bytes(2, "big") if n < 65536 else b"\x7f" + n.to_bytes(8, "big")) + data


def message(m):
    return unmasked(1, json.dumps(m).encode())


SUBSCRIBED = message({"id": 1, "type": "subscribed", "msg": {"channel": "trades", "sid": 1}})


class Streams(unittest.TestCase):
    def state(self, socket, channels, **options):
        return events.State(socket.core, channels, [1], options.get("silence", 10), options.get("on_disconnect"), options.get("on_late"))

    def test_resume(self):
        """The recorded conversation that each client is tested with."""
        steps = vectors("ws_resume")["steps"]
        socket = Socket()
        state = self.state(socket, ["orderbook_delta", "user"])
        left, count = list(steps), 0

        def expect(e):
            book = state.book(1)
            self.assertEqual({k: book[k] for k in e["book"]} if book and e["book"] else book, e["book"], e["why"])
            seen = [f"{m['seq']} {m['msg']['event']}" for m in socket.delivered if m["type"] == "user"]
            self.assertEqual(seen, e["events"], e["why"])
            socket.delivered.clear()

        def venue(step):
            nonlocal count
            while left and ("expect" in left[0] or "client" in left[0] and not isinstance(step, events.Connect)):
                s = left.pop(0)
                if "expect" in s:
                    expect(s["expect"])
                    continue
                got = socket.sent.pop(0)
                self.assertEqual({k: v for k, v in got.items() if k != "id"}, {k: v for k, v in s["client"].items() if k != "id"})
            self.assertEqual(socket.sent, [])
            if not left:
                return StopIteration
            if isinstance(step, events.Connect):
                if "cut" in left[0]:
                    self.assertEqual(left.pop(0)["cut"], "client")
                return None
            if "cut" in left[0]:
                self.assertEqual(left.pop(0)["cut"], "venue")
                raise OSError("cut")
            count += 1
            return message(left.pop(0)["venue"])

        socket.play(state, venue)
        self.assertGreater(count, 10)

    def test_orders_bound_to_each_connection(self):
        socket = Socket()
        state = self.state(socket, ["trades"])
        state.bound = [0, 7]
        wants = [("cancel_on_disconnect", {"enabled": True, "group_id": 0}), ("cancel_on_disconnect", {"enabled": True, "group_id": 7}), ("subscribe", {"channels": ["trades"], "market_ids": [1]})]
        seen = []

        def venue(step):
            if isinstance(step, events.Connect):
                return StopIteration if len(seen) == 2 else None
            seen.append([(s["cmd"], s["params"]) for s in socket.sent])
            socket.sent.clear()
            raise OSError("cut")

        socket.play(state, venue)
        self.assertEqual(seen, [wants, wants])
        socket = Socket()
        state = self.state(socket, ["trades"])
        state.bound = [7]
        refused = iter([{"code": 14, "name": "shed"}, {"code": 16, "name": "group_limit_reached"}])
        with self.assertRaises(core.VenueError) as caught:
            socket.play(state, lambda step: None if isinstance(step, events.Connect) else message({"id": 1, "type": "error", "msg": next(refused)}))
        self.assertEqual((caught.exception.code, len(socket.waits)), ("group_limit_reached", 1))

    def test_waits_and_a_first_connection_that_never_comes(self):
        socket, heard = Socket(), []
        state = self.state(socket, ["trades"], on_disconnect=lambda e, since: heard.append((str(e), since)))

        def venue(step):
            raise NotExecuted("refused")

        with self.assertRaises(NotExecuted):
            socket.play(state, venue)
        self.assertLessEqual(socket.time - 1_800_000_000, 30)
        self.assertEqual(socket.waits[:7], [0.2, 0.4, 0.8, 1.6, 2, 2, 2])
        self.assertEqual({h[1] for h in heard}, {heard[0][1]})

    def test_an_attempt_without_time_does_not_hide_the_cause(self):
        socket = Socket()
        state = self.state(socket, ["trades"])
        steps = state.follow()
        self.assertIsInstance(next(steps), events.Connect)
        step = steps.throw(core.NotExecuted("refused"))
        self.assertIsInstance(step, events.Close)
        pause = steps.send(None)
        self.assertIsInstance(pause, core.Sleep)
        socket.time += socket.core.budget  # the machine was busy
        with self.assertRaises(core.NotExecuted):
            step = steps.send(None)
            while True:
                self.assertIsInstance(step, events.Close)
                step = steps.send(None)

    def test_a_lost_stream_is_said_once(self):
        socket, heard, fails, says = Socket(), [], [False, True, True, False], [SUBSCRIBED, b""] * 2
        state = self.state(socket, ["trades"], on_disconnect=lambda e, since: heard.append(str(e)))

        def venue(step):
            if isinstance(step, events.Connect):
                if not fails:
                    return StopIteration
                if fails.pop(0):
                    raise NotExecuted("refused")
                return None
            return says.pop(0)

        with self.assertLogs("duplex_client") as logs:
            socket.play(state, venue)
        said = [r.getMessage().split(":")[0].split(" since")[0].split(" after")[0] for r in logs.records]
        self.assertEqual(said, ["the stream is lost", "the stream is back", "the stream is lost"])
        self.assertEqual(len(heard), 4)

    def test_silence(self):
        socket, reads, heard = Socket(), [], []
        state = self.state(socket, ["trades"], silence=8, on_disconnect=lambda e, since: heard.append(str(e)))

        def venue(step):
            if isinstance(step, events.Connect):
                return StopIteration if heard else None
            reads.append(step.timeout)
            if len(reads) == 2:
                return unmasked(10, b"?")
            raise TimeoutError

        socket.play(state, venue)
        self.assertEqual(reads, [4, 4, 4, 4])
        self.assertEqual([m for m in socket.sent if isinstance(m, int)], [9, 9])
        self.assertEqual(heard, ["nothing arrived for 8 s"])

    def test_the_notice_of_a_stop(self):
        notice = {"type": "draining", "msg": {"close_ts": "1795403706000000000"}}
        socket, reads = Socket(), [message(notice)]

        def venue(step):
            if isinstance(step, events.Connect):
                return None
            return reads.pop() if reads else StopIteration

        socket.play(self.state(socket, ["trades"]), venue)
        self.assertEqual(socket.delivered, [notice])

    def test_a_late_change(self):
        for clock, late in (("wall", [(1, 3.0)]), ("virtual", [])):
            socket, heard = Socket(), []
            socket.clock = clock
            state = self.state(socket, ["orderbook_delta"], on_late=lambda market, age: heard.append((market, round(age, 1))))

            def book(kind, seq, before, age, **more):
                ts = str(int((socket.time - age) * 1e9))
                return message({"type": kind, "sid": 1, "seq": seq, "prev_seq": before, "msg": {"market_id": 1, "generation": 1, "ts": ts, **more}})

            change = {"changes": [{"outcome": "yes", "tick": 4700, "delta": 1, "qty": 2}]}
            reads = [
                lambda: book("orderbook_snapshot", "1", "0", 0, yes=[[4700, 1]], no=[]),
                lambda: book("orderbook_delta", "2", "1", 1, **change),
                lambda: book("orderbook_delta", "3", "2", 3, **change),
                lambda: book("orderbook_delta", "4", "3", 0, **change),
            ]

            def venue(step):
                if isinstance(step, events.Connect):
                    return None
                return reads.pop(0)() if reads else StopIteration

            with self.assertLogs("duplex_client") if late else mock.MagicMock():
                socket.play(state, venue)
            self.assertEqual(heard, late)
            self.assertEqual(state.book(1) is None, bool(late))
            self.assertEqual([c["cmd"] for c in socket.sent], ["subscribe"] + ["update_subscription"] * len(late))
            self.assertEqual(len(socket.delivered), 2 if late else 4)

    def delta(self, socket, seq, age):
        change = {"market_id": 1, "generation": 1, "ts": str(int((socket.time - age) * 1e9)), "changes": [{"outcome": "yes", "tick": 4700, "delta": 1, "qty": 2}]}
        return message({"type": "orderbook_delta", "sid": 1, "seq": str(seq), "prev_seq": str(seq - 1), "msg": change})

    def snapshot(self, seq=1):
        return message({"type": "orderbook_snapshot", "sid": 1, "seq": str(seq), "prev_seq": "0", "msg": {"market_id": 1, "generation": 1, "yes": [[4700, 1]], "no": []}})

    def test_a_clock_that_jumps_while_a_stream_is_open(self):
        """One that is set changes nothing; one that stood still, or is wrong for any reason, is measured again."""
        for change, measures in (("set", 0), ("behind", 1), ("ahead", 1), ("ahead, just after a measure", 0)):
            socket, late, asked = Socket(), [], []
            socket.clock = "wall"
            state = self.state(socket, ["orderbook_delta"], on_late=lambda market, age: late.append(age))

            def jump():
                asked.append(socket.exchanges)
                socket.time += 1 if "just" in change else 11
                if change == "set":
                    socket.core.wall = lambda: socket.time + 3600
                else:
                    socket.core.ahead += -60 if change == "behind" else 60
                return self.delta(socket, 2, 0)

            reads = [self.snapshot, jump, lambda: self.delta(socket, 3, 1)]

            def venue(step):
                if isinstance(step, events.Connect):
                    return None
                return reads.pop(0)() if reads else StopIteration

            socket.play(state, venue)
            if "just" in change:
                self.assertEqual(len(late), 1)
            else:
                self.assertEqual((late, [m["seq"] for m in socket.delivered], state.core.now()), ([], ["1", "2", "3"], socket.time), change)
            self.assertEqual(socket.exchanges - asked[0], 2 * measures, change)

    def test_what_is_no_message_ends_the_connection(self):
        garbage = [b"{", b"null", b"5", b"[]", b"{}", b'{"type":"trade"}', b'{"type":"orderbook_delta","msg":{}}', b'{"type":"orderbook_delta","sid":1,"seq":"2","prev_seq":"1","msg":{"market_id":1}}', b'{"type":"user","msg":null}', b'{"type":"error","msg":{}}', b"\xff", b"[" * 100_000]
        for text in garbage:
            socket, heard, says = Socket(), [], [SUBSCRIBED, self.snapshot(), unmasked(1, text), SUBSCRIBED]
            state = self.state(socket, ["orderbook_delta", "user"], on_disconnect=lambda e, since: heard.append(str(e)))

            def venue(step):
                if isinstance(step, events.Connect):
                    return None
                return says.pop(0) if says else StopIteration

            with self.assertLogs("duplex_client"):
                socket.play(state, venue)
            self.assertEqual((len(heard), [m["type"] for m in socket.delivered]), (1, ["subscribed", "orderbook_snapshot", "subscribed"]), text[:80])
            self.assertIn("no message", heard[0])

    def test_an_error_of_a_callback_is_that_of_the_caller(self):
        socket, says = Socket(), []
        socket.clock = "wall"

        def on_late(market, age):
            raise KeyError("mine")

        says += [self.snapshot(), self.delta(socket, 2, 60)]
        with self.assertLogs("duplex_client"), self.assertRaisesRegex(KeyError, "mine"):
            socket.play(self.state(socket, ["orderbook_delta"], on_late=on_late), lambda step: None if isinstance(step, events.Connect) else says.pop(0))

    def test_a_first_connection_that_brings_no_message(self):
        """Its time is that of a call, whatever the server sends instead."""

        def trickles(socket, step):
            socket.answers.clear()
            socket.time += min(1, step.timeout)
            return b"X"

        def pongs(socket, step):
            socket.time += min(3, step.timeout)
            return unmasked(10, b"?")

        def is_silent(socket, step):
            socket.time += step.timeout
            raise TimeoutError

        for name, read in (("closes", lambda socket, step: b""), ("trickles", trickles), ("pongs", pongs), ("is silent", is_silent), ("sends garbage", lambda socket, step: unmasked(1, b"[]"))):
            socket = Socket()
            state = self.state(socket, ["trades"])

            def venue(step):
                if not isinstance(step, events.Connect):
                    return read(socket, step)
                if name == "trickles":
                    socket.mute = True

            with self.assertRaises(OSError, msg=name), self.assertNoLogs("duplex_client"):
                socket.play(state, venue)
            self.assertLessEqual(socket.time - 1_800_000_000, 30.1, name)
            self.assertGreater(socket.time - 1_800_000_000, 20, name)

    def test_a_book_that_is_no_longer_read_is_unknown(self):
        for ends in ("break", "close"):
            for kind, asynchronous in ((Stream, False), (AsyncStream, True)):
                client = (AsyncClient if asynchronous else Client)("http://venue.test", "k", SECRET)
                stream = kind(client, ["orderbook_delta"], [1])
                socket, says = Socket(), [self.snapshot()]
                stream.state.core = socket.core

                def step(s):
                    match s:
                        case core.Exchange():
                            return 404, {}, b""
                        case events.Connect() | events.Close():
                            return None
                        case events.Write() if s.data.startswith(b"GET "):
                            return socket.handshake(s.data)
                        case events.Write():
                            return None
                        case events.Read():
                            return socket.answers.pop(0) if socket.answers else says.pop(0)

                async def step_async(s):
                    return step(s)

                stream._do = step_async if asynchronous else step
                if asynchronous:

                    async def use():
                        messages = aiter(stream)
                        await anext(messages)
                        self.assertIsNotNone(stream.book(1))
                        stream.close() if ends == "close" else await messages.aclose()

                    asyncio.run(use())
                else:
                    messages = iter(stream)
                    next(messages)
                    self.assertIsNotNone(stream.book(1))
                    stream.close() if ends == "close" else messages.close()
                self.assertIsNone(stream.book(1), (ends, kind))

    def test_a_handshake_is_signed_again(self):
        """After a 401 of a wrong clock, of a clock that another call has corrected, and of a long way."""
        for cause in ("clock", "another call", "late", "none"):
            socket, tries = Socket(), []
            state = self.state(socket, ["trades"])
            if cause == "clock":
                socket.core.wall = lambda: socket.time + 60
            body = b'{"error":{"code":"unauthorized","origin":"gateway"}}'

            def venue(step):
                if isinstance(step, events.Connect):
                    tries.append(1)
                    socket.mute = len(tries) == 1
                    return None
                if len(tries) > 1:
                    return StopIteration
                if cause == "late":
                    socket.time += 4.5
                if cause == "another call":
                    socket.core.ahead += 60
                date = email.utils.formatdate(socket.time + 60 * (cause == "another call"), usegmt=True)
                return b"HTTP/1.1 401 X\r\nDate: %s\r\nContent-Length: %d\r\n\r\n%s" % (date.encode(), len(body), body)

            if cause == "none":
                self.assertRaises(VenueError, socket.play, state, venue)
            else:
                socket.play(state, venue)
            self.assertEqual(len(tries), 1 if cause == "none" else 2, cause)

    def test_a_refused_handshake(self):
        for status, code, fatal in ((401, "unauthorized", True), (404, "", True), (503, "draining", False), (502, "", False)):
            socket, tries = Socket(), []
            state = self.state(socket, ["trades"])
            body = json.dumps({"error": {"code": code, "origin": "gateway", "message": code, "details": None}}).encode() if code else b"no venue"

            def venue(step):
                if isinstance(step, events.Connect):
                    tries.append(1)
                    return None if len(tries) < 3 else StopIteration
                return b""

            answer = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
            with mock.patch.object(events, "GUID", b"another"):
                try:
                    with mock.patch.object(Socket, "answers", property(lambda s: [answer], lambda s, v: None), create=True):
                        socket.play(state, venue)
                    ended = None
                except VenueError as e:
                    ended = e
            self.assertEqual((ended is not None, len(tries)), (fatal, 1 if fatal else 3), status)


if __name__ == "__main__":
    unittest.main()
