package view

import (
	"slices"

	"duplex/core"
)

// rounds keeps the newest max rounds of each series, by rising number
// (docs/rules/rounds.md#ring).
type rounds struct {
	max      int
	all      []*Round                 // by rising number
	count    map[uint16]int           // rounds in all, by category
	newestOf map[core.MarketID]*Round // the newest round of each slot
	released Released                 // by number
}

func newRounds(max int) rounds {
	return rounds{max: max, count: map[uint16]int{}, newestOf: map[core.MarketID]*Round{}}
}

// fold applies a change of a round and returns the round.
func (r *rounds) fold(at core.Stamp, e *core.RoundChanged) *Round {
	x := r.newestOf[e.Round.Market]
	if x == nil || x.Number != e.Round.Number {
		x = &Round{}
		r.add(x, e.Round)
		r.newestOf[e.Round.Market] = x
	}
	x.Round, x.Seq = e.Round, at.Seq
	switch {
	case e.Evidence == nil:
	case e.Round.Status == core.Trading:
		x.Strikes = e.Evidence
	default:
		x.Evidence = e.Evidence
	}
	return x
}

func (r *rounds) add(x *Round, is core.Round) {
	x.Round = is
	r.all = append(r.all, x)
	if r.count[is.Category]++; r.count[is.Category] <= r.max {
		return
	}
	i := slices.IndexFunc(r.all, func(y *Round) bool { return y.Category == is.Category })
	if old := r.all[i]; r.newestOf[old.Market] == old {
		delete(r.newestOf, old.Market)
	}
	r.released.note(r.all[i].Number, r.all[i].Seq)
	r.all = slices.Delete(r.all, i, i+1)
	r.count[is.Category]--
}

// indexBelow returns the index of the first round with a number of at least number (0: the
// length), so that the rounds before the index are those below number.
func (r *rounds) indexBelow(number uint64) int {
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
