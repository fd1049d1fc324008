"""A training environment on a venue in virtual time, with the standard library only.

It has the signature of Gymnasium, and is registered there as Duplex-v0 if Gymnasium is installed:

    env = DuplexEnv(rounds=20)
    obs, info = env.reset(seed=7)
    obs, reward, terminated, truncated, info = env.step(BUY_YES)

Actions: HOLD, BUY_YES, BUY_NO (at the best price), SELL_YES, SELL_NO (what is held, at the best price).
After an action, venue time passes by step_ms.

Observation, a list of numbers:

    0  index divided by the strike, minus 1, times 1000
    1  seconds to the close, divided by 60; 0 without a live round
    2  best bid for YES in dollars, 0 without one
    3  best ask for YES in dollars, 0 without one
    4  contracts of YES held, divided by 100
    5  contracts of NO held, divided by 100
    6  equity divided by the fund, minus 1
    7  estimated standard deviation of the index in a second, times 10,000

Reward: the change of equity in dollars. terminated: the last round is final. truncated: the limit of
steps is reached.
"""

import base64
import hashlib
import hmac
import http.client
import itertools
import json
import math
import operator
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import weakref

try:
    import gymnasium
    import numpy
except ImportError:
    gymnasium = None

HOLD, BUY_YES, BUY_NO, SELL_YES, SELL_NO = range(5)
OBSERVATIONS = 8


def checked(action):
    """Returns an action as an int; a ValueError if it is none."""
    try:
        n = operator.index(action)
    except TypeError:  # 1.5 is no action, and neither is 1.0
        n = -1
    if not HOLD <= n <= SELL_NO:
        raise ValueError(f"action {action!r}: an integer from 0 (HOLD) to 4 (SELL_NO)")
    return n


class VenueError(Exception):
    """An answer of the venue other than 2xx."""

    def __init__(self, status, code):
        super().__init__(f"{code} ({status})")
        self.status, self.code = status, code


class Connection:
    """One connection to a venue, which is kept open."""

    tries = 12  # with their pauses about 7 s: a venue may restart

    def __init__(self, url, key, secret):
        self.http = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=float(os.environ.get("DX_TIMEOUT", 120)))
        self.key, self.secret = key, bytes.fromhex(secret)

    def call(self, method, target, body=None):
        """Sends a request. It is sent again, the same, if its answer is lost, or if the venue is busy or
        closes: an order has its client_order_id, so it cannot be placed twice."""
        for n in itertools.count(1):
            try:
                return self.once(method, target, body)
            except (OSError, http.client.HTTPException):
                self.http.close()  # the next request opens it again
                if n >= self.tries:
                    raise
            except VenueError as e:
                if e.status not in (429, 500, 503) or n >= self.tries:
                    raise
            time.sleep(0.1 * n)

    def once(self, method, target, body):
        raw = "" if body is None else json.dumps(body)
        now = str(time.time_ns() // 1_000_000)
        message = f"{now}\n{method}\n{target}\n{raw}".encode()
        signature = base64.b64encode(hmac.digest(self.secret, message, hashlib.sha256)).decode()
        headers = {"DX-ACCESS-KEY": self.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": signature}
        if raw:
            headers["Content-Type"] = "application/json"
        self.http.request(method, target, raw.encode() or None, headers)
        answer = self.http.getresponse()
        out = json.loads(answer.read())
        if answer.status >= 300:
            raise VenueError(answer.status, out["error"]["code"])
        return out

    def close(self):
        self.http.close()


def dx_command():
    """The command of dx: DX_BIN, or else go run in a clone of the repository."""
    return shlex.split(os.environ.get("DX_BIN", "go run ./cmd/dx"))


class Venue:
    """A process of dx arena serve with one seat, of one seed."""

    def __init__(self, command, seed, fund):
        folder = tempfile.TemporaryDirectory(prefix="duplex-env-")
        keys, seats = os.path.join(folder.name, "keys.json"), os.path.join(folder.name, "arena.toml")
        with open(seats, "w", encoding="utf-8") as f:
            f.write(f'[[seat]]\nname = "agent"\nfund = {fund}\n')
        # go run starts the venue as a child, and a signal to go run may leave that child behind. So
        # the processes are a group, which ends together: at close, or when the program ends.
        self.process = subprocess.Popen([*command, "arena", "serve", seats, "--seed", str(seed), "--keys", keys], stdout=subprocess.DEVNULL, start_new_session=True)
        self.close = weakref.finalize(self, end, self.process, folder)
        while not os.path.exists(keys):
            if self.process.poll() is not None:
                self.close()
                raise RuntimeError(f"dx arena serve ended with {self.process.returncode}")
            time.sleep(0.01)
        with open(keys, encoding="utf-8") as f:
            dev = json.load(f)
        self.url, self.key, self.secret = dev["api"], dev["accounts"][0]["api_key"], dev["accounts"][0]["secret"]


def end(process, folder, wait=10.0):
    """Ends a process that leads a group, and everything in the group."""
    for how in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if not send(process, how):
            break
        until = time.monotonic() + wait
        while time.monotonic() < until:
            process.poll()
            if not send(process, 0):
                break
            time.sleep(0.005)
    process.wait()
    folder.cleanup()


def send(process, how):
    """Sends a signal to the group of a process, and reports whether anything is left in it."""
    if not hasattr(os, "killpg"):  # Windows has no groups
        if how and process.poll() is None:
            process.terminate()
        return process.poll() is None
    try:
        os.killpg(process.pid, how)
    except ProcessLookupError:
        return False
    return True


class Seat:
    """What a policy sees and does on a venue, in the arena or as a seat of a run."""

    def __init__(self, connection, qty=5, category=1, step_ms=1000):
        self.connection, self.qty, self.category, self.step_ms = connection, qty, category, step_ms
        self.next_id, self.final, self.fund, self.now = None, set(), None, None
        self.prices, self.variance = [], 1e-8

    def advance(self, ms):
        """Lets venue time pass, until a time that is the same if the request is sent again."""
        if self.now is None:
            self.now = int(self.connection.call("GET", "/v1/time")["venue_time"])
        until = self.now + ms * 1_000_000
        self.now = int(self.connection.call("POST", "/v1/arena/advance", {"until_ts": str(until)})["venue_time"])

    def act(self, action):
        action, live = checked(action), self.live
        if action == HOLD or live is None:
            return
        outcome = "yes" if action in (BUY_YES, SELL_YES) else "no"
        buys = action in (BUY_YES, BUY_NO)
        # The price of NO is 10000 less that of YES: who buys NO takes the best bid for YES.
        at_ask = buys == (outcome == "yes")
        yes = live["yes_ask"] if at_ask else live["yes_bid"]
        qty = self.qty if buys else min(self.qty, self.held[outcome])
        if yes == 0 or qty == 0:
            return
        if self.next_id is None:  # the account may have orders of an earlier process
            newest = self.connection.call("GET", "/v1/portfolio/orders?limit=1")["orders"]
            self.next_id = 1 + (int(newest[0]["client_order_id"]) if newest else 0)
        order = {"client_order_id": str(self.next_id), "market_id": live["market_id"], "generation": live["generation"], "side": "buy" if buys else "sell", "outcome": outcome, "tick": yes if outcome == "yes" else 10_000 - yes, "qty": qty, "tif": "ioc"}
        self.next_id += 1
        try:
            self.connection.call("POST", "/v1/portfolio/orders", order)
        except VenueError as e:
            if e.code != "duplicate_client_order_id":  # that is an order whose answer was lost
                raise

    def forecast(self, p):
        """Submits a probability of YES, from 0 to 1, for the score of the live round."""
        live = self.live
        self.connection.call("POST", "/v1/forecasts", {"market_id": live["market_id"], "generation": live["generation"], "p": round(10_000 * p)})

    def look(self):
        series = self.connection.call("GET", f"/v1/series?category={self.category}")["series"][0]
        pnl = self.connection.call("GET", "/v1/portfolio/pnl")
        self.live = series["live"]
        self.index = int(series["index"])
        if self.prices and self.index and self.index != self.prices[-1]:
            change = math.log(self.index / self.prices[-1])
            self.variance += (change * change / max(self.step_ms / 1000, 1) - self.variance) / 32
        if self.index:
            self.prices = (self.prices + [self.index])[-64:]
        for r in series["last"]:
            self.final.add(r["round_number"])
        self.equity = int(pnl["equity"]) / 10_000
        self.fund = self.fund or self.equity or 1
        self.held, self.contracts = {"yes": 0, "no": 0}, 0
        for p in pnl["positions"]:
            self.contracts += p["qty"]
            if self.live is not None and p["market_id"] == self.live["market_id"]:
                self.held[p["outcome"]] += p["qty"]

    def observation(self):
        live = self.live or {"strike": "0", "secs_to_close": 0, "yes_bid": 0, "yes_ask": 0}
        strike = int(live["strike"])
        return [
            (self.index / strike - 1) * 1000 if strike else 0.0, live["secs_to_close"] / 60, live["yes_bid"] / 10_000, live["yes_ask"] / 10_000,
            self.held["yes"] / 100, self.held["no"] / 100, self.equity / self.fund - 1, math.sqrt(self.variance) * 10_000,
        ]


class DuplexEnv(gymnasium.Env if gymnasium else object):
    """One agent on one venue."""

    metadata = {"render_modes": []}

    def __init__(self, rounds=20, step_ms=1000, qty=5, fund=1000, max_steps=None, category=1, command=None):
        self.rounds, self.step_ms, self.qty, self.fund, self.category = rounds, step_ms, qty, fund, category
        self.max_steps, self.command = max_steps, command or dx_command()
        self.venue = self.seat = None
        if gymnasium:
            self.action_space = gymnasium.spaces.Discrete(5)
            self.observation_space = gymnasium.spaces.Box(-numpy.inf, numpy.inf, (OBSERVATIONS,), numpy.float64)

    def reset(self, *, seed=None, options=None):
        """Opens a new venue of a seed; without one, of a random seed."""
        if gymnasium:
            super().reset(seed=seed)
        self.close()
        self.seed = random.randrange(1 << 31) if seed is None else seed
        self.venue = Venue(self.command, self.seed, self.fund)
        self.seat = Seat(Connection(self.venue.url, self.venue.key, self.venue.secret), self.qty, self.category, self.step_ms)
        self.steps = 0
        self.seat.advance(2000)
        self.seat.look()
        return self.observation(), self.info()

    def opened(self):
        """Returns the seat; a RuntimeError before reset and after close."""
        if self.seat is None:
            raise RuntimeError("the environment has no venue: call reset before step, also after close")
        return self.seat

    def step(self, action):
        """Acts, lets time pass, and looks."""
        action, seat = checked(action), self.opened()
        before, error = seat.equity, None
        try:
            seat.act(action)
        except VenueError as e:  # a rejection is a part of trading
            error = e.code
        seat.advance(self.step_ms)
        seat.look()
        self.steps += 1
        info = self.info()
        if error:
            info["error"] = error
        terminated = len(seat.final) >= self.rounds
        truncated = self.max_steps is not None and self.steps >= self.max_steps and not terminated
        return self.observation(), seat.equity - before, terminated, truncated, info

    def observation(self):
        out = self.seat.observation()
        return numpy.array(out) if gymnasium else out

    def info(self):
        return {"seed": self.seed, "equity": self.seat.equity, "rounds_final": len(self.seat.final)}

    def close(self):
        if self.seat:
            self.seat.connection.close()
        if self.venue:
            self.venue.close()
        self.venue = self.seat = None


class VectorEnv:
    """Several environments that step together, each on a venue of its own. The methods return lists.
    An environment that has ended is not reset by itself."""

    def __init__(self, n, **settings):
        self.envs = [DuplexEnv(**settings) for _ in range(n)]

    def each(self, calls):
        out, failed = [None] * len(calls), []

        def run(i):
            try:
                out[i] = calls[i]()
            except Exception as e:  # raised again below, in the thread of the caller
                failed.append(e)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if failed:
            raise failed[0]
        return [list(column) for column in zip(*out)]

    def reset(self, *, seed=None, options=None):
        seeds = [None if seed is None else seed + i for i in range(len(self.envs))]
        return self.each([lambda e=e, s=s: e.reset(seed=s) for e, s in zip(self.envs, seeds)])

    def step(self, actions):
        if len(actions) != len(self.envs):
            raise ValueError(f"{len(actions)} actions for {len(self.envs)} environments")
        for e, a in zip(self.envs, actions):  # before one of them steps
            checked(a)
            e.opened()
        return self.each([lambda e=e, a=a: e.step(a) for e, a in zip(self.envs, actions)])

    def close(self):
        for e in self.envs:
            e.close()


if gymnasium:
    gymnasium.register(id="Duplex-v0", entry_point=DuplexEnv)


def random_policy(obs, draw):
    return draw.randrange(5) if draw.random() < 0.2 else HOLD


def fair_value(obs):
    """The value of YES: P(index above the strike at the close); None if there is none to tell."""
    distance, minutes, volatility = obs[0], obs[1], obs[7]
    if minutes <= 0.08 or volatility <= 0:
        return None
    # The settle price is a mean over the last 10 s, which varies less than the index at the close.
    deviation = volatility / 10 * math.sqrt(max(minutes * 60 - 20 / 3, 1))
    return 0.5 * math.erfc(-distance / deviation / math.sqrt(2))


def fair_policy(obs, draw=None, edge=0.05):
    """Buys what is cheaper than its value by an edge, in dollars."""
    value = fair_value(obs)
    if value is None:
        return HOLD
    _, _, bid, ask, yes, no, _, _ = obs
    if ask and value > ask + edge and yes < 0.5:
        return BUY_YES
    if bid and value < bid - edge and no < 0.5:
        return BUY_NO
    return HOLD


def main():
    """Plays rounds with both policies. Arguments: rounds, seeds."""
    rounds, seeds = (int(x) for x in (sys.argv[1:] + ["3", "2"][len(sys.argv) - 1:])[:2])
    for name, policy in (("random", random_policy), ("fair", fair_policy)):
        profit, steps, begun, playing = 0.0, 0, time.perf_counter(), 0.0
        env = DuplexEnv(rounds=rounds)
        for seed in range(1, seeds + 1):
            draw = random.Random(seed)
            obs, _ = env.reset(seed=seed)
            begun, done = time.perf_counter(), False
            while not done:
                obs, reward, terminated, truncated, _ = env.step(policy(obs, draw))
                profit, steps, done = profit + reward, steps + 1, terminated or truncated
            playing += time.perf_counter() - begun
        env.close()
        print(f"{name:7} profit ${profit / seeds:8.2f} a seed, {steps} steps, {steps / playing:.0f} steps a second")


if __name__ == "__main__":
    main()
