package core

// Band is a range of legal ticks: From, From+Step, … To.
type Band struct{ From, To, Step Tick }

// Grid defines the ticks at which a limit order may rest (docs/rules/prices.md#grid).
// tick_size shows its name and bands.
type Grid struct {
	Name  string
	Bands []Band
}

// Narrow is the grid of the venue: steps of one cent on [400, 9600], of 0.10 cent on the
// wings.
func Narrow() Grid {
	return Grid{Name: "narrow", Bands: []Band{{100, 390, 10}, {400, 9600, 100}, {9610, 9990, 10}}}
}

// Full allows every tick from 1 to 9999. Only benchmarks of the matching use it.
func Full() Grid { return Grid{Name: "full", Bands: []Band{{TickMin, TickMax, 1}}} }

// Legal reports whether t lies on the grid. t is the price of the order's own outcome.
func (g Grid) Legal(t Tick) bool {
	for _, b := range g.Bands {
		if t >= b.From && t <= b.To {
			return (t-b.From)%b.Step == 0
		}
	}
	return false
}

// Nearest returns the highest legal tick not above t and the lowest not below it; 0 where
// there is none.
func (g Grid) Nearest(t Tick) (below, above Tick) {
	for _, b := range g.Bands {
		for x := b.From; x <= b.To; x += b.Step {
			if x <= t {
				below = x
			}
			if x >= t && above == 0 {
				above = x
			}
		}
	}
	return below, above
}
