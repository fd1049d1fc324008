// Package funding connects a venue with the operator's funding service, which receives and pays the
// money: it asks the service for addresses and tells it every deposit and withdrawal
// (docs/rules/funding.md).
//
// The flow of an event:
//
//	catchUp:  at the start, queue the events after the cursor from the state
//	follow:   queue later events from the engine's batches, in the order of seq
//	deliver:  POST one event, signed; repeat with growing waits until the answer is 2xx
//	move:     write the place of the event to a file before the next one is sent
//
// Invariants:
//
//  1. Every event is delivered at least once, in the order of seq. Its id is the same each time.
//  2. An event of the venue is about a command that is in the journal for good.
//  3. The venue never waits for the service, except a request that needs its answer
//     (an address, a destination), and those for at most callTimeout.
//  4. At most maxQueued events are in memory. Later ones are read from the state again.
//
// The package never changes the state of the venue: the service books deposits and decides
// withdrawals on the operator's listener, like any operator.
package funding
