// Package journal keeps what happened: the log of all groups of commands, in one
// order, and the snapshots that let a start skip most of it. It knows how commands
// look on disk, and nothing of what they do.
//
// The log is the sequencer. A group is proposed, and has happened once it is
// delivered. The venue applies only what was delivered, its own proposals too, so
// that a replicated stream can stand behind the same two calls:
//
//	Propose(group)                      by the engine, groups of queued commands
//	    number, stamp := last+1, max(now, last stamp)
//	    chain         := SHA-256(last chain, number, node, length, proposal, stamp, body)
//	    write the record to the segment, sync
//	    if the wal began a new segment: note it in MARK, sync
//	    hand the group to Deliver
//
//	for group := range Deliver(from)    by the engine, one loop
//	    from disk, proved again as it is read, then from memory as it comes
//
//	Open(dir, {Start: snapshot})
//	    lock; prove every frame, record, number, stamp and chain of every segment
//	    hold the end against MARK and Start
//	    cut a torn tail; write the last group over itself, sync
//	    only now let the wal append
//
// What holds at any time:
//
//  1. Delivered means durable: its bytes were synced, and every byte before.
//  2. Numbers run from 1 without gaps, stamps never fall, and each chain hash covers
//     all before it. Two logs with the same chain at a number are the same log.
//  3. A delivered group is never lost in silence. Whatever bit goes bad, the log is
//     refused with file and offset, or gives exactly what it held.
//  4. What a crash leaves of the one write it interrupted is cut, and nothing else
//     (torn.go says how the two are told apart).
//  5. After a failed write or sync the log takes nothing more. A second sync may
//     succeed without the bytes of the first.
//  6. A snapshot is whole and durable under its name, or not there. A damaged newest
//     one is never passed over for an older. It is written and read as a stream: a piece
//     is proved before it is decoded, the whole before what was read is used.
//  7. Check and Open judge by the same functions: what one refuses the other refuses.
//
// Why a record has a CRC of its own, where etcd's wal has one already: the wal's
// runs over all bytes since the first and proves nothing about a record behind a
// broken one. Recovery has to know such a record for whole, or a flipped bit in the
// length of a frame would look like a torn tail and take the group with it; the
// wal's own repair does just that, for nearly every bit of the length. For the same reason the wal's reader is
// not trusted: it opens only what was proved before.
//
// What cannot be told from the segments is told by MARK, as of the last open, close
// or new segment: that there were more. Beyond it, groups whose sectors all read as
// zeros at the end of the log look like ones never written. A replicated stream
// closes that gap; one disk does not.
//
// The package never decodes a body unasked, never repairs anything but a torn tail,
// never removes a segment untold, and never holds a log in memory: Open keeps one
// segment at most for a moment, Deliver the newest groups (deliver.go).
package journal
