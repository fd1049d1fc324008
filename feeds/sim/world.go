package sim

import (
	"fmt"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/feeds"
)

// firstWalks is the number of feeds whose walks have the lowest ids of random numbers. Those of later feeds begin
// at laterWalks, so that a new feed changes the prices of no seed.
const firstWalks, laterWalks = 3, 1000

// btcSources is the number of BTC sources; gold and WTI have one each
// (docs/rules/prices-sources.md#feeds).
const btcSources = 4

// World has all simulated sources of one seed.
type World struct {
	sources     []*source
	remainder   time.Duration             // of Step, less than one step
	outageEvery int64                     // average steps between a source's outages; 0 means none
	started     atomic.Pointer[time.Time] // when the first source was run
}

// New returns the world of a seed: sim-a to sim-d for BTC, sim-a for the others.
func New(seed uint64) *World {
	w := &World{}
	for f := range core.Feeds {
		n := 1
		if core.Feed(f) == core.BTC {
			n = btcSources
		}
		for i := range n {
			own := uint64(firstWalks + f*btcSources + i)
			w.sources = append(w.sources, &source{
				name: fmt.Sprintf("sim-%c", 'a'+i), feed: core.Feed(f), walk: newWalk(seed, core.Feed(f)),
				rng: newRand(seed, own), outageEvery: &w.outageEvery, started: &w.started,
			})
		}
	}
	return w
}

// Outages makes each source fall silent for 2 to 20 s, on average once in the given time;
// 0 means never. Call it before Step or Run.
func (w *World) Outages(every time.Duration) { w.outageEvery = int64(every / stepLength) }

// Sources returns the sources for a Poster. Step 0 of all of them is the time at which the
// first is run.
func (w *World) Sources() []feeds.Source {
	out := make([]feeds.Source, len(w.sources))
	for i, s := range w.sources {
		out[i] = s
	}
	return out
}

// Quote is one source's price. After is its time since the start of Step.
type Quote struct {
	Feed   core.Feed
	Source string
	Price  core.Price
	After  time.Duration
}

// Step advances the world by dt of virtual time and returns the quotes in order. A
// remainder of dt below one step of 100 ms counts for the next call. Use either Step or
// the sources' Run, not both.
func (w *World) Step(dt time.Duration) []Quote {
	var out []Quote
	after := -w.remainder
	for w.remainder += dt; w.remainder >= stepLength; w.remainder -= stepLength {
		after += stepLength
		for _, s := range w.sources {
			if p, ok := s.step(); ok {
				out = append(out, Quote{s.feed, s.name, p, after})
			}
		}
	}
	return out
}
