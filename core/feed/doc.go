// Package feed computes one index tick a second from the prices of a feed's sources, and
// a settle price from a window of ticks. It is arithmetic alone: no clock, no goroutine,
// no float; the caller passes every time.
//
//	outside the core                      inside the core
//	  text -> ParsePrice                    PostIndex -> Ring.Put
//	  Index.Update(feed, source, …)         strike    =  Ring.Last
//	  once a second: Index.Tick             freeze    -> Ring.TWAP, Ring.FreshAt
//	    fresh, jumps, outliers, median      evidence  =  Ring.Window
//
// Invariants:
//
//  1. The tick of second s is the index of [s, s+1), computed as s starts.
//  2. The seconds of a Ring rise strictly. Only an operator's tick replaces one, and only
//     the newest.
//  3. A round that freezes at boundary B uses the ticks of the seconds [B − W, B) and of
//     the five before them, which Ring.Window returns
//     (docs/rules/rounds.md#settle-price).
//
// The package never decides whether a round has coverage or is void; core/round and
// core/venue do.
package feed
