package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// overload asks the venue for more than it can do, over many keys, then opens and
// closes a crowd of sockets: what do those who are served notice, and does anything
// stay behind?
func overload(ctx context.Context, o *options, readers int, out io.Writer) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	const times = 5
	if err := r.fund(ctx, max(times*o.conns, readers/connsAKey+1)); err != nil {
		return err
	}
	if err := r.pick(ctx); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ASKED\tCONNECTIONS\tSERVED/S\tREFUSED\tP50\tP99\tP99.9")
	report := func(name string, x served) {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%d\t%v\t%v\t%v\n", name, x.conns, x.PerSecond, x.refused, x.P50, x.P99, x.p999)
	}
	full, err := r.offer(ctx, o.conns, 0, o.duration)
	if err != nil {
		return err
	}
	report("all it can", full)
	half, err := r.offer(ctx, o.conns, full.PerSecond/2, o.duration)
	if err != nil {
		return err
	}
	report("half of that", half)
	before, err := r.vitals(ctx)
	if err != nil {
		return err
	}
	flood, err := r.offer(ctx, times*o.conns, times*full.PerSecond, o.duration)
	if err != nil {
		return err
	}
	report("five times that", flood)
	if again, err := r.offer(ctx, o.conns, full.PerSecond/2, o.duration); err != nil {
		return err
	} else {
		report("half again", again)
	}
	flooded, err := r.vitals(ctx)
	if err != nil {
		return err
	}
	if err := r.comeAndGo(readers); err != nil {
		return err
	}
	after, err := r.calm(ctx, before)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nthe flood's p99, by half's\t%.2f\n\n", float64(flood.P99)/float64(half.P99))
	fmt.Fprintf(w, "VITALS\tBEFORE\tAFTER THE FLOOD\tAFTER %d SOCKETS\n", readers)
	for _, name := range vitals {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\n", name, before[name], flooded[name], after[name])
	}
	return w.Flush()
}

// served is what became of an offer.
type served struct {
	figures
	p999           time.Duration
	refused, conns int
}

// offer sends orders that find nobody, `rate` a second over all connections (0: as
// fast as each is answered). A connection that is late sends at once; what it is
// served with counts from then, for one that is never free cannot be sent.
func (r *rig) offer(ctx context.Context, conns int, rate float64, d time.Duration) (x served, err error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	r.turn++
	turn, begun := r.turn, time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var took []time.Duration
	for i := range conns {
		wg.Go(func() {
			t, refused, e := r.sendOn(ctx, turn, i, conns, rate, begun)
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, t...), errors.Join(err, e)
			x.refused += refused
		})
	}
	wg.Wait()
	elapsed := time.Since(begun)
	if err != nil || len(took) == 0 {
		return x, errors.Join(err, fmt.Errorf("%d orders were answered", len(took)))
	}
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	x.conns, x.p999, x.figures = conns, at(.999), figures{PerSecond: float64(len(took)) / elapsed.Seconds(), P50: at(.5), P99: at(.99)}
	return x, nil
}

// backoff is how long who was refused the n-th time in a row waits: as the Go client does.
func backoff(n int) time.Duration {
	most := min(50*time.Millisecond<<min(n-1, 10), 2*time.Second)
	return most/2 + rand.N(most/2+1)
}

// pause waits, and tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *rig) sendOn(ctx context.Context, turn, i, conns int, rate float64, begun time.Time) (took []time.Duration, refused int, err error) {
	c, err := net.Dial("tcp", r.host)
	if err != nil {
		return nil, 0, err
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 16<<10)
	var body []byte
	inARow := 0 // refusals
	for n := 0; ctx.Err() == nil; n++ {
		if rate > 0 {
			due := begun.Add(time.Duration((float64(n) + float64(i)/float64(conns)) * float64(conns) / rate * float64(time.Second)))
			if !pause(ctx, time.Until(due)) {
				return took, refused, nil
			}
		}
		order := fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":1000,"qty":1,"tif":"ioc"}`, turn*10_000_000+n+1, r.market)
		sent := time.Now()
		if _, err := c.Write(r.keys[i].wire("POST", "/v1/portfolio/orders", "", order)); err != nil {
			return took, refused, err
		}
		status, b, err := answer(in, body)
		body = b
		switch {
		case err != nil:
			return took, refused, err
		case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
			refused++
			inARow++
			pause(ctx, backoff(inARow))
		case status != http.StatusCreated:
			return took, refused, fmt.Errorf("answered %d: %s", status, b)
		default:
			inARow = 0
			took = append(took, time.Since(sent))
		}
	}
	return took, refused, nil
}

// comeAndGo opens the readers of a crowd, and closes them.
func (r *rig) comeAndGo(readers int) error {
	f, err := newFan('^')
	if err != nil {
		return err
	}
	defer f.close()
	return r.gather(f, readers)
}

// vitals are what must not grow for good.
var vitals = []string{"go_goroutines", "process_open_fds", "go_memstats_heap_inuse_bytes", "duplex_ws_connections", "duplex_queue_depth"}

// vitals reads them behind a collection of garbage.
func (r *rig) vitals(ctx context.Context) (map[string]float64, error) {
	if _, err := r.admin(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return nil, err
	}
	b, err := r.admin(ctx, "/metrics")
	out := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		if name, v, _ := strings.Cut(strings.TrimSpace(line), " "); slices.Contains(vitals, name) {
			n, e := strconv.ParseFloat(v, 64)
			out[name], err = n, errors.Join(err, e)
		}
	}
	return out, err
}

func (r *rig) admin(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", r.dev.Admin+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.dev.OperatorToken)
	return fetch(req)
}

// calm waits until goroutines and files are what they were, give or take what a scrape
// takes; after a minute it gives what there is.
func (r *rig) calm(ctx context.Context, before map[string]float64) (now map[string]float64, err error) {
	for end := time.Now().Add(time.Minute); ; {
		if now, err = r.vitals(ctx); err != nil || time.Now().After(end) {
			return now, err
		}
		if now["go_goroutines"] <= before["go_goroutines"]+10 && now["process_open_fds"] <= before["process_open_fds"]+10 {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
