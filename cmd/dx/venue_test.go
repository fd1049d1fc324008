package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// long tells whether tests may take minutes: DX_LONG=1 go test ./cmd/dx.
func long() bool { return os.Getenv("DX_LONG") != "" }

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dx-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "dx")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a running dx.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	logs *bytes.Buffer
	dev  schemas.DevFile
	done chan error
}

// start runs `dx dev` on ports of its own and waits until everything listens.
func start(t *testing.T, data string, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dev.json")
	args = append([]string{"dev", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data, "--dev-file", file, "--quiet"}, args...)
	p := &process{t: t, cmd: exec.Command(path, args...), logs: &bytes.Buffer{}, done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = p.logs, p.logs
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended
	deadline := time.After(20 * time.Second)
	for {
		if b, err := os.ReadFile(file); err == nil {
			if err := json.Unmarshal(b, &p.dev); err != nil {
				t.Fatal(err) // the file appears whole
			}
			return p
		}
		select {
		case err := <-p.done:
			t.Fatalf("dx ended: %v\n%s", err, p.logs)
		case <-deadline:
			t.Fatalf("no dev file\n%s", p.logs)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// stop asks it to end, and wants it to, in time and well.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Errorf("dx ended: %v\n%s", err, p.logs)
		}
	case <-time.After(10 * time.Second):
		p.t.Error("it does not stop within 10 s")
		p.kill()
	}
}

func (p *process) account(name string) schemas.DevAccount {
	for _, a := range p.dev.Accounts {
		if a.Name == name {
			return a
		}
	}
	p.t.Fatalf("no account %s", name)
	return schemas.DevAccount{}
}

// call sends a signed request. An error is that no answer came.
func (p *process) call(a schemas.DevAccount, method, target, body string, into any) (int, error) {
	secret, err := hex.DecodeString(a.Secret)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.dev.API+target, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, a.APIKey)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, method, target, []byte(body)))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode < 300 && into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			return 0, fmt.Errorf("%w in %s", err, b)
		}
	}
	return resp.StatusCode, nil
}

// must is call with an answer of 2xx.
func (p *process) must(a schemas.DevAccount, method, target, body string, into any) {
	p.t.Helper()
	status, err := p.call(a, method, target, body, into)
	if err != nil || status >= 300 {
		p.t.Fatalf("%s %s: %d, %v\n%s", method, target, status, err, p.logs)
	}
}

// market waits for a market that trades for at least `left` and satisfies ok.
func (p *process) market(left time.Duration, ok func(schemas.Market) bool) schemas.Market {
	p.t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var l schemas.MarketList
		p.must(p.account("reader"), "GET", "/v1/markets?status=trading", "", &l)
		for _, m := range l.Markets {
			if time.Until(time.Unix(0, m.CloseTs.Int64())) >= left && ok(m) {
				return m
			}
		}
	}
	p.t.Fatal("no such market")
	return schemas.Market{}
}

// place sends orders one after the other until the process is gone, and gives those
// that were answered.
func (p *process) place(a schemas.DevAccount, market uint32, id uint64, stop <-chan struct{}) (answered []schemas.Outcome) {
	for ; ; id++ {
		select {
		case <-stop:
			return answered
		default:
		}
		var o schemas.Outcome
		body := fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":%d,"qty":1}`, id, market, 100+10*(id%29))
		status, err := p.call(a, "POST", "/v1/portfolio/orders", body, &o)
		if err != nil {
			return answered
		}
		if status == 201 {
			answered = append(answered, o)
		}
		time.Sleep(60 * time.Millisecond) // the write bucket grants 20 a second
	}
}

var kills = flag.Int("kills", 0, "how often TestLongKillInMidFlow kills the venue; default 3, with DX_LONG 20")

// What was answered survives kill -9. Three times by default, 20 with DX_LONG.
func TestLongKillInMidFlow(t *testing.T) {
	times := 3
	if long() {
		times = 20
	}
	if *kills > 0 {
		times = *kills
	}
	data := t.TempDir()
	names := []string{"trader", "maker", "treasurer"}
	all := map[string][]schemas.Outcome{}
	var first schemas.DevFile
	for round := range times {
		p := start(t, data, "--no-maker")
		if round == 0 {
			first = p.dev
		}
		for i, a := range p.dev.Accounts {
			if was := first.Accounts[i]; a.APIKey != was.APIKey || a.Secret != was.Secret || a.AccountToken != was.AccountToken {
				t.Fatalf("%s came back with another key", a.Name)
			}
		}
		for name, orders := range all {
			p.check(name, orders)
		}
		m := p.market(time.Minute, func(m schemas.Market) bool { return !m.Paused })
		stop := make(chan struct{})
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, name := range names {
			wg.Go(func() {
				got := p.place(p.account(name), m.MarketID, uint64(round)*10_000+1, stop)
				mu.Lock()
				defer mu.Unlock()
				all[name] = append(all[name], got...)
			})
		}
		time.Sleep(time.Duration(150+rand.IntN(300)) * time.Millisecond) // any moment will do
		p.kill()
		close(stop)
		wg.Wait()
	}
	p := start(t, data, "--no-maker")
	n := 0
	for name, orders := range all {
		p.check(name, orders)
		n += len(orders)
	}
	t.Logf("%d kills, %d orders answered", times, n)
	if n < 2*times {
		t.Errorf("only %d orders were answered", n)
	}
	p.stop()
	verified(t, data)
}

// check finds every answered order again, by its id and by its client_order_id.
func (p *process) check(name string, orders []schemas.Outcome) {
	p.t.Helper()
	a := p.account(name)
	have := map[schemas.U64]schemas.Order{}
	for cursor := ""; ; {
		var l schemas.OrderList
		p.must(a, "GET", "/v1/portfolio/orders?limit=1000&cursor="+cursor, "", &l)
		for _, o := range l.Orders {
			have[o.ClientOrderID] = o
		}
		if cursor = l.Cursor; cursor == "" {
			break
		}
	}
	for _, o := range orders {
		if got, ok := have[o.ClientOrderID]; !ok || got.OrderID == nil || *got.OrderID != o.OrderID {
			p.t.Errorf("%s: order %d was answered and is lost", name, o.OrderID)
		}
	}
}

// verified runs `dx verify` over a stopped venue.
func verified(t *testing.T, data string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "verify", filepath.Join(data, "journal")).CombinedOutput()
	if err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// A real round of sixty seconds, from its opening to its payout, in wall time.
func TestLongRoundOfSixtySeconds(t *testing.T) {
	if !long() {
		t.Skip("takes two minutes of wall time: DX_LONG=1 go test ./cmd/dx -run TestLong")
	}
	data := t.TempDir()
	p := start(t, data)
	trader := p.account("trader")
	var round schemas.RoundRead
	m := p.market(45*time.Second, func(m schemas.Market) bool {
		p.must(trader, "GET", fmt.Sprintf("/v1/rounds/%d", m.MarketID), "", &round)
		return round.Category == 1 && m.YesAsk > 0
	})
	var before, after schemas.Balance
	p.must(trader, "GET", "/v1/portfolio/balance", "", &before)
	var o schemas.Outcome
	p.must(trader, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"1","market_id":%d,"side":"buy","outcome":"yes","type":"market","qty":5,"max_cost":"60000"}`, m.MarketID), &o)
	if o.FilledQty == 0 {
		t.Fatalf("nothing filled: %+v", o)
	}
	var cost core.Pips
	for _, f := range o.Fills {
		cost += core.Pips(f.TickYes*f.Qty) + core.Fee(250, core.Qty(f.Qty), core.Tick(f.TickYes))
	}
	var s schemas.SettlementList
	for end := time.Now().Add(2 * time.Minute); len(s.Settlements) == 0; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no settlement\n%s", p.logs)
		}
		p.must(trader, "GET", "/v1/portfolio/settlements", "", &s)
	}
	got := s.Settlements[0]
	var payout core.Pips
	if got.Winner != nil && *got.Winner == "yes" {
		payout = core.Pips(o.FilledQty) * core.Payout
	}
	p.must(trader, "GET", "/v1/portfolio/balance", "", &after)
	if got.Payout.Int64() != int64(payout) || got.YesQty != o.FilledQty || got.OutcomeStatus != "settled" {
		t.Errorf("settlement %+v of %+v", got, o)
	}
	if want := before.Cash.Int64() - int64(cost) + int64(payout); after.Cash.Int64() != want || after.Reserved != 0 {
		t.Errorf("cash %d, not %d", after.Cash, want)
	}
	p.must(trader, "GET", fmt.Sprintf("/v1/rounds?market_id=%d&limit=5", m.MarketID), "", nil)
	p.stop()
	verified(t, data)
}
