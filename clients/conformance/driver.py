"""Uses the Python client as the conformance suite tells it: a JSON request a line, a JSON reply a line.

    python3 driver.py sync|async
"""

import asyncio
import json
import sys
import threading
import time

from duplex_client import AsyncClient, AsyncStream, Client, NotExecuted, Stream, UnknownOutcome, VenueError


class Driver:
    def __init__(self, asynchronous):
        self.loop = asyncio.new_event_loop() if asynchronous else None
        if self.loop:
            threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.pause, self.late, self.disconnects, self.messages, self.oldest = 0.0, 0, 0, 0, 0
        self.fills, self.ended, self.stream, self.market = [], "", None, 0

    def wait(self, value):
        return asyncio.run_coroutine_threadsafe(value, self.loop).result() if self.loop else value

    def use(self, make):
        """Returns the name of the result of a call."""
        try:
            self.wait(make())
        except VenueError as e:
            return e.code or f"status {e.status}"
        except UnknownOutcome:
            return "unknown"
        except NotExecuted:
            return "refused"
        except OSError:
            return "lost"
        return "ok"

    def open(self, r):
        try:
            self.client = (AsyncClient if self.loop else Client)(r["url"], r["key"], r["secret"])
        except ValueError:
            return "url"
        self.set_clock(r)
        return "ok"

    def set_clock(self, r):
        skew = r.get("clock_ms", 0) / 1000
        self.client.core.wall = lambda: time.time() + skew

    def follow(self, r):
        options = {"silence": r.get("silence_ms", 10_000) / 1000, "on_disconnect": self.lost, "on_late": self.was_late}
        self.market = r.get("market_ids", [0])[0]
        self.stream = (AsyncStream if self.loop else Stream)(self.client, r["channels"], r.get("market_ids"), **options)
        if self.loop:
            asyncio.run_coroutine_threadsafe(self.read_async(), self.loop)
        else:
            threading.Thread(target=self.read, daemon=True).start()

    def lost(self, error, since):
        self.disconnects += 1

    def was_late(self, market, age):
        self.late += 1

    def read(self):
        try:
            for m in self.stream:
                self.take(m)
                time.sleep(self.pause)
        except (OSError, VenueError) as e:
            self.ended = str(e) or repr(e)

    async def read_async(self):
        try:
            async for m in self.stream:
                self.take(m)
                await asyncio.sleep(self.pause)
        except (OSError, VenueError) as e:
            self.ended = str(e) or repr(e)

    def take(self, m):
        self.messages += 1
        if m["type"] == "user" and m["msg"]["event"] == "fill":
            self.fills.append(m["msg"]["order_id"])
        if m["type"] == "orderbook_delta":
            self.oldest = max(self.oldest, int(self.client.now() * 1000) - int(m["msg"]["ts"]) // 1_000_000)

    def answer(self, r):
        out = {"result": "ok"}
        match r["do"]:
            case "open":
                out["result"] = self.open(r)
            case "place":
                out["result"] = self.use(lambda: self.client.place(r["order"]))
            case "balance":
                out["result"] = self.use(self.client.get_balance)
            case "clock":
                self.set_clock(r)
            case "stream":
                self.follow(r)
            case "slow":
                self.pause = r.get("pause_ms", 0) / 1000
            case "state":
                book = self.stream.book(self.market)
                out |= {"messages": self.messages, "fills": self.fills, "disconnects": self.disconnects, "late": self.late, "oldest_ms": self.oldest, "ended": self.ended}
                out["book"] = book and {k: book[k] for k in ("seq", "yes", "no")}
        return out


def main():
    driver = Driver(sys.argv[1] == "async")
    for line in sys.stdin:
        print(json.dumps(driver.answer(json.loads(line))), flush=True)


main()
