// Package line holds one connection to a venue that sends prices: a WebSocket,
// or a stream of server-sent events. What a venue says and how is its Talk; the
// rest is the same for all and lives here.
//
//	Run:  dial ──▶ say Hello ──▶ each message, until something ends it
//	          Talk.Parse(message) ──▶ quotes ──▶ judge ──▶ out(price, now), or a
//	                                                      counted drop
//
// A Run ends when
//
//	no message has come for 10 s                ErrStalled, also while one trickles in
//	the venue asks for a new connection         ErrAsked
//	the venue refuses the subscription          ErrRefused
//	it has lasted most of a day                 ErrAged, before the venue cuts it
//	a thousand values in a row were drops       ErrGarbage
//	a message is larger than Talk.Limit, the socket breaks, ctx ends
//
// and leaves no goroutine and no socket behind. Whoever runs a line runs it again
// (feeds.Poster), so subscribing anew and backing off need nothing of their own.
//
// A message is strangers' text: it is bounded in size, never logged, and a value
// counts only if it is after the one before it by the venue's own stamp or
// sequence, and of about now.
package line
