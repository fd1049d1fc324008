package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/time/rate"

	"duplex/schemas"
)

// benchCmd is `dx bench`: a closed loop of resting placements over REST, each signed,
// matched, and durable before it is answered; or a mix of callers over all lanes, in a
// closed or an open loop. The venue must grant the rate: start it with --write-floor
// 1000000.
type benchCmd struct {
	targetFlags
	Conns    int           `help:"Connections." default:"64"`
	Duration time.Duration `help:"How long; each of three times with --frames." default:"5s"`
	Batch    int           `help:"Orders in a request; 1 uses the single route." default:"1"`
	Mix      string        `help:"Instead: what callers are like: maker, taker, cancel, read, agents, or full for all of them on every market." enum:",maker,taker,cancel,read,agents,full" default:"" placeholder:"MIX"`
	Rate     float64       `help:"With --mix: requests a second over all connections, each due at its time; 0: each when the last is answered." default:"0"`
	Readers  *int          `help:"With --mix: connections of the event lane that read all books, trades and the index, every second one its account too; default: 8 with --mix full, else 0." placeholder:"N"`
	Frames   bool          `help:"Also measure when frames come, idle and at half the load." default:"true" negatable:""`
	JSON     bool          `help:"Print JSON."`

	shows progress
}

func (b *benchCmd) Help() string {
	return `The venue must grant the rate: start it with --write-floor 1000000, and for mixes --read-rate 1000000. Only a venue on this machine's loopback is loaded: the one of the dev file, or --url. The operator (--admin, and DX_OPERATOR_TOKEN in the environment) makes a funded account for each connection. Where there is none, the connections share the accounts of --key and DX_SECRET, with commas between several; their resting orders are canceled first, unless the mix only reads.

"frame after answer" is the time from the moment a placement's HTTP answer is in hand to the moment the frame of the same seq is in hand, at a reader of orderbook_delta or user in this process. It is negative when the frame is there first. One connection places an order, waits for answer and frames, and goes on; idle it is alone, at half load the others place half of what they could. A frame that did not come, since its book was thinned for a slow reader, or not within a second, is missing and counts in no percentile.

--mix prints a line for each kind of request, for all commands (what goes through the log), all reads, and both; what was refused counts by its code alone. With --rate its latency counts from the moment the request was due, so that a stall counts for everybody it made late; without, a closed loop hides that, and the figures are of those who were served. --mix full is on every market that trades, also those that open meanwhile; the three series of 60 s begin with the minute, so that a venue just started has six of the nine.

--readers prints a line for each type of frame, over all readers: how many came, and of those that a command of this mix caused, the first of each seq at each reader, the latency from the moment the command was sent (with --rate: was due), and from the moment its answer was in hand, negative when the frame was there first. Where there are very many, every second seq is timed, or every fourth and so on. A gap is a prev_seq that was not the last seq; a connection that is closed is replaced, and counted by its code (1006: it broke).

Examples:
  dx bench
  dx bench --mix full --conns 50 --duration 20s
  dx bench --mix maker --rate 5000 --readers 100
  dx bench --conns 16 --batch 20 --duration 10s
  dx bench --url http://127.0.0.1:8080 --admin http://127.0.0.1:8082 --mix taker
  DX_KEY=one,two DX_SECRET=...,... dx bench --url http://127.0.0.1:8080 --mix read
  dx bench --no-frames --json`
}

// benchResult is what one run did. Latencies are of requests, in microseconds.
type benchResult struct {
	Conns     int          `json:"connections"`
	Accounts  int          `json:"accounts"`
	Batch     int          `json:"orders_a_request"`
	Seconds   float64      `json:"seconds"`
	Orders    int          `json:"orders"`
	PerSecond float64      `json:"orders_per_s"`
	Failed    int          `json:"failed"`
	P50       int64        `json:"p50_us"`
	P99       int64        `json:"p99_us"`
	P999      int64        `json:"p999_us"`
	Frames    *frameReport `json:"frames,omitempty"`
}

func (b *benchCmd) Run(ctx context.Context, out io.Writer, diag diagnostics) error {
	b.shows = progress{to: diag.Writer, redraw: terminal(diag.Writer)}
	if b.Batch < 1 || b.Batch > schemas.BatchCap {
		return flagError{"batch", errors.New("1 to 20")}
	}
	if !(b.Rate >= 0) || math.IsInf(b.Rate, 1) || b.Rate > 0 && b.Mix == "" {
		return flagError{"rate", errors.New("it goes with --mix, and is not negative")}
	}
	if b.Readers != nil && b.Mix == "" {
		return flagError{"readers", errors.New("they go with --mix")}
	}
	if b.Conns < 1 {
		return flagError{"conns", errors.New("1 or more is wanted")}
	}
	if b.Duration <= 0 {
		return flagError{"duration", errors.New("more than 0 is wanted")}
	}
	on, err := b.resolve()
	if err != nil {
		return err
	}
	if b.Mix != "" {
		return b.runMix(ctx, on, out)
	}
	r, err := b.measure(ctx, on)
	if err != nil {
		return err
	}
	r.Accounts = on.accounts(b.Conns)
	if b.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	_, err = fmt.Fprintf(out, "%d orders in %.1f s over %d connections of %d accounts, %d a request: %.0f orders/s, %d failed\nlatency p50 %d µs, p99 %d µs, p99.9 %d µs\n",
		r.Orders, r.Seconds, r.Conns, r.Accounts, r.Batch, r.PerSecond, r.Failed, r.P50, r.P99, r.P999)
	if err == nil && r.Frames != nil {
		_, err = io.WriteString(out, r.Frames.text())
	}
	return err
}

// measure loads the venue, and with --frames looks at the frames before that and at
// half of it.
func (b *benchCmd) measure(ctx context.Context, on *target) (r benchResult, err error) {
	n := b.Conns
	if b.Frames {
		n++ // the probe's
	}
	if on.givenTraders != nil && b.Batch > on.shareTraders(n)[0].maxOpenOrders {
		return r, flagError{"conns", fmt.Errorf("%d connections with %d orders a request are too many for %d keys: an account has 200 open orders a market", b.Conns, b.Batch, len(on.givenTraders))}
	}
	all, err := on.traders(ctx, n, true)
	if err != nil {
		return r, err
	}
	market, err := on.longestMarket(all[0])
	if err != nil {
		return r, err
	}
	if !b.Frames {
		workers, err := b.workers(on, all, market)
		defer closeWorkers(workers)
		if err != nil {
			return r, err
		}
		return b.load(ctx, workers, nil, b.shows)
	}
	p, err := b.probe(ctx, on, all[b.Conns], market)
	if err != nil {
		return r, err
	}
	defer p.close()
	done, stop := b.shows.phase("idle", b.Duration, "orders")
	idle, err := p.measure(ctx, b.Duration, done)
	stop()
	if err != nil {
		return r, err
	}
	workers, err := b.workers(on, all, market)
	defer closeWorkers(workers)
	if err != nil {
		return r, err
	}
	if r, err = b.load(ctx, workers, nil, b.shows); err != nil {
		return r, err
	}
	half, err := b.measureHalfLoad(ctx, workers, p, r.PerSecond/2)
	r.Frames = &frameReport{Idle: idle, Half: half}
	return r, err
}

// workers opens all connections.
func (b *benchCmd) workers(on *target, traders []*trader, market uint32) (all []*placer, err error) {
	for i := range b.Conns {
		w, err := b.worker(on, traders[i], market, i)
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

func closeWorkers(workers []*placer) {
	for _, w := range workers {
		_ = w.wire.conn.Close() // the venue may have
	}
}

// load runs all workers, as fast as they can or at a pace, in orders.
func (b *benchCmd) load(ctx context.Context, workers []*placer, pace *rate.Limiter, shows progress) (benchResult, error) {
	done, stop := shows.phase("load", b.Duration, "orders")
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, b.Duration)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := newHistogram()
	var failed int
	var broke error
	start := time.Now()
	for _, k := range workers {
		wg.Go(func() {
			took, bad, err := k.loop(ctx, pace, done)
			mu.Lock()
			defer mu.Unlock()
			all.Merge(took)
			failed, broke = failed+bad, errors.Join(broke, err)
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	if broke != nil || all.TotalCount() == 0 {
		return benchResult{}, errors.Join(broke, fmt.Errorf("%d requests were answered", all.TotalCount()))
	}
	n := int(all.TotalCount()) * b.Batch
	return benchResult{
		Conns: b.Conns, Batch: b.Batch, Seconds: elapsed.Seconds(), Orders: n, PerSecond: float64(n) / elapsed.Seconds(), Failed: failed,
		P50: all.ValueAtQuantile(50), P99: all.ValueAtQuantile(99), P999: all.ValueAtQuantile(99.9),
	}, nil
}

// longestMarket picks the one that trades longest.
func (t *target) longestMarket(as *trader) (uint32, error) {
	w, err := t.dial(as)
	if err != nil {
		return 0, err
	}
	defer w.conn.Close()
	all, err := w.tradingMarkets()
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, errNoMarket
	}
	return all[0].MarketID, nil
}

var errNoMarket = errors.New("no market trades")

// tradingMarkets lists the markets that trade, the one that does so longest first.
func (w *rawConn) tradingMarkets() ([]schemas.Market, error) {
	var l schemas.MarketList
	if err := w.getJSON("/v1/markets?status=trading", &l); err != nil {
		return nil, err
	}
	slices.SortFunc(l.Markets, func(a, b schemas.Market) int { return cmp.Compare(b.CloseTs, a.CloseTs) })
	return l.Markets, nil
}

// getJSON gets what a target answers.
func (w *rawConn) getJSON(target string, into any) error {
	status, body, err := w.send("GET", target, nil)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return &statusError{target, status, string(body)}
	}
	return json.Unmarshal(body, into)
}

// statusError is an answer that is none.
type statusError struct {
	target string
	status int
	answer string
}

func (r *statusError) Error() string {
	return fmt.Sprintf("GET %s: %d %s", r.target, r.status, r.answer)
}

const maxOpenOrdersPerAccount = 160 // of an account, under its limit of 200 a market

// placer is one connection that places orders.
type placer struct {
	wire      *rawConn
	as        *trader
	market    uint32
	batch     int
	tickIndex int // of the ticks
	open      int
	body      []byte
}

func (b *benchCmd) worker(on *target, as *trader, market uint32, tickIndex int) (*placer, error) {
	w, err := on.dial(as)
	if err != nil {
		return nil, err
	}
	return &placer{wire: w, as: as, market: market, batch: b.Batch, tickIndex: tickIndex}, nil
}

// loop places until ctx ends, counts the orders in done, and cancels what it placed
// before the limit of open orders is reached.
func (k *placer) loop(ctx context.Context, pace *rate.Limiter, done *atomic.Int64) (took *hdrhistogram.Histogram, failed int, err error) {
	took = newHistogram()
	for ctx.Err() == nil {
		if pace != nil && pace.WaitN(ctx, k.batch) != nil { // no more before ctx ends
			break
		}
		if err := k.cancelIfFull(); err != nil {
			return took, failed, err
		}
		start := time.Now()
		answer, ok, err := k.place()
		if err != nil {
			return took, failed, err
		}
		if !ok || k.batch > 1 && strings.Contains(string(answer), `"error"`) {
			failed++
			continue
		}
		if err := took.RecordValue(time.Since(start).Microseconds()); err != nil {
			return took, failed, err
		}
		done.Add(int64(k.batch))
	}
	return took, failed, nil
}

// cancelIfFull makes room for the next placement.
func (k *placer) cancelIfFull() error {
	if k.open+k.batch <= k.as.maxOpenOrders {
		return nil
	}
	k.open = 0
	_, _, err := k.wire.send("DELETE", "/v1/portfolio/orders", nil)
	return err
}

// place sends the next request; ok tells that it was done.
func (k *placer) place() (answer []byte, ok bool, err error) {
	target := "/v1/portfolio/orders"
	if k.batch > 1 {
		target += "/batch"
	}
	k.buildBody()
	status, answer, err := k.wire.send("POST", target, k.body)
	if ok = err == nil && status < 300; ok {
		k.open += k.batch
	}
	return answer, ok, err
}

// buildBody puts resting buys of YES on the lower ticks into the body.
func (k *placer) buildBody() {
	k.body = k.body[:0]
	if k.batch > 1 {
		k.body = append(k.body, `{"orders":[`...)
	}
	for i := range k.batch {
		if i > 0 {
			k.body = append(k.body, ',')
		}
		k.tickIndex++
		k.body = fmt.Appendf(k.body, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"limit","tick":%d,"qty":25,"tif":"gtc"}`, k.as.clientOrderIDs.Add(1), k.market, 100+10*(k.tickIndex%29))
	}
	if k.batch > 1 {
		k.body = append(k.body, "]}"...)
	}
}

// rawConn is one kept-alive connection that spends as little as it can on HTTP.
type rawConn struct {
	conn   net.Conn
	r      *bufio.Reader
	host   string
	key    string
	secret []byte
	buf    []byte
	body   []byte
}

func newRawConn(c net.Conn, host string, as *trader) *rawConn {
	return &rawConn{conn: c, r: bufio.NewReaderSize(c, 16<<10), host: host, key: as.key, secret: as.secret}
}

// send signs and sends a request and reads its answer, which stands until the next.
func (w *rawConn) send(method, target string, body []byte) (status int, answer []byte, err error) {
	return w.sendWith("", method, target, body)
}

// sendWith also sends header lines, each with its end.
func (w *rawConn) sendWith(more, method, target string, body []byte) (status int, answer []byte, err error) {
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	w.buf = fmt.Appendf(w.buf[:0], "%s %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n", method, target, w.host,
		schemas.HeaderKey, w.key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(w.secret, ts, method, target, body))
	if len(body) > 0 {
		w.buf = fmt.Appendf(w.buf, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.buf = append(append(append(w.buf, more...), "\r\n"...), body...)
	if _, err := w.conn.Write(w.buf); err != nil {
		return 0, nil, err
	}
	return w.readResponse()
}

func (w *rawConn) readResponse() (status int, answer []byte, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		if first {
			if len(line) < 12 {
				return 0, nil, fmt.Errorf("not HTTP: %q", line)
			}
			status, err = strconv.Atoi(string(line[9:12]))
			if err != nil {
				return 0, nil, err
			}
			continue
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := strings.Cut(string(line), ":"); strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, nil, err
			}
		}
	}
	w.body = slices.Grow(w.body[:0], length)[:length]
	_, err = io.ReadFull(w.r, w.body)
	return status, w.body, err
}
