package feeds

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// Poster runs sources and posts the index of their feeds once a second.
type Poster struct {
	// Now is the clock; time.Now unless set before Run.
	Now func() time.Time
	// Log gets the changes of sources and feeds: source up, source down, index gone, index back. It
	// discards them unless set before Run.
	Log *slog.Logger
	// Limits are the limits of the index of each feed; none unless set before Run.
	Limits [core.Feeds]feed.Limit

	submit  Submit
	sources []*sourceRun

	mu    sync.Mutex // guards index, stats, and the state in sources
	index feed.Index
	stats [core.Feeds]Stats
}

// Stats counts the seconds of one feed by their result.
type Stats struct {
	Posted  uint64                // ticks that the sequencer accepted
	Late    uint64                // ticks dropped because their second ended first
	Failed  uint64                // ticks that the sequencer rejected
	Gaps    [feed.GapKinds]uint64 // seconds without an index, by reason
	Last    core.IndexTick        // the newest tick computed
	LastErr error                 // error of the newest failed tick
}

// NewPoster returns a Poster of the given sources. It posts no feed without a source. It
// returns an error for a feed that does not exist, and for two sources of a feed with one
// name, because the index tells them apart by name.
func NewPoster(submit Submit, sources ...Source) (*Poster, error) {
	p := &Poster{Now: time.Now, Log: slog.New(slog.DiscardHandler), submit: submit}
	seen := map[string]bool{}
	for _, s := range sources {
		if s.Feed() >= core.Feeds {
			return nil, fmt.Errorf("feeds: source %q has unknown feed %d", s.Name(), uint8(s.Feed()))
		}
		id := s.Feed().String() + " " + s.Name()
		if seen[id] {
			return nil, fmt.Errorf("feeds: two sources named %s", id)
		}
		seen[id] = true
		p.sources = append(p.sources, &sourceRun{Source: s})
	}
	return p, nil
}

// Run posts until ctx ends, then waits for its sources and submits to return.
func (p *Poster) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for f, limit := range p.Limits {
		p.index.SetLimit(core.Feed(f), limit)
	}
	queues := map[core.Feed]*submitQueue{}
	for _, s := range p.sources {
		wg.Go(func() { p.runForever(ctx, s) })
		if f := s.Feed(); queues[f] == nil {
			q := &submitQueue{feed: f, queue: make(chan queuedTick, 1)}
			queues[f] = q
			wg.Go(func() { p.submitTicks(ctx, q) })
		}
	}
	changes := sourceLog{log: p.Log, begun: p.Now()}
	p.eachSecond(ctx, func(now time.Time) {
		changes.update(now, p.States())
		for f := range core.Feed(core.Feeds) {
			if q := queues[f]; q != nil {
				p.enqueueTick(q, now)
			}
		}
	})
}

// eachSecond calls do once for each Unix second, as it starts. After a late timer it
// calls do for the current second only. After the clock is set back it waits until the
// clock has passed the last second again.
func (p *Poster) eachSecond(ctx context.Context, do func(now time.Time)) {
	now := p.Now()
	done := now.Unix()
	timer := time.NewTimer(untilNext(now))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if now = p.Now(); now.Unix() > done {
			done = now.Unix()
			do(now)
		}
		timer.Reset(untilNext(p.Now()))
	}
}

// untilNext is the time until the next Unix second starts.
func untilNext(now time.Time) time.Duration {
	return time.Second - time.Duration(now.Nanosecond())
}

// onPrice passes a price of a source to the index. It drops a price of a future time:
// the index has no clock and would drop the source's later prices until that time.
func (p *Poster) onPrice(s *sourceRun, price core.Price, at time.Time) {
	now := p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.gotPrice = true
	if at.After(now) {
		s.futureValues++
		return
	}
	p.index.Update(s.Feed(), s.Name(), price, at.UnixNano())
}
