// Package view keeps what readers ask for and the machine itself does not need:
// rows of orders, fills, trades, rounds with their evidence, settlements, the newest
// events of each account, and who gave the venue which orders. It is folded from
// events, one command at a time, and so is a function of the journal like the venue
// itself.
//
//	Fold, RecordAudit             after every command
//	reads                         under the lock of core/engine, with the venue at
//	                              the same seq
//	Image, Pieces, Restore        a snapshot, an account at a time
//
// What is kept is bounded by RetentionCaps. Resting orders are never evicted, only
// terminal rows are.
//
// Invariants:
//
//  1. All but the newest of an account's fills, settlements and events are kept encoded
//     (history.go). An encoded chunk never changes, and neither does an order that ended:
//     an image shares both.
//  2. The same commands under the same caps give the same pieces, whether or not the view
//     was restored from a snapshot on the way.
package view
