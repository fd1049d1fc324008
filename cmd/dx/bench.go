package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/time/rate"

	"duplex/schemas"
)

// benchCmd is `dx bench`: a closed loop of resting placements over REST, each signed,
// matched, and durable before it is answered. The venue must grant the rate: start it
// with --write-floor 1000000.
type benchCmd struct {
	DevFile  string        `help:"The venue's dev file." default:".dx/dev.json" type:"existingfile"`
	Conns    int           `help:"Connections." default:"64"`
	Duration time.Duration `help:"How long; each of three times with --frames." default:"5s"`
	Batch    int           `help:"Orders in a request; 1 uses the single route." default:"1"`
	Mix      string        `help:"Instead: what callers are like: maker, taker, cancel, read, agents, or full for all of them on every market." enum:",maker,taker,cancel,read,agents,full" default:"" placeholder:"MIX"`
	Rate     float64       `help:"With --mix: requests a second over all connections, each due at its time; 0: each when the last is answered." default:"0"`
	Frames   bool          `help:"Also measure when frames come, idle and at half the load." default:"true" negatable:""`
	JSON     bool          `help:"Print JSON."`
}

func (b *benchCmd) Help() string {
	return `The venue must grant the rate: start it with --write-floor 1000000, and for mixes --read-rate 1000000.

"frame after answer" is the time from the moment a placement's HTTP answer is in hand to the moment the frame of the same seq is in hand, at a reader of orderbook_delta or user in this process. It is negative when the frame is there first. One connection places an order, waits for answer and frames, and goes on; idle it is alone, at half load the others place half of what they could. A frame that did not come, since its book was thinned for a slow reader, or not within a second, is missing and counts in no percentile.

--mix prints a line for each kind of request. With --rate its latency counts from the moment the request was due, so that a stall counts for everybody it made late; without, a closed loop hides that, and the figures are of those who were served.

Examples:
  dx bench
  dx bench --mix full --conns 50 --duration 20s
  dx bench --mix maker --rate 5000
  dx bench --conns 16 --batch 20 --duration 10s
  dx bench --no-frames --json`
}

// benchResult is what one run did. Latencies are of requests, in microseconds.
type benchResult struct {
	Orders    int          `json:"orders"`
	PerSecond float64      `json:"orders_per_s"`
	Failed    int          `json:"failed"`
	P50       int64        `json:"p50_us"`
	P99       int64        `json:"p99_us"`
	P999      int64        `json:"p999_us"`
	Frames    *benchFrames `json:"frames,omitempty"`
}

func (b *benchCmd) Run(ctx context.Context, out io.Writer) error {
	if b.Batch < 1 || b.Batch > schemas.BatchCap {
		return flagError{"batch", errors.New("1 to 20")}
	}
	if b.Rate < 0 || b.Rate > 0 && b.Mix == "" {
		return flagError{"rate", errors.New("it goes with --mix, and is not negative")}
	}
	if b.Conns < 1 {
		return flagError{"conns", errors.New("1 or more is wanted")}
	}
	text, err := os.ReadFile(b.DevFile)
	if err != nil {
		return err
	}
	var dev schemas.DevFile
	if err := json.Unmarshal(text, &dev); err != nil {
		return fmt.Errorf("%s: %w", b.DevFile, err)
	}
	if b.Mix != "" {
		return b.mixed(ctx, &dev, out)
	}
	r, err := b.measure(ctx, &dev)
	if err != nil {
		return err
	}
	if b.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	_, err = fmt.Fprintf(out, "%d orders in %v over %d connections: %.0f orders/s, %d failed\nlatency p50 %d µs, p99 %d µs, p99.9 %d µs\n",
		r.Orders, b.Duration, b.Conns, r.PerSecond, r.Failed, r.P50, r.P99, r.P999)
	if err == nil && r.Frames != nil {
		_, err = io.WriteString(out, r.Frames.text())
	}
	return err
}

// measure loads the venue, and with --frames looks at the frames before that and at
// half of it.
func (b *benchCmd) measure(ctx context.Context, dev *schemas.DevFile) (r benchResult, err error) {
	keys, err := b.accounts(ctx, dev)
	if err != nil {
		return r, err
	}
	market, err := b.market(dev)
	if err != nil {
		return r, err
	}
	if !b.Frames {
		workers, err := b.workers(dev, keys, market)
		defer hangUp(workers)
		if err != nil {
			return r, err
		}
		return b.load(ctx, workers, nil)
	}
	p, err := b.probe(ctx, dev, keys[b.Conns], market)
	if err != nil {
		return r, err
	}
	defer p.close()
	idle, err := p.measure(ctx, b.Duration)
	if err != nil {
		return r, err
	}
	workers, err := b.workers(dev, keys, market) // now: a connection that says nothing for 5 s is closed
	defer hangUp(workers)
	if err != nil {
		return r, err
	}
	if r, err = b.load(ctx, workers, nil); err != nil {
		return r, err
	}
	half, err := b.half(ctx, workers, p, r.PerSecond/2)
	r.Frames = &benchFrames{Idle: idle, Half: half}
	return r, err
}

// workers opens all connections.
func (b *benchCmd) workers(dev *schemas.DevFile, keys []schemas.NewKey, market uint32) (all []*worker, err error) {
	for i := range b.Conns {
		w, err := b.worker(dev, keys[i], market, i)
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

func hangUp(workers []*worker) {
	for _, w := range workers {
		_ = w.wire.conn.Close() // the venue may have
	}
}

// load runs all workers, as fast as they can or at a pace, in orders.
func (b *benchCmd) load(ctx context.Context, workers []*worker, pace *rate.Limiter) (benchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Duration)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := newTimes()
	var failed int
	var broke error
	begun := time.Now()
	for _, k := range workers {
		wg.Go(func() {
			took, bad, err := k.loop(ctx, pace)
			mu.Lock()
			defer mu.Unlock()
			all.Merge(took)
			failed, broke = failed+bad, errors.Join(broke, err)
		})
	}
	wg.Wait()
	elapsed := time.Since(begun)
	if broke != nil || all.TotalCount() == 0 {
		return benchResult{}, errors.Join(broke, fmt.Errorf("%d requests were answered", all.TotalCount()))
	}
	n := int(all.TotalCount()) * b.Batch
	return benchResult{
		Orders: n, PerSecond: float64(n) / elapsed.Seconds(), Failed: failed,
		P50: all.ValueAtQuantile(50), P99: all.ValueAtQuantile(99), P999: all.ValueAtQuantile(99.9),
	}, nil
}

// accounts makes a funded account with a key for every connection and the probe, as
// operator.
func (b *benchCmd) accounts(ctx context.Context, dev *schemas.DevFile) ([]schemas.NewKey, error) {
	out := make([]schemas.NewKey, b.Conns+1)
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	for i := range out {
		var u schemas.NewUser
		if err := asOperator(ctx, dev, "/admin/users", fmt.Sprintf(`{"name":"bench-%s-%d"}`, run, i), &u); err != nil {
			return nil, err
		}
		path := fmt.Sprintf("/admin/users/%d", u.UserID)
		if err := asOperator(ctx, dev, path+"/deposits", fmt.Sprintf(`{"deposit_id":"bench-%s-%d","amount":"1000000000000"}`, run, i), nil); err != nil {
			return nil, err
		}
		if err := asOperator(ctx, dev, path+"/keys", `{}`, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func asOperator(ctx context.Context, dev *schemas.DevFile, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, "POST", dev.Admin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+dev.OperatorToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		return errors.Join(err, fmt.Errorf("POST %s: %d %s", path, resp.StatusCode, text))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// market picks the one that trades longest.
func (b *benchCmd) market(dev *schemas.DevFile) (uint32, error) {
	all, err := b.markets(dev)
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

// markets lists those that trade, the one that does so longest first.
func (b *benchCmd) markets(dev *schemas.DevFile) ([]uint32, error) {
	w, err := dialWire(dev, dev.Accounts[0].APIKey, dev.Accounts[0].Secret)
	if err != nil {
		return nil, err
	}
	defer w.conn.Close()
	return w.trading()
}

// trading lists the markets that trade, the one that does so longest first.
func (w *wire) trading() ([]uint32, error) {
	_, body, err := w.send("GET", "/v1/markets?status=trading", nil)
	if err != nil {
		return nil, err
	}
	var l schemas.MarketList
	if err := json.Unmarshal(body, &l); err != nil || len(l.Markets) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no market trades: %s", body))
	}
	slices.SortFunc(l.Markets, func(a, b schemas.Market) int { return cmp.Compare(b.CloseTs, a.CloseTs) })
	out := make([]uint32, len(l.Markets))
	for i, m := range l.Markets {
		out[i] = m.MarketID
	}
	return out, nil
}

const openOrders = 160 // under the limit of 200 a market and account

// worker is one connection that places orders, with an account of its own.
type worker struct {
	wire   *wire
	market uint32
	batch  int
	turn   int // of the ticks
	id     int // the last client_order_id
	open   int
	body   []byte
}

func (b *benchCmd) worker(dev *schemas.DevFile, key schemas.NewKey, market uint32, turn int) (*worker, error) {
	w, err := dialWire(dev, key.APIKey, key.Secret)
	if err != nil {
		return nil, err
	}
	return &worker{wire: w, market: market, batch: b.Batch, turn: turn}, nil
}

// loop places until ctx ends, and cancels what it placed before the limit of open
// orders is reached.
func (k *worker) loop(ctx context.Context, pace *rate.Limiter) (took *hdrhistogram.Histogram, failed int, err error) {
	took = newTimes()
	for ctx.Err() == nil {
		if pace != nil && pace.WaitN(ctx, k.batch) != nil { // no more before ctx ends
			break
		}
		if err := k.clear(); err != nil {
			return took, failed, err
		}
		begun := time.Now()
		answer, ok, err := k.place()
		if err != nil {
			return took, failed, err
		}
		if !ok || k.batch > 1 && strings.Contains(string(answer), `"error"`) {
			failed++
			continue
		}
		if err := took.RecordValue(time.Since(begun).Microseconds()); err != nil {
			return took, failed, err
		}
	}
	return took, failed, nil
}

// clear makes room for the next placement.
func (k *worker) clear() error {
	if k.open+k.batch <= openOrders {
		return nil
	}
	k.open = 0
	_, _, err := k.wire.send("DELETE", "/v1/portfolio/orders", nil)
	return err
}

// place sends the next request; ok tells that it was done.
func (k *worker) place() (answer []byte, ok bool, err error) {
	target := "/v1/portfolio/orders"
	if k.batch > 1 {
		target += "/batch"
	}
	k.write()
	status, answer, err := k.wire.send("POST", target, k.body)
	if ok = err == nil && status < 300; ok {
		k.open += k.batch
	}
	return answer, ok, err
}

// write puts resting buys of YES on the lower ticks into the body.
func (k *worker) write() {
	k.body = k.body[:0]
	if k.batch > 1 {
		k.body = append(k.body, `{"orders":[`...)
	}
	for i := range k.batch {
		if i > 0 {
			k.body = append(k.body, ',')
		}
		k.id++
		k.body = fmt.Appendf(k.body, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"limit","tick":%d,"qty":25,"tif":"gtc"}`, k.id, k.market, 100+10*((k.id+k.turn)%29))
	}
	if k.batch > 1 {
		k.body = append(k.body, "]}"...)
	}
}

// wire is one kept-alive connection that spends as little as it can on HTTP.
type wire struct {
	conn   net.Conn
	r      *bufio.Reader
	host   string
	key    string
	secret []byte
	buf    []byte
	body   []byte
}

func dialWire(dev *schemas.DevFile, key, secret string) (*wire, error) {
	u, err := url.Parse(dev.API)
	if err != nil {
		return nil, err
	}
	s, err := hex.DecodeString(secret)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &wire{conn: c, r: bufio.NewReaderSize(c, 16<<10), host: u.Host, key: key, secret: s}, nil
}

// send signs and sends a request and reads its answer, which stands until the next.
func (w *wire) send(method, target string, body []byte) (status int, answer []byte, err error) {
	return w.sendWith("", method, target, body)
}

// sendWith also sends header lines, each with its end.
func (w *wire) sendWith(more, method, target string, body []byte) (status int, answer []byte, err error) {
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
	return w.read()
}

func (w *wire) read() (status int, answer []byte, err error) {
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
