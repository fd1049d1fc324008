package stats

import "slices"

// Paired compares two seats, seed by seed.
type Paired struct {
	Seat   string `json:"seat"`
	Other  string `json:"other"`
	Profit Figure `json:"profit"` // of Seat less that of Other, dollars
	Tests

	// Order is the chance that the one with the higher mean is the better one, if nothing was known before; 0.5 if
	// all differences are equal.
	Order float64 `json:"order"`
}

// Pair compares each two seats that have the same seeds, once, in their order. Seats that failed or are of mixed
// agents are in no pair.
func Pair(seats []Result) []Paired {
	out := []Paired{}
	for i := range seats {
		for k := i + 1; k < len(seats); k++ {
			if seats[i].Out == "" && seats[k].Out == "" {
				out = append(out, PairOf(&seats[i], &seats[k]))
			}
		}
	}
	CorrectPairs(out)
	return out
}

// PairOf compares two seats that have the same seeds. Its p is not corrected.
func PairOf(a, b *Result) Paired {
	differences := slices.Clone(a.Profits)
	for i := range differences {
		differences[i] -= b.Profits[i]
	}
	p := Paired{Seat: a.Name, Other: b.Name, Profit: FigureOf(differences), Tests: testsOf(differences, a.Swing+b.Swing), Order: 0.5}
	if p.P != nil {
		p.Order = Round(below(statistic(differences), len(differences)-1))
	}
	return p
}

// CorrectPairs sets the corrected p of pairs that are read together.
func CorrectPairs(pairs []Paired) {
	family := make([]*Tests, len(pairs))
	for i := range pairs {
		family[i] = &pairs[i].Tests
	}
	correct(family)
}
