package stats

import "slices"

// Paired compares two seats, seed by seed, or by Welch's test if they have other seeds.
type Paired struct {
	Seat   string `json:"seat"`
	Other  string `json:"other"`
	Profit Figure `json:"profit"` // of Seat less that of Other, dollars
	Tests

	// Order is the chance that the one with the higher mean is the better one, if nothing was known before; 0.5 if
	// all differences are equal.
	Order float64 `json:"order"`
}

// Pair compares each two seats, once, in their order. Seats that failed or are of mixed
// agents are in no pair.
func Pair(seats []Result) []Paired {
	out := []Paired{}
	for i := range seats {
		for k := i + 1; k < len(seats); k++ {
			if seats[i].Out == "" && seats[k].Out == "" {
				out = append(out, pairOf(&seats[i], &seats[k]))
			}
		}
	}
	family := make([]*Tests, len(out))
	for i := range out {
		family[i] = &out[i].Tests
	}
	correct(family)
	return out
}

// SameSeeds reports whether two seats can be compared seed by seed.
func SameSeeds(a, b *Result) bool { return slices.Equal(a.Seeds, b.Seeds) }

// pairOf compares two seats. Its p is not corrected.
func pairOf(a, b *Result) Paired {
	if !SameSeeds(a, b) {
		return welch(a, b)
	}
	differences := slices.Clone(a.Profits)
	for i := range differences {
		differences[i] -= b.Profits[i]
	}
	p := Paired{Seat: a.Name, Other: b.Name, Profit: FigureOf(differences), Tests: testsOf(differences, a.Swing+b.Swing), Order: 0.5}
	if p.P != nil {
		p.Order = Round(below(statistic(differences), float64(len(differences)-1)))
	}
	return p
}
