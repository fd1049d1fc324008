package feed

import (
	"math/bits"
	"slices"

	"duplex/core"
)

// JumpMemory is the time, in ns, for which the jump limit compares prices with the last
// index. It bounds the time that the limit can leave a feed without an index: with an
// older index the limit does not apply.
const JumpMemory = 30 * core.NsPerSec

// Limit is what the index of a feed requires of its sources. The zero Limit requires one
// fresh source.
type Limit struct {
	// MinSources is the least number of sources behind an index; 0 means 1. See
	// docs/rules/prices-sources.md#minimum-of-sources.
	MinSources uint8
	// JumpPct is the greatest difference in percent between a source and the last index,
	// and between the two sources of an index; 0 means no limit. See
	// docs/rules/prices-sources.md#jump-limit.
	JumpPct uint8
}

// Gap is the reason why a second has no index.
type Gap uint8

const (
	NoGap    Gap = iota
	Silent       // no source is fresh
	Jumped       // the jump limit left out every fresh source
	Apart        // the sources are too far apart
	TooFew       // fewer sources than MinSources
	Unknown      // no such feed, or a negative time
	GapKinds = 6
)

func (g Gap) String() string {
	return [...]string{"none", "silent", "jump", "apart", "min_sources", "unknown"}[g]
}

// SetLimit sets the limit of a feed. It ignores a feed that is not below core.Feeds.
func (x *Index) SetLimit(f core.Feed, l Limit) {
	if f < core.Feeds {
		x.limits[f] = l
	}
}

// unjumped removes the fresh sources that are further from the last index of their feed
// than the limit, and counts each removal. It removes none if there is no limit, if the
// last index is older than JumpMemory, or if the move is confirmed: at least two sources,
// and more than half of the fresh ones, jumped to prices within 2 % of their median.
func (x *Index) unjumped(f core.Feed, fresh []*SourceState, at int64) []*SourceState {
	last, pct := &x.last[f], x.limits[f].JumpPct
	if pct == 0 || last.price == 0 || at < last.at || at-last.at > JumpMemory {
		return fresh
	}
	jumped := func(s *SourceState) bool { return Off(s.Price, last.price, pct) }
	var room [MaxSources]core.Price
	moved := room[:0]
	for _, s := range fresh {
		if jumped(s) {
			moved = append(moved, s.Price)
		}
	}
	if confirmed(moved, len(fresh)) {
		return fresh
	}
	kept := fresh[:0]
	for _, s := range fresh {
		if jumped(s) {
			s.Jumps++
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// confirmed reports whether enough of the fresh sources have jumped to the same level.
func confirmed(moved []core.Price, fresh int) bool {
	slices.Sort(moved)
	level, agree := medianOfSorted(moved), 0
	for _, p := range moved {
		if !Outlier(p, level) {
			agree++
		}
	}
	return agree >= 2 && 2*agree > fresh
}

// Off reports whether price differs from another price by more than pct percent of the
// latter.
func Off(price, from core.Price, pct uint8) bool {
	off := max(price, from) - min(price, from)
	hi, lo := bits.Mul64(uint64(off), 100)
	maxHi, maxLo := bits.Mul64(uint64(from), uint64(pct))
	return hi > maxHi || hi == maxHi && lo > maxLo
}
