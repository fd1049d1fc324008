package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"duplex/internal/backoff"
	"duplex/internal/rawhttp"
)

// slowReaders places orders at a fixed rate, first without readers and then with many, a tenth
// of them stuck. It reports the latency of placements, the memory per connection, and the
// venue's metrics of its WebSockets.
func slowReaders(ctx context.Context, o *options, readers int, out io.Writer) error {
	r, err := newHarness(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.createAccounts(ctx, readers/connsAKey+1); err != nil {
		return err
	}
	if err := r.waitForMarket(ctx); err != nil {
		return err
	}
	alone, err := r.placeSteadily(ctx)
	if err != nil {
		return err
	}
	before, err := residentBytes(r.pids[venue])
	if err != nil {
		return err
	}
	f, err := newReaderFarm('^')
	if err != nil {
		return err
	}
	defer f.close()
	if err := r.openReaders(f, readers); err != nil {
		return err
	}
	after, err := residentBytes(r.pids[venue])
	if err != nil {
		return err
	}
	among, err := r.placeSteadily(ctx)
	if err != nil {
		return err
	}
	metrics, err := r.webSocketMetrics(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "READERS\tPLACED\tP50\tP99\n0\t%d\t%v\t%v\n%d\t%d\t%v\t%v\n", alone.placed, alone.P50, alone.P99, readers, among.placed, among.P50, among.P99)
	fmt.Fprintf(w, "\nratio of p99\t%.2f\nmemory per connection\t%.1f KiB\nreaders disconnected\t%d\n%s", float64(among.P99)/float64(alone.P99), float64(after-before)/1024/float64(readers), f.broken.Load(), metrics)
	return w.Flush()
}

const (
	placementsPerSecond = 500
	placementConns      = 16
)

type placementResult struct {
	result
	placed int
}

// placeSteadily places orders at a fixed rate. Latency counts from the time an order was due, so
// that it includes the delay of orders behind a stall.
func (r *harness) placeSteadily(ctx context.Context) (placementResult, error) {
	ctx, cancel := context.WithTimeout(ctx, r.duration)
	defer cancel()
	r.runID++
	runID, start := r.runID, time.Now()
	all, _, err := onConns(placementConns, func(i int) ([]time.Duration, error) { return r.placeOnConn(ctx, runID, i, start) })
	if err != nil {
		return placementResult{}, err
	}
	return placementResult{result{P50: quantile(all, .5), P99: quantile(all, .99)}, len(all)}, nil
}

// placeOnConn places one connection's share of the orders. Half of the accounts buy YES and half
// buy NO at one price, so that every second order trades.
func (r *harness) placeOnConn(ctx context.Context, runID, i int, start time.Time) (latencies []time.Duration, err error) {
	c, err := rawhttp.Dial(r.keys[i])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	outcome := [...]string{"yes", "no"}[i%2]
	const step = time.Second * placementConns / placementsPerSecond
	for n := 0; ; n++ {
		due := start.Add(time.Duration(n)*step + time.Duration(i)*step/placementConns)
		if !backoff.Sleep(ctx, time.Until(due)) {
			return latencies, nil
		}
		order := fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":5000,"qty":1}`, runID*10_000_000+n+1, r.market, outcome)
		status, b, err := c.Do("POST", "/v1/portfolio/orders", "", order)
		if err != nil || status != 201 {
			return latencies, errors.Join(err, fmt.Errorf("answered %d: %s", status, b))
		}
		latencies = append(latencies, time.Since(due))
	}
}

// openReaders opens the readers. Most subscribe to the snapshots and rounds of one market. A
// tenth never read: half of them subscribe to the trades of r.market, half to its deltas.
func (r *harness) openReaders(f *readerFarm, readers int) error {
	for i := range readers {
		command, reads := fmt.Sprintf(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_snapshot","rounds"],"market_ids":[%d]}}`, 1+i%6), true
		switch i % 20 {
		case 0:
			command, reads = r.subscribeDeltas(), false
		case 10:
			command, reads = strings.Replace(r.subscribeDeltas(), "orderbook_delta", "trades", 1), false
		}
		c, err := dialWebSocket(r.keys[i/connsAKey], "/v1/ws", command)
		if err != nil {
			return fmt.Errorf("reader %d: %w", i, err)
		}
		if !reads { // fills sooner
			if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
				return err
			}
		}
		if err := f.add(c, reads); err != nil {
			return err
		}
	}
	return nil
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0, fmt.Errorf("/proc/%d/status has no VmRSS", pid)
	}
	kb, err := strconv.Atoi(f[0])
	return kb << 10, err
}

// webSocketMetrics returns the venue's metrics of its WebSockets.
func (r *harness) webSocketMetrics(ctx context.Context) (string, error) {
	b, err := r.admin(ctx, "/metrics")
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "duplex_ws_") {
			out.WriteString(strings.Replace(line, " ", "\t", 1))
		}
	}
	return out.String(), err
}
