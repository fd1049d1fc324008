package feeds

import (
	"context"
	"errors"
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// submitQueue passes one feed's ticks to the sequencer. Each feed has its own, so that a
// slow submit delays neither other feeds nor the next second.
type submitQueue struct {
	feed  core.Feed
	queue chan queuedTick
}

// queuedTick is a tick to submit before the end of its second.
type queuedTick struct {
	tick core.IndexTick
	end  time.Time
}

// enqueueTick computes the tick of the second that starts and queues it. It drops the
// tick if the queue still holds the one before.
func (p *Poster) enqueueTick(q *submitQueue, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := &p.stats[q.feed]
	tick, gap := p.index.Tick(q.feed, now.UnixNano())
	if gap != feed.NoGap {
		stats.Gaps[gap]++
		return
	}
	stats.Last = tick
	select {
	case q.queue <- queuedTick{tick, now.Add(untilNext(now))}:
	default:
		stats.Late++
	}
}

// submitTicks submits the queued ticks, one at a time.
func (p *Poster) submitTicks(ctx context.Context, q *submitQueue) {
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-q.queue:
			err := p.submitTick(ctx, t)
			if ctx.Err() != nil {
				return
			}
			p.countResult(q.feed, err)
		}
	}
}

// submitTick submits a tick with the rest of its second as the deadline.
func (p *Poster) submitTick(ctx context.Context, t queuedTick) error {
	left := t.end.Sub(p.Now())
	if left <= 0 {
		return context.DeadlineExceeded
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	return p.submit(ctx, &core.PostIndex{Tick: t.tick})
}

func (p *Poster) countResult(f core.Feed, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := &p.stats[f]
	switch {
	case err == nil:
		stats.Posted++
	case errors.Is(err, context.DeadlineExceeded):
		stats.Late++
	default:
		stats.Failed++
		stats.LastErr = err
	}
}
