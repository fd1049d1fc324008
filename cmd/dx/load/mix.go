package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/internal/backoff"
	"duplex/internal/rawhttp"
	"duplex/schemas"
)

// mixOperation is one kind of request in a mix.
type mixOperation struct {
	name    string
	weight  int
	do      func(*mixClient) (status int, answer []byte, err error)
	command bool // the request becomes a command in the journal
}

// mixes holds the operations of each mix, with the share of requests of each as a weight.
var mixes = map[string][]mixOperation{
	"maker":  {{"place", 10, (*mixClient).placeQuote, true}, {"cancel", 8, (*mixClient).cancel, true}, {"decrease", 1, (*mixClient).decrease, true}, {"orderbook", 1, (*mixClient).book, false}},
	"taker":  {{"place", 3, (*mixClient).placeQuote, true}, {"take", 6, (*mixClient).placeTaker, true}, {"orderbook", 1, (*mixClient).book, false}},
	"cancel": {{"place", 10, (*mixClient).placeQuote, true}, {"cancel", 9, (*mixClient).cancel, true}},
	"quotes": {{"quote", 7, (*mixClient).quote, true}, {"quote all", 1, (*mixClient).quoteAll, true}, {"take", 2, (*mixClient).placeTaker, true}, {"orderbook", 1, (*mixClient).book, false}},
	"read":   {{"orderbook", 5, (*mixClient).book, false}, {"orders", 2, (*mixClient).orders, false}, {"balance", 2, (*mixClient).balance, false}, {"markets", 1, (*mixClient).list, false}},
	"agents": {{"tool get_orderbook", 4, (*mixClient).toolBook, false}, {"tool preview_order", 2, (*mixClient).toolPreview, false}, {"tool place_order", 2, (*mixClient).toolPlace, true}, {"tool get_balance", 2, (*mixClient).toolBalance, false}},
}

func init() { // full is all mixes together
	for _, name := range slices.Sorted(maps.Keys(mixes)) {
		mixes["full"] = append(mixes["full"], mixes[name]...)
	}
}

// Mixes returns the names of the mixes.
func Mixes() []string { return slices.Sorted(maps.Keys(mixes)) }

// mixClient is one connection that sends the requests of a mix.
type mixClient struct {
	wire       *rawhttp.Conn
	as         *trader
	r          *rand.Rand
	board      *marketBoard
	open       []string // ids of orders that may rest
	operations []mixOperation
	weightSum  int    // of operations
	group      uint64 // of the quotes
	recorder   *latencyRecorder
}

// mixRun holds all connections of a mix.
type mixRun struct {
	board    *marketBoard
	clients  []*mixClient
	readers  []*frameReader
	recorder *latencyRecorder
}

// FullReaders is the default number of readers of the mix full.
const FullReaders = 8

// runMix runs a mix over all connections.
func runMix(ctx context.Context, v *Venue, o *Options) (*MixReport, error) {
	readers := 0
	if o.Mix == "full" {
		readers = FullReaders
	}
	if o.Readers != nil {
		readers = *o.Readers
	}
	keys := v.accounts(o.Conns)
	if readers < 0 || readers > connsPerKey*keys {
		return nil, cli.BadFlag("readers", fmt.Errorf("must be 0 to %d: %d keys with %d connections each", connsPerKey*keys, keys, connsPerKey))
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	traders, err := v.traders(ctx, o.Conns, slices.ContainsFunc(mixes[o.Mix], func(op mixOperation) bool { return op.command }))
	if err != nil {
		return nil, err
	}
	r := &mixRun{}
	defer r.close()
	if err := r.open(ctx, v, o, traders, readers); err != nil {
		return nil, err
	}
	done, stop := o.Progress.Phase("mix "+o.Mix, o.Duration, "requests")
	start := time.Now()
	defer time.AfterFunc(o.Duration, end).Stop()
	err = r.run(ctx, end, o, start, done)
	stop()
	if err != nil {
		return nil, err
	}
	report, err := r.report(time.Since(start))
	if err != nil {
		return nil, err
	}
	report.Mix, report.TargetRate, report.Accounts = o.Mix, o.Rate, keys
	return report, nil
}

// open opens the connections of the board, the clients and the readers.
func (r *mixRun) open(ctx context.Context, v *Venue, o *Options, traders []*trader, readers int) error {
	w, err := v.dial(traders[0])
	if err != nil {
		return err
	}
	r.board, err = newMarketBoard(w, o.Mix != "full")
	if err != nil {
		return errors.Join(err, w.Close())
	}
	r.recorder = newLatencyRecorder(mixes[o.Mix])
	for i, as := range traders {
		w, err := v.dial(as)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, newMixClient(w, as, r.board, mixes[o.Mix], r.recorder, uint64(i)))
	}
	for i := range readers {
		t := newFrameReader(v, traders[i%v.accounts(len(traders))], i%2 == 0) // every second reader also reads its account
		if err := t.open(ctx); err != nil {
			return err
		}
		r.readers = append(r.readers, t)
	}
	return nil
}

// run runs the clients, the readers and the board until ctx ends, or until one of them
// fails, which calls end. It counts the requests in done.
func (r *mixRun) run(ctx context.Context, end func(), o *Options, start time.Time, done *atomic.Int64) (failed error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	run := func(f func() error) {
		all.Go(func() {
			if err := f(); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
				end()
			}
		})
	}
	for i, c := range r.clients {
		run(func() error { return c.loop(ctx, start, o.schedule(i, start), done) })
	}
	for _, t := range r.readers {
		run(func() error { return t.run(ctx, start) })
	}
	run(func() error { return r.board.run(ctx) })
	all.Wait()
	return failed
}

func (r *mixRun) close() {
	if r.board != nil {
		_ = r.board.wire.Close() // each Close fails if the venue has closed the connection
	}
	for _, c := range r.clients {
		_ = c.wire.Close()
	}
	for _, t := range r.readers {
		t.close()
	}
}

// schedule returns the times at which the requests of connection conn are due, by number.
// The connections take turns. In a closed loop it returns nil: a request is due when the
// one before is answered.
func (o *Options) schedule(conn int, start time.Time) func(n int) time.Time {
	if o.Rate == 0 {
		return nil
	}
	return func(n int) time.Time {
		return start.Add(time.Duration((float64(n) + float64(conn)/float64(o.Conns)) * float64(o.Conns) / o.Rate * float64(time.Second)))
	}
}

func newMixClient(w *rawhttp.Conn, as *trader, board *marketBoard, operations []mixOperation, recorder *latencyRecorder, seed uint64) *mixClient {
	m := &mixClient{wire: w, as: as, r: rand.New(rand.NewPCG(seed, 7)), board: board, operations: operations, recorder: recorder, group: seed + 1}
	for _, op := range operations {
		m.weightSum += op.weight
	}
	return m
}

// pickOperation picks an operation at random, by weight.
func (m *mixClient) pickOperation() mixOperation {
	n := m.r.IntN(m.weightSum)
	for _, op := range m.operations {
		if n -= op.weight; n < 0 {
			return op
		}
	}
	panic("weights do not add up")
}

// loop sends requests until ctx ends. due gives the time of the n-th one; nil is a closed
// loop.
func (m *mixClient) loop(ctx context.Context, start time.Time, due func(int) time.Time, done *atomic.Int64) error {
	for n := 0; ctx.Err() == nil; n++ {
		from := time.Now()
		if due != nil {
			from = due(n)
			if !backoff.Sleep(ctx, time.Until(from)) {
				return nil
			}
		}
		op := m.pickOperation()
		status, answer, err := op.do(m)
		if err != nil {
			return fmt.Errorf("%s: %w", op.name, err)
		}
		at := timing{sent: from.Sub(start), received: time.Since(start)}
		code := errorCode(status, answer)
		switch {
		case code == "market_not_trading", code == "stale_generation": // a round is over, and its orders with it
			m.open = m.open[:0]
			m.board.stale.Store(true)
		case code == "" && op.command:
			at.seq = seqOf(answer)
		}
		if err := m.recorder.add(op.name, code, at); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// errorCode returns the error code of a response of REST or of the agent lane, or "" if the
// request succeeded.
func errorCode(status int, answer []byte) string {
	if status < 300 && !bytes.Contains(answer, []byte(`"isError":true`)) {
		return ""
	}
	_, rest, _ := strings.Cut(string(answer), `"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return cmp.Or(code, http.StatusText(status))
}

// seqOf returns the seq in the response to a command, or 0 if it has none.
func seqOf(answer []byte) uint64 {
	_, rest, _ := bytes.Cut(answer, []byte(`"seq":"`))
	seq, _, _ := number(rest, `"`)
	return seq
}

func (m *mixClient) slot() slot {
	trades := *m.board.trading.Load()
	return trades[m.r.IntN(len(trades))]
}

func (m *mixClient) market() uint32 { return m.slot().market }

// order returns the body of a buy order of 5 contracts with more members appended.
func (m *mixClient) order(outcome string, tick int, more string) []byte {
	s := m.slot()
	return fmt.Appendf(nil, `{"client_order_id":"%d","market_id":%d,"generation":%d,"side":"buy","outcome":%q,"tick":%d,"qty":5%s}`, m.as.clientOrderIDs.Add(1), s.market, s.generation, outcome, tick, more)
}

// placeQuote places an order that rests near the middle of the book until a taker trades
// with it. When the account has reached its limit of open orders, it cancels all instead.
func (m *mixClient) placeQuote() (int, []byte, error) {
	if len(m.open) >= m.as.maxOpenOrders {
		status, answer, err := m.wire.Do("DELETE", "/v1/portfolio/orders", "", nil)
		if err == nil && status < 300 {
			m.open = m.open[:0]
		}
		return status, answer, err
	}
	status, answer, err := m.wire.Do("POST", "/v1/portfolio/orders", "", m.order("yes", 4000+100*m.r.IntN(8), ""))
	if err == nil && status == http.StatusCreated {
		_, rest, _ := strings.Cut(string(answer), `"order_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		m.open = append(m.open, id)
	}
	return status, answer, err
}

// quote moves both sides of one market.
func (m *mixClient) quote() (int, []byte, error) { return m.quoteSlots(m.slot()) }

// quoteAll moves both sides of every market in one request.
func (m *mixClient) quoteAll() (int, []byte, error) {
	trades := *m.board.trading.Load()
	return m.quoteSlots(trades[:min(len(trades), schemas.BatchCap)]...)
}

// quoteSlots quotes slots for the group of this connection. A side that is rejected fails the request.
func (m *mixClient) quoteSlots(slots ...slot) (int, []byte, error) {
	body := []byte(`{"quotes":[`)
	for i, s := range slots {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"market_id":%d,"generation":%d,"group_id":%d,"bid":{"client_order_id":"%d","tick":%d,"qty":5},"ask":{"client_order_id":"%d","tick":%d,"qty":5}}`,
			s.market, s.generation, m.group, m.as.clientOrderIDs.Add(1), 4000+100*m.r.IntN(8), m.as.clientOrderIDs.Add(1), 6100+100*m.r.IntN(8))
	}
	status, answer, err := m.wire.Do("PUT", "/v1/portfolio/quotes", "", append(body, `]}`...))
	if status < 300 && bytes.Contains(answer, []byte(`{"error":`)) {
		status = http.StatusBadRequest
	}
	return status, answer, err
}

// placeTaker places an order that trades with quotes at 4000 or more and never rests.
func (m *mixClient) placeTaker() (int, []byte, error) {
	return m.wire.Do("POST", "/v1/portfolio/orders", "", m.order("no", 6000, `,"tif":"ioc"`))
}

// withLastOrder calls do with the newest order that may rest. If there is none, it places
// one instead.
func (m *mixClient) withLastOrder(do func(id string) (int, []byte, error)) (int, []byte, error) {
	if len(m.open) == 0 {
		return m.placeQuote()
	}
	return do(m.open[len(m.open)-1])
}

// cancel cancels the newest order. If it has traded by then, the venue rejects the request.
func (m *mixClient) cancel() (int, []byte, error) {
	return m.withLastOrder(func(id string) (int, []byte, error) {
		m.open = m.open[:len(m.open)-1]
		return m.wire.Do("DELETE", "/v1/portfolio/orders/"+id, "", nil)
	})
}

func (m *mixClient) decrease() (int, []byte, error) {
	return m.withLastOrder(func(id string) (int, []byte, error) {
		return m.wire.Do("POST", "/v1/portfolio/orders/"+id+"/decrease", "", []byte(`{"reduce_by":1}`))
	})
}

func (m *mixClient) get(target string) (int, []byte, error) { return m.wire.Do("GET", target, "", nil) }

func (m *mixClient) book() (int, []byte, error) {
	return m.get(fmt.Sprintf("/v1/markets/%d/orderbook", m.market()))
}
func (m *mixClient) orders() (int, []byte, error)  { return m.get("/v1/portfolio/orders?limit=100") }
func (m *mixClient) balance() (int, []byte, error) { return m.get("/v1/portfolio/balance") }
func (m *mixClient) list() (int, []byte, error)    { return m.get("/v1/markets") }

func (m *mixClient) tool(name string, arguments []byte) (int, []byte, error) {
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	return m.wire.Do("POST", "/v1/mcp", "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n", body)
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
