package sim

import (
	"fmt"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/feeds"
)

// btcSources is how many sources quote BTC; gold and WTI have one (contract
// core, Rounds: BTC takes several).
const btcSources = 4

// World is all simulated sources of one seed.
type World struct {
	sources []*source
	spare   time.Duration // of Step, less than a quantum
	outage  int64         // steps between a source's outages on average; 0 none
	started atomic.Pointer[time.Time]
}

// New makes the world of a seed: sim-a to sim-d for BTC, sim-a for gold and WTI.
func New(seed uint64) *World {
	w := &World{}
	for f, n := range [core.Feeds]int{core.BTC: btcSources, core.Gold: 1, core.WTI: 1} {
		for i := range n {
			own := uint64(core.Feeds + f*btcSources + i) // past the ids of the walks
			w.sources = append(w.sources, &source{
				name: fmt.Sprintf("sim-%c", 'a'+i), feed: core.Feed(f), walk: newWalk(seed, core.Feed(f)),
				rng: stream(seed, own), outage: &w.outage, started: &w.started,
			})
		}
	}
	return w
}

// Outages lets each source fall silent for 2 to 20 s, on average once in every
// so long; 0 turns it off. To be called before anything runs.
func (w *World) Outages(every time.Duration) { w.outage = int64(every / quantum) }

// Sources gives the world to a Poster. They share the moment the first was run
// as their beginning.
func (w *World) Sources() []feeds.Source {
	out := make([]feeds.Source, len(w.sources))
	for i, s := range w.sources {
		out[i] = s
	}
	return out
}

// Quote is one source's price, After so long within a Step.
type Quote struct {
	Feed   core.Feed
	Source string
	Price  core.Price
	After  time.Duration
}

// Step lets dt pass without any clock and gives what was quoted, in order. What
// dt leaves of a step of 100 ms counts towards the next. For a world that is
// driven so, and not run.
func (w *World) Step(dt time.Duration) []Quote {
	var out []Quote
	after := -w.spare
	for w.spare += dt; w.spare >= quantum; w.spare -= quantum {
		after += quantum
		for _, s := range w.sources {
			if p, ok := s.step(); ok {
				out = append(out, Quote{s.feed, s.name, p, after})
			}
		}
	}
	return out
}
