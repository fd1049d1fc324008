package feed

import (
	"cmp"
	"slices"

	"duplex/core"
)

// MaxSources bounds the sources of one feed. A further source replaces the one whose last
// price is the oldest. An operator can post under any number of names, so the memory
// needs a bound.
const MaxSources = 32

// outlierQuorum is the number of fresh sources from which outliers are left out
// (docs/rules/prices-sources.md#index).
const outlierQuorum = 3

// FreshFor is the greatest age, in ns, at which a source's last price counts; f must be
// below core.Feeds (docs/rules/prices-sources.md#freshness).
func FreshFor(f core.Feed) int64 { return f.FreshNs() }

// Verdict is the result of Update.
type Verdict uint8

const (
	Accepted    Verdict = iota
	Zero                // the price is 0
	TimeTravel          // received before the source's last price
	UnknownFeed         // the feed is not below core.Feeds
	Verdicts    = 4
)

func (v Verdict) String() string {
	return [...]string{"accepted", "zero", "time_travel", "unknown_feed"}[v]
}

// SourceState is the state of one source.
type SourceState struct {
	Name     string
	Price    core.Price       // the last accepted price, 0 before the first
	At       int64            // time of its receipt, ns; 0 before the first
	Counts   [Verdicts]uint64 // values by verdict
	Outliers uint64           // ticks that left it out as an outlier
	Jumps    uint64           // ticks that left it out for a jump
}

// reference is the last index of a feed, to which the jump limit compares.
type reference struct {
	price core.Price // 0 before the first
	at    int64      // ns
}

// Index computes the index of each feed from the last price of each of its sources. The
// zero Index is ready to use and has no limits. It is not safe for concurrent use.
type Index struct {
	sources [core.Feeds][]SourceState // by name
	limits  [core.Feeds]Limit
	last    [core.Feeds]reference
	unknown uint64
}

// Update records a source's price, received at the time at in ns, or counts why it was
// dropped.
func (x *Index) Update(f core.Feed, source string, price core.Price, at int64) Verdict {
	if f >= core.Feeds {
		x.unknown++
		return UnknownFeed
	}
	s := x.source(f, source)
	v := Accepted
	switch {
	case price == 0:
		v = Zero
	case at < s.At:
		v = TimeTravel
	default:
		s.Price, s.At = price, at
	}
	s.Counts[v]++
	return v
}

// source returns the state of a source, which it adds if it is new.
func (x *Index) source(f core.Feed, name string) *SourceState {
	list := &x.sources[f]
	i, found := slices.BinarySearchFunc(*list, name, func(s SourceState, n string) int { return cmp.Compare(s.Name, n) })
	if found {
		return &(*list)[i]
	}
	if len(*list) >= MaxSources {
		oldest := leastRecent(*list)
		*list = slices.Delete(*list, oldest, oldest+1)
		if oldest < i {
			i--
		}
	}
	*list = slices.Insert(*list, i, SourceState{Name: name})
	return &(*list)[i]
}

func leastRecent(list []SourceState) int {
	at := 0
	for i := range list {
		if list[i].At < list[at].At {
			at = i
		}
	}
	return at
}

// Tick computes the index of a feed at the time at in ns, for the second that contains
// it, or the reason why there is none (docs/rules/prices-sources.md#index):
//
//	fresh sources
//	less those that jumped            Limit.JumpPct, unless the move is confirmed
//	less outliers                     of three or more, those over 2 % off the median
//	price = median                    none if two are further apart than JumpPct,
//	                                  or if there are fewer than Limit.MinSources
//
// The tick carries the sources behind its price, sorted by name, and their number. If
// every source is an outlier, there is no index: the median then lies between two groups
// and is the price of neither.
func (x *Index) Tick(f core.Feed, at int64) (core.IndexTick, Gap) {
	if f >= core.Feeds || at < 0 {
		return core.IndexTick{}, Unknown
	}
	var room [MaxSources]*SourceState
	sources := room[:0]
	for i := range x.sources[f] {
		if s := &x.sources[f][i]; isFresh(f, s, at) {
			sources = append(sources, s)
		}
	}
	if len(sources) == 0 {
		return core.IndexTick{}, Silent
	}
	if sources = x.unjumped(f, sources, at); len(sources) == 0 {
		return core.IndexTick{}, Jumped
	}
	sources = inliers(sources)
	limit := &x.limits[f]
	switch {
	case len(sources) == 0, limit.JumpPct > 0 && len(sources) == 2 && Off(
		max(sources[0].Price, sources[1].Price), min(sources[0].Price, sources[1].Price), limit.JumpPct):
		return core.IndexTick{}, Apart
	case len(sources) < int(limit.MinSources):
		return core.IndexTick{}, TooFew
	}
	tick := core.IndexTick{Feed: f, Second: at / core.NsPerSec, Price: median(sources), Count: uint8(len(sources))}
	for _, s := range sources {
		tick.Sources = append(tick.Sources, core.SourcePrice{Name: s.Name, Price: s.Price})
	}
	x.last[f] = reference{tick.Price, at}
	return tick, NoGap
}

// inliers removes the sources more than 2 % off the median of three or more, and counts
// each removal.
func inliers(sources []*SourceState) []*SourceState {
	if len(sources) < outlierQuorum {
		return sources
	}
	mid, kept := median(sources), sources[:0]
	for _, s := range sources {
		if Outlier(s.Price, mid) {
			s.Outliers++
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// median is the median of the sources' last prices.
func median(sources []*SourceState) core.Price {
	var room [MaxSources]core.Price
	prices := room[:0]
	for _, s := range sources {
		prices = append(prices, s.Price)
	}
	slices.Sort(prices)
	return medianOfSorted(prices)
}

// isFresh reports whether a source counts at the time at in ns. A price received later
// does not count, because it was not known then.
func isFresh(f core.Feed, s *SourceState, at int64) bool {
	return s.Price > 0 && s.At <= at && s.At >= at-FreshFor(f)
}

// Sources returns a copy of the state of a feed's sources, sorted by name.
func (x *Index) Sources(f core.Feed) []SourceState {
	if f >= core.Feeds {
		return nil
	}
	return slices.Clone(x.sources[f])
}
