// Package ws is the event lane: `GET /v1/ws` (contract ws).
//
//	pump     follows the engine; keeps a mirror of every book; encodes each public
//	         message once and hands it to whoever subscribed
//	conn     one reader of the stream: commands in, an outbox out
//	outbox   what waits for a conn; a writer lives as long as there is something
//
// Invariants:
//
//  1. The pump waits for no connection: handing over is an append under a lock that
//     nobody holds while writing.
//  2. Subscribing happens between two batches, under the lane's lock: what a reader
//     is told first is as of the pump's seq, and it misses nothing after.
//  3. A message's body is shared by all its readers; only sid and prev_seq are a
//     reader's own, and they are spliced in when it is written.
//  4. What waits for one connection is bounded; books, oracle and rounds
//     are thinned long before, trades and user never (contract ws, Holding up).
//  5. Locks are taken in this order: Lane.mu, then conn.mu or the engine's.
package ws
