// Package core holds the words of the venue: units, orders, rounds, accounts,
// commands, events and rejects. It knows no clock, no file, no network and no
// other package of this module; every other package speaks in these words.
//
// What may happen to the venue is a Command. What did happen is an Event.
// A refusal by a rule is a Reject, a number and a name. A broken invariant is
// none of these: it panics with Broken and stops the sequencer.
package core
