"""Buys YES in a 60-second round, follows the round to its end, and prints what it paid."""

import sys
import time

from venue import VenueError, Venue

BTC_60S = 1  # category
LEAST = 12  # seconds that a round must have left
QTY = 10


def dollars(pips):
    amount = int(pips) / 10_000
    return f"{'-' if amount < 0 else ''}${abs(amount):.4f}"


def price(at_1e8):
    """Formats an index price in dollars and cents, truncated: 64999.999 must not look like 65000."""
    cents = int(at_1e8) // 10**6
    return f"{cents // 100}.{cents % 100:02d}"


def joinable(venue):
    """Returns the round that trades now if it has enough time left, else the next one."""
    said = False
    while True:
        for r in venue.call("GET", f"/v1/rounds?category={BTC_60S}&limit=1")["rounds"]:
            left = 60 - time.time() % 60  # the round freezes at the end of the minute
            if r["status"] == "trading" and not r["paused"] and left >= LEAST:
                return r
        if not said:
            print("waiting   for the next round", flush=True)
            said = True
        time.sleep(1)


def buy(venue, r):
    """Places a market order for at most $1 per contract. Returns None if nothing filled. Ends if an agent's order waits
    for its owner, who may place it later."""
    out = venue.place({
        "client_order_id": str(time.time_ns()), "market_id": r["market_id"], "generation": r["generation"],
        "side": "buy", "outcome": "yes", "type": "market", "qty": QTY, "max_cost": str(QTY * 10_000),
    })
    if out["status"] == "waiting":
        sys.exit(f"the order waits for its owner, who decides at {out['approve_url']}")
    return out if out["filled_qty"] else None


def bought(venue, r):
    """Buys in the round, or in a later one if there is no seller."""
    while True:
        try:
            order = buy(venue, r)
        except VenueError as e:
            if e.code not in ("market_not_trading", "market_paused", "stale_generation"):
                raise
            order = None
        if order:
            return r, order
        time.sleep(1)
        r = joinable(venue)


def follow(venue, r):
    """Prints every status of the round and returns the final round."""
    seen = None
    while True:
        mine = f"/v1/rounds?market_id={r['market_id']}&limit=10"  # a later round may use the slot already
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
    print(f"bought    {order['filled_qty']} YES for {dollars(cost)}, including {dollars(fees)} in fees", flush=True)

    end = follow(venue, r)
    mine = venue.call("GET", "/v1/portfolio/settlements?limit=10")["settlements"]
    paid = int(next(s for s in mine if s["round_number"] == r["round_number"])["payout"])
    print(f"winner    {end['winner'] or 'none: the round is void'}")
    print(f"paid      {dollars(paid)}, a result of {dollars(paid - cost)}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
