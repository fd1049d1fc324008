package feeds

import (
	"context"
	"fmt"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// Poster runs sources and posts the index of their feeds once a second.
type Poster struct {
	// Now is the clock; time.Now unless set before Run.
	Now func() time.Time

	submit Submit
	links  []*link

	mu    sync.Mutex // index, stats, and what links show
	index feed.Index
	stats [core.Feeds]Stats
}

// Stats count what became of one feed's seconds.
type Stats struct {
	Posted  uint64         // ticks the sequencer took
	Slow    uint64         // ticks dropped because it took longer than their second
	Failed  uint64         // ticks it refused
	Blank   uint64         // seconds without a fresh source
	Last    core.IndexTick // the newest tick built
	LastErr error          // why the newest failed tick did
}

// NewPoster prepares a Poster. Feeds without a source are not posted. It is an
// error if two sources of a feed share a name, since the index knows them by it.
func NewPoster(submit Submit, sources ...Source) (*Poster, error) {
	p := &Poster{Now: time.Now, submit: submit}
	seen := map[string]bool{}
	for _, s := range sources {
		if s.Feed() >= core.Feeds {
			return nil, fmt.Errorf("feeds: source %q is of feed %d, which there is not", s.Name(), uint8(s.Feed()))
		}
		id := s.Feed().String() + " " + s.Name()
		if seen[id] {
			return nil, fmt.Errorf("feeds: two sources named %s", id)
		}
		seen[id] = true
		p.links = append(p.links, &link{Source: s})
	}
	return p, nil
}

// Run posts until ctx ends, then waits for its sources and submits to be done.
func (p *Poster) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	lanes := map[core.Feed]*lane{}
	for _, l := range p.links {
		wg.Go(func() { p.keep(ctx, l) })
		if f := l.Feed(); lanes[f] == nil {
			way := &lane{feed: f, queue: make(chan post, 1)}
			lanes[f] = way
			wg.Go(func() { p.drain(ctx, way) })
		}
	}
	p.eachSecond(ctx, func(now time.Time) {
		for f := range core.Feed(core.Feeds) {
			if l := lanes[f]; l != nil {
				p.offer(l, now)
			}
		}
	})
}

// eachSecond calls do as every Unix second starts, once for each: a late timer
// does the second it finds, a clock set back waits until it has caught up.
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

// untilNext is how long until the next Unix second starts.
func untilNext(now time.Time) time.Duration {
	return time.Second - time.Duration(now.Nanosecond())
}

// take is where every price of a source arrives. One said to be of the future is
// dropped here: the index, which knows no clock, would shut the source out until
// that time had come.
func (p *Poster) take(l *link, price core.Price, at time.Time) {
	now := p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	l.heard = true
	if at.After(now) {
		l.future++
		return
	}
	p.index.Update(l.Feed(), l.Name(), price, at.UnixNano())
}
