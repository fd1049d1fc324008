package arena

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"duplex/arena/stats"
)

const (
	rateDraws      = 20_000
	roundsOfASeed  = 20
	leastRate      = 0.04 // of p below 0.05
	mostRate       = 0.06 // of p below 0.05, and of false verdicts
	seatsOfAFamily = 20
)

// profitOfSeed draws the profit that an agent without an edge makes in one seed, in dollars, and the most that one
// round could move.
type profitOfSeed func(r *rand.Rand) (profit, swing float64)

// contracts buys one contract in each round of a seed, at a price that is its chance.
func contracts(cents int) profitOfSeed {
	return func(r *rand.Rand) (profit, swing float64) {
		for range roundsOfASeed {
			profit -= float64(cents) / 100
			if r.IntN(100) < cents {
				profit++
			}
		}
		return profit, 1
	}
}

// TestRates tests by simulation what the guide states (docs/guides/arena.md#statistics): how often a test or a
// verdict is wrong about agents that have no edge.
func TestRates(t *testing.T) {
	type agent struct {
		name  string
		draw  profitOfSeed
		exact bool // p itself keeps its rate; of the others, only the verdict does
	}
	agents := []agent{
		{"normal", func(r *rand.Rand) (float64, float64) { return 10 * r.NormFloat64(), 10 }, true},
		{"heavy tails", func(r *rand.Rand) (float64, float64) { // Student's t with 3 degrees
			z, sum := r.NormFloat64(), 0.0
			for range 3 {
				x := r.NormFloat64()
				sum += x * x
			}
			return 10 * z / math.Sqrt(sum/3), 10
		}, true},
		{"clustered rounds", func(r *rand.Rand) (profit, swing float64) { // a seed has a mood that all its rounds share
			mood := r.NormFloat64()
			for range roundsOfASeed {
				profit += mood + r.NormFloat64()
			}
			return profit, 3
		}, true},
		{"doubling after a loss", func(r *rand.Rand) (profit, swing float64) {
			bet := 1.0
			for range roundsOfASeed {
				swing = max(swing, 2*bet) // that many contracts at 50 cents
				if r.IntN(2) == 0 {
					profit, bet = profit+bet, 1
				} else {
					profit, bet = profit-bet, 2*bet
				}
			}
			return profit, swing
		}, false},
		{"ruin of one seed in 200", func(r *rand.Rand) (float64, float64) {
			if r.IntN(200) == 0 {
				return -199 + r.NormFloat64(), 200
			}
			return 1 + r.NormFloat64(), 200
		}, false},
	}
	for _, cents := range []int{10, 30, 50, 70, 90} {
		agents = append(agents, agent{fmt.Sprintf("contracts at %d cents", cents), contracts(cents), true})
	}
	for _, cents := range []int{1, 5, 95, 99} {
		agents = append(agents, agent{fmt.Sprintf("contracts at %d cents", cents), contracts(cents), false})
	}
	for _, x := range agents {
		for _, seeds := range []int{20, 30, 60} {
			t.Run(fmt.Sprintf("%s, %d seeds", x.name, seeds), func(t *testing.T) {
				t.Parallel()
				p, verdicts := rates(t.Name(), 1, seeds, x.draw)
				if x.exact && (p < leastRate || p > mostRate) {
					t.Errorf("p is below 0.05 in %.2f %% of the runs, want 4 to 6 %%", 100*p)
				}
				if verdicts > mostRate {
					t.Errorf("%.2f %% of the runs give a verdict, want at most 6 %%", 100*verdicts)
				}
				t.Logf("p below 0.05: %.2f %%, verdicts: %.2f %%", 100*p, 100*verdicts)
			})
		}
	}
	for _, x := range agents[:3] {
		t.Run(fmt.Sprintf("%d seats, %s", seatsOfAFamily, x.name), func(t *testing.T) {
			t.Parallel()
			if _, verdicts := rates(t.Name(), seatsOfAFamily, 30, x.draw); verdicts > mostRate {
				t.Errorf("%.2f %% of the runs give a verdict on any seat, want at most 6 %%", 100*verdicts)
			}
		})
	}
}

// rates returns the share of runs in which p of the first seat is below 0.05, and of those in which any seat gets
// the verdict "profit" or "loss".
func rates(name string, seats, seeds int, draw profitOfSeed) (p, verdicts float64) {
	r := stream(1, name)
	results := make([]stats.Result, seats)
	for range rateDraws {
		for i := range results {
			x := stats.Result{Profits: results[i].Profits[:0]}
			for range seeds {
				profit, swing := draw(r)
				x.Profits, x.Swing = append(x.Profits, profit), max(x.Swing, swing)
			}
			results[i] = x
		}
		judged := stats.Judge(results, true)
		if judged[0].P != nil && *judged[0].P < 0.05 {
			p++
		}
		for i := range judged {
			if v := judged[i].Verdict; v == stats.Profit || v == stats.Loss {
				verdicts++
				break
			}
		}
	}
	return p / rateDraws, verdicts / rateDraws
}

// TestEdgeRates tests how often an edge is found: with one of 0.55 standard deviations of a seed, the verdict is
// "profit" in about four of five runs of 30 seeds, and the seed that is added costs few of them.
func TestEdgeRates(t *testing.T) {
	_, found := rates(t.Name(), 1, 30, func(r *rand.Rand) (float64, float64) { return 5.5 + 10*r.NormFloat64(), 5 })
	if found < 0.75 || found > 0.9 {
		t.Errorf("an edge is found in %.1f %% of the runs, want about 80 %%", 100*found)
	}
}

// TestFewSeedsRates tests the case that was seen: the same agent without an edge is called a profit on five
// seeds and a loss on the next. Under 20 seeds there is no verdict at all.
func TestFewSeedsRates(t *testing.T) {
	for seeds := range 20 {
		if _, verdicts := rates(t.Name(), 1, seeds, contracts(50)); verdicts > 0 {
			t.Errorf("%d seeds give a verdict in %.2f %% of the runs", seeds, 100*verdicts)
		}
	}
}

// TestWelchRates tests how often the comparison of two seats on different seeds finds a difference where there is
// none, with other numbers of seeds and other deviations.
func TestWelchRates(t *testing.T) {
	for _, x := range []struct{ seeds, others int }{{30, 30}, {20, 60}} {
		t.Run(fmt.Sprintf("%d and %d seeds", x.seeds, x.others), func(t *testing.T) {
			t.Parallel()
			r := stream(1, t.Name())
			a, b := stats.Result{Seeds: make([]uint64, x.seeds), Profits: make([]float64, x.seeds)}, stats.Result{Seeds: make([]uint64, x.others), Profits: make([]float64, x.others)}
			a.Seeds[0] = 1 // other seeds, also if they are as many
			found := 0.0
			for range rateDraws {
				for i := range a.Profits {
					a.Profits[i] = 30 * r.NormFloat64()
				}
				for i := range b.Profits {
					b.Profits[i] = 10 * r.NormFloat64()
				}
				if p := stats.Pair([]stats.Result{a, b})[0].P; *p < 0.05 {
					found++
				}
			}
			if rate := found / rateDraws; rate < leastRate || rate > mostRate {
				t.Errorf("p is below 0.05 in %.2f %% of the runs, want 4 to 6 %%", 100*rate)
			}
		})
	}
}
