// Package adapter runs one connection to a venue that sends prices: a WebSocket, or a
// stream of server-sent events. A Codec holds what differs between venues: the address,
// the subscription and the parser of messages.
//
//	Run:  dial ──▶ send Codec.Subscribe ──▶ each message, until the connection ends
//	          Codec.Parse(message) ──▶ quotes ──▶ filter ──▶ out(price, now), or a
//	                                                        counted drop
//
// Run returns when
//
//	no whole message has arrived for 10 s          ErrStalled
//	the venue requests a new connection            ErrReconnectRequested
//	the venue rejects the subscription             ErrRejected
//	the connection is 23 to 24 hours old           ErrMaxAge, before the venue cuts it
//	1000 values in a row were dropped              ErrTooManyDrops
//	a message exceeds Codec.MaxMessageBytes, the socket fails, or ctx ends
//
// Invariants:
//
//  1. Run leaves no goroutine and no socket behind. feeds.Poster calls it again, so Run
//     neither reconnects nor backs off.
//  2. Messages are untrusted: they are bounded in size and never logged.
//  3. A value counts only if it is recent and follows the one before it by the venue's own
//     stamp or sequence number (docs/rules/prices-sources.md#sources).
package adapter
