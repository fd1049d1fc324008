// Package feeds brings prices from outside to the core: sources speak, a Poster
// listens, and once a second each feed's index goes in as one command.
//
//	Source.Run  ──out(price, at)──▶  feed.Index          any number, any time
//	each second s, as it starts:
//	    for each feed: Index.Tick(now) ──▶ its lane ──▶ Submit(PostIndex{Second: s})
//
// The tick of second s is posted as s starts, with the prices known then. So the
// tick of B−1 is sequenced a second before a boundary B, and when the clock
// freezes a round at B its window [B−W, B) is complete; the tick of B itself
// belongs to the next round, whichever of the two comes first.
//
// With several nodes each runs a Poster of its own; the first tick of a feed and
// second wins in the core (contract oracle, Rule).
//
// It never holds up the sequencer: a submit gets until the end of its second,
// then that tick is dropped and counted, and the core carries the last one
// forward. It never parses through a float, and it decides nothing about rounds.
//
// Rooms: live (real venues) on line (a connection to one), sim (a seeded market),
// replay (a recorded one), manual (the operator's prices), session (when a feed
// trades).
package feeds
