package main

import (
	"bufio"
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

	"duplex/schemas"
)

// benchCmd is `dx bench`: a closed loop of resting placements over REST, each signed,
// matched, and durable before it is answered. The venue must grant the rate: start it
// with --write-floor 1000000.
type benchCmd struct {
	DevFile  string        `help:"The venue's dev file." default:".dx/dev.json" type:"existingfile"`
	Conns    int           `help:"Connections." default:"64"`
	Duration time.Duration `help:"How long." default:"5s"`
	Batch    int           `help:"Orders in a request; 1 uses the single route." default:"1"`
	JSON     bool          `help:"Print JSON."`
}

// benchResult is what one run did. Latencies are of requests, in microseconds.
type benchResult struct {
	Orders    int     `json:"orders"`
	PerSecond float64 `json:"orders_per_s"`
	Failed    int     `json:"failed"`
	P50       int64   `json:"p50_us"`
	P99       int64   `json:"p99_us"`
	P999      int64   `json:"p999_us"`
}

func (b *benchCmd) Run(ctx context.Context, out io.Writer) error {
	if b.Batch < 1 || b.Batch > schemas.BatchCap {
		return flagError{"batch", errors.New("1 to 20")}
	}
	text, err := os.ReadFile(b.DevFile)
	if err != nil {
		return err
	}
	var dev schemas.DevFile
	if err := json.Unmarshal(text, &dev); err != nil {
		return fmt.Errorf("%s: %w", b.DevFile, err)
	}
	r, err := b.load(ctx, &dev)
	if err != nil {
		return err
	}
	if b.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	_, err = fmt.Fprintf(out, "%d orders in %v over %d connections: %.0f orders/s, %d failed\nlatency p50 %d µs, p99 %d µs, p99.9 %d µs\n",
		r.Orders, b.Duration, b.Conns, r.PerSecond, r.Failed, r.P50, r.P99, r.P999)
	return err
}

// load runs one loop a connection. Each has an account and a market of its own turn,
// and cancels what it placed before the limit of open orders is reached.
func (b *benchCmd) load(ctx context.Context, dev *schemas.DevFile) (benchResult, error) {
	accounts, err := b.accounts(ctx, dev)
	if err != nil {
		return benchResult{}, err
	}
	market, err := b.market(dev)
	if err != nil {
		return benchResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.Duration)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []time.Duration
	var failed int
	var broke error
	begun := time.Now()
	for i := range b.Conns {
		wg.Go(func() {
			took, bad, err := b.loop(ctx, dev, accounts[i], market, i)
			mu.Lock()
			defer mu.Unlock()
			all, failed, broke = append(all, took...), failed+bad, errors.Join(broke, err)
		})
	}
	wg.Wait()
	elapsed := time.Since(begun)
	if broke != nil || len(all) == 0 {
		return benchResult{}, errors.Join(broke, fmt.Errorf("%d requests were answered", len(all)))
	}
	slices.Sort(all)
	at := func(q float64) int64 { return all[int(q*float64(len(all)-1))].Microseconds() }
	n := len(all) * b.Batch
	return benchResult{Orders: n, PerSecond: float64(n) / elapsed.Seconds(), Failed: failed, P50: at(.5), P99: at(.99), P999: at(.999)}, nil
}

// accounts makes a funded account with a key for every connection, as operator.
func (b *benchCmd) accounts(ctx context.Context, dev *schemas.DevFile) ([]schemas.NewKey, error) {
	out := make([]schemas.NewKey, b.Conns)
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
	w, err := dialWire(dev, dev.Accounts[0].APIKey, dev.Accounts[0].Secret)
	if err != nil {
		return 0, err
	}
	defer w.conn.Close()
	_, body, err := w.send("GET", "/v1/markets?status=trading", nil)
	if err != nil {
		return 0, err
	}
	var l schemas.MarketList
	if err := json.Unmarshal(body, &l); err != nil || len(l.Markets) == 0 {
		return 0, errors.Join(err, fmt.Errorf("no market trades: %s", body))
	}
	last := slices.MaxFunc(l.Markets, func(a, b schemas.Market) int { return int(a.CloseTs.Int64()/1e9 - b.CloseTs.Int64()/1e9) })
	return last.MarketID, nil
}

const openOrders = 160 // under the limit of 200 a market and account

func (b *benchCmd) loop(ctx context.Context, dev *schemas.DevFile, key schemas.NewKey, market uint32, turn int) (took []time.Duration, failed int, err error) {
	w, err := dialWire(dev, key.APIKey, key.Secret)
	if err != nil {
		return nil, 0, err
	}
	defer w.conn.Close()
	target := "/v1/portfolio/orders"
	if b.Batch > 1 {
		target += "/batch"
	}
	var body []byte
	open := 0
	for id := 1; ctx.Err() == nil; {
		if open+b.Batch > openOrders {
			if _, _, err := w.send("DELETE", "/v1/portfolio/orders", nil); err != nil {
				return took, failed, err
			}
			open = 0
		}
		body = b.body(body[:0], market, &id, turn)
		begun := time.Now()
		status, answer, err := w.send("POST", target, body)
		if err != nil {
			return took, failed, err
		}
		if status >= 300 || b.Batch > 1 && strings.Contains(string(answer), `"error"`) {
			failed++
			continue
		}
		took = append(took, time.Since(begun))
		open += b.Batch
	}
	return took, failed, nil
}

// body writes resting buys of YES on the lower ticks.
func (b *benchCmd) body(to []byte, market uint32, id *int, turn int) []byte {
	if b.Batch > 1 {
		to = append(to, `{"orders":[`...)
	}
	for i := range b.Batch {
		if i > 0 {
			to = append(to, ',')
		}
		to = fmt.Appendf(to, `{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"limit","tick":%d,"qty":25,"tif":"gtc"}`, *id, market, 100+10*((*id+turn)%29))
		*id++
	}
	if b.Batch > 1 {
		to = append(to, "]}"...)
	}
	return to
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
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	w.buf = fmt.Appendf(w.buf[:0], "%s %s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n", method, target, w.host,
		schemas.HeaderKey, w.key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(w.secret, ts, method, target, body))
	if len(body) > 0 {
		w.buf = fmt.Appendf(w.buf, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	w.buf = append(append(w.buf, "\r\n"...), body...)
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
