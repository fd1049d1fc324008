// Package view is the read model: the rows that clients list and the venue itself does not
// need (orders, fills, trades, rounds with their evidence, settlements, withdrawals, the
// events of each account, the actions of operators, the histories of prices and rounds). It is
// computed from the events of each command and from the venue at the end of each second, so,
// like the venue, it is a function of the journal alone.
//
//	EndSeconds                    before each command, with the venue as it is then
//	Fold, RecordAudit             once for each command, in the order of seqs
//	Orders, Fills, EventsAfter …  reads, at the seq folded last
//	Image, Pieces, End            write a snapshot while commands continue
//	Restore                       reads the pieces back
//
// A View has no lock of its own: core/engine calls EndSeconds, Fold and RecordAudit under its
// write lock and every read under its read lock, with the venue at the same seq. What a read
// returns is shared with the view: it is read-only and valid until the lock is released, or
// longer where a read says so.
//
// Invariants:
//
//  1. RetentionCaps bound every list except resting orders and withdrawals, which are kept
//     without limit (docs/rules/limits.md#retention). The oldest rows are dropped first.
//  2. The number of an entry (fill, settlement, event, trade) never changes, so a cursor
//     stays valid while rows are added and dropped.
//  3. An encoded chunk of a history never changes (retention.go), and neither does an order
//     in its final status. So an image shares both.
//  4. The same commands under the same caps give the same snapshot bytes, whether or not the
//     view was restored from a snapshot in between.
//
// The view never decides anything: no command depends on it, and it is not part of the
// state hash.
package view
