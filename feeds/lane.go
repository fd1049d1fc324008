package feeds

import (
	"context"
	"errors"
	"time"

	"duplex/core"
)

// lane carries one feed's ticks to the sequencer, so that a slow submit of one
// feed holds up neither the others nor the beat of the seconds.
type lane struct {
	feed  core.Feed
	queue chan post
}

// post is a tick on its way, of use until the end of its second.
type post struct {
	tick core.IndexTick
	end  time.Time
}

// offer builds the tick of the second that starts and queues it, or drops it if
// the one before is still on its way.
func (p *Poster) offer(l *lane, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := &p.stats[l.feed]
	tick, ok := p.index.Tick(l.feed, now.UnixNano())
	if !ok {
		stats.Blank++
		return
	}
	stats.Last = tick
	select {
	case l.queue <- post{tick, now.Add(untilNext(now))}:
	default:
		stats.Slow++
	}
}

// drain submits what is queued, one tick at a time.
func (p *Poster) drain(ctx context.Context, l *lane) {
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-l.queue:
			err := p.send(ctx, t)
			if ctx.Err() != nil {
				return
			}
			p.count(l.feed, err)
		}
	}
}

// send gives a submit what is left of the tick's second.
func (p *Poster) send(ctx context.Context, t post) error {
	left := t.end.Sub(p.Now())
	if left <= 0 {
		return context.DeadlineExceeded
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return p.submit(ctx, &core.PostIndex{Tick: t.tick})
}

func (p *Poster) count(f core.Feed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := &p.stats[f]
	switch {
	case err == nil:
		stats.Posted++
	case errors.Is(err, context.DeadlineExceeded):
		stats.Slow++
	default:
		stats.Failed++
		stats.LastErr = err
	}
}
