// Package engine runs one venue: it puts commands in order, writes them to the log, applies
// them and publishes what they did. It also writes the snapshots that keep a restart short.
//
//	Submit -> collect -> sequence -> persist -> apply -> publish -> Receipt    (commit.go)
//
//	start      restore the newest snapshot, verify the log against it, replay the rest
//	snapshot   when a replay of what came since the last one would take too long (Backlog),
//	           on request, and at a stop if there is time:
//	             copy the venue and begin an image of the view, under the lock
//	             write the venue's pieces, and hash them
//	             for each account: copy it under the lock, write it without the lock
//	             commit the file, then trim what the older snapshot covers from the log
//
// Invariants; commit.go has those of its stages:
//
//  1. A command is applied only after the log has delivered it.
//  2. Receipts, followers and readers see only what is applied. A crash cannot take back
//     anything that they saw.
//  3. A read sees venue and view at one seq, between two groups.
//  4. The state is a function of the log: every checkpoint compares its hash, and the first
//     difference stops the engine. In a log of several machines each member compares what the
//     others attest, and stops if a majority attests otherwise (attest.go).
//  5. A snapshot is used only if its state has the hash that it names. The log keeps
//     everything after the older of the two newest snapshots.
//
// The engine never repairs the log or a snapshot, never retries a failed write or sync, never
// proposes a group again under another number, and never answers a command whose fate it does not
// know with anything but ErrUnknown.
package engine
