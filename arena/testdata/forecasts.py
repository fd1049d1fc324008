"""Computes the scores of every seat from an export alone, with Python's standard library.

Argument: the folder of `dx arena export --format csv`. Prints {seat: {brier, log_loss, ece}}, means of
the seeds' means.
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
    n, brier, log_loss, bins = len(forecasts), 0.0, 0.0, {}
    for p, outcome in forecasts:
        brier += (p / 10_000 - outcome) ** 2
        clipped = min(max(p, 1), 9_999) / 10_000
        log_loss -= math.log(clipped if outcome else 1 - clipped)
        bins.setdefault(min(p // 1000, 9), []).append((p / 10_000, outcome))
    ece = sum(abs(sum(p for p, _ in b) - sum(o for _, o in b)) for b in bins.values()) / n
    return {"brier": brier / n, "log_loss": log_loss / n, "ece": ece}


by_seat = {}
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
print(json.dumps({seat: {k: sum(s[k] for s in all_) / len(all_) for k in all_[0]} for seat, all_ in by_seat.items()}))
