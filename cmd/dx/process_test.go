package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/cmd/dx/trading"
	"duplex/core"
	"duplex/internal/logbuffer"
	"duplex/internal/timeouts"
	"duplex/schemas"
)

// long reports whether tests may take minutes: DX_LONG=1 go test ./cmd/dx.
func long() bool { return os.Getenv("DX_LONG") != "" }

// within waits until ok holds, and reports whether it does before the limit.
func within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// programName is the name under which the test binary runs as dx.
const programName = "dx"

// TestMain runs dx if the test binary was started under its name. Tests that need a process
// of dx therefore need no second build.
func TestMain(m *testing.M) {
	if !long() {
		// Each segment of a journal is zeroed in advance and read at a start, so segments are small.
		wal.SegmentSizeBytes = 1 << 20
	}
	if filepath.Base(os.Args[0]) == programName {
		timeouts.Extend(1)                           // package servertest, which is a part of this program, has extended it
		if len(os.Args) > 1 && os.Args[1] == "dev" { // a machine that is held up for two seconds gives no 504
			timeouts.Extend(30)
		}
		main()
	}
	for _, v := range os.Environ() { // every flag has a variable, and the caller may have set some
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "DX_") && name != "DX_LONG" && name != "DX_PROXIES" {
			os.Unsetenv(name)
		}
	}
	// The zone of this machine, for all tests: every timer of the process reads it, so a test must not
	// set it. With the race detector a timer that did so ended the process without a word.
	time.Local = time.FixedZone("EST", -5*3600)
	code := m.Run()
	for _, s := range []*sharedVenue{&plainVenue, &loadedVenue} {
		if err := s.end(); err != nil {
			fmt.Fprintln(os.Stderr, "a venue that tests shared:", err)
			code = 1
		}
	}
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(code)
}

var scratch string // a directory shared by all tests; "" until a test needs it

var scratchDir = sync.OnceValues(func() (dir string, err error) {
	scratch, err = os.MkdirTemp("", "dx-test-")
	return scratch, err
})

// binary returns the path of dx: the test binary under another name.
var binary = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	dir, err := scratchDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, programName)
	if os.Link(self, path) == nil {
		return path, nil
	}
	b, err := os.ReadFile(self) // a hard link fails across file systems
	if err == nil {
		err = os.WriteFile(path, b, 0o700)
	}
	return path, err
})

// dxPath returns the path of the program, which it builds once.
func dxPath(t testing.TB) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startPiped starts a command with pipes to its standard input and output. It is killed at the end of the
// test, if it still runs.
func startPiped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // fails if the process has ended
	return in, bufio.NewScanner(pipe)
}

// process is a running dx.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	logs *logbuffer.Buffer
	dev  schemas.DevFile
	file string // the dev file
	data string
	done chan error
}

// start runs `dx dev` on ports of its own and waits until everything listens.
func start(t *testing.T, data string, args ...string) *process {
	t.Helper()
	skipProcess(t)
	p, err := startAt(data, filepath.Join(t.TempDir(), "dev.json"), args...)
	if p != nil {
		p.t = t
		t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // fails if the process has ended
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// skipProcess leaves a test out of a short run, which starts no processes.
func skipProcess(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a process")
	}
}

func startAt(data, file string, args ...string) (*process, error) {
	logs := &logbuffer.Buffer{}
	p, err := launch(logs, nil, data, file, append([]string{"--quiet"}, args...)...)
	if err != nil {
		return nil, err
	}
	if err := p.opened(); err != nil {
		return p, fmt.Errorf("the venue does not open: %w\n%s", err, logs)
	}
	p.logs = logs
	return p, nil
}

// launch runs `dx dev` with its standard output and standard error at out, through another command if there
// is one.
func launch(out io.Writer, through []string, data, file string, args ...string) (*process, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	line := append(slices.Clone(through), path, "dev", "--ports", "0", "--data", data, "--dev-file", file, "--quiet-market")
	line = append(line, args...)
	p := &process{cmd: exec.Command(line[0], line[1:]...), file: file, done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// opened waits until the venue has written its dev file.
func (p *process) opened() error {
	deadline := time.After(time.Minute)
	for {
		if b, err := os.ReadFile(p.file); err == nil {
			return json.Unmarshal(b, &p.dev) // the file is written atomically
		}
		select {
		case err := <-p.done:
			return fmt.Errorf("dx ended: %v", err)
		case <-deadline:
			return errors.New("no dev file")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sharedVenue is a venue that several tests share, because they only read or do not disturb
// each other. The first of them starts it, and TestMain stops it.
type sharedVenue struct {
	args []string
	once sync.Once
	p    *process
	err  error
}

var (
	plainVenue  = sharedVenue{} // only the house maker trades
	loadedVenue = sharedVenue{args: []string{"--no-maker", "--write-floor", "1000000", "--read-rate", "1000000"}}
)

// of returns the venue for a test.
func (s *sharedVenue) of(t *testing.T) *process {
	t.Helper()
	skipProcess(t)
	s.once.Do(func() {
		dir, err := scratchDir()
		if err == nil {
			dir, err = os.MkdirTemp(dir, "venue-")
		}
		if err != nil {
			s.err = err
			return
		}
		s.p, s.err = startAt(filepath.Join(dir, "data"), filepath.Join(dir, "dev.json"), s.args...)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	p := *s.p
	p.t = t
	return &p
}

// end stops the venue, which must exit with code 0.
func (s *sharedVenue) end() error {
	if s.p == nil {
		return nil
	}
	return s.p.end(syscall.SIGTERM)
}

// devFile makes the commands of this test use the venue.
func (p *process) devFile() {
	p.t.Helper()
	p.t.Setenv("DX_DEV_FILE", p.file)
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.done
}

// stop sends SIGTERM and requires exit code 0 in time.
func (p *process) stop() {
	p.t.Helper()
	p.stopBy(syscall.SIGTERM)
}

func (p *process) stopBy(s syscall.Signal) {
	p.t.Helper()
	if err := p.end(s); err != nil {
		p.t.Errorf("the venue after %v: %v", s, err)
	}
}

func (p *process) end(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return err
	}
	const limit = time.Minute // the rule is 10 s (docs/rules/operation.md#stopping); the machine may be busy
	select {
	case err := <-p.done:
		if err != nil {
			return fmt.Errorf("dx ended: %w\n%s", err, p.logs)
		}
		return nil
	case <-time.After(limit):
		err := p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("dx did not stop within %v (%v)\n%s", limit, err, p.logs)
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

// call sends a signed request and returns the status. It returns an error if there was no
// response.
func (p *process) call(a schemas.DevAccount, method, target, body string, into any) (int, error) {
	status, b, err := p.exchange(a, method, target, body)
	if err == nil && status < 300 && into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			return 0, fmt.Errorf("%w in %s", err, b)
		}
	}
	return status, err
}

// exchange sends a signed request and returns the response. A request that the machine held up until its
// signature was too old was not executed (docs/rules/accounts.md#replay-window), so it is signed again. A
// read of rows that the mirror does not have yet is repeated, for up to three minutes.
func (p *process) exchange(a schemas.DevAccount, method, target, body string) (status int, answer []byte, err error) {
	for begun := time.Now(); ; {
		signed := time.Now()
		status, answer, err = p.exchangeOnce(a, method, target, body)
		switch {
		case status == http.StatusUnauthorized && time.Since(signed) >= 4*time.Second:
		case status == http.StatusServiceUnavailable && bytes.Contains(answer, []byte(`"history_behind"`)) && time.Since(begun) < 3*time.Minute:
			time.Sleep(20 * time.Millisecond)
		default:
			return status, answer, err
		}
	}
}

func (p *process) exchangeOnce(a schemas.DevAccount, method, target, body string) (int, []byte, error) {
	secret, err := hex.DecodeString(a.Secret)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.dev.API+target, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, a.APIKey)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, method, target, []byte(body)))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	return resp.StatusCode, b, nil
}

// must is call, and requires a 2xx.
func (p *process) must(a schemas.DevAccount, method, target, body string, into any) {
	p.t.Helper()
	status, err := p.call(a, method, target, body, into)
	if err != nil || status >= 300 {
		p.t.Fatalf("%s %s: %d, %v, want 2xx\n%s", method, target, status, err, p.logs)
	}
}

// market waits for a market that satisfies ok and trades for at least another minute, and
// returns the one that closes last. All rounds end at a full quarter of an hour, so in the
// minute before that it waits for the next rounds.
func (p *process) market(ok func(schemas.Market) bool) schemas.Market {
	p.t.Helper()
	return p.marketFor(time.Minute, ok)
}

func (p *process) marketFor(left time.Duration, ok func(schemas.Market) bool) (last schemas.Market) {
	p.t.Helper()
	for end := time.Now().Add(left + 3*time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var l schemas.MarketList
		p.must(p.account("reader"), "GET", "/v1/markets?status=trading", "", &l)
		for _, m := range l.Markets {
			if m.CloseTs > last.CloseTs && ok(m) {
				last = m
			}
		}
		if time.Until(time.Unix(0, last.CloseTs.Int64())) >= left {
			return last
		}
		last = schemas.Market{}
	}
	p.t.Fatal("no such market")
	return last
}

// series returns the name of the series that trades in m.
func (p *process) series(m schemas.Market) string {
	p.t.Helper()
	var r schemas.Round
	p.must(p.account("reader"), "GET", fmt.Sprintf("/v1/rounds/%d", m.MarketID), "", &r)
	return trading.SeriesName(r.Category)
}

// trades accepts every market that is not paused.
func trades(m schemas.Market) bool { return !m.Paused }

// place sends orders one after the other until the process has ended. It signals each
// response on sent, and returns the accepted orders.
func (p *process) place(a schemas.DevAccount, market uint32, id uint64, sent chan<- struct{}) (accepted []schemas.Outcome) {
	for ; ; id++ {
		var o schemas.Outcome
		body := fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":%d,"qty":1}`, id, market, 100+10*(id%29))
		status, err := p.call(a, "POST", "/v1/portfolio/orders", body, &o)
		if err != nil {
			return accepted
		}
		if status == 201 {
			accepted = append(accepted, o)
		}
		sent <- struct{}{}
	}
}

var kills = flag.Int("kills", 0, "how often TestLongKillInMidFlow kills the venue; default 3, with DX_LONG 20")

// Confirmed orders survive kill -9: three times by default, 20 times with DX_LONG.
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
		p := start(t, data, "--no-maker", "--write-floor", "1000000")
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
		m := p.market(trades)
		sent := make(chan struct{})
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, name := range names {
			wg.Go(func() {
				got := p.place(p.account(name), m.MarketID, uint64(round)*10_000+1, sent)
				mu.Lock()
				defer mu.Unlock()
				all[name] = append(all[name], got...)
			})
		}
		for range 3 + rand.IntN(20) { // a random moment, below the limit of 200 orders per account
			<-sent
		}
		p.kill()
		over := make(chan struct{})
		go func() { wg.Wait(); close(over) }()
		for sending := true; sending; {
			select {
			case <-sent:
			case <-over:
				sending = false
			}
		}
	}
	p := start(t, data, "--no-maker")
	n := 0
	for name, orders := range all {
		p.check(name, orders)
		n += len(orders)
	}
	t.Logf("%d kills, %d orders answered", times, n)
	if n < 3*times {
		t.Errorf("only %d orders were answered", n)
	}
	p.waitForMirror()
	p.stop()
	expectCommand(t, 0, "whole: ", "verify", data)
	expectCommand(t, 0, "equal: ", "mirror", "check", "--data", data)
}

// waitForMirror waits until the mirror has the rows of every command until now.
func (p *process) waitForMirror() {
	p.t.Helper()
	var now schemas.Status
	p.must(p.account("reader"), "GET", "/v1/exchange/status", "", &now)
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var kept schemas.Retention
		p.must(p.account("reader"), "GET", "/v1/exchange/retention", "", &kept)
		if kept.History != nil && kept.History.AsOfSeq >= now.AsOfSeq {
			return
		}
	}
	p.t.Fatalf("the mirror does not reach seq %d", now.AsOfSeq)
}

// check requires that every confirmed order exists, with its id and client_order_id.
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

// A round of sixty seconds in real time, from its opening to its payout.
func TestLongRoundOfSixtySeconds(t *testing.T) {
	if !long() {
		t.Skip("takes two minutes of wall time: DX_LONG=1 go test ./cmd/dx -run TestLong")
	}
	data := t.TempDir()
	p := start(t, data, "--read-rate", "100000") // marketFor reads the round of every market until one fits
	trader := p.account("trader")
	m, settled := p.holdToTheEnd(trader, 1)
	for n := 2; !settled && n <= 3; n++ {
		m, settled = p.holdToTheEnd(trader, n)
	}
	if !settled {
		t.Errorf("three rounds are void\n%s", p.logs)
	}
	p.must(trader, "GET", fmt.Sprintf("/v1/rounds?market_id=%d&limit=5", m.MarketID), "", nil)
	p.stop()
	expectCommand(t, 0, "whole: ", "verify", data)
}

// holdToTheEnd buys in a round of sixty seconds, the account's n-th, waits for its end and checks the payment.
// It reports whether the round is settled: on a machine that is held up for long a round may have too few
// prices and become void.
func (p *process) holdToTheEnd(trader schemas.DevAccount, n int) (m schemas.Market, settled bool) {
	var round schemas.RoundRead
	m = p.marketFor(45*time.Second, func(m schemas.Market) bool {
		p.must(trader, "GET", fmt.Sprintf("/v1/rounds/%d", m.MarketID), "", &round)
		return round.Category == 1 && m.YesAsk > 0
	})
	var before, after schemas.Balance
	p.must(trader, "GET", "/v1/portfolio/balance", "", &before)
	var o schemas.Outcome
	id := 1000 * n
	if !within(40*time.Second, func() bool { // the house maker may be replacing its quotes
		id++
		p.must(trader, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","type":"market","qty":5,"max_cost":"60000"}`, id, m.MarketID), &o)
		return o.FilledQty > 0
	}) {
		p.t.Fatalf("nothing filled: %+v", o)
	}
	var cost core.Pips
	for _, f := range o.Fills {
		cost += core.Pips(f.TickYes*f.Qty) + core.Fee(250, core.Qty(f.Qty), core.Tick(f.TickYes))
	}
	var s schemas.SettlementList
	if !within(2*time.Minute, func() bool {
		p.must(trader, "GET", "/v1/portfolio/settlements", "", &s)
		return len(s.Settlements) == n
	}) {
		p.t.Fatalf("no settlement\n%s", p.logs)
	}
	got := s.Settlements[0]
	var payout core.Pips
	status := "settled"
	switch {
	case got.Winner == nil:
		status, payout = "void", core.Pips(o.FilledQty)*core.Payout/2
	case *got.Winner == "yes":
		payout = core.Pips(o.FilledQty) * core.Payout
	}
	p.must(trader, "GET", "/v1/portfolio/balance", "", &after)
	if got.Payout.Int64() != int64(payout) || got.YesQty != o.FilledQty || got.OutcomeStatus != status {
		p.t.Errorf("settlement %+v of %+v", got, o)
	}
	if want := before.Cash.Int64() - int64(cost) + int64(payout); after.Cash.Int64() != want || after.Reserved != 0 {
		p.t.Errorf("cash %d, not %d", after.Cash, want)
	}
	return m, got.Winner != nil
}
