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
	"sync/atomic"
	"time"
)

// mixOperation is one kind of request of a mix.
type mixOperation struct {
	name    string
	weight  int
	do      func(*mixClient) (status int, answer []byte, err error)
	command bool // it goes through the log
}

// mixes are what callers are like. Weights are of requests.
var mixes = map[string][]mixOperation{
	"maker":  {{"place", 10, (*mixClient).placeQuote, true}, {"cancel", 8, (*mixClient).cancel, true}, {"decrease", 1, (*mixClient).decrease, true}, {"orderbook", 1, (*mixClient).book, false}},
	"taker":  {{"place", 3, (*mixClient).placeQuote, true}, {"take", 6, (*mixClient).placeTaker, true}, {"orderbook", 1, (*mixClient).book, false}},
	"cancel": {{"place", 10, (*mixClient).placeQuote, true}, {"cancel", 9, (*mixClient).cancel, true}},
	"read":   {{"orderbook", 5, (*mixClient).book, false}, {"orders", 2, (*mixClient).orders, false}, {"balance", 2, (*mixClient).balance, false}, {"markets", 1, (*mixClient).list, false}},
	"agents": {{"tool get_orderbook", 4, (*mixClient).toolBook, false}, {"tool preview_order", 2, (*mixClient).toolPreview, false}, {"tool place_order", 2, (*mixClient).toolPlace, true}, {"tool get_balance", 2, (*mixClient).toolBalance, false}},
}

func init() { // full is a venue's day: all of them, on every market that trades
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		mixes["full"] = append(mixes["full"], mixes[name]...)
	}
}

// mixClient is one connection that asks.
type mixClient struct {
	wire      *rawConn
	as        *trader
	r         *rand.Rand
	board     *marketBoard
	open      []string // order ids that may rest
	weightSum int      // of weights
	acts      []mixOperation
	recorder  *latencyRecorder
}

// mixRun is all connections of a mix.
type mixRun struct {
	board    *marketBoard
	clients  []*mixClient
	readers  []*frameReader
	recorder *latencyRecorder
}

const fullReaders = 8 // of the event lane, beside --mix full

// runMix runs a mix over all connections.
func (b *benchCmd) runMix(ctx context.Context, on *target, out io.Writer) error {
	readers := 0
	if b.Mix == "full" {
		readers = fullReaders
	}
	if b.Readers != nil {
		readers = *b.Readers
	}
	keys := on.accounts(b.Conns)
	if readers < 0 || readers > connsAKey*keys {
		return flagError{"readers", fmt.Errorf("0 to %d: %d keys have %d connections each", connsAKey*keys, keys, connsAKey)}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	all, err := on.traders(ctx, b.Conns, slices.ContainsFunc(mixes[b.Mix], func(a mixOperation) bool { return a.command }))
	if err != nil {
		return err
	}
	c := &mixRun{}
	defer c.hangUp()
	if err := c.open(ctx, b, on, all, readers); err != nil {
		return err
	}
	done, stop := b.shows.phase("mix "+b.Mix, b.Duration, "requests")
	start := time.Now()
	defer time.AfterFunc(b.Duration, end).Stop()
	err = c.run(ctx, end, b, start, done)
	stop()
	if err != nil {
		return err
	}
	r, err := c.result(time.Since(start))
	if err != nil {
		return err
	}
	r.Mix, r.TargetRate, r.Accounts = b.Mix, b.Rate, keys
	if b.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	return r.print(out)
}

// open makes all connections.
func (c *mixRun) open(ctx context.Context, b *benchCmd, on *target, all []*trader, readers int) error {
	w, err := on.dial(all[0])
	if err != nil {
		return err
	}
	c.board, err = newMarketBoard(w, b.Mix != "full")
	if err != nil {
		return errors.Join(err, w.conn.Close())
	}
	c.recorder = newLatencyRecorder(mixes[b.Mix])
	for i, as := range all {
		w, err := on.dial(as)
		if err != nil {
			return err
		}
		c.clients = append(c.clients, newMixClient(w, as, c.board, mixes[b.Mix], c.recorder, uint64(i)))
	}
	for i := range readers {
		t := newFrameReader(on, all[i%len(all)], i%2 == 0) // every second one reads its account too
		if err := t.open(ctx); err != nil {
			return err
		}
		c.readers = append(c.readers, t)
	}
	return nil
}

// run lets them all go until ctx ends, or one of them cannot go on, and counts the
// requests in done.
func (c *mixRun) run(ctx context.Context, end func(), b *benchCmd, start time.Time, done *atomic.Int64) (broke error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	let := func(one func() error) {
		all.Go(func() {
			if err := one(); err != nil {
				mu.Lock()
				broke = errors.Join(broke, err)
				mu.Unlock()
				end()
			}
		})
	}
	for i, m := range c.clients {
		let(func() error { return m.loop(ctx, start, b.schedule(i, start), done) })
	}
	for _, t := range c.readers {
		let(func() error { return t.run(ctx, start) })
	}
	let(func() error { return c.board.run(ctx) })
	all.Wait()
	return broke
}

func (c *mixRun) hangUp() {
	if c.board != nil {
		_ = c.board.wire.conn.Close() // the venue may have closed this or any other
	}
	for _, m := range c.clients {
		_ = m.wire.conn.Close()
	}
	for _, t := range c.readers {
		t.close()
	}
}

// schedule tells when the n-th request of a connection is due; nil: as soon as the one
// before is answered.
func (b *benchCmd) schedule(conn int, start time.Time) func(n int) time.Time {
	if b.Rate == 0 {
		return nil
	}
	return func(n int) time.Time {
		return start.Add(time.Duration((float64(n) + float64(conn)/float64(b.Conns)) * float64(b.Conns) / b.Rate * float64(time.Second)))
	}
}

func newMixClient(w *rawConn, as *trader, on *marketBoard, acts []mixOperation, said *latencyRecorder, seed uint64) *mixClient {
	m := &mixClient{wire: w, as: as, r: rand.New(rand.NewPCG(seed, 7)), board: on, acts: acts, recorder: said}
	for _, a := range acts {
		m.weightSum += a.weight
	}
	return m
}

func (m *mixClient) pickOperation() mixOperation {
	n := m.r.IntN(m.weightSum)
	for _, a := range m.acts {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("weights do not add up")
}

func (m *mixClient) loop(ctx context.Context, start time.Time, due func(int) time.Time, done *atomic.Int64) error {
	for n := 0; ctx.Err() == nil; n++ {
		from := time.Now()
		if due != nil {
			from = due(n)
			t := time.NewTimer(time.Until(from))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return nil
			}
		}
		a := m.pickOperation()
		status, answer, err := a.do(m)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		at := timing{sent: from.Sub(start), received: time.Since(start)}
		code := errorCode(status, answer)
		switch {
		case code == "market_not_trading": // a round is over; the next ones are there
			m.open = m.open[:0]
			m.board.stale.Store(true)
		case code == "" && a.command:
			at.seq = seqOf(answer)
		}
		if err := m.recorder.add(a.name, code, at); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// errorCode is the code of an answer that refuses, of either lane; "" if it does not.
func errorCode(status int, answer []byte) string {
	if status < 300 && !bytes.Contains(answer, []byte(`"isError":true`)) {
		return ""
	}
	_, rest, _ := strings.Cut(string(answer), `"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return cmp.Or(code, http.StatusText(status))
}

// seqOf is the seq of what a command did; 0 if it did not say.
func seqOf(answer []byte) uint64 {
	_, rest, _ := bytes.Cut(answer, []byte(`"seq":"`))
	seq, _, _ := number(rest, `"`)
	return seq
}

func (m *mixClient) market() uint32 {
	trades := *m.board.trading.Load()
	return trades[m.r.IntN(len(trades))]
}

// order is a body; makers' ticks are the lower ones, where nobody meets them but takers.
func (m *mixClient) order(outcome string, tick int, more string) []byte {
	return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":5%s}`, m.as.clientOrderIDs.Add(1), m.market(), outcome, tick, more)
}

// placeQuote quotes near the middle, and clears the account when it has many orders.
func (m *mixClient) placeQuote() (int, []byte, error) {
	if len(m.open) >= m.as.maxOpenOrders {
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

func (m *mixClient) placeTaker() (int, []byte, error) {
	return m.wire.send("POST", "/v1/portfolio/orders", m.order("no", 6000, `,"tif":"ioc"`))
}

// withLastOrder is an order that may rest; a new one where there is none.
func (m *mixClient) withLastOrder(do func(id string) (int, []byte, error)) (int, []byte, error) {
	if len(m.open) == 0 {
		return m.placeQuote()
	}
	return do(m.open[len(m.open)-1])
}

// cancel takes the newest order off. One that has traded meanwhile is told as refused.
func (m *mixClient) cancel() (int, []byte, error) {
	return m.withLastOrder(func(id string) (int, []byte, error) {
		m.open = m.open[:len(m.open)-1]
		return m.wire.send("DELETE", "/v1/portfolio/orders/"+id, nil)
	})
}

func (m *mixClient) decrease() (int, []byte, error) {
	return m.withLastOrder(func(id string) (int, []byte, error) {
		return m.wire.send("POST", "/v1/portfolio/orders/"+id+"/decrease", []byte(`{"reduce_by":1}`))
	})
}

func (m *mixClient) get(target string) (int, []byte, error) { return m.wire.send("GET", target, nil) }

func (m *mixClient) book() (int, []byte, error) {
	return m.get(fmt.Sprintf("/v1/markets/%d/orderbook", m.market()))
}
func (m *mixClient) orders() (int, []byte, error)  { return m.get("/v1/portfolio/orders?limit=100") }
func (m *mixClient) balance() (int, []byte, error) { return m.get("/v1/portfolio/balance") }
func (m *mixClient) list() (int, []byte, error)    { return m.get("/v1/markets") }

func (m *mixClient) tool(name string, arguments []byte) (int, []byte, error) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	return m.wire.sendWith("Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n", "POST", "/v1/mcp", body)
}

func (m *mixClient) toolBook() (int, []byte, error) {
	return m.tool("get_orderbook", fmt.Appendf(nil, `{"market_id":%d}`, m.market()))
}
func (m *mixClient) toolPreview() (int, []byte, error) {
	return m.tool("preview_order", m.order("yes", 4500, ""))
}
func (m *mixClient) toolPlace() (int, []byte, error) {
	return m.tool("place_order", m.order("no", 3000, `,"tif":"ioc"`))
}
func (m *mixClient) toolBalance() (int, []byte, error) { return m.tool("get_balance", []byte(`{}`)) }
