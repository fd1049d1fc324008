// Package core defines the types that every other package shares: units of money and
// price, orders, rounds, accounts, commands, events and rejects. It imports no other
// package of this module and uses no clock, file or network.
//
//	Command  -> the venue applies it in sequence order
//	Event    <- each change that the command made
//	Reject   <- the rule that refused the command, as a number and a name
//
// Invariants:
//
//  1. Commands and events are closed sets: only this package can add a kind.
//  2. A rule that refuses a command returns a Reject. A broken invariant of the program
//     is not a Reject: it panics with InvariantViolation, and the sequencer stops.
//  3. Feeds and series are listed once, in series.go; their counts and names derive from
//     those tables.
//
// Values that the state or the journal encodes keep the names of their fields, which are
// part of the encoding.
package core
