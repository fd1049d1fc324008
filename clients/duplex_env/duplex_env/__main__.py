"""Plays two policies on the environments, and measures the rates of steps.

    python3 -m duplex_env [ROUNDS [ENVIRONMENTS]]
"""

import random
import sys
import time

from . import DuplexEnv, VectorEnv, fair_policy, random_policy


def play(name, policy, rounds, n):
    """Plays a policy to the end of an episode in each environment, with one request a step."""
    env, profit, steps = VectorEnv(n, rounds=rounds), 0.0, 0
    obs, _ = env.reset(seed=1)
    draws = [random.Random(k) for k in range(n)]
    begun, ended = time.perf_counter(), False
    while not ended:
        obs, rewards, terminated, _, _ = env.step([policy(o, d) for o, d in zip(obs, draws)])
        profit, steps, ended = profit + sum(rewards), steps + n, all(terminated)
    rate = steps / (time.perf_counter() - begun)
    env.close()
    print(f"{name:7} profit ${profit / n:8.2f} a seed, {n} environments, one request a step: {rate:.0f} steps a second", flush=True)


def measure(rounds, n, length):
    """Measures the other two ways to step."""
    draw, seconds = random.Random(1), rounds * 60 - 1
    env, steps = DuplexEnv(rounds=rounds), min(seconds, 2000)
    env.reset(seed=1)
    begun = time.perf_counter()
    for _ in range(steps):
        env.step(random_policy(None, draw))
    print(f"1 environment, one request a step: {steps / (time.perf_counter() - begun):.0f} steps a second", flush=True)
    env.close()
    many, steps = VectorEnv(n, rounds=rounds), 0
    many.reset(seed=1)
    begun, ended = time.perf_counter(), False
    while not ended:
        _, rewards, terminated, _, _ = many.run([[random_policy(None, draw) for _ in range(length)] for _ in range(n)])
        steps, ended = steps + sum(map(len, rewards)), all(terminated)
    print(f"{n} environments, one request for {length} steps of each: {steps / (time.perf_counter() - begun):.0f} steps a second", flush=True)
    many.close()


def main():
    rounds, n = (int(x) for x in (sys.argv[1:] + ["3", "8"][len(sys.argv) - 1:])[:2])
    for name, policy in (("random", random_policy), ("fair", fair_policy)):
        play(name, policy, rounds, n)
    measure(rounds, n, 60)


if __name__ == "__main__":
    main()
