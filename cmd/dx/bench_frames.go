package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"duplex/client"
	"duplex/schemas"
)

// frameReport is when frames came, with nothing else to do and at half the load.
type frameReport struct {
	Idle frameLatencies `json:"idle"`
	Half frameLatencies `json:"half_load"`
}

// frameLatencies is when the frames of the probe's placements came.
type frameLatencies struct {
	PerSecond float64      `json:"orders_per_s"` // of the others, meanwhile
	Book      frameLatency `json:"orderbook_delta"`
	User      frameLatency `json:"user"`
}

// frameLatency are times from an answer to the frame of the same seq, in microseconds;
// negative where the frame was first.
type frameLatency struct {
	Count   int64 `json:"count"`
	Missing int64 `json:"missing"`
	P50     int64 `json:"p50_us"`
	P99     int64 `json:"p99_us"`
}

func (f *frameReport) text() string {
	return fmt.Sprintf("frame after answer, idle: %s\nframe after answer, at %.0f orders/s: %s\n", f.Idle.text(), f.Half.PerSecond, f.Half.text())
}

func (t *frameLatencies) text() string {
	return fmt.Sprintf("orderbook_delta %s; user %s", t.Book.text(), t.User.text())
}

func (l *frameLatency) text() string {
	if l.Count == 0 {
		return fmt.Sprintf("none came, %d missing", l.Missing)
	}
	return fmt.Sprintf("p50 %d µs, p99 %d µs of %d, %d missing", l.P50, l.P99, l.Count, l.Missing)
}

// measureHalfLoad looks at the frames while the workers place at a pace.
func (b *benchCmd) measureHalfLoad(ctx context.Context, workers []*placer, p *frameProbe, perSecond float64) (frameLatencies, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var load benchResult
	loaded := make(chan error, 1)
	go func() {
		var err error
		load, err = b.load(ctx, workers, rate.NewLimiter(rate.Limit(perSecond), b.Batch), progress{}) // the probe's line shows
		loaded <- err
	}()
	done, stop := b.shows.phase("half load", b.Duration, "orders timed")
	t, err := p.measure(ctx, b.Duration, done)
	stop()
	if err != nil {
		cancel()
	}
	err = errors.Join(err, <-loaded)
	t.PerSecond = load.PerSecond
	return t, err
}

// frameProbe places orders one by one and watches for their frames, at a reader of its own
// for each channel.
type frameProbe struct {
	*placer
	book, user *frameWatcher
	stop       context.CancelFunc
	readers    sync.WaitGroup
}

func (b *benchCmd) probe(ctx context.Context, on *target, as *trader, market uint32) (*frameProbe, error) {
	one := *b
	one.Batch = 1
	w, err := one.worker(on, as, market, 0)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &frameProbe{placer: w, stop: stop}
	c := client.New(on.api, as.key, as.secret)
	p.book, p.user = p.watch(ctx, c, "orderbook_delta"), p.watch(ctx, c, "user")
	for _, l := range []*frameWatcher{p.book, p.user} {
		if err := l.ready(ctx); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *frameProbe) close() {
	p.stop()
	p.readers.Wait()
	p.wire.conn.Close()
}

// watch reads one channel until ctx ends.
func (p *frameProbe) watch(ctx context.Context, c *client.Client, channel string) *frameWatcher {
	l := &frameWatcher{began: make(chan struct{}), ended: make(chan error, 1), notify: make(chan struct{}, 1)}
	typ := channel // the name of both channels' frames, but not of their snapshots
	var first sync.Once
	s := c.Stream(client.StreamOptions{Channels: []string{channel}, MarketIDs: []uint32{p.market}, OnEvent: func(e client.StreamEvent) {
		if e.Type == typ {
			l.record(e.Seq, time.Now())
		}
		first.Do(func() { close(l.began) })
	}})
	p.readers.Go(func() { l.ended <- s.Run(ctx) })
	return l
}

const frameTimeout = time.Second // for a frame, from its answer

// measure places one order after the other for a while.
func (p *frameProbe) measure(ctx context.Context, long time.Duration, done *atomic.Int64) (t frameLatencies, err error) {
	book, user := newSignedHistogram(), newSignedHistogram()
	for end := time.Now().Add(long); time.Now().Before(end) && ctx.Err() == nil; {
		if err := p.cancelIfFull(); err != nil {
			return t, err
		}
		answer, ok, err := p.place()
		answered := time.Now()
		if err == nil && !ok {
			err = fmt.Errorf("a placement was refused; does the venue grant the rate? %s", answer)
		}
		var o schemas.Outcome
		if err == nil {
			err = json.Unmarshal(answer, &o)
		}
		if err == nil {
			err = errors.Join(p.book.measure(ctx, o.Seq, answered, book, &t.Book), p.user.measure(ctx, o.Seq, answered, user, &t.User))
		}
		if err != nil {
			return t, err
		}
		done.Add(1)
	}
	t.Book.sum(book)
	t.User.sum(user)
	return t, ctx.Err()
}

func (l *frameLatency) sum(of *signedHistogram) {
	if l.Count = of.count(); l.Count > 0 {
		l.P50, l.P99 = of.quantile(.5), of.quantile(.99)
	}
}

// frameWatcher is what a reader of one channel has seen, by rising seq.
type frameWatcher struct {
	began  chan struct{} // closed with the first message
	ended  chan error
	notify chan struct{} // rung for each frame

	mu   sync.Mutex
	seen []frameArrival
}

type frameArrival struct {
	seq schemas.U64
	at  time.Time
}

func (l *frameWatcher) ready(ctx context.Context) error {
	select {
	case <-l.began:
		return nil
	case err := <-l.ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record notes the first frame of a seq.
func (l *frameWatcher) record(seq schemas.U64, at time.Time) {
	l.mu.Lock()
	if n := len(l.seen); n == 0 || l.seen[n-1].seq < seq {
		l.seen = append(l.seen, frameArrival{seq, at})
	}
	l.mu.Unlock()
	select {
	case l.notify <- struct{}{}:
	default:
	}
}

// find looks for the frame of a seq; passed tells that a later one is here already.
// What is older is forgotten.
func (l *frameWatcher) find(seq schemas.U64) (at time.Time, found, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := slices.BinarySearchFunc(l.seen, seq, func(s frameArrival, seq schemas.U64) int { return int(s.seq.Int64() - seq.Int64()) })
	l.seen = slices.Delete(l.seen, 0, i)
	if found {
		return l.seen[0].at, true, false
	}
	return at, false, len(l.seen) > 0
}

// measure records when the frame of a seq came.
func (l *frameWatcher) measure(ctx context.Context, seq schemas.U64, answered time.Time, into *signedHistogram, out *frameLatency) error {
	late := time.NewTimer(frameTimeout)
	defer late.Stop()
	for {
		at, found, passed := l.find(seq)
		if found {
			return into.record(at.Sub(answered))
		}
		if passed {
			out.Missing++
			return nil
		}
		select {
		case <-l.notify:
		case err := <-l.ended:
			return err
		case <-late.C:
			out.Missing++
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
