"""Computes the figures of `dx arena stats` again, with Python's standard library alone.

Input: the CSV file. Output: {seat: figures}. Student's t is integrated by Simpson's rule.
"""
import csv
import json
import math
import sys


def chance_beyond(t, freedom):
    """Two-sided: how likely a variable is at least as far from 0 as t."""
    c = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    n, t = 2_000, abs(t)
    if t > 60:
        return 0.0
    inside = sum((1 if k in (0, n) else 4 if k % 2 else 2) * (1 + (t * k / n) ** 2 / freedom) ** (-(freedom + 1) / 2) for k in range(n + 1))
    return max(0.0, 1 - 2 * c * inside * t / n / 3)


def quantile(freedom):
    low, high = 0.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if chance_beyond(middle, freedom) > 0.05 else (low, middle)
    return low


def mean(values):
    return math.fsum(values) / len(values)


def moment(values, k):
    return mean([(x - mean(values)) ** k for x in values])


def deviation(values):
    return math.sqrt(moment(values, 2) * len(values) / (len(values) - 1))


def p_of(values):
    return chance_beyond(mean(values) * math.sqrt(len(values)) / deviation(values), len(values) - 1)


def profits(rows):
    by = {}
    for r in rows:
        by.setdefault(r["seat"], []).append(r)
    out, larger = {}, {}
    for seat, of in by.items():
        values = [float(r["profit"]) for r in of]
        n, swing = len(values), max(float(r.get("swing") or 0) for r in of)
        p = tail = p_of(values)
        if swing:
            more = values + [-swing if mean(values) > 0 else swing]
            tail = p_of(more) if (mean(more) > 0) == (mean(values) > 0) else 1
        half = quantile(n - 1) * deviation(values) / math.sqrt(n)
        out[seat] = {"profit": {"mean": mean(values), "low": mean(values) - half, "high": mean(values) + half}, "p": p, "p_tail": tail, "swing": swing}
        larger[seat] = max(p, tail)
        out[seat]["values"] = values
    least = 0.0
    for i, seat in enumerate(sorted(larger, key=larger.get)):
        least = max(least, min(1, larger[seat] * (len(larger) - i)))
        out[seat]["p_corrected"] = least
    for s in out.values():
        values = s.pop("values")
        n, skew = len(values), moment(values, 3) / moment(values, 2) ** 1.5
        against = 25 * skew**2 if (skew > 0) != (mean(values) > 0) else 0
        found, more = s["p_corrected"] < 0.05, 0
        if n < 20:
            verdict, more = "too few seeds", 20 - n
        elif found and n < against:
            verdict, more = "too few seeds", math.ceil(against) - n
        elif found:
            verdict = "profit" if mean(values) > 0 else "loss"
        else:
            verdict = "no evidence of skill"
        s |= {"verdict": verdict, "more": more, "half_width": quantile(n + more - 1) * deviation(values) / math.sqrt(n + more)}
    return out


def forecasts(rows):
    rows = [(r["seed"], float(r["p"]), int(r["outcome"]), float(r["market"])) for r in rows]
    n, y = len(rows), mean([o for _, _, o, _ in rows])
    bins = [[(p, o) for _, p, o, _ in rows if min(math.floor(p * 10 + 1e-9), 9) == k] for k in range(10)]
    ece = reliability = resolution = 0.0
    shown = []
    for b in bins:
        if not b:
            shown.append({"n": 0, "p": None, "yes": None})
            continue
        p, yes = mean([x for x, _ in b]), mean([o for _, o in b])
        v = yes * (1 - yes) / (len(b) - 1) if len(b) > 1 else 0
        ece += len(b) / n * abs(p - yes)
        reliability += len(b) / n * ((p - yes) ** 2 - v)
        resolution += len(b) / n * ((yes - y) ** 2 - v)
        shown.append({"n": len(b), "p": p, "yes": yes})
    resolution += y * (1 - y) / (n - 1)
    gains = {}
    for seed, p, o, market in rows:
        gains.setdefault(seed, []).append((market - o) ** 2 - (p - o) ** 2)
    gains = [mean(x) for x in gains.values()]
    half = quantile(len(gains) - 1) * deviation(gains) / math.sqrt(len(gains))
    return {"a": {
        "calibration": {"n": n, "ece": ece, "error": math.sqrt(max(0, reliability)), "brier": mean([(p - o) ** 2 for _, p, o, _ in rows]), "reliability": reliability, "resolution": resolution, "uncertainty": y * (1 - y) * n / (n - 1), "bins": shown},
        "skill": {"mean": mean(gains), "low": mean(gains) - half, "high": mean(gains) + half, "p": p_of(gains)},
    }}


table = list(csv.DictReader(sys.stdin))
print(json.dumps(profits(table) if "profit" in table[0] else forecasts(table)))
