package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"duplex/client"
	"duplex/schemas"
)

// benchFrames is when frames came, with nothing else to do and at half the load.
type benchFrames struct {
	Idle frameTimes `json:"idle"`
	Half frameTimes `json:"half_load"`
}

// frameTimes is when the frames of the probe's placements came.
type frameTimes struct {
	PerSecond float64   `json:"orders_per_s"` // of the others, meanwhile
	Book      frameLags `json:"orderbook_delta"`
	User      frameLags `json:"user"`
}

// frameLags are times from an answer to the frame of the same seq, in microseconds;
// negative where the frame was first.
type frameLags struct {
	Count   int64 `json:"count"`
	Missing int64 `json:"missing"`
	P50     int64 `json:"p50_us"`
	P99     int64 `json:"p99_us"`
}

func (f *benchFrames) text() string {
	return fmt.Sprintf("frame after answer, idle: %s\nframe after answer, at %.0f orders/s: %s\n", f.Idle.text(), f.Half.PerSecond, f.Half.text())
}

func (t *frameTimes) text() string {
	return fmt.Sprintf("orderbook_delta %s; user %s", t.Book.text(), t.User.text())
}

func (l *frameLags) text() string {
	if l.Count == 0 {
		return fmt.Sprintf("none came, %d missing", l.Missing)
	}
	return fmt.Sprintf("p50 %d µs, p99 %d µs of %d, %d missing", l.P50, l.P99, l.Count, l.Missing)
}

// half looks at the frames while the workers place at a pace.
func (b *benchCmd) half(ctx context.Context, workers []*worker, p *probe, perSecond float64) (frameTimes, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var load benchResult
	loaded := make(chan error, 1)
	go func() {
		var err error
		load, err = b.load(ctx, workers, rate.NewLimiter(rate.Limit(perSecond), b.Batch))
		loaded <- err
	}()
	t, err := p.measure(ctx, b.Duration)
	if err != nil {
		cancel()
	}
	err = errors.Join(err, <-loaded)
	t.PerSecond = load.PerSecond
	return t, err
}

// probe places orders one by one and watches for their frames, at a reader of its own
// for each channel.
type probe struct {
	*worker
	book, user *lookout
	stop       context.CancelFunc
	readers    sync.WaitGroup
}

func (b *benchCmd) probe(ctx context.Context, on *target, as *trader, market uint32) (*probe, error) {
	one := *b
	one.Batch = 1
	w, err := one.worker(on, as, market, 0)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &probe{worker: w, stop: stop}
	c := client.New(on.api, as.key, as.secret)
	p.book, p.user = p.watch(ctx, c, "orderbook_delta"), p.watch(ctx, c, "user")
	for _, l := range []*lookout{p.book, p.user} {
		if err := l.ready(ctx); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *probe) close() {
	p.stop()
	p.readers.Wait()
	p.wire.conn.Close()
}

// watch reads one channel until ctx ends.
func (p *probe) watch(ctx context.Context, c *client.Client, channel string) *lookout {
	l := &lookout{began: make(chan struct{}), ended: make(chan error, 1), bell: make(chan struct{}, 1)}
	typ := channel // the name of both channels' frames, but not of their snapshots
	var first sync.Once
	s := c.Stream(client.StreamOptions{Channels: []string{channel}, MarketIDs: []uint32{p.market}, On: func(e client.StreamEvent) {
		if e.Type == typ {
			l.saw(e.Seq, time.Now())
		}
		first.Do(func() { close(l.began) })
	}})
	p.readers.Go(func() { l.ended <- s.Run(ctx) })
	return l
}

const frameWait = time.Second // for a frame, from its answer

// measure places one order after the other for a while.
func (p *probe) measure(ctx context.Context, long time.Duration) (t frameTimes, err error) {
	book, user := newLags(), newLags()
	for end := time.Now().Add(long); time.Now().Before(end) && ctx.Err() == nil; {
		if err := p.clear(); err != nil {
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
	}
	t.Book.sum(book)
	t.User.sum(user)
	return t, ctx.Err()
}

func (l *frameLags) sum(of *lags) {
	if l.Count = of.count(); l.Count > 0 {
		l.P50, l.P99 = of.at(.5), of.at(.99)
	}
}

// lookout is what a reader of one channel has seen, by rising seq.
type lookout struct {
	began chan struct{} // closed with the first message
	ended chan error
	bell  chan struct{} // rung for each frame

	mu   sync.Mutex
	seen []sighting
}

type sighting struct {
	seq schemas.U64
	at  time.Time
}

func (l *lookout) ready(ctx context.Context) error {
	select {
	case <-l.began:
		return nil
	case err := <-l.ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// saw notes the first frame of a seq.
func (l *lookout) saw(seq schemas.U64, at time.Time) {
	l.mu.Lock()
	if n := len(l.seen); n == 0 || l.seen[n-1].seq < seq {
		l.seen = append(l.seen, sighting{seq, at})
	}
	l.mu.Unlock()
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// find looks for the frame of a seq; passed tells that a later one is here already.
// What is older is forgotten.
func (l *lookout) find(seq schemas.U64) (at time.Time, found, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := slices.BinarySearchFunc(l.seen, seq, func(s sighting, seq schemas.U64) int { return int(s.seq.Int64() - seq.Int64()) })
	l.seen = slices.Delete(l.seen, 0, i)
	if found {
		return l.seen[0].at, true, false
	}
	return at, false, len(l.seen) > 0
}

// measure records when the frame of a seq came.
func (l *lookout) measure(ctx context.Context, seq schemas.U64, answered time.Time, into *lags, out *frameLags) error {
	late := time.NewTimer(frameWait)
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
		case <-l.bell:
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
