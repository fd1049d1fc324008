// Package ws serves the event stream at GET /v1/ws: it publishes what the engine applied
// to every WebSocket connection that subscribed (docs/rules/events.md#channels).
//
// The flow, once per batch of applied commands:
//
//	pump:    for each command: update the book mirrors, encode each public message once,
//	         append it to the send queue of every subscription that wants it
//	writer:  for each connection with a queue: write the queue to its socket
//	conn:    for each client message: charge a token, run the command, queue the answer
//
// Invariants:
//
//  1. The pump never waits for a connection. It appends to a queue under a lock that no
//     goroutine holds while it writes to a socket.
//  2. A subscription begins between two batches, under the lane's lock. Its first
//     snapshot is as of the pump's seq, and it receives every later event.
//  3. A message's body is shared by all its readers and is read-only. Only sid and
//     prev_seq differ by reader; the writer inserts them.
//  4. Each connection's queue is bounded. Books, oracle and rounds are conflated before
//     the bound is reached, trades and user never (docs/rules/events.md#falling-behind).
//  5. Client input is bounded before it is read: messages by the length that their frame
//     headers declare, pings and pongs by a token bucket.
//  6. Lock order: Lane.mu before conn.mu, Lane.mu before the engine's lock.
//
// The package never changes the state of the venue.
package ws
