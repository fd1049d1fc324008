// Package journal keeps the commands of a venue: a log of groups in one order, and snapshots
// that let a start skip most of the log. It knows the encoding of commands, and not what they
// do.
//
// The log is the sequencer. A caller proposes a group, and the group has happened once the log
// delivers it. Log states what every implementation promises; a replicated log can be one.
// The Log of one machine is a File:
//
//	Propose(group)                    the engine's sequencer
//	    number, stamp := last+1, max(now, last stamp)
//	    chain         := SHA-256(last chain, number, node, length, proposal, stamp, body)
//	    write the record to the segment, sync
//	    if the WAL has begun a new segment: write its position to MARK, sync
//	    hand the group to Deliver
//
//	for group := range Deliver(from)  the engine's applier
//	    from disk, verified again, or from memory if Open or Propose still has it there
//
//	for group := range Tail(position) any other reader; as many as one likes
//	    the same, and Trim keeps what it has still to read
//
//	Open(dir, {Start: snapshot})
//	    lock; verify every frame, record, number, stamp and chain of every segment
//	    compare the end of the log with MARK and Start
//	    cut a torn tail; write the last group once more, sync
//	    open the WAL for appending
//
// Invariants:
//
//  1. A delivered group is durable: its bytes and all bytes before it are synced. With
//     Options.Unsynced it is durable after Close.
//  2. Numbers rise by one from 1, stamps never fall, and each chain hash covers everything
//     before it. Two logs with the same chain at a number are equal up to it.
//  3. A delivered group is never lost unnoticed. Whatever bit is damaged, the log is refused
//     with file and offset, or yields exactly what was written.
//  4. A start cuts what a crash left of the one write that it interrupted, and nothing else
//     (torn_tail.go).
//  5. After a failed write or sync the log accepts nothing more. A second sync may succeed
//     without the bytes of the first.
//  6. Under its name a snapshot is complete and durable. A damaged newest snapshot is never
//     replaced by an older one. Snapshots are streams: a piece is verified before it is
//     decoded, and the whole file before its content is used.
//  7. Check and Open judge a log by the same functions, and refuse the same logs.
//  8. A log may be read while a venue writes it. What is being written is the end of the log or
//     a torn tail; bytes are damage only if a second read shows the same ones.
//  9. A start and the replay after it read each byte of the log at most twice.
//
// A record has a CRC of its own, although etcd's WAL has one already. The CRC of the WAL runs
// over all bytes since the first, so it says nothing about a record after a damaged one.
// Recovery must recognize such a record as complete. Otherwise a bit flip in the length of a
// frame would look like a torn tail, and cutting that would lose the group; the repair
// function of the WAL does so for nearly every bit of the length. For the same reason the WAL
// opens only segments that this package has verified.
//
// Segments alone cannot show that groups are missing at their end. MARK records how far the
// log had come at the last open, close or new segment. If sectors after that position are
// lost and read as zeros, their groups look as if they had never been written. A replicated
// log closes this gap; one disk cannot.
//
// The package never repairs anything but a torn tail, never removes a segment except in Trim,
// and never holds more of the log in memory than the last segment and the newest groups.
package journal
