"""Tests this client with the project's test vectors."""

import http.server
import json
import pathlib
import threading

from keep import RESUME, Keep
from venue import Venue, VenueError, sign


def vectors(name):
    return json.loads((pathlib.Path(__file__).parents[2] / "schemas/vectors" / name).read_text(encoding="utf-8"))


def want(got, expected, why):
    if got != expected:
        raise SystemExit(f"{why}:\n  {got}\n  must be\n  {expected}")


def play(steps):
    events = []
    keep = Keep(1, lambda seq, e: events.append(f"{seq} {e['event']}"))
    todo = keep.begin()  # the command that the client would send next
    for s in steps:
        if "client" in s:
            want(todo, s["client"], "command")
            todo = None
        elif "venue" in s:
            want(todo, None, "before the venue speaks")
            todo = keep.take(s["venue"])
        elif "cut" in s:
            want(todo, RESUME if s["cut"] == "client" else None, "at the cut")
            todo = keep.begin()
        else:
            e, a = s["expect"], keep.account
            held = [{k: p[k] for k in ("market_id", "yes_qty", "no_qty")} for p in a["positions"].values()]
            want(a | {"orders": list(a["orders"]), "positions": held}, e["account"], e["why"])
            want(keep.book, e["book"], e["why"])
            want(events, e["events"], e["why"])
            events.clear()


class Scripted(Venue):
    """A venue with these answers: an error's code, None for a lost response, or a body."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def call(self, method, target, body=None):
        answer = self.answers.pop(0)
        if answer is None:
            raise OSError("lost")
        if isinstance(answer, str):
            origin = "core" if answer in ("market_paused", "duplicate_client_order_id") else "gateway"
            raise VenueError(409, {"code": answer, "origin": origin, "details": {"retry_after_ms": "0"}})
        return answer


def repeats():
    """Only the core says what became of a placement whose response was lost."""
    duplicate = "duplicate_client_order_id"
    row = {"order_id": "7", "status": "resting", "reason": "", "filled_qty": 0}
    for answers, expected in (
        ((None, duplicate, {"orders": [row]}), row),
        ((None, duplicate, {"orders": [{**row, "order_id": None, "reason": "insufficient_balance"}]}), "insufficient_balance"),
        ((None, duplicate, "unauthorized", duplicate, None), "lost"),  # the look-ups failed
        ((None, duplicate, None, duplicate, {"orders": [row]}), row),
        ((None, "market_paused"), "market_paused"),
        ((None, "unauthorized"), "lost"),
        ((None, "shed", "rate_limited"), "lost"),
        (("sequencing_timeout", "unauthorized"), "sequencing_timeout"),
        (("internal", duplicate, {"orders": [row]}), row),
        (("shed", "rate_limited", "shed"), "shed"),
        ((duplicate,), duplicate),
    ):
        try:
            got = Scripted(*answers).place({"client_order_id": "1"}, tries=3)
        except VenueError as e:
            got = e.code
        except OSError as e:
            got = str(e)
        want(got, expected, f"a placement answered with {answers}")


def pages_of_proxies():
    """The page of a proxy is no response of the venue."""
    page = b""

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(502)
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        venue = Venue(f"http://127.0.0.1:{proxy.server_port}", "k", "00" * 32)
        for page in b"<html>", b"{}", b"[]", b'{"error":"bad gateway"}':
            try:
                raise SystemExit(f"{page} is a response: {venue.call('GET', '/v1/time')}")
            except OSError:
                pass
        proxy.shutdown()


if __name__ == "__main__":
    repeats()
    pages_of_proxies()
    signing, steps = vectors("signing.json"), vectors("ws_resume.json")["steps"]
    for v in signing:
        want(sign(v["secret"], v["timestamp"], v["method"], v["target"], v["body"]), v["signature"], v["name"])
    play(steps)
    print(f"{len(signing)} signatures and {len(steps)} steps of a resumed stream match the vectors")
