package feeds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"duplex/core"
)

// The wait before a source is run again doubles between these, and is drawn
// from its upper half, so that sources cut off together do not come back
// together (contract oracle, Rule).
const (
	firstWait = 500 * time.Millisecond
	longWait  = 30 * time.Second
)

// link is a source and how its connection fares.
type link struct {
	Source
	up     bool
	heard  bool // a value came since it was last run
	runs   uint64
	future uint64
	err    error
}

// keep runs a source again and again until ctx ends. A run that brought a value
// starts the wait anew.
func (p *Poster) keep(ctx context.Context, l *link) {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		p.mu.Lock()
		l.up, l.heard = true, false
		l.runs++
		p.mu.Unlock()

		err := run(ctx, l.Source, func(price core.Price, at time.Time) { p.take(l, price, at) })

		p.mu.Lock()
		l.up, l.err = false, err
		if l.heard {
			wait = firstWait
		}
		p.mu.Unlock()
		if !sleep(ctx, wait/2+rand.N(wait/2)) {
			return
		}
	}
}

// run turns a panic into an error: what a stranger's server sends must never
// take the venue down with it.
func run(ctx context.Context, s Source, out func(core.Price, time.Time)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("feeds: source %s of %s panicked: %v", s.Name(), s.Feed(), r)
		}
	}()
	return s.Run(ctx, out)
}

// sleep waits; false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
