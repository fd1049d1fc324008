// Package feeds runs price sources and posts the index of each feed to the sequencer once
// a second (docs/rules/prices-sources.md).
//
//	Source.Run  ──out(price, at)──▶  feed.Index          any number, any time
//	each second s, as it starts:
//	    for each feed: Index.Tick(now) ──▶ its queue ──▶ Submit(PostIndex{Second: s})
//
// Invariants:
//
//  1. The tick of second s is posted as s starts, with the prices known then. So the tick
//     of B−1 is sequenced a second before boundary B, and the window [B−W, B) is complete
//     when the clock freezes a round at B.
//  2. A submit has until the end of its second. Then its tick is dropped and counted, and
//     the core carries the last one forward. A slow submit of one feed delays no other.
//  3. A source that fails or panics is run again after a backoff and affects no other.
//  4. No price passes through a float.
//
// Several nodes can each run a Poster; the first tick of a feed and second wins in the
// core. The package decides nothing about rounds.
//
// Packages below: live (real venues) over adapter (one connection to a venue), sim (a
// seeded market), replay (a recorded one), manual (prices by hand), session (when a feed
// trades).
package feeds
