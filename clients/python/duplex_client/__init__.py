"""A client of a Duplex venue, with the standard library only.

Client signs and sends REST requests and repeats those that are safe to repeat. Stream keeps a
WebSocket of the event lane open. records has a type for each body.
"""

from .client import Client, UnknownOutcome, VenueError, sign
from .stream import Stream

__all__ = ["Client", "Stream", "UnknownOutcome", "VenueError", "sign"]
