// Package engine runs the machine: it orders commands, keeps them, applies them
// and tells what happened.
//
// Invariants:
//
//  1. A command is applied only after the log delivered it, its own proposals too.
//  2. What a reader, a receipt or a follower is told comes from applied groups
//     alone, so nothing can be told that a crash takes back.
//  3. Venue and view change together, under one lock, a whole group at a time:
//     a read sees one seq.
//  4. The order within one account and class is the order of Submit.
//  5. A group is applied at most once, and never behind a later one of the same node. Its
//     callers get a receipt only if it was applied.
//
// The way of a command:
//
//	Submit      refuse (draining, failed, account over its share, queue full: shed)
//	            join the open group; wait for the group or for the caller's time
//	sequence    wait for callers who are due (gather)
//	            seal the open group: system, then cancels, then placements
//	            a Clock first when something is due
//	            without what comes behind the revocation of its key
//	            log.Propose: one write and one sync for all of them
//	apply       for each delivered group, under the lock:
//	              venue.Apply each, view.Fold each
//	            then publish: keys, followers, and one wake for all waiters
//
// A snapshot is written when a replay of what came since the last one would take too long
// (Backlog), and at a stop if there is time:
//
//	snapshot    copy the venue under the lock, begin an image of the view
//	            write the venue's pieces, hashing them
//	            for each account: copy it under the lock, write it without
//	            commit the file, then let the log trim what the older snapshot covers
//
// A start restores the newest snapshot, has the log proved against it and replays the
// rest. Verify begins with the same functions.
//
// A queue with a channel for each command was tried first on paper: waking 64
// callers one by one costs more than matching their orders. The open group is the
// queue, and its one channel is closed when it is applied.
//
// While a sync runs, the next group fills. A busy venue waits a moment for callers who
// come back together (gather.go); an idle one answers after one sync.
package engine
