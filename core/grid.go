package core

// Band is a stretch of legal ticks: From, From+Step, … To.
type Band struct{ From, To, Step Tick }

// Grid says which ticks may rest. Its name and bands are what `tick_size` shows.
type Grid struct {
	Name  string
	Bands []Band
}

// Narrow is the one grid of the venue: whole cents on [400, 9600] and 0.10 cent
// on the wings (spec 1.3; contract core, Prices and the book).
func Narrow() Grid {
	return Grid{Name: "narrow", Bands: []Band{{100, 390, 10}, {400, 9600, 100}, {9610, 9990, 10}}}
}

// Full allows every tick of the domain. It serves measurements of the matching
// path on streams that use them all; no venue runs it.
func Full() Grid { return Grid{Name: "full", Bands: []Band{{TickMin, TickMax, 1}}} }

// Legal tells whether t lies on the grid, in its own outcome's space.
func (g Grid) Legal(t Tick) bool {
	for _, b := range g.Bands {
		if t >= b.From && t <= b.To {
			return (t-b.From)%b.Step == 0
		}
	}
	return false
}

// Nearest gives the legal ticks around t: the highest not above and the lowest
// not below it. Either is 0 where there is none.
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
