package stats

import (
	"cmp"
	"slices"
)

// Tests are the tests of one list of profits. All are null under two seeds, or if all seeds are equal.
type Tests struct {
	P         *float64 `json:"p"`           // that the mean is 0, by Student's t, two-sided
	Tail      *float64 `json:"p_tail"`      // the same with one more seed that loses, or wins, the largest bet
	Corrected *float64 `json:"p_corrected"` // the larger of both, corrected by Holm for all that are tested together

	larger float64 // of P and Tail, not rounded
}

// testsOf returns the tests of the profits by seed, not yet corrected. swing is the most that one round can move,
// in dollars.
//
// The added seed guards against strategies that win often and lose much, but seldom: as long as the loss has not
// come, their profits vary little, and a test of them alone takes them for skill.
func testsOf(profits []float64, swing float64) (t Tests) {
	p, ok := testMean(profits)
	if !ok {
		return t
	}
	tail := p
	if m := Mean(profits); swing > 0 && m != 0 {
		added := swing
		if m > 0 {
			added = -swing
		}
		tail = 1
		if with := append(slices.Clone(profits), added); Mean(with) > 0 == (m > 0) && Mean(with) != 0 {
			tail, _ = testMean(with)
		}
	}
	return Tests{P: rounded(p), Tail: rounded(tail), larger: max(p, tail)}
}

// correct sets the corrected p of tests that were made together, by Holm's method: the chance that any of them is
// below a level although no mean differs from 0 is at most that level.
func correct(family []*Tests) {
	family = slices.DeleteFunc(slices.Clone(family), func(t *Tests) bool { return t.P == nil })
	slices.SortStableFunc(family, func(a, b *Tests) int { return cmp.Compare(a.larger, b.larger) })
	least := 0.0
	for i, t := range family {
		least = max(least, min(1, t.larger*float64(len(family)-i)))
		t.Corrected = rounded(least)
	}
}
