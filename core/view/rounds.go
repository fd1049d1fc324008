package view

import (
	"slices"

	"duplex/core"
)

// rounds keeps the newest rounds of each series (docs/rules/rounds.md#ring).
type rounds struct {
	max    int
	all    []*Round                 // by rising number
	count  map[uint16]int           // by series
	bySlot map[core.MarketID]*Round // the current or last round of each slot
}

func newRounds(max int) rounds {
	return rounds{max: max, count: map[uint16]int{}, bySlot: map[core.MarketID]*Round{}}
}

func (r *rounds) fold(at core.Stamp, e *core.RoundChanged) {
	x := r.bySlot[e.Round.Market]
	if x == nil || x.Number != e.Round.Number {
		x = &Round{}
		r.add(x, e.Round)
		r.bySlot[e.Round.Market] = x
	}
	x.Round, x.Seq = e.Round, at.Seq
	switch {
	case e.Evidence == nil:
	case e.Round.Status == core.Trading:
		x.Strikes = e.Evidence
	default:
		x.Evidence = e.Evidence
	}
}

// add appends a round, and removes the series' oldest if there are more than max.
func (r *rounds) add(x *Round, is core.Round) {
	x.Round = is
	r.all = append(r.all, x)
	if r.count[is.Category]++; r.count[is.Category] <= r.max {
		return
	}
	i := slices.IndexFunc(r.all, func(y *Round) bool { return y.Category == is.Category })
	if old := r.all[i]; r.bySlot[old.Market] == old {
		delete(r.bySlot, old.Market)
	}
	r.all = slices.Delete(r.all, i, i+1)
	r.count[is.Category]--
}

// below returns how many rounds have a lower number; all for 0.
func (r *rounds) below(number uint64) int {
	if number == 0 {
		return len(r.all)
	}
	i, _ := slices.BinarySearchFunc(r.all, number, func(x *Round, n uint64) int {
		if x.Number < n {
			return -1
		}
		if x.Number > n {
			return 1
		}
		return 0
	})
	return i
}
