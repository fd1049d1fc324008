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
	"time"
)

// act is one kind of request of a mix.
type act struct {
	name    string
	weight  int
	do      func(*mixer) (status int, answer []byte, err error)
	command bool // it goes through the log
}

// mixes are what callers are like. Weights are of requests.
var mixes = map[string][]act{
	"maker":  {{"place", 10, (*mixer).rest, true}, {"cancel", 8, (*mixer).cancel, true}, {"decrease", 1, (*mixer).decrease, true}, {"orderbook", 1, (*mixer).book, false}},
	"taker":  {{"place", 3, (*mixer).rest, true}, {"take", 6, (*mixer).take, true}, {"orderbook", 1, (*mixer).book, false}},
	"cancel": {{"place", 10, (*mixer).rest, true}, {"cancel", 9, (*mixer).cancel, true}},
	"read":   {{"orderbook", 5, (*mixer).book, false}, {"orders", 2, (*mixer).orders, false}, {"balance", 2, (*mixer).balance, false}, {"markets", 1, (*mixer).list, false}},
	"agents": {{"tool get_orderbook", 4, (*mixer).toolBook, false}, {"tool preview_order", 2, (*mixer).toolPreview, false}, {"tool place_order", 2, (*mixer).toolPlace, true}, {"tool get_balance", 2, (*mixer).toolBalance, false}},
}

func init() { // full is a venue's day: all of them, on every market that trades
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		mixes["full"] = append(mixes["full"], mixes[name]...)
	}
}

// mixer is one connection that asks.
type mixer struct {
	wire  *wire
	as    *trader
	r     *rand.Rand
	board *board
	open  []string // order ids that may rest
	sum   int      // of weights
	acts  []act
	said  *answers
}

// crowd is all connections of a mix.
type crowd struct {
	board  *board
	mixers []*mixer
	taps   []*tap
	said   *answers
}

const fullReaders = 8 // of the event lane, beside --mix full

// mixed runs a mix over all connections.
func (b *benchCmd) mixed(ctx context.Context, on *target, out io.Writer) error {
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
	all, err := on.traders(ctx, b.Conns, slices.ContainsFunc(mixes[b.Mix], func(a act) bool { return a.command }))
	if err != nil {
		return err
	}
	c := &crowd{}
	defer c.hangUp()
	if err := c.open(ctx, b, on, all, readers); err != nil {
		return err
	}
	begun := time.Now()
	defer time.AfterFunc(b.Duration, end).Stop()
	if err := c.run(ctx, end, b, begun); err != nil {
		return err
	}
	r, err := c.result(time.Since(begun))
	if err != nil {
		return err
	}
	r.Mix, r.Asked, r.Accounts = b.Mix, b.Rate, keys
	if b.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	return r.print(out)
}

// open makes all connections.
func (c *crowd) open(ctx context.Context, b *benchCmd, on *target, all []*trader, readers int) error {
	w, err := on.dial(all[0])
	if err != nil {
		return err
	}
	c.board, err = newBoard(w, b.Mix != "full")
	if err != nil {
		return errors.Join(err, w.conn.Close())
	}
	c.said = newAnswers(mixes[b.Mix])
	for i, as := range all {
		w, err := on.dial(as)
		if err != nil {
			return err
		}
		c.mixers = append(c.mixers, newMixer(w, as, c.board, mixes[b.Mix], c.said, uint64(i)))
	}
	for i := range readers {
		t := newTap(on, all[i%len(all)], i%2 == 0) // every second one reads its account too
		if err := t.open(ctx); err != nil {
			return err
		}
		c.taps = append(c.taps, t)
	}
	return nil
}

// run lets them all go until ctx ends, or one of them cannot go on.
func (c *crowd) run(ctx context.Context, end func(), b *benchCmd, begun time.Time) (broke error) {
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
	for i, m := range c.mixers {
		let(func() error { return m.loop(ctx, begun, b.schedule(i, begun)) })
	}
	for _, t := range c.taps {
		let(func() error { return t.run(ctx, begun) })
	}
	let(func() error { return c.board.run(ctx) })
	all.Wait()
	return broke
}

func (c *crowd) hangUp() {
	if c.board != nil {
		_ = c.board.wire.conn.Close() // the venue may have closed this or any other
	}
	for _, m := range c.mixers {
		_ = m.wire.conn.Close()
	}
	for _, t := range c.taps {
		t.hangUp()
	}
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

func newMixer(w *wire, as *trader, on *board, acts []act, said *answers, seed uint64) *mixer {
	m := &mixer{wire: w, as: as, r: rand.New(rand.NewPCG(seed, 7)), board: on, acts: acts, said: said}
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

func (m *mixer) loop(ctx context.Context, begun time.Time, due func(int) time.Time) error {
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
		a := m.draw()
		status, answer, err := a.do(m)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		at := moment{from: from.Sub(begun), here: time.Since(begun)}
		code := refusal(status, answer)
		switch {
		case code == "market_not_trading": // a round is over; the next ones are there
			m.open = m.open[:0]
			m.board.stale.Store(true)
		case code == "" && a.command:
			at.seq = seqOf(answer)
		}
		if err := m.said.add(a.name, code, at); err != nil {
			return err
		}
	}
	return nil
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

// seqOf is the seq of what a command did; 0 if it did not say.
func seqOf(answer []byte) uint64 {
	_, rest, _ := bytes.Cut(answer, []byte(`"seq":"`))
	seq, _, _ := number(rest, `"`)
	return seq
}

func (m *mixer) market() uint32 {
	trades := *m.board.trades.Load()
	return trades[m.r.IntN(len(trades))]
}

// order is a body; makers' ticks are the lower ones, where nobody meets them but takers.
func (m *mixer) order(outcome string, tick int, more string) []byte {
	return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":5%s}`, m.as.ids.Add(1), m.market(), outcome, tick, more)
}

// rest quotes near the middle, and clears the account when it has many orders.
func (m *mixer) rest() (int, []byte, error) {
	if len(m.open) >= m.as.room {
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
