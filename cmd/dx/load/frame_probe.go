package load

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
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// ProbeReport says when the frames of the probe's placements arrived: on an idle venue, and
// while other connections place at half the rate that they can reach.
type ProbeReport struct {
	Idle     FrameLatencies `json:"idle"`
	HalfLoad FrameLatencies `json:"half_load"`
}

// FrameLatencies holds the latencies of the probe's frames in one phase.
type FrameLatencies struct {
	PerSecond float64      `json:"orders_per_s"` // of the other connections
	Book      FrameLatency `json:"orderbook_delta"`
	User      FrameLatency `json:"user"`
}

// FrameLatency holds times from a response to the frame of the same seq, in microseconds.
// A time is negative if the frame arrived first.
type FrameLatency struct {
	Count   int64 `json:"count"`
	Missing int64 `json:"missing"` // did not arrive within frameTimeout, or was skipped
	P50     int64 `json:"p50_us"`
	P99     int64 `json:"p99_us"`
}

func (f *ProbeReport) text() string {
	return fmt.Sprintf("frame after answer, idle: %s\nframe after answer, at %.0f orders/s: %s\n", f.Idle.text(), f.HalfLoad.PerSecond, f.HalfLoad.text())
}

func (t *FrameLatencies) text() string {
	return fmt.Sprintf("orderbook_delta %s; user %s", t.Book.text(), t.User.text())
}

func (l *FrameLatency) text() string {
	if l.Count == 0 {
		return fmt.Sprintf("none came, %d missing", l.Missing)
	}
	return fmt.Sprintf("p50 %d µs, p99 %d µs of %d, %d missing", l.P50, l.P99, l.Count, l.Missing)
}

// measureHalfLoad runs the probe while the placers place perSecond orders.
func measureHalfLoad(ctx context.Context, placers []*placer, p *frameProbe, perSecond float64, o *Options) (FrameLatencies, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var load *PlacementReport
	loaded := make(chan error, 1)
	go func() {
		var err error
		load, err = placeAll(ctx, placers, rate.NewLimiter(rate.Limit(perSecond), o.Batch), o, cli.Progress{}) // the terminal shows the probe's progress
		loaded <- err
	}()
	done, stop := o.Progress.Phase("half load", o.Duration, "orders timed")
	t, err := p.measure(ctx, o.Duration, done)
	stop()
	if err != nil {
		cancel()
	}
	if err = errors.Join(err, <-loaded); err == nil {
		t.PerSecond = load.PerSecond
	}
	return t, err
}

// frameProbe places orders one at a time and waits for their frames. It reads each channel
// over a connection of its own, so that neither delays the other.
type frameProbe struct {
	*placer
	book, user *frameWatcher
	stop       context.CancelFunc
	readers    sync.WaitGroup
}

func openFrameProbe(ctx context.Context, v *Venue, as *trader, market uint32) (*frameProbe, error) {
	c, err := client.New(v.api, as.key, as.secret)
	if err != nil {
		return nil, err
	}
	w, err := openPlacer(v, as, market, 1, 0)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &frameProbe{placer: w, stop: stop}
	p.book, p.user = p.watch(ctx, c, "orderbook_delta"), p.watch(ctx, c, "user")
	for _, w := range []*frameWatcher{p.book, p.user} {
		if err := w.ready(ctx); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *frameProbe) close() {
	p.stop()
	p.readers.Wait()
	p.wire.Close()
}

// watch reads one channel until ctx ends.
func (p *frameProbe) watch(ctx context.Context, c *client.Client, channel string) *frameWatcher {
	w := &frameWatcher{timeout: frameTimeout, started: make(chan struct{}), ended: make(chan error, 1), notify: make(chan struct{}, 1)}
	typ := channel // both channels name their frames like themselves, and their snapshots differently
	var first sync.Once
	s := c.Stream(client.StreamOptions{Channels: []string{channel}, MarketIDs: []uint32{p.market}, OnEvent: func(e client.StreamEvent) {
		if e.Type == typ {
			w.record(e.Seq, time.Now())
		}
		first.Do(func() { close(w.started) })
	}})
	p.readers.Go(func() { w.ended <- s.Run(ctx) })
	return w
}

// frameTimeout is how long the probe waits for a frame after the response.
const frameTimeout = time.Second

// measure places one order after the other for a duration and counts them in done.
func (p *frameProbe) measure(ctx context.Context, duration time.Duration, done *atomic.Int64) (t FrameLatencies, err error) {
	book, user := newSignedHistogram(), newSignedHistogram()
	for end := time.Now().Add(duration); time.Now().Before(end) && ctx.Err() == nil; {
		if err := p.cancelIfFull(); err != nil {
			return t, err
		}
		answer, ok, err := p.place()
		answered := time.Now()
		if err == nil && !ok {
			err = fmt.Errorf("a placement was rejected; start the venue with --write-floor 1000000: %s", answer)
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

// sum fills in count and percentiles.
func (l *FrameLatency) sum(of *signedHistogram) {
	if l.Count = of.count(); l.Count > 0 {
		l.P50, l.P99 = of.quantile(.5), of.quantile(.99)
	}
}

// frameWatcher holds when the frames of one channel arrived, by rising seq.
type frameWatcher struct {
	timeout time.Duration // of measure
	started chan struct{} // closed by the first message
	ended   chan error    // gets the error that ends the reader
	notify  chan struct{} // signaled by each frame

	mu   sync.Mutex
	seen []frameArrival
}

type frameArrival struct {
	seq schemas.U64
	at  time.Time
}

// ready waits for the first message.
func (w *frameWatcher) ready(ctx context.Context) error {
	select {
	case <-w.started:
		return nil
	case err := <-w.ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record records the first frame of a seq.
func (w *frameWatcher) record(seq schemas.U64, at time.Time) {
	w.mu.Lock()
	if n := len(w.seen); n == 0 || w.seen[n-1].seq < seq {
		w.seen = append(w.seen, frameArrival{seq, at})
	}
	w.mu.Unlock()
	select {
	case w.notify <- struct{}{}:
	default:
	}
}

// find returns when the frame of a seq arrived. If it has not, passed reports whether a
// later one has. find discards older frames, so seq must not fall from call to call.
func (w *frameWatcher) find(seq schemas.U64) (at time.Time, found, passed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, found := slices.BinarySearchFunc(w.seen, seq, func(s frameArrival, seq schemas.U64) int { return int(s.seq.Int64() - seq.Int64()) })
	w.seen = slices.Delete(w.seen, 0, i)
	if found {
		return w.seen[0].at, true, false
	}
	return at, false, len(w.seen) > 0
}

// measure waits for the frame of a seq and records in into how long after the response it
// arrived. It counts a frame that does not arrive as missing in out.
func (w *frameWatcher) measure(ctx context.Context, seq schemas.U64, answered time.Time, into *signedHistogram, out *FrameLatency) error {
	late := time.NewTimer(w.timeout)
	defer late.Stop()
	for {
		at, found, passed := w.find(seq)
		if found {
			return into.record(at.Sub(answered))
		}
		if passed {
			out.Missing++
			return nil
		}
		select {
		case <-w.notify:
		case err := <-w.ended:
			return err
		case <-late.C:
			out.Missing++
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}
