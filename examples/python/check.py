"""Tests this client with the project's test vectors."""

import json
import pathlib

from keep import RESUME, Keep
from venue import sign


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


if __name__ == "__main__":
    signing, steps = vectors("signing.json"), vectors("ws_resume.json")["steps"]
    for v in signing:
        want(sign(v["secret"], v["timestamp"], v["method"], v["target"], v["body"]), v["signature"], v["name"])
    play(steps)
    print(f"{len(signing)} signatures and {len(steps)} steps of a resumed stream match the vectors")
