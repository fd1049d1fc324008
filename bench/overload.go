package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"duplex/internal/backoff"
	"duplex/internal/rawhttp"
)

// overload offers the venue more requests than its capacity, from many keys, then opens and
// closes many WebSockets. It reports the latency of the accepted requests and checks for leaked
// resources.
func overload(ctx context.Context, o *options, readers int, out io.Writer) error {
	whole := *o
	whole.duration = 4 * o.duration // of the four loads, for which one market must trade
	r, err := newHarness(ctx, &whole)
	if err != nil {
		return err
	}
	defer r.close()
	const times = 5
	if err := r.createAccounts(ctx, max(times*o.conns, readers/connsAKey+1)); err != nil {
		return err
	}
	if err := r.waitForMarket(ctx); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OFFERED\tCONNECTIONS\tACCEPTED/S\tREJECTED\tP50\tP99\tP99.9")
	report := func(name string, x offeredResult) {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%d\t%v\t%v\t%v\n", name, x.conns, x.PerSecond, x.rejected, x.P50, x.P99, x.p999)
	}
	full, err := r.offerLoad(ctx, o.conns, 0, o.duration)
	if err != nil {
		return err
	}
	report("capacity", full)
	half, err := r.offerLoad(ctx, o.conns, full.PerSecond/2, o.duration)
	if err != nil {
		return err
	}
	report("half of capacity", half)
	before, err := r.readResources(ctx)
	if err != nil {
		return err
	}
	flood, err := r.offerLoad(ctx, times*o.conns, times*full.PerSecond, o.duration)
	if err != nil {
		return err
	}
	report("five times capacity", flood)
	if again, err := r.offerLoad(ctx, o.conns, full.PerSecond/2, o.duration); err != nil {
		return err
	} else {
		report("half of capacity, again", again)
	}
	flooded, err := r.readResources(ctx)
	if err != nil {
		return err
	}
	if err := r.openAndCloseReaders(readers); err != nil {
		return err
	}
	after, err := r.waitForBaseline(ctx, before)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\np99 at five times capacity / p99 at half\t%.2f\n\n", float64(flood.P99)/float64(half.P99))
	fmt.Fprintf(w, "RESOURCE\tBEFORE\tAFTER THE OVERLOAD\tAFTER %d WEBSOCKETS\n", readers)
	for _, name := range resourceMetrics {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\n", name, before[name], flooded[name], after[name])
	}
	return w.Flush()
}

// offeredResult is the result of offering a load.
type offeredResult struct {
	result
	p999     time.Duration
	rejected int64
	conns    int
}

// offerLoad sends orders that do not trade, rate a second over all connections. If rate is 0,
// each connection sends as fast as it is answered. A connection that is late sends at once, and
// its latency counts from the send.
func (r *harness) offerLoad(ctx context.Context, conns int, rate float64, d time.Duration) (offeredResult, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	r.runID++
	runID, start := r.runID, time.Now()
	var rejected atomic.Int64
	all, took, err := onConns(conns, func(i int) ([]time.Duration, error) {
		return r.offerOnConn(ctx, runID, i, conns, rate, start, &rejected)
	})
	if err != nil {
		return offeredResult{}, err
	}
	return offeredResult{
		result: result{PerSecond: float64(len(all)) / took.Seconds(), P50: quantile(all, .5), P99: quantile(all, .99)},
		p999:   quantile(all, .999), rejected: rejected.Load(), conns: conns,
	}, nil
}

func (r *harness) offerOnConn(ctx context.Context, runID, i, conns int, rate float64, start time.Time, rejected *atomic.Int64) (latencies []time.Duration, err error) {
	c, err := rawhttp.Dial(r.keys[i])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	inARow := 0 // consecutive rejections
	for n := 0; ctx.Err() == nil; n++ {
		if rate > 0 {
			due := start.Add(time.Duration((float64(n) + float64(i)/float64(conns)) * float64(conns) / rate * float64(time.Second)))
			if d := time.Until(due); d > 0 && !backoff.Sleep(ctx, d) {
				return latencies, nil
			}
		}
		order := fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":1000,"qty":1,"tif":"ioc"}`, runID*10_000_000+n+1, r.market)
		sent := time.Now()
		status, b, err := c.Do("POST", "/v1/portfolio/orders", "", order)
		switch {
		case err != nil:
			return latencies, err
		case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
			rejected.Add(1)
			inARow++
			limit := min(50*time.Millisecond<<min(inARow-1, 10), 2*time.Second) // as in the Go client
			backoff.Sleep(ctx, backoff.Jitter(limit))
		case status != http.StatusCreated:
			return latencies, fmt.Errorf("answered %d: %s", status, b)
		default:
			inARow = 0
			latencies = append(latencies, time.Since(sent))
		}
	}
	return latencies, nil
}

// openAndCloseReaders opens the readers of slowReaders and closes them.
func (r *harness) openAndCloseReaders(readers int) error {
	f, err := newReaderFarm('^')
	if err != nil {
		return err
	}
	defer f.close()
	return r.openReaders(f, readers)
}

// resourceMetrics lists the metrics that must return to their baseline.
var resourceMetrics = []string{"go_goroutines", "process_open_fds", "go_memstats_heap_inuse_bytes", "duplex_ws_connections", "duplex_sequencer_queue_depth"}

// readResources reads resourceMetrics after a garbage collection.
func (r *harness) readResources(ctx context.Context) (map[string]float64, error) {
	if _, err := r.admin(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return nil, err
	}
	b, err := r.admin(ctx, "/metrics")
	out := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		if name, v, _ := strings.Cut(strings.TrimSpace(line), " "); slices.Contains(resourceMetrics, name) {
			n, e := strconv.ParseFloat(v, 64)
			out[name], err = n, errors.Join(err, e)
		}
	}
	return out, err
}

func (r *harness) admin(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", r.dev.Admin+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.dev.OperatorToken)
	return fetch(req)
}

// waitForBaseline waits until the numbers of goroutines and files are at most 10 above before,
// for up to a minute, and returns the last reading.
func (r *harness) waitForBaseline(ctx context.Context, before map[string]float64) (now map[string]float64, err error) {
	for end := time.Now().Add(time.Minute); ; {
		if now, err = r.readResources(ctx); err != nil || time.Now().After(end) {
			return now, err
		}
		if now["go_goroutines"] <= before["go_goroutines"]+10 && now["process_open_fds"] <= before["process_open_fds"]+10 {
			return now, nil
		}
		if !backoff.Sleep(ctx, time.Second) {
			return now, ctx.Err()
		}
	}
}
