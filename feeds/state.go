package feeds

import (
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// State is a source as /metrics and /readyz show it.
type State struct {
	Feed   core.Feed
	Source feed.SourceState
	Fresh  bool          // counts for a tick made now
	Age    time.Duration // of its last price; 0 before the first
	Up     bool          // it is being run, not waited for
	Runs   uint64        // how often it was run
	Future uint64        // values dropped for a time to come
	Heard  Heard         // what it was sent, where it counts that itself
	Err    error         // why the last run ended
}

// Word is the state in one word: fresh, quiet (run, but without a fresh price) or
// waiting (to be run again).
func (s *State) Word() string {
	switch {
	case s.Fresh:
		return "fresh"
	case s.Up:
		return "quiet"
	}
	return "waiting"
}

// Reconnects is how often the source was run again.
func (s *State) Reconnects() uint64 { return max(s.Runs, 1) - 1 }

// Dropped is how many values were no price, whoever found out.
func (s *State) Dropped() uint64 {
	n := s.Future
	for v, count := range s.Source.Counts {
		if feed.Verdict(v) != feed.Taken {
			n += count
		}
	}
	for why, count := range s.Heard.Values {
		if Drop(why) != Sound {
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
	out := make([]State, 0, len(p.links))
	for _, l := range p.links {
		s := State{Feed: l.Feed(), Source: feed.SourceState{Name: l.Name()}, Up: l.up, Runs: l.runs, Future: l.future, Err: l.err}
		for _, known := range p.index.Sources(l.Feed()) {
			if known.Name == l.Name() {
				s.Source = known
			}
		}
		if c, ok := l.Source.(Counter); ok {
			s.Heard = c.Heard()
		}
		if s.Source.Price > 0 {
			s.Age = now.Sub(time.Unix(0, s.Source.At))
			s.Fresh = int64(s.Age) <= feed.FreshFor(l.Feed())
		}
		out = append(out, s)
	}
	return out
}

// Stats gives the counts of one feed.
func (p *Poster) Stats(f core.Feed) Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats[f]
}
