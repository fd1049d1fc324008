// Package mirror is the database of a venue's whole history, SQLite or PostgreSQL. A projector
// builds it from the journal alone, and lists beyond what memory keeps are read from it
// (docs/rules/history.md).
//
//	Start(log)                          the projector, until Close
//	    cursor  := where the database is
//	    replica := the snapshot before the cursor, and the log up to it
//	    for group := range log.Tail(cursor)
//	        apply the group; the view reports its rows to a batch
//	        at 1,000 rows or 50 ms, in one transaction:
//	            update cursor … where it is where the batch begins
//	            insert the rows
//	        once a second: sync the database
//	        now and then, and at the end: sync it, and write a snapshot of the replica
//
//	Fills, Orders, …                    reads, newest first, by the numbers of the view
//	Hold                                what the journal must keep for the projector
//	Check, Rebuild, ReadStatus          for operators; a venue may run meanwhile
//
// Invariants:
//
//  1. A transaction has the rows of whole groups, and moves the cursor past them. So no crash
//     leaves a row missing or twice.
//  2. The cursor names a position of the journal by its running hash. A database whose cursor is
//     not one is refused.
//  3. Of two projectors on one database at most one goes on.
//  4. Rows equal those of a view that keeps all of them, with the same numbers.
//  5. A snapshot of the replica is never ahead of the cursor, not even after a loss of power: the
//     database has synced its rows before.
//  6. The projector never delays the sequencer: it reads the log as any other reader, and pauses
//     while commands wait. An error of the database never reaches the venue.
//  7. The journal keeps what a projector needs to continue with the rows that the database has synced,
//     up to Options.HoldBytes.
//
// The package never decides anything for the venue, never writes to the journal, and stores no
// key, no secret and no hash of one.
package mirror
