// Package view is the read model of the venue: rows of orders, fills, trades, rounds with their
// evidence, settlements, each account's newest events, and the trail of actions. It is folded from the
// events of the commands, so it is a function of the journal like core/venue.
//
//	Fold, RecordAudit   after every command, with its events
//	reads               under the lock of core/engine; venue and view are then at the same seq
//	Image, Pieces       write a snapshot, an account at a time, while commands go on
//	Restore             read it
//
// Invariants:
//
//  1. RetentionCaps bounds every list (docs/rules/limits.md#retention). Resting orders are never
//     evicted, only terminal and rejected ones.
//  2. All but the newest of an account's fills, settlements and events are in memory in encoded form.
//     An encoded chunk and a terminal order never change, so an Image shares both.
//  3. Equal commands under equal caps give equal pieces, whether or not the view was restored from a
//     snapshot on the way.
//  4. The number of an entry in a list never changes, so that it can be a cursor.
//
// The package decides nothing: whether a command is accepted, and what it does, is up to core/venue.
package view
