"""Computes the scores of every seat from an export alone, with Python's standard library.

Argument: the folder of `dx arena export --format csv`. Prints {seat: {brier, log_loss, ece}}: means of
the seeds' means, but the calibration error is that of all forecasts together.
"""
import csv
import json
import math
import pathlib
import sys


def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def scores(forecasts):
    n, brier, log_loss = len(forecasts), 0.0, 0.0
    for p, outcome in forecasts:
        brier += (p / 10_000 - outcome) ** 2
        clipped = min(max(p, 1), 9_999) / 10_000
        log_loss -= math.log(clipped if outcome else 1 - clipped)
    return {"brier": brier / n, "log_loss": log_loss / n}


def calibration_error(forecasts):
    bins = {}
    for p, outcome in forecasts:
        bins.setdefault(min(p // 1000, 9), []).append((p / 10_000, outcome))
    return sum(abs(sum(p for p, _ in b) - sum(o for _, o in b)) for b in bins.values()) / len(forecasts)


by_seat, pooled = {}, {}
for seed in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    if not seed.is_dir():
        continue
    winners = {r["number"]: r["winner"] for r in rows(seed / "rounds.csv") if r["status"] == "settled"}
    last = {}
    for f in rows(seed / "forecasts.csv"):
        last[f["seat"], f["round_number"]] = int(f["p"])
    seats = {}
    for (seat, number), p in last.items():
        if number in winners:
            seats.setdefault(seat, []).append((p, 1 if winners[number] == "yes" else 0))
    for seat, list_ in seats.items():
        by_seat.setdefault(seat, []).append(scores(list_))
        pooled.setdefault(seat, []).extend(list_)
print(json.dumps({seat: {k: sum(s[k] for s in all_) / len(all_) for k in all_[0]} | {"ece": calibration_error(pooled[seat])} for seat, all_ in by_seat.items()}))
