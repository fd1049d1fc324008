"""Computes scores and intervals with Python's standard library alone, to check those of Go.

Input: {setup_hash, values: [...], forecasts: [[p, outcome], ...]} on standard input.
"""
import json
import math
import sys

M64 = (1 << 64) - 1


def splitmix64(state):
    while True:
        state = (state + 0x9E3779B97F4A7C15) & M64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
        yield z ^ (z >> 31)


def interval(values, setup_hash, resamples=10_000):
    draw = splitmix64(int(setup_hash[:16], 16))
    n = len(values)
    means = []
    for _ in range(resamples):
        total = 0.0
        for _ in range(n):
            total += values[next(draw) % n]
        means.append(total / n)
    means.sort()
    return means[resamples * 25 // 1000], means[resamples - 1 - resamples * 25 // 1000]


def scores(forecasts):
    brier = log_loss = 0.0
    bins = {}
    for p, outcome in forecasts:
        brier += (p / 10_000 - outcome) ** 2
        clipped = min(max(p, 1), 9_999) / 10_000
        log_loss -= math.log(clipped if outcome else 1 - clipped)
        bins.setdefault(min(p // 1000, 9), []).append((p / 10_000, outcome))
    n = len(forecasts)
    ece = 0.0
    for rows in bins.values():
        confidence = sum(p for p, _ in rows) / len(rows)
        accuracy = sum(o for _, o in rows) / len(rows)
        ece += len(rows) / n * abs(confidence - accuracy)
    return brier / n, log_loss / n, ece


given = json.load(sys.stdin)
low, high = interval(given["values"], given["setup_hash"])
total = 0.0
for x in given["values"]:
    total += x
brier, log_loss, ece = scores(given["forecasts"])
print(json.dumps({"mean": total / len(given["values"]), "low": low, "high": high, "brier": brier, "log_loss": log_loss, "ece": ece}))
