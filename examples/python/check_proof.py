"""Checks a proof bundle of one round without the venue, see docs/guides/data.md: python3 check_proof.py FILE"""

import base64, collections, hashlib, json, struct, sys


def must(holds, what):
    if not holds:
        raise SystemExit(f"{what} does not hold")


def uvarint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + uvarint(n >> 7)


def check(data):
    lines = data.split(b"\n")  # the last line ends with a newline, so the last element is empty
    must(len(lines) > 2 and lines.pop() == b"" and lines[0].startswith(b'{"kind":"duplex proof","version":1,'), "the form of a bundle of version 1")
    digest = hashlib.sha256(data[: -len(lines[-1]) - 1]).hexdigest()
    must(lines[-1] == b'{"kind":"end","lines":%d,"sha256":"%s"}' % (len(lines), digest.encode()), "the SHA-256 of the file")
    rows = [json.loads(line) for line in lines]
    of = lambda kind: [r for r in rows if r["kind"] == kind]
    must([len(of(k)) for k in ("open", "freeze", "settle")] == [1, 1, 1] and of("propose"), "one round from its opening to its settlement")
    opened, freeze, proposal, settle = [of(k)[-1] for k in ("open", "freeze", "propose", "settle")]
    ticks, held, paid, before = [], collections.Counter(), 0, {"number": -1}
    for r in rows:
        match r["kind"]:
            case "group":
                body = base64.b64decode(r["body"])
                head = bytes.fromhex(r["before"]) + struct.pack("<QIIQq", r["number"], r["node"], len(body), r["proposal"], r["stamp"])
                must(hashlib.sha256(head + body).hexdigest() == r["chain"], f"the chain of group {r['number']}")
                must(r["number"] > before["number"] + 1 or r["before"] == before["chain"], f"the chain before group {r['number']}")
                before = r
            case "tick":  # its command is in the group: kind 6, feed, sources, manual, second in zigzag form, price
                command = bytes([6, opened["feed"], r["sources"], r["manual"]]) + uvarint(2 * r["second"]) + uvarint(r["price"])
                must(command in body, f"the tick of second {r['second']}")
                ticks.append(r)
            case "fill":
                for who in "taker", "maker":
                    contract = r[who + "_user"], r[who + "_outcome"]
                    held[contract] += r["qty"] if r[who + "_side"] == "buy" else -r["qty"]
                    must(held[contract] >= 0, f"the sale at seq {r['seq']}")
            case "redeem":
                held.subtract({(r["user"], outcome): r["qty"] for outcome in ("yes", "no")})
            case "settlement":
                yes, no = held.pop((r["user"], "yes"), 0), held.pop((r["user"], "no"), 0)
                payout = 10000 * (yes if proposal["winner"] == "yes" else no)
                must((yes, no, payout) == (r["yes"], r["no"], r["payout"]), f"the payout of account {r['user']}")
                paid += payout
    must([t["price"] for t in ticks if t["seq"] < opened["seq"]][-1:] == [opened["strike"]], "the strike")
    prices, end = {t["second"]: t["price"] for t in ticks if t["seq"] < freeze["seq"]}, opened["close_ts"] // 10**9
    newest = [max((t for t in prices if s - 5 <= t <= s), default=0) for s in range(end - opened["window"], end)]
    window = [prices[t] for t in newest if t]  # the price of each second that has one
    must(freeze["settle_price"] == sum(window) // max(1, len(window)), "the mean of the window")
    must(proposal["by_operator"] or proposal["settle_price"] == freeze["settle_price"], "the settle price")
    winner = "yes" if settle["settle_price"] > opened["strike"] else "no"
    must(proposal["settle_price"] == settle["settle_price"] and proposal["winner"] == settle["winner"] == winner, "the winner")
    must(not any(held.values()) and paid == settle["paid"] == 10000 * settle["pairs"], "the sum of the payouts")
    print(f"round {rows[0]['round']} agrees: {winner} wins, {paid} pips are paid")


check(open(sys.argv[1], "rb").read())
