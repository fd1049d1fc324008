"""One policy in both worlds: tried on the training environment, and seated in an arena.

    python3 policy.py --edges 0.02,0.05,0.10    plays it on the environment, once with each edge
    python3 policy.py --edge 0.05               trades as a seat, with DX_URL, DX_KEY and DX_SECRET

The policy is fair_policy of the package duplex_env. Put your own in its place: a function of
the observation that returns an action.
"""

import argparse
import http.client
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients/duplex_env"))

from duplex_env import HOLD, Connection, Seat, VectorEnv, VenueError, fair_policy, fair_value  # noqa: E402

MAX_INDEX_AGE = 3_000_000_000  # ns; no order while the index is older
FORECAST_SECS = 30  # before the close, once a round


def index_is_fresh(connection):
    index, now = connection.call("GET", "/v1/oracle/price?feed=0"), connection.call("GET", "/v1/time")
    return int(now["venue_time"]) - int(index["ts"]) <= MAX_INDEX_AGE


def trade(edge):
    """Trades as a seat. If it is asked to end, it buys nothing more and ends without contracts."""
    connection = Connection(os.environ["DX_URL"], os.environ["DX_KEY"], os.environ["DX_SECRET"])
    ending = []

    def end(*_):
        ending.append(True)
        connection.tries = 4  # at the end of a run the venue ends, too

    signal.signal(signal.SIGTERM, end)
    seat = Seat(connection)
    try:
        seat.advance(2000)
        forecasted = None
        while True:
            seat.look()
            if ending and not seat.contracts:
                return
            forecasted = turn(seat, edge, forecasted, ending)
            seat.advance(seat.step_ms)
    except (OSError, http.client.HTTPException, VenueError):
        if not ending:  # otherwise the venue ends, too
            raise


def turn(seat, edge, forecasted, ending):
    """Forecasts and acts on what the seat has seen. Returns the round that was forecast last."""
    obs, live = seat.observation(), seat.live
    try:
        value = fair_value(obs)
        if value is not None and live["round_number"] != forecasted and live["secs_to_close"] <= FORECAST_SECS:
            forecasted = live["round_number"]
            seat.forecast(value)
        action = fair_policy(obs, edge=edge)
        if action != HOLD and not ending and index_is_fresh(seat.connection):
            seat.act(action)
    except VenueError as e:
        if e.code == "unauthorized":  # the key is revoked
            raise
        print(f"rejected: {e}", file=sys.stderr)
    return forecasted


def play(edges, rounds, seeds):
    """Plays the policy on the environment, all seeds at a time."""
    for edge in edges:
        env = VectorEnv(seeds, rounds=rounds)
        try:
            obs, _ = env.reset(seed=1)
            profit, steps, begun, ended = 0.0, 0, time.perf_counter(), False
            while not ended:  # the seeds end at the same step: they have the same rounds
                obs, rewards, terminated, truncated, _ = env.step([fair_policy(o, edge=edge) for o in obs])
                profit, steps = profit + sum(rewards), steps + len(rewards)
                ended = all(t or u for t, u in zip(terminated, truncated))
        finally:
            env.close()
        print(f"edge {edge:.2f}: profit ${profit / seeds:8.2f} a seed, {steps} steps, {steps / (time.perf_counter() - begun):.0f} steps a second")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--edge", type=float, default=0.05, help="dollars by which an offer must be cheaper than its value")
    p.add_argument("--edges", help="edges to try on the environment, separated by commas")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seeds", type=int, default=2)
    a = p.parse_args()
    if a.edges:
        play([float(x) for x in a.edges.split(",")], a.rounds, a.seeds)
    elif "DX_URL" in os.environ:
        trade(a.edge)
    else:
        p.error("--edges, or DX_URL, DX_KEY and DX_SECRET of a seat")


if __name__ == "__main__":
    main()
