package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"duplex/schemas"
)

// act is one kind of request of a mix.
type act struct {
	name   string
	weight int
	do     func(*mixer) (status int, answer []byte, err error)
}

// mixes are what callers are like. Weights are of requests.
var mixes = map[string][]act{
	"maker":  {{"place", 10, (*mixer).rest}, {"cancel", 8, (*mixer).cancel}, {"decrease", 1, (*mixer).decrease}, {"orderbook", 1, (*mixer).book}},
	"taker":  {{"place", 3, (*mixer).rest}, {"take", 6, (*mixer).take}, {"orderbook", 1, (*mixer).book}},
	"cancel": {{"place", 10, (*mixer).rest}, {"cancel", 9, (*mixer).cancel}},
	"read":   {{"orderbook", 5, (*mixer).book}, {"orders", 2, (*mixer).orders}, {"balance", 2, (*mixer).balance}, {"markets", 1, (*mixer).list}},
	"agents": {{"tool get_orderbook", 4, (*mixer).toolBook}, {"tool preview_order", 2, (*mixer).toolPreview}, {"tool place_order", 2, (*mixer).toolPlace}, {"tool get_balance", 2, (*mixer).toolBalance}},
}

func init() { // full is a venue's day: all of them, on every market that trades
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		mixes["full"] = append(mixes["full"], mixes[name]...)
	}
}

// mixer is one connection with an account of its own.
type mixer struct {
	wire    *wire
	r       *rand.Rand
	markets []uint32
	most    int // markets at once
	id      int
	open    []string // order ids that may rest
	sum     int      // of weights
	acts    []act
}

// tally is what became of one kind of request. Latencies are in microseconds: in a
// closed loop from when it was sent, in an open one from when it was due, so that a
// stall counts for all whom it made late.
type tally struct {
	Name      string         `json:"operation"`
	Count     int64          `json:"count"`
	PerSecond float64        `json:"per_s"`
	Failed    map[string]int `json:"failed,omitempty"` // by code
	P50       int64          `json:"p50_us"`
	P99       int64          `json:"p99_us"`
	P999      int64          `json:"p999_us"`
	Max       int64          `json:"max_us"`
	times     *hdrhistogram.Histogram
}

// mixed runs a mix over all connections.
func (b *benchCmd) mixed(ctx context.Context, dev *schemas.DevFile, out io.Writer) error {
	keys, err := b.accounts(ctx, dev)
	if err != nil {
		return err
	}
	markets, err := b.markets(dev)
	if err != nil {
		return err
	}
	if b.Mix != "full" {
		markets = markets[:1]
	}
	ctx, cancel := context.WithTimeout(ctx, b.Duration)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	var broke error
	sums := map[string]*tally{}
	var mixers []*mixer
	for i := range b.Conns {
		w, err := dialWire(dev, keys[i].APIKey, keys[i].Secret)
		if err != nil {
			return err
		}
		defer w.conn.Close()
		mixers = append(mixers, newMixer(w, markets, mixes[b.Mix], uint64(i)))
	}
	begun := time.Now()
	for i, m := range mixers {
		all.Go(func() {
			mine, err := m.loop(ctx, b.schedule(i, begun))
			mu.Lock()
			defer mu.Unlock()
			broke = errors.Join(broke, err)
			for name, t := range mine {
				add(sums, name, t)
			}
		})
	}
	all.Wait()
	if broke != nil {
		return broke
	}
	return b.show(out, sums, time.Since(begun))
}

// schedule tells when the n-th request of a connection is due; nil: as soon as the one
// before is answered.
func (b *benchCmd) schedule(conn int, begun time.Time) func(n int) time.Time {
	if b.Rate == 0 {
		return nil
	}
	return func(n int) time.Time {
		return begun.Add(time.Duration((float64(n) + float64(conn)/float64(b.Conns)) * float64(b.Conns) / b.Rate * float64(time.Second)))
	}
}

func newMixer(w *wire, markets []uint32, acts []act, seed uint64) *mixer {
	m := &mixer{wire: w, r: rand.New(rand.NewPCG(seed, 7)), markets: markets, most: len(markets), acts: acts}
	for _, a := range acts {
		m.sum += a.weight
	}
	return m
}

func (m *mixer) draw() act {
	n := m.r.IntN(m.sum)
	for _, a := range m.acts {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("weights do not add up")
}

func (m *mixer) loop(ctx context.Context, due func(int) time.Time) (map[string]*tally, error) {
	sums := map[string]*tally{}
	for n := 0; ctx.Err() == nil; n++ {
		from := time.Now()
		if due != nil {
			from = due(n)
			t := time.NewTimer(time.Until(from))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return sums, nil
			}
		}
		a := m.draw()
		status, answer, err := a.do(m)
		if err != nil {
			return sums, fmt.Errorf("%s: %w", a.name, err)
		}
		one := &tally{Failed: map[string]int{}, times: newTimes()}
		if code := refusal(status, answer); code != "" {
			one.Failed[code] = 1
			if code == "market_not_trading" { // a round is over; the next ones are there
				if err := m.look(); err != nil {
					return sums, err
				}
			}
		} else if err := one.times.RecordValue(time.Since(from).Microseconds()); err != nil {
			return sums, err
		}
		add(sums, a.name, one)
	}
	return sums, nil
}

// refusal is the code of an answer that refuses, of either lane; "" if it does not.
func refusal(status int, answer []byte) string {
	if status < 300 && !bytes.Contains(answer, []byte(`"isError":true`)) {
		return ""
	}
	_, rest, _ := strings.Cut(string(answer), `"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return cmp.Or(code, http.StatusText(status))
}

func add(sums map[string]*tally, name string, x *tally) {
	t := sums[name]
	if t == nil {
		t = &tally{Name: name, Failed: map[string]int{}, times: newTimes()}
		sums[name] = t
	}
	t.times.Merge(x.times)
	for code, n := range x.Failed {
		t.Failed[code] += n
	}
}

func (b *benchCmd) show(out io.Writer, sums map[string]*tally, d time.Duration) error {
	total := &tally{Name: "all", Failed: map[string]int{}, times: newTimes()}
	var list []*tally
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, sums[name])
		add(map[string]*tally{"all": total}, "all", sums[name])
	}
	list = append(list, total)
	for _, t := range list {
		t.Count, t.PerSecond = t.times.TotalCount(), float64(t.times.TotalCount())/d.Seconds()
		t.P50, t.P99, t.P999, t.Max = t.times.ValueAtQuantile(50), t.times.ValueAtQuantile(99), t.times.ValueAtQuantile(99.9), t.times.Max()
	}
	if b.JSON {
		return json.NewEncoder(out).Encode(list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tcount\tper s\tp50 µs\tp99 µs\tp99.9 µs\tmax µs\trefused\t")
	for _, t := range list {
		var codes []string
		for _, code := range slices.Sorted(maps.Keys(t.Failed)) {
			codes = append(codes, fmt.Sprintf("%s %d", code, t.Failed[code]))
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%d\t%d\t%d\t%d\t%s\t\n", t.Name, t.Count, t.PerSecond, t.P50, t.P99, t.P999, t.Max, strings.Join(codes, ", "))
	}
	return w.Flush()
}

// look takes the markets that trade now: as many as before, at most.
func (m *mixer) look() error {
	now, err := m.wire.trading()
	if err == nil {
		m.markets, m.open = now[:min(len(now), m.most)], m.open[:0]
	}
	return err
}

func (m *mixer) market() uint32 { return m.markets[m.r.IntN(len(m.markets))] }

// order is a body; makers' ticks are the lower ones, where nobody meets them but takers.
func (m *mixer) order(outcome string, tick int, more string) []byte {
	m.id++
	return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":5%s}`, m.id, m.market(), outcome, tick, more)
}

// rest quotes near the middle, and clears the account when it has many orders.
func (m *mixer) rest() (int, []byte, error) {
	if len(m.open) >= openOrders {
		m.open = m.open[:0]
		if status, answer, err := m.wire.send("DELETE", "/v1/portfolio/orders", nil); err != nil || status >= 300 {
			return status, answer, err
		}
	}
	status, answer, err := m.wire.send("POST", "/v1/portfolio/orders", m.order("yes", 4000+100*m.r.IntN(8), ""))
	if err == nil && status == http.StatusCreated {
		_, rest, _ := strings.Cut(string(answer), `"order_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		m.open = append(m.open, id)
	}
	return status, answer, err
}

func (m *mixer) take() (int, []byte, error) {
	return m.wire.send("POST", "/v1/portfolio/orders", m.order("no", 6000, `,"tif":"ioc"`))
}

// last is an order that may rest; a new one where there is none.
func (m *mixer) last(do func(id string) (int, []byte, error)) (int, []byte, error) {
	if len(m.open) == 0 {
		return m.rest()
	}
	return do(m.open[len(m.open)-1])
}

// cancel takes the newest order off. One that has traded meanwhile is told as refused.
func (m *mixer) cancel() (int, []byte, error) {
	return m.last(func(id string) (int, []byte, error) {
		m.open = m.open[:len(m.open)-1]
		return m.wire.send("DELETE", "/v1/portfolio/orders/"+id, nil)
	})
}

func (m *mixer) decrease() (int, []byte, error) {
	return m.last(func(id string) (int, []byte, error) {
		return m.wire.send("POST", "/v1/portfolio/orders/"+id+"/decrease", []byte(`{"reduce_by":1}`))
	})
}

func (m *mixer) get(target string) (int, []byte, error) { return m.wire.send("GET", target, nil) }

func (m *mixer) book() (int, []byte, error) {
	return m.get(fmt.Sprintf("/v1/markets/%d/orderbook", m.market()))
}
func (m *mixer) orders() (int, []byte, error)  { return m.get("/v1/portfolio/orders?limit=100") }
func (m *mixer) balance() (int, []byte, error) { return m.get("/v1/portfolio/balance") }
func (m *mixer) list() (int, []byte, error)    { return m.get("/v1/markets") }

func (m *mixer) tool(name string, arguments []byte) (int, []byte, error) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	return m.wire.sendWith("Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n", "POST", "/v1/mcp", body)
}

func (m *mixer) toolBook() (int, []byte, error) {
	return m.tool("get_orderbook", fmt.Appendf(nil, `{"market_id":%d}`, m.market()))
}
func (m *mixer) toolPreview() (int, []byte, error) {
	return m.tool("preview_order", m.order("yes", 4500, ""))
}
func (m *mixer) toolPlace() (int, []byte, error) {
	return m.tool("place_order", m.order("no", 3000, `,"tif":"ioc"`))
}
func (m *mixer) toolBalance() (int, []byte, error) { return m.tool("get_balance", []byte(`{}`)) }
