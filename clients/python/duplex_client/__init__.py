"""A client of a Duplex venue, with the standard library only.

Client signs and sends REST requests and repeats those that are safe to repeat. Stream keeps a WebSocket of the event
lane open. AsyncClient and AsyncStream are the same for asyncio. records has a type for each body, messages one for
each message.
"""

from . import messages, records
from .aio import AsyncClient, AsyncStream
from .client import Client, Stream
from .core import NotExecuted, UnknownOutcome, VenueError, client_order_id, sign

__all__ = ["AsyncClient", "AsyncStream", "Client", "NotExecuted", "Stream", "UnknownOutcome", "VenueError", "client_order_id", "messages", "records", "sign"]
