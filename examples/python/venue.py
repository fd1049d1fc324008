"""A client of the venue's REST interface that signs requests, with the standard library only."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import time
import urllib.parse


def sign(secret, timestamp, method, target, body=""):
    """Returns the signature in base64. secret is 64 hex characters; target is path and query as sent."""
    message = f"{timestamp}\n{method}\n{target}\n{body}".encode()
    return base64.b64encode(hmac.digest(bytes.fromhex(secret), message, hashlib.sha256)).decode()


class VenueError(Exception):
    """A response of the venue other than 2xx."""

    def __init__(self, status, error):
        super().__init__(f"{error['code']} ({status})")
        self.code, self.origin, self.details = error["code"], error["origin"], error["details"] or {}


class Venue:
    def __init__(self, url, key, secret):
        self.at, self.key, self.secret = urllib.parse.urlsplit(url), key, secret

    @classmethod
    def here(cls, account="trader"):
        """Uses DX_URL, DX_KEY and DX_SECRET, or else an account of the file that dx dev writes."""
        if "DX_URL" in os.environ:
            return cls(os.environ["DX_URL"], os.environ["DX_KEY"], os.environ["DX_SECRET"])
        with open(os.environ.get("DX_DEV_FILE", ".dx/dev.json"), encoding="utf-8") as f:
            dev = json.load(f)
        a = next(a for a in dev["accounts"] if a["name"] == account)
        return cls(dev["api"], a["api_key"], a["secret"])

    def call(self, method, target, body=None):
        """Sends one request. Raises VenueError, or OSError if there is no response. In that case a
        write may still have happened."""
        raw = "" if body is None else json.dumps(body)
        now = str(time.time_ns() // 1_000_000)
        headers = {"DX-ACCESS-KEY": self.key, "DX-ACCESS-TIMESTAMP": now, "DX-ACCESS-SIGNATURE": sign(self.secret, now, method, target, raw)}
        if raw:
            headers["Content-Type"] = "application/json"
        kind = http.client.HTTPSConnection if self.at.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.at.netloc, timeout=15)
        try:
            connection.request(method, target, raw.encode() or None, headers)
            answer = connection.getresponse()
            out = json.loads(answer.read())
            if answer.status >= 300 and not isinstance(out["error"], dict):
                raise KeyError("error")
        except (http.client.HTTPException, ValueError, LookupError, TypeError) as broken:  # or the page of a proxy
            raise OSError(f"no response of the venue: {broken!r}") from broken
        finally:
            connection.close()
        if answer.status >= 300:
            raise VenueError(answer.status, out["error"])
        return out

    def place(self, order, tries=20):
        """Places an order and returns its outcome, even if a response is lost. Only the first
        order with a client_order_id is placed, so a repeat is safe. If an attempt had no outcome
        and no repeat finds it, raises the error of that attempt: the order may have been placed."""
        lost = None  # the error of the first attempt without an outcome
        for left in reversed(range(tries)):
            try:
                return self.call("POST", "/v1/portfolio/orders", order)
            except VenueError as e:
                if lost and e.code == "duplicate_client_order_id":
                    try:
                        return self.placed(order["client_order_id"])
                    except (VenueError, OSError) as looked:
                        if isinstance(looked, VenueError) and looked.origin == "core":
                            raise  # the order was rejected
                elif e.code in ("sequencing_timeout", "internal"):
                    lost = lost or e
                elif not left or e.code not in ("rate_limited", "shed"):
                    # Only the core knows what an attempt without an outcome did.
                    raise lost if lost and e.origin != "core" else e
                wait = int(e.details.get("retry_after_ms", 200)) / 1000
            except OSError as e:
                lost, wait = lost or e, 0.2
            if not left:
                raise lost
            time.sleep(wait)

    def placed(self, client_order_id):
        """Returns the current state of an order, in the form of a placement's response. Raises the
        reason of an order that was rejected."""
        orders = self.call("GET", f"/v1/portfolio/orders?client_order_id={client_order_id}")["orders"]
        if not orders:
            raise OSError("the order is not listed; an agent's may wait for its owner: GET /v1/portfolio/approvals")
        o = orders[0]
        if o["order_id"] is None:
            raise VenueError(409, {"code": o["reason"], "origin": "core", "details": None})
        return {"order_id": o["order_id"], "status": o["status"], "reason": o["reason"], "filled_qty": o["filled_qty"]}
