package feeds

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"duplex/core"
	"duplex/core/feed"
)

// submitQueue passes one feed's ticks to the sequencer. Each feed has its own, so that a
// slow submit delays neither other feeds nor the next second.
type submitQueue struct {
	feed    core.Feed
	queue   chan queuedTick
	indexed bool      // the last second has an index
	since   time.Time // the first second of the gap that is going on; zero if there was none
}

// queuedTick is a tick to submit before the end of its second.
type queuedTick struct {
	tick core.IndexTick
	end  time.Time
}

// enqueueTick computes the tick of the second that starts and queues it. It drops the
// tick if the queue still holds the one before.
func (p *Poster) enqueueTick(q *submitQueue, now time.Time) {
	tick, gap := p.nextTick(q.feed, now)
	q.logGap(p.Log, gap, now)
	if gap != feed.NoGap {
		return
	}
	select {
	case q.queue <- queuedTick{tick, now.Add(untilNext(now))}:
	default:
		p.mu.Lock()
		p.stats[q.feed].Late++
		p.mu.Unlock()
	}
}

// nextTick computes and counts the tick of a second, or the reason why it has none.
func (p *Poster) nextTick(f core.Feed, now time.Time) (core.IndexTick, feed.Gap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tick, gap := p.index.Tick(f, now.UnixNano())
	if gap == feed.NoGap {
		p.stats[f].Last = tick
	} else {
		p.stats[f].Gaps[gap]++
	}
	return tick, gap
}

// logGap logs the beginning and the end of a gap of the index. The time before the first tick is none.
func (q *submitQueue) logGap(log *slog.Logger, gap feed.Gap, now time.Time) {
	switch begun := !q.since.IsZero(); {
	case gap != feed.NoGap && q.indexed:
		q.indexed, q.since = false, now
		log.Warn("index gone", "feed", q.feed.String(), "reason", gap.String())
	case gap == feed.NoGap && !q.indexed:
		q.indexed = true
		if begun {
			log.Info("index back", "feed", q.feed.String(), "after_s", int64(now.Sub(q.since)/time.Second))
		}
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
