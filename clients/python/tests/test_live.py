"""Runs the client against the dev venue that DX_DEV_FILE describes."""

import http.client
import json
import os
import socket
import threading
import time
import unittest
from unittest import mock

from duplex_client import Client, Stream, UnknownOutcome, VenueError, records


def client(name="trader", **options):
    with open(os.environ["DX_DEV_FILE"], encoding="utf-8") as f:
        dev = json.load(f)
    a = next(a for a in dev["accounts"] if a["name"] == name)
    return Client(dev["api"], a["api_key"], a["secret"], **options)


def order(c):
    """An order in a market that does not close within the test."""
    for _ in range(300):
        market = next((m for m in c.call("GET", "/v1/markets?status=trading")["markets"] if m["secs_to_close"] > 60), None)
        if market:
            break
        time.sleep(1)  # all rounds end at a quarter of an hour
    return {"market_id": market["market_id"], "outcome": "yes", "side": "buy", "tick": 100, "qty": 1, "client_order_id": str(time.time_ns())}


class Timeout(unittest.TestCase):
    def test_environment_sets_the_default(self):
        for environment, given, want in (({}, {}, 15), ({"DX_TIMEOUT": ""}, {}, 15), ({"DX_TIMEOUT": "soon"}, {}, 15), ({"DX_TIMEOUT": "0"}, {}, 15), ({"DX_TIMEOUT": "inf"}, {}, 15), ({"DX_TIMEOUT": "86400"}, {}, 86400), ({"DX_TIMEOUT": "86400"}, {"timeout": 3}, 3)):
            with mock.patch.dict(os.environ, environment):
                self.assertEqual(Client("http://127.0.0.1:1", "key", "00", **given).timeout, want)


class Repeats(unittest.TestCase):
    def place(self, *answers):
        """Places an order at a venue with these answers: an error's code, None for a lost response, or a body."""
        left = list(answers)

        def send(self, method, target, *_):
            answer = left.pop(0)
            if answer is None:
                raise OSError("the response is lost")
            if isinstance(answer, str):
                origin = "core" if answer in ("market_paused", "duplicate_client_order_id") else "gateway"
                raise VenueError(504 if answer == "upstream_timeout" else 409, {"code": answer, "num": None, "origin": origin, "message": answer, "details": None})
            return answer

        with mock.patch.object(Client, "_send", send), mock.patch.object(time, "sleep"):
            try:
                return Client("http://127.0.0.1:1", "key", "00", tries=2).place({"client_order_id": "1"})
            except VenueError as e:
                return e.code
            except UnknownOutcome:
                return "unknown"
            finally:
                self.assertEqual(left, [])

    def test_only_the_core_says_what_became_of_a_lost_placement(self):
        for code in ("rate_limited", "shed", "draining"):
            self.assertEqual(self.place(code, code), code)  # nothing was lost
            self.assertEqual(self.place(None, code, code), "unknown")
        self.assertEqual(self.place("unauthorized"), "unauthorized")
        self.assertEqual(self.place("sequencing_timeout", "unauthorized"), "unknown")
        self.assertEqual(self.place(None, None), "unknown")
        self.assertEqual(self.place("upstream_timeout", "upstream_timeout"), "unknown")  # a code that the client does not know
        self.assertEqual(self.place("upstream_timeout", {"order_id": "7"}), {"order_id": "7"})
        self.assertEqual(self.place(None, "market_paused"), "market_paused")

    def test_an_error_of_a_proxy_says_nothing_of_a_placement(self):
        for body in (b"504 Gateway Timeout", b'{"error":"timeout"}', b'{"error":{"code":"504"}}', b'{"error":{"code":504,"origin":"edge"}}'):
            response = mock.Mock(status=504, read=lambda body=body: body)
            with mock.patch.object(http.client.HTTPConnection, "request"), mock.patch.object(http.client.HTTPConnection, "getresponse", return_value=response), mock.patch.object(time, "sleep"):
                with self.assertRaises(UnknownOutcome):
                    Client("http://127.0.0.1:1", "key", "00").place({"client_order_id": "1"})

    def test_what_a_restart_executes_twice_is_not_repeated(self):
        lost = mock.Mock(side_effect=OSError("the response is lost"))
        for target in ("/v1/portfolio/redeem", "/v1/portfolio/orders/7/decrease", "/v1/portfolio/orders/7/replace"):
            with mock.patch.object(Client, "_send", lost), self.assertRaises(UnknownOutcome):
                Client("http://127.0.0.1:1", "key", "00").call("POST", target, {})
        self.assertEqual(lost.call_count, 3)

    def test_the_order_of_a_lost_placement(self):
        duplicate, row = "duplicate_client_order_id", {"order_id": "7", "reason": ""}
        self.assertEqual(self.place(None, duplicate, {"orders": [row]}), row)
        self.assertEqual(self.place(None, duplicate, {"orders": [{"order_id": None, "reason": "insufficient_balance"}]}), "insufficient_balance")
        self.assertEqual(self.place(None, duplicate, {"orders": []}), "unknown")
        self.assertEqual(self.place(None, duplicate, "missing_scope"), "unknown")
        self.assertEqual(self.place(duplicate), duplicate)


class Handshakes(unittest.TestCase):
    def test_a_stream_waits_as_long_as_the_venue_says_and_outlives_errors_of_a_proxy(self):
        def error(status, code, **details):
            return VenueError(status, {"code": code, "num": None, "origin": "gateway", "message": code, "details": details})

        limited = json.dumps({"id": 1, "type": "error", "msg": {"name": "rate_limited", "retry_after_ms": 60_000}}).encode()
        subscribed = json.dumps({"id": 1, "type": "subscribed", "msg": {"channel": "trades", "sid": 1}}).encode()
        connects = mock.Mock(side_effect=[error(502, "bad_gateway"), error(503, "draining", retry_after_ms="30000"), error(504, "sequencing_timeout"), None, None])
        stream = Stream(Client("http://127.0.0.1:1", "key", "00"), ["trades"])
        with mock.patch.multiple(Stream, _connect=connects, _read=mock.Mock(side_effect=[limited, subscribed]), _write=mock.DEFAULT), mock.patch.object(time, "sleep") as sleep:
            self.assertEqual(next(iter(stream))["type"], "subscribed")
        waits = [call.args[0] for call in sleep.call_args_list]
        self.assertEqual((len(waits), waits[1], waits[3]), (4, 30, 60))
        self.assertTrue(0.05 <= waits[0] <= 0.1 and 0.2 <= waits[2] <= 0.4, waits)


    def test_a_response_of_a_proxy_is_no_refusal(self):
        server = socket.create_server(("127.0.0.1", 0))
        bodies = [b'{"error":"timeout"}', b"Bad Gateway"]

        def proxy():
            for body in bodies:
                connection, _ = server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        thread = threading.Thread(target=proxy, daemon=True)
        thread.start()
        for _ in bodies:
            with Stream(Client(f"http://127.0.0.1:{server.getsockname()[1]}", "key", "00"), ["trades"]) as stream, self.assertRaisesRegex(OSError, "HTTP status 502"):
                stream._connect()
        thread.join()
        server.close()


class Live(unittest.TestCase):
    def members(self, record, body):
        self.assertLessEqual(record.__required_keys__, body.keys())
        self.assertLessEqual(body.keys(), record.__required_keys__ | record.__optional_keys__)

    def test_records(self):
        c = client()
        for target, record in (("/v1/portfolio/balance", records.Balance), ("/v1/markets", records.MarketList), ("/v1/account", records.Account), ("/v1/account/limits", records.Limits)):
            self.members(record, c.call("GET", target))
        self.members(records.Market, c.call("GET", "/v1/markets")["markets"][0])

    def test_lost_response_places_once(self):
        c, send, lost = client(), Client._send, []

        def lose(self, method, target, *rest):
            out = send(self, method, target, *rest)
            if method == "POST" and not lost:
                lost.append(out)
                raise OSError("the response is lost")
            return out

        o = order(c)
        with mock.patch.object(Client, "_send", lose):
            got = c.place(o)
        self.assertEqual(got["order_id"], lost[0]["order_id"])
        with self.assertRaises(VenueError) as e:
            c.place(o)  # an id of an earlier order is the caller's mistake
        self.assertEqual(e.exception.code, "duplicate_client_order_id")
        self.members(records.Order, c.find(o["client_order_id"]))
        c.call("DELETE", f"/v1/portfolio/orders/{got['order_id']}")

    def test_lost_cancel_is_unknown(self):
        c, send, lost = client(), Client._send, []

        def lose(self, method, *rest):
            out = send(self, method, *rest)
            if method == "DELETE":
                lost.append(out)
                raise OSError("the response is lost")
            return out

        placed = c.place(order(c))
        with mock.patch.object(Client, "_send", lose), self.assertRaises(UnknownOutcome):
            c.call("DELETE", f"/v1/portfolio/orders/{placed['order_id']}")
        self.assertEqual(len(lost), 1)  # the repeat found no open order
        with self.assertRaises(VenueError) as e:
            c.call("DELETE", f"/v1/portfolio/orders/{placed['order_id']}")
        self.assertEqual(e.exception.code, "unknown_order")

    def test_lost_batch_is_unknown(self):
        c = client()
        with mock.patch.object(http.client.HTTPConnection, "getresponse", side_effect=http.client.RemoteDisconnected("lost")):
            with self.assertRaises(UnknownOutcome):
                c.call("POST", "/v1/portfolio/orders/batch", {"orders": []})

    def test_not_executed_is_repeated(self):
        c, send, shed = client(), Client._send, []

        def once(self, *request):
            if not shed:
                shed.append(request)
                raise VenueError(503, {"code": "shed", "num": None, "origin": "gateway", "message": "shed", "details": None})
            return send(self, *request)

        with mock.patch.object(Client, "_send", once):
            self.assertIn("cash", c.call("GET", "/v1/portfolio/balance"))

    def test_wrong_secret(self):
        c = client()
        c.secret = "00" * 32
        for use in (lambda: c.call("GET", "/v1/time"), lambda: next(iter(Stream(c, ["user"])))):
            with self.assertRaises(VenueError) as e:
                use()
            self.assertEqual(e.exception.code, "unauthorized")

    def test_stream_resumes(self):
        c = client()
        with Stream(c, ["orderbook_delta", "user"]) as s:
            messages = iter(s)
            seen = set()
            while not {"orderbook_snapshot", "user_snapshot"} <= seen:
                seen.add(next(messages)["type"])
            s._socket.shutdown(2)  # the network fails
            o = order(c)
            placed = c.place(o)
            resumed, found = None, 0
            while not found:
                m = next(messages)
                if m["type"] == "subscribed" and m["msg"]["channel"] == "user":
                    resumed = m["msg"]["resumed"]
                event = m["msg"].get("order") or {} if m["type"] == "user" else {}
                found += event.get("client_order_id") == o["client_order_id"]
            self.assertIs(resumed, True)
            c.call("DELETE", f"/v1/portfolio/orders/{placed['order_id']}")

    def test_stream_resumes_within_a_command(self):
        def user(seq, n):
            return json.dumps({"type": "user", "sid": 1, "seq": seq, "prev_seq": "0", "msg": {"event": "order", "n": n}}).encode()

        def subscribed(resumed):
            return json.dumps({"id": 1, "type": "subscribed", "msg": {"channel": "user", "sid": 1, "resumed": resumed}}).encode()

        snapshot = json.dumps({"type": "user_snapshot", "sid": 1, "seq": "7", "prev_seq": "0", "msg": {}}).encode()
        reads = [subscribed(False), snapshot, user("8", 1), user("9", 2), user("9", 3), OSError("lost"), subscribed(True), user("9", 2), user("9", 3), user("9", 4), user("10", 5)]
        sent = []
        with mock.patch.multiple(Stream, _connect=lambda s: None, _read=mock.Mock(side_effect=reads), _write=lambda s, op, data: sent.append(json.loads(data))):
            got = []
            for m in Stream(client(), ["user"]):
                got += [m["msg"]["n"]] if m["type"] == "user" else []
                if 5 in got:
                    break
        self.assertEqual(got, [1, 2, 3, 4, 5])
        self.assertEqual(sent[1]["params"]["since_seq"], "8")


if __name__ == "__main__":
    unittest.main()
