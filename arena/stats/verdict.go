package stats

import (
	"fmt"
	"math"
)

// The verdicts on a seat.
const (
	Incomplete  = "incomplete"   // the run lacks seeds
	Failed      = "failed"       // its process failed in a seed
	MixedAgents = "mixed agents" // its program changed between seeds
	Flat        = "flat"         // it made the same in every seed
	TooFew      = "too few seeds"
	Profit      = "profit"
	Loss        = "loss"
	NoEvidence  = "no evidence of skill"
)

const (
	significant  = 0.05
	minVerdict   = 20 // seeds for a verdict
	seedsForSkew = 25 // times the square of the skew: the seeds that a skew against the verdict needs
)

// Result is what one seat made in each seed.
type Result struct {
	Name    string
	Seeds   []uint64  // in order; nil if all seats that it is compared with have the same
	Profits []float64 // dollars, in the order of the seeds
	Swing   float64   // the most dollars that one round's outcome could move in any seed
	Out     string    // Failed or MixedAgents: it is tested with nobody; else ""
}

// Judgement is the verdict on one seat, with the figures that it is read from.
type Judgement struct {
	Tests
	Verdict   string   `json:"verdict"`
	More      int      `json:"more"`       // seeds that a verdict lacks; 0 unless it is "too few seeds"
	HalfWidth *float64 `json:"half_width"` // dollars: of the 95 % interval, with More seeds; null under two seeds
	Swing     float64  `json:"swing"`      // dollars
}

// Judge judges the seats of one run, in their order. complete is false if the run lacks seeds.
func Judge(seats []Result, complete bool) []Judgement {
	out := make([]Judgement, len(seats))
	var family []*Tests
	for i := range seats {
		s := &seats[i]
		out[i].Swing = Round(s.Swing)
		if s.Out == "" {
			out[i].Tests = testsOf(s.Profits, s.Swing)
			family = append(family, &out[i].Tests)
		}
	}
	correct(family)
	for i := range seats {
		out[i].judge(&seats[i], complete)
	}
	return out
}

// judge sets the verdict: the first that holds (docs/guides/arena.md#verdicts).
func (j *Judgement) judge(s *Result, complete bool) {
	n, found := len(s.Profits), j.Corrected != nil && *j.Corrected < significant
	switch more := seedsAgainstSkew(s.Profits) - n; {
	case !complete:
		j.Verdict = Incomplete
	case s.Out != "":
		j.Verdict = s.Out
	case n >= 2 && allEqual(s.Profits):
		j.Verdict = Flat
	case n < minVerdict:
		j.Verdict, j.More = TooFew, minVerdict-n
	case found && more > 0:
		j.Verdict, j.More = TooFew, more
	case found && Mean(s.Profits) > 0:
		j.Verdict = Profit
	case found:
		j.Verdict = Loss
	default:
		j.Verdict = NoEvidence
	}
	if n >= 2 {
		j.HalfWidth = rounded(halfWidth(Deviation(s.Profits), n+j.More))
	}
}

// seedsAgainstSkew returns how many seeds a test needs if the profits are skewed against their mean: where losses
// are rare and large, few seeds show too few of them. It is 0 if they are not.
func seedsAgainstSkew(profits []float64) int {
	square := moment(profits, 2)
	if len(profits) < 2 || square == 0 {
		return 0
	}
	skew := moment(profits, 3) / (square * math.Sqrt(square))
	if skew > 0 == (Mean(profits) > 0) {
		return 0
	}
	return int(math.Ceil(Round(seedsForSkew * skew * skew)))
}

// Text is the verdict with what it lacks, for people.
func (j *Judgement) Text(money func(float64) string) string {
	switch {
	case j.Verdict != TooFew:
		return j.Verdict
	case j.HalfWidth == nil:
		return fmt.Sprintf("%s (%d more)", j.Verdict, j.More)
	}
	return fmt.Sprintf("%s (%d more for ±%s)", j.Verdict, j.More, money(*j.HalfWidth))
}
