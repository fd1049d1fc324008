package marketsim

import (
	"fmt"
	"strings"
	"testing"

	"duplex/core"
)

// valueOf returns a value whose ladder has a unit, in pips.
func valueOf(p, unit float64) Value { return Value{P: p, Move: 3 * unit / 10_000} }

func shown(quotes []Quote) string {
	var out []string
	for _, q := range quotes {
		out = append(out, fmt.Sprintf("%s %d", q.Outcome, q.Tick))
	}
	return strings.Join(out, ", ")
}

func TestLadder(t *testing.T) {
	for _, c := range []struct {
		name    string
		p, unit float64
		left    int64 // seconds
		net     core.Qty
		levels  int
		want    string
	}{
		{"fair value 50", 0.5, 100, 60, 0, 2, "yes 4900, no 4900, yes 4800, no 4800"},
		{"between two cents", 0.5049, 100, 60, 0, 1, "yes 4900, no 4900"},
		{"wide", 0.5, 400, 60, 0, 2, "yes 4600, no 4600, yes 4000, no 4000"},
		{"never wider than 5 cents early", 0.5, 900, 60, 0, 1, "yes 4500, no 4500"},
		{"5 seconds before the close", 0.5, 400, 5, 0, 1, "yes 4400, no 4400"},
		{"at the close", 0.5, 400, 0, 0, 1, "yes 4200, no 4200"},
		{"all levels", 0.5, 100, 60, 0, 9, "yes 4900, no 4900, yes 4800, no 4800, yes 4600, no 4600, yes 4300, no 4300, yes 4000, no 4000"},
		{"on a wing", 0.032, 200, 60, 0, 2, "yes 160, no 9500, no 9200"},
		{"no tick left below", 0.005, 100, 60, 0, 2, "no 9850, no 9700"},
		{"inventory full of yes", 0.5, 100, 60, 5000, 2, "no 5100, no 5000"},
		{"inventory full of no", 0.5, 100, 60, -5000, 2, "yes 5100, yes 5000"},
	} {
		m := DefaultMaker()
		m.Levels = c.levels
		l := m.Ladder(valueOf(c.p, c.unit), c.left*core.NsPerSec, c.net, core.Narrow())
		if got := shown(l.Quotes); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLadderNeverCrosses checks for every fair value and many units that ticks are legal, levels
// descend, and no two orders that count as quotes can trade with each other.
func TestLadderNeverCrosses(t *testing.T) {
	m := DefaultMaker()
	for p := 0.0; p <= 1; p += 0.0037 {
		for _, unit := range []float64{0, 100, 233, 500, 900} {
			for _, left := range []int64{0, 3, 60} {
				l := m.Ladder(valueOf(p, unit), left*core.NsPerSec, 0, core.Narrow())
				var best [2]core.Tick
				var last [2]core.Tick
				for _, q := range l.Quotes {
					if !core.Narrow().Legal(q.Tick) || last[q.Outcome] != 0 && q.Tick >= last[q.Outcome] {
						t.Fatalf("p %v, unit %v, left %d: %v", p, unit, left, l.Quotes)
					}
					last[q.Outcome] = q.Tick
				}
				for tick := core.Tick(100); tick < 10_000; tick += 10 {
					for _, o := range []core.Outcome{core.Yes, core.No} {
						if l.levelOf(o, tick) >= 0 {
							best[o] = tick
						}
					}
				}
				if best[core.Yes]+best[core.No] >= 10_000 {
					t.Fatalf("p %v, unit %v, left %d: YES at %d and NO at %d both stay", p, unit, left, best[0], best[1])
				}
			}
		}
	}
}

// TestQuotesToTheClose checks that an outcome of two cents or more has a bid until the close, so
// that its holders can sell.
func TestQuotesToTheClose(t *testing.T) {
	m := DefaultMaker()
	for p := 0.0201; p < 0.98; p += 0.01 {
		for _, unit := range []float64{100, 500} {
			var sides [2]bool
			l := m.Ladder(valueOf(p, unit), 0, 0, core.Narrow())
			for _, q := range l.Quotes {
				sides[q.Outcome] = true
			}
			if !sides[core.Yes] || !sides[core.No] {
				t.Errorf("p %.4f, unit %v: %v", p, unit, l.Quotes)
			}
		}
	}
}

func TestRequoteOnlyWhatMoved(t *testing.T) {
	m := DefaultMaker()
	m.Levels = 1
	wanted := m.Ladder(valueOf(0.5, 100), 60*core.NsPerSec, 0, core.Narrow())
	quote, none := Side{4900, 100}, Side{}
	for _, c := range []struct {
		name   string
		ladder Ladder
		level  int
		rests  Pair
		want   Pair
	}{
		{"no orders", wanted, 0, Pair{}, Pair{quote, quote}},
		{"all match", wanted, 0, Pair{quote, quote}, Pair{quote, quote}},
		{"near enough", wanted, 0, Pair{{4830, 100}, {4970, 50}}, Pair{{4830, 100}, {4970, 50}}},
		{"one has lost its edge", wanted, 0, Pair{{5100, 100}, quote}, Pair{quote, quote}},
		{"one is too far below", wanted, 0, Pair{{4600, 100}, quote}, Pair{quote, quote}},
		{"one is mostly filled", wanted, 0, Pair{{4900, 10}, quote}, Pair{quote, quote}},
		{"a level that is not wanted", wanted, 1, Pair{quote, quote}, Pair{}},
		{"none is wanted", Ladder{}, 0, Pair{quote, none}, Pair{}},
	} {
		if got := c.ladder.Requote(c.level, c.rests); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		ladder Ladder
		tick   core.Tick
		want   bool
	}{{wanted, 4900, true}, {wanted, 4970, true}, {wanted, 4980, false}, {wanted, 5100, false}, {wanted, 100, true}, {Ladder{}, 100, false}} {
		if got := c.ladder.HasEdge(core.Yes, c.tick); got != c.want {
			t.Errorf("an order at %d has an edge: %v", c.tick, got)
		}
	}
}

// TestInventoryShiftsTheQuotes checks that a net position of half the inventory shifts the fair
// value by a unit.
func TestInventoryShiftsTheQuotes(t *testing.T) {
	m := DefaultMaker()
	flat := m.Ladder(valueOf(0.5, 100), 60*core.NsPerSec, 0, core.Narrow())
	long := m.Ladder(valueOf(0.5, 100), 60*core.NsPerSec, 2500, core.Narrow())
	if long.fair != flat.fair-minUnit {
		t.Errorf("flat %v, long %v", flat.fair, long.fair)
	}
}
