// Package proof writes and checks bundles. A bundle is a file about one settled round, from which
// anyone can recompute the round's strike, settle price, winner and payouts without the venue.
//
//	Write    replay the journal; copy each group that touched the round, and what it led to
//	Check    read a bundle from start to end, and compare each statement with the groups before it
//
// A bundle is lines of JSON: a header, groups with their lines, and an end with the SHA-256 of all
// bytes before it (format.go).
//
// Invariants:
//
//  1. The same journal gives the same bytes, unless it has been trimmed in between.
//  2. Check accepts a line only as Write writes it, so one content has one form.
//  3. Check shares no code with the venue. Of the project's code it uses only the decoder of
//     commands, the table of series and the order of enums (check.go, settle.go).
//  4. The memory of Check is bounded by the bytes that it has read, and by lineMax for each line.
//
// What a bundle shows: if its groups are those of the venue's log, then its ticks, its fills and its
// redemptions come from commands of these groups, and the settle price, the winner and each payout
// follow from them by the rules. Each group carries the chain before it, so its own chain is
// verified. That value commits the venue to the group and to everything before it.
//
// What a bundle does not show: the number of the round, which no command carries; that the chain
// values are those of the venue's log; that no group between the included ones belongs to the round;
// or that the venue matched by price and time and rejected what it had to reject. Whoever has the
// log, or another copy of it, writes the bundle again and compares the files, and replays the log
// with dx verify.
//
// The package never changes a journal and never reads the network.
package proof
