"""Buys YES in a 60-second round, follows it to its end, and tells what it paid."""

import sys
import time

from venue import Refused, Venue

BTC_60S = 1  # category
LEAST = 12  # seconds that must be left to join a round
QTY = 10


def dollars(pips):
    return f"${int(pips) / 10_000:.4f}"


def price(at_1e8):
    return f"{int(at_1e8) / 1e8:.2f}"


def joinable(venue):
    """The round that trades now, or the next one."""
    said = False
    while True:
        for r in venue.call("GET", f"/v1/rounds?category={BTC_60S}&limit=1")["rounds"]:
            left = 60 - time.time() % 60  # it freezes when the wall clock's minute is over
            if r["status"] == "trading" and not r["paused"] and left >= LEAST:
                return r
        if not said:
            print("waiting   for the next minute's round", flush=True)
            said = True
        time.sleep(1)


def buy(venue, r):
    """A market order for at most a dollar a contract; None if nobody sells."""
    out = venue.place({
        "client_order_id": str(time.time_ns()), "market_id": r["market_id"], "generation": r["generation"],
        "side": "buy", "outcome": "yes", "type": "market", "qty": QTY, "max_cost": str(QTY * 10_000),
    })
    return out if out["filled_qty"] else None


def bought(venue, r):
    """Buys in the round, or in a later one if nobody sells in this."""
    while True:
        try:
            order = buy(venue, r)
        except Refused as no:
            if no.code not in ("market_not_trading", "market_paused", "stale_generation"):
                raise
            order = None
        if order:
            return r, order
        time.sleep(1)
        r = joinable(venue)


def follow(venue, r):
    """Prints every state of the round and gives the last."""
    seen = None
    while True:
        mine = f"/v1/rounds?market_id={r['market_id']}&limit=10"  # the slot may be in its next life already
        now = next(x for x in venue.call("GET", mine)["rounds"] if x["round_number"] == r["round_number"])
        if now["status"] != seen:
            seen = now["status"]
            settle = "" if now["settle_price"] == "0" else f", mean of the last {now['twap_window_secs']} s {price(now['settle_price'])}"
            print(f"round     {seen}{settle}", flush=True)
        if seen in ("settled", "void"):
            return now
        time.sleep(0.5)


def main():
    venue = Venue.here()
    r, order = bought(venue, joinable(venue))
    print(f"round     number {r['round_number']} in market {r['market_id']}, strike {price(r['strike'])}")
    fills = venue.call("GET", f"/v1/portfolio/fills?order_id={order['order_id']}")["fills"]
    cost = sum(f["qty"] * f["tick_yes"] + int(f["fee"]) for f in fills)
    fees = sum(int(f["fee"]) for f in fills)
    print(f"bought    {order['filled_qty']} YES for {dollars(cost)}, of which fees {dollars(fees)}", flush=True)

    end = follow(venue, r)
    mine = venue.call("GET", "/v1/portfolio/settlements?limit=10")["settlements"]
    paid = int(next(s for s in mine if s["round_number"] == r["round_number"])["payout"])
    print(f"winner    {end['winner'] or 'none: the round is void'}")
    print(f"paid      {dollars(paid)}, which makes {dollars(paid - cost)}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
