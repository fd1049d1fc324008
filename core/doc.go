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
// A new command is made in these files. TestEveryCommandIsComplete in core/sim refuses one
// that lacks a part:
//
//	core/command.go          the type and its class; those of makers in core/command_makers.go, of asks in core/ask.go
//	core/event.go            the events that record what it changed
//	core/journal/codec.go    its line in the table of kinds, at a new number
//	core/venue/venue.go      its case in apply, which calls the rule
//	core/view/view.go        what each new event changes in the read models
//	core/view/audit.go       the action that it is, if it has an Audit
//	core/view/activity.go    the operation that it is, if a key signs it
//	core/sim/model/model.go  what must come of it, written a second time
//	core/sim/workload.go     the workload draws it
//
// The rule itself is in the file of its subject in core/venue and, a second time, in core/sim/model. No
// test demands the following of every command:
//
//   - docs/rules: the rule, and in operation.md#revision the revision that adds the command. The hash of
//     that revision is in core/sim/agree_test.go, its journal in core/engine/corpus_test.go.
//   - core/journal/codec_packed.go: the encoding, if the command is frequent.
//   - core/replica/receipts.go: the event that the response shows, if a repeat gets the first response.
//   - core/venue/event_checker_test.go: what the events of the command must be.
//
// Its bytes then join core/journal/testdata/codec.txt: go test ./core/journal -run Golden
// -update. A command that clients send also has a request in schemas and an operation in
// tools. A new event is added to event.go and view.go, and the workload must cause it. One that
// clients see is also in codec.go and records.go of core/view, in tools/events.go and user_events.go of
// schemas, and in docs/rules/events.md.
//
// Values that the state or the journal encodes keep the names of their fields, which are
// part of the encoding.
package core
