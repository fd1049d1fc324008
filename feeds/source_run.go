package feeds

import (
	"context"
	"fmt"
	"time"

	"duplex/core"
	"duplex/internal/backoff"
)

// The wait before a source is run again doubles from minBackoff to maxBackoff. It is
// drawn at random from its upper half, so that sources that lost their connections
// together do not reconnect together (docs/rules/prices-sources.md#connections).
const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// sourceRun is a source and the state of its runs.
type sourceRun struct {
	Source
	running      bool
	gotPrice     bool // the current or last run received a price
	runs         uint64
	futureValues uint64
	err          error // of the last run
}

// runForever runs a source repeatedly until ctx ends. A run that received a price resets
// the backoff.
func (p *Poster) runForever(ctx context.Context, src *sourceRun) {
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		p.mu.Lock()
		src.running, src.gotPrice = true, false
		src.runs++
		p.mu.Unlock()

		err := runOnce(ctx, src.Source, func(price core.Price, at time.Time) { p.onPrice(src, price, at) })

		p.mu.Lock()
		src.running, src.err = false, err
		if src.gotPrice {
			wait = minBackoff
		}
		p.mu.Unlock()
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return
		}
	}
}

// runOnce converts a panic to an error: no message of a remote server may stop the venue.
func runOnce(ctx context.Context, s Source, out func(core.Price, time.Time)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("feeds: source %s of %s panicked: %v", s.Name(), s.Feed(), r)
		}
	}()
	return s.Run(ctx, out)
}
