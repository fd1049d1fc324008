package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// crowd places orders at a steady rate, without readers and then with many, a tenth
// of them stuck: what do the readers cost a placement, and what becomes of the stuck?
func crowd(ctx context.Context, o *options, readers int, out io.Writer) error {
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.fund(ctx, readers/connsAKey+1); err != nil {
		return err
	}
	if err := r.pick(ctx); err != nil {
		return err
	}
	alone, err := r.steady(ctx)
	if err != nil {
		return err
	}
	before, err := rss(r.pids[venue])
	if err != nil {
		return err
	}
	f, err := newFan('^')
	if err != nil {
		return err
	}
	defer f.close()
	if err := r.gather(f, readers); err != nil {
		return err
	}
	after, err := rss(r.pids[venue])
	if err != nil {
		return err
	}
	among, err := r.steady(ctx)
	if err != nil {
		return err
	}
	told, err := r.metrics(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "READERS\tPLACED\tP50\tP99\n0\t%d\t%v\t%v\n%d\t%d\t%v\t%v\n", alone.placed, alone.P50, alone.P99, readers, among.placed, among.P50, among.P99)
	fmt.Fprintf(w, "\nratio of p99\t%.2f\nmemory a connection\t%.1f KiB\nreaders lost\t%d\n%s", float64(among.P99)/float64(alone.P99), float64(after-before)/1024/float64(readers), f.broken.Load(), told)
	return w.Flush()
}

const (
	steadyRate = 500 // placements a second
	steadyWays = 16  // connections
)

type steadiness struct {
	figures
	placed int
}

// steady places at a fixed rate. Latency counts from when an order was due, so that a
// stall is not hidden by the orders it held up.
func (r *rig) steady(ctx context.Context) (steadiness, error) {
	ctx, cancel := context.WithTimeout(ctx, r.duration)
	defer cancel()
	r.turn++
	turn, begun := r.turn, time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var took []time.Duration
	var broke error
	for i := range steadyWays {
		wg.Go(func() {
			t, err := r.pace(ctx, turn, i, begun)
			mu.Lock()
			defer mu.Unlock()
			took, broke = append(took, t...), errors.Join(broke, err)
		})
	}
	wg.Wait()
	if broke != nil || len(took) == 0 {
		return steadiness{}, errors.Join(broke, fmt.Errorf("%d orders were answered", len(took)))
	}
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return steadiness{figures{P50: at(.5), P99: at(.99)}, len(took)}, nil
}

// pace is one connection's share. Half the accounts buy YES and half buy NO at one
// price, so that every second order trades.
func (r *rig) pace(ctx context.Context, turn, i int, begun time.Time) (took []time.Duration, err error) {
	c, err := net.Dial("tcp", r.host)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 16<<10)
	outcome := [...]string{"yes", "no"}[i%2]
	var body []byte
	const step = time.Second * steadyWays / steadyRate
	for n := 0; ; n++ {
		due := begun.Add(time.Duration(n)*step + time.Duration(i)*step/steadyWays)
		t := time.NewTimer(time.Until(due))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return took, nil
		}
		order := fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":5000,"qty":1}`, turn*10_000_000+n+1, r.market, outcome)
		if _, err := c.Write(r.keys[i].wire("POST", "/v1/portfolio/orders", "", order)); err != nil {
			return took, err
		}
		status, b, err := answer(in, body)
		if body = b; err != nil || status != 201 {
			return took, errors.Join(err, fmt.Errorf("answered %d: %s", status, b))
		}
		took = append(took, time.Since(due))
	}
}

// gather opens the readers: most are screens that show a market each; of those who
// never read, half follow the trades and half the deltas of the market traded in.
func (r *rig) gather(f *fan, readers int) error {
	for i := range readers {
		command, reads := fmt.Sprintf(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_snapshot","rounds"],"market_ids":[%d]}}`, 1+i%6), true
		switch i % 20 {
		case 0:
			command, reads = r.deltas(), false
		case 10:
			command, reads = strings.Replace(r.deltas(), "orderbook_delta", "trades", 1), false
		}
		head := strings.TrimSuffix(string(r.keys[i/connsAKey].wire("GET", "/v1/ws", "", nil)), "\r\n")
		c, err := shake(r.host, head, command)
		if err != nil {
			return fmt.Errorf("reader %d: %w", i, err)
		}
		if !reads { // stuck sooner
			if err := shrink(c.(*net.TCPConn)); err != nil {
				return err
			}
		}
		if err := f.add(c, reads); err != nil {
			return err
		}
	}
	return nil
}

func shrink(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
	return errors.Join(err, set)
}

// rss is the memory of a process, in bytes.
func rss(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0, fmt.Errorf("/proc/%d/status says no VmRSS", pid)
	}
	kb, err := strconv.Atoi(f[0])
	return kb << 10, err
}

// metrics are what the venue tells of its sockets.
func (r *rig) metrics(ctx context.Context) (string, error) {
	b, err := r.admin(ctx, "/metrics")
	var told strings.Builder
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "duplex_ws_") {
			told.WriteString(strings.Replace(line, " ", "\t", 1))
		}
	}
	return told.String(), err
}
