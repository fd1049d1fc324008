package view

import (
	"slices"

	"duplex/core"
)

// rounds keeps the newest of each series, by number.
type rounds struct {
	max    int
	all    []*Round // by number, rising
	count  map[uint16]int
	byslot map[core.MarketID]*Round // the latest life of each slot
}

func newRounds(max int) rounds {
	return rounds{max: max, count: map[uint16]int{}, byslot: map[core.MarketID]*Round{}}
}

func (r *rounds) fold(at core.Stamp, e *core.RoundChanged) {
	x := r.byslot[e.Round.Market]
	if x == nil || x.Number != e.Round.Number {
		x = &Round{}
		r.add(x, e.Round)
		r.byslot[e.Round.Market] = x
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

func (r *rounds) add(x *Round, is core.Round) {
	x.Round = is
	r.all = append(r.all, x)
	if r.count[is.Category]++; r.count[is.Category] <= r.max {
		return
	}
	i := slices.IndexFunc(r.all, func(y *Round) bool { return y.Category == is.Category })
	if old := r.all[i]; r.byslot[old.Market] == old {
		delete(r.byslot, old.Market)
	}
	r.all = slices.Delete(r.all, i, i+1)
	r.count[is.Category]--
}

// below gives the index of the first round not below number (0: the end).
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
