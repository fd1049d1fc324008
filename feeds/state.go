package feeds

import (
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// State is the state of a source as /metrics and /readyz show it.
type State struct {
	Feed         core.Feed
	Source       feed.SourceState
	Fresh        bool          // whether it counts for a tick of now
	Age          time.Duration // of its last price; 0 before the first
	Up           bool          // running, not waiting for the next run
	Runs         uint64        // number of runs
	FutureValues uint64        // values dropped because their time is in the future
	Counts       Counts        // zero unless the source is a CountingSource
	Err          error         // of the last run
}

// Status is the state in one word: fresh, quiet (running, but without a fresh price) or
// waiting (for the next run).
func (s *State) Status() string {
	switch {
	case s.Fresh:
		return "fresh"
	case s.Up:
		return "quiet"
	}
	return "waiting"
}

// Reconnects is the number of runs after the first.
func (s *State) Reconnects() uint64 { return max(s.Runs, 1) - 1 }

// Dropped is the number of values that the source, the Poster and the index dropped.
func (s *State) Dropped() uint64 {
	n := s.FutureValues
	for v, count := range s.Source.Counts {
		if feed.Verdict(v) != feed.Accepted {
			n += count
		}
	}
	for why, count := range s.Counts.Values {
		if DropReason(why) != NotDropped {
			n += count
		}
	}
	return n
}

// States lists every source, in the order given to NewPoster.
func (p *Poster) States() []State {
	now := p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]State, 0, len(p.sources))
	for _, l := range p.sources {
		s := State{Feed: l.Feed(), Source: feed.SourceState{Name: l.Name()}, Up: l.running, Runs: l.runs, FutureValues: l.futureValues, Err: l.err}
		for _, known := range p.index.Sources(l.Feed()) {
			if known.Name == l.Name() {
				s.Source = known
			}
		}
		if c, ok := l.Source.(CountingSource); ok {
			s.Counts = c.Counts()
		}
		if s.Source.Price > 0 {
			s.Age = now.Sub(time.Unix(0, s.Source.At))
			s.Fresh = int64(s.Age) <= feed.FreshFor(l.Feed())
		}
		out = append(out, s)
	}
	return out
}

// Stats returns the counts of one feed.
func (p *Poster) Stats(f core.Feed) Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats[f]
}
