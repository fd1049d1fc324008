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
	Err    error         // why the last run ended
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
