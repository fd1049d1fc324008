// Package feed turns what the sources of a feed say into one index tick a
// second, and a stretch of ticks into a settle price. It is arithmetic alone:
// no clock, no goroutine, no float; the caller brings every time.
//
//	outside the core                      inside the core
//	  text -> ParsePrice                    PostIndex -> Ring.Put
//	  Index.Update(feed, source, …)         strike    =  Ring.Last
//	  once a second: Index.Tick             freeze    -> Ring.TWAP, Ring.FreshAt
//	    fresh, median, outliers, median     evidence  =  Ring.Window
//
// A second s stands for [s, s+1); the tick of second s is the index as known
// near its start. A round that freezes at boundary B uses the ticks of the
// seconds [B − W, B) and of the five before them (contract core, Rounds).
//
// It never judges a round: coverage and voiding are the venue's.
package feed
