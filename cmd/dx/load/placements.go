package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/time/rate"

	"duplex/cmd/dx/cli"
	"duplex/internal/rawhttp"
)

// PlacementReport is the result of a run without a mix. Latencies are of requests, in
// microseconds.
type PlacementReport struct {
	Conns     int          `json:"connections"`
	Accounts  int          `json:"accounts"`
	Batch     int          `json:"orders_a_request"`
	Seconds   float64      `json:"seconds"`
	Orders    int          `json:"orders"`
	PerSecond float64      `json:"orders_per_s"`
	Failed    int          `json:"failed"` // requests that were rejected, or whose batch holds a rejected order
	P50       int64        `json:"p50_us"`
	P99       int64        `json:"p99_us"`
	P999      int64        `json:"p999_us"`
	Frames    *ProbeReport `json:"frames,omitempty"`
}

// Print implements Report.
func (r *PlacementReport) Print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%d orders in %.1f s over %d connections of %d accounts, %d a request: %.0f orders/s, %d failed\nlatency p50 %d µs, p99 %d µs, p99.9 %d µs\n",
		r.Orders, r.Seconds, r.Conns, r.Accounts, r.Batch, r.PerSecond, r.Failed, r.P50, r.P99, r.P999)
	if err == nil && r.Frames != nil {
		_, err = io.WriteString(out, r.Frames.text())
	}
	return err
}

// runPlacements places orders over all connections as fast as it can. With o.Frames it
// measures frames in an idle phase before that, and in a phase at half the rate after it.
func runPlacements(ctx context.Context, v *Venue, o *Options) (*PlacementReport, error) {
	n := o.Conns
	if o.Frames {
		n++ // the probe
	}
	if v.given != nil && o.Batch > v.share(n)[0].maxOpenOrders {
		return nil, cli.BadFlag("conns", fmt.Errorf("%d connections with %d orders per request are too many for %d keys: an account may have 200 open orders in a market", o.Conns, o.Batch, len(v.given)))
	}
	traders, err := v.traders(ctx, n, true)
	if err != nil {
		return nil, err
	}
	market, err := v.longestMarket(traders[0])
	if err != nil {
		return nil, err
	}
	var p *frameProbe
	var frames *ProbeReport
	if o.Frames {
		if p, err = openFrameProbe(ctx, v, traders[o.Conns], market); err != nil {
			return nil, err
		}
		defer p.close()
		done, stop := o.Progress.Phase("idle", o.Duration, "orders")
		idle, err := p.measure(ctx, o.Duration, done)
		stop()
		if err != nil {
			return nil, err
		}
		frames = &ProbeReport{Idle: idle}
	}
	placers, err := openPlacers(v, traders[:o.Conns], market, o.Batch)
	defer closePlacers(placers)
	if err != nil {
		return nil, err
	}
	r, err := placeAll(ctx, placers, nil, o, o.Progress)
	if err != nil {
		return nil, err
	}
	if o.Frames {
		if frames.HalfLoad, err = measureHalfLoad(ctx, placers, p, r.PerSecond/2, o); err != nil {
			return nil, err
		}
	}
	r.Accounts, r.Frames = v.accounts(o.Conns), frames
	return r, nil
}

// openPlacers opens a connection for each trader. After an error it returns those that it
// has opened.
func openPlacers(v *Venue, traders []*trader, market uint32, batch int) (all []*placer, err error) {
	for i, as := range traders {
		p, err := openPlacer(v, as, market, batch, i)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

func closePlacers(placers []*placer) {
	for _, p := range placers {
		_ = p.wire.Close() // fails if the venue has closed it
	}
}

// placeAll runs all placers for o.Duration. pace bounds their orders per second; nil is no
// bound.
func placeAll(ctx context.Context, placers []*placer, pace *rate.Limiter, o *Options, shows cli.Progress) (*PlacementReport, error) {
	done, stop := shows.Phase("load", o.Duration, "orders")
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := newHistogram()
	var failed int
	var broken error
	start := time.Now()
	for _, p := range placers {
		wg.Go(func() {
			times, rejected, err := p.loop(ctx, pace, done)
			mu.Lock()
			defer mu.Unlock()
			all.Merge(times)
			failed, broken = failed+rejected, errors.Join(broken, err)
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	if broken != nil || all.TotalCount() == 0 {
		return nil, errors.Join(broken, fmt.Errorf("%d requests were accepted", all.TotalCount()))
	}
	n := int(all.TotalCount()) * o.Batch
	return &PlacementReport{
		Conns: o.Conns, Batch: o.Batch, Seconds: elapsed.Seconds(), Orders: n, PerSecond: float64(n) / elapsed.Seconds(), Failed: failed,
		P50: all.ValueAtQuantile(50), P99: all.ValueAtQuantile(99), P999: all.ValueAtQuantile(99.9),
	}, nil
}

// maxOpenOrdersPerAccount stays below the venue's limit of 200 per market.
const maxOpenOrdersPerAccount = 160

// placer is one connection that places orders in one market.
type placer struct {
	wire      *rawhttp.Conn
	as        *trader
	market    uint32
	batch     int // orders per request
	tickIndex int // counts up, so that orders spread over the lower ticks
	open      int // orders that may rest
	body      []byte
}

func openPlacer(v *Venue, as *trader, market uint32, batch, tickIndex int) (*placer, error) {
	w, err := v.dial(as)
	if err != nil {
		return nil, err
	}
	return &placer{wire: w, as: as, market: market, batch: batch, tickIndex: tickIndex}, nil
}

// loop places until ctx ends and counts the accepted orders in done. It returns the
// latencies of the accepted requests and the number of rejected ones.
func (p *placer) loop(ctx context.Context, pace *rate.Limiter, done *atomic.Int64) (times *hdrhistogram.Histogram, rejected int, err error) {
	times = newHistogram()
	for ctx.Err() == nil {
		if pace != nil && pace.WaitN(ctx, p.batch) != nil { // ctx ends before the next is due
			break
		}
		if err := p.cancelIfFull(); err != nil {
			return times, rejected, err
		}
		start := time.Now()
		answer, ok, err := p.place()
		if err != nil {
			return times, rejected, err
		}
		if !ok || p.batch > 1 && strings.Contains(string(answer), `"error"`) {
			rejected++
			continue
		}
		if err := times.RecordValue(time.Since(start).Microseconds()); err != nil {
			return times, rejected, err
		}
		done.Add(int64(p.batch))
	}
	return times, rejected, nil
}

// cancelIfFull cancels all orders of the account if the next placement would exceed its
// limit of open orders.
func (p *placer) cancelIfFull() error {
	if p.open+p.batch <= p.as.maxOpenOrders {
		return nil
	}
	status, _, err := p.wire.Do("DELETE", "/v1/portfolio/orders", "", nil)
	if err == nil && status < 300 {
		p.open = 0
	}
	return err
}

// place sends the next request. ok reports whether the venue accepted it.
func (p *placer) place() (answer []byte, ok bool, err error) {
	target := "/v1/portfolio/orders"
	if p.batch > 1 {
		target += "/batch"
	}
	p.buildBody()
	status, answer, err := p.wire.Do("POST", target, "", p.body)
	if ok = err == nil && status < 300; ok {
		p.open += p.batch
	}
	return answer, ok, err
}

// buildBody writes buys of YES at low ticks, which rest because nobody sells there.
func (p *placer) buildBody() {
	p.body = p.body[:0]
	if p.batch > 1 {
		p.body = append(p.body, `{"orders":[`...)
	}
	for i := range p.batch {
		if i > 0 {
			p.body = append(p.body, ',')
		}
		p.tickIndex++
		p.body = fmt.Appendf(p.body, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"limit","tick":%d,"qty":25,"tif":"gtc"}`, p.as.clientOrderIDs.Add(1), p.market, 100+10*(p.tickIndex%29))
	}
	if p.batch > 1 {
		p.body = append(p.body, "]}"...)
	}
}
