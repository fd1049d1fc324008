// Package server wires a whole venue: sequencer, gate, price sources and all lanes on three
// listeners, in the process that calls it. dx dev and dx serve are a Venue with flags; a Go
// program or a test embeds one with Open.
//
//	Open:
//	    master key, operator token    from the options, or from files of the data folder
//	    bind API, portal, admin       they answer draining, and /readyz the progress
//	    engine.Open                   restore the state from snapshot and journal
//	    gate                          verify the master key, finish a key rotation
//	    rules, accounts               submitted if the journal does not have them
//	    sessions, price sources       start to submit
//	    lanes                         replace the handlers of the listeners
//	Wait:
//	    until the context ends, or a listener or the journal fails
//	Close:
//	    reject new commands, stop the sources, close the event and agent lanes
//	    shut the listeners down, then write a snapshot and close the journal
//
// Invariants:
//
//  1. A listener answers from the moment it is bound. No request is authenticated before
//     the state is restored.
//  2. A venue does not start with a master key that sealed none of its secrets, and never
//     creates one beside a journal (docs/rules/operation.md#master-key).
//  3. A failed Open releases its listeners and its data folder. A start on the same folder
//     continues where it was interrupted.
//  4. What the venue changes itself (rules, accounts, keys) is a command of the journal.
//
// The package never reads flags or variables of the environment, except GOGC and GOMAXPROCS
// in TuneRuntime, never prints, and leaves signals to its caller.
package server
