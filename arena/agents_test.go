package arena

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/arena/stats"
	"duplex/client"
	"duplex/core"
	"duplex/internal/timeouts"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/schemas"
)

// TestMain runs the agent of a test instead of the tests if DX_TEST_AGENT names one.
func TestMain(m *testing.M) {
	if f := testAgents[os.Getenv("DX_TEST_AGENT")]; f != nil && os.Getenv("DX_URL") != "" {
		f(agent{os.Getenv("DX_URL"), os.Getenv("DX_KEY"), os.Getenv("DX_SECRET")})
		os.Exit(0)
	}
	timeouts.Extend(30)
	wal.SegmentSizeBytes = 1 << 20 // of 64 MB each journal would write and read zeros
	os.Exit(m.Run())
}

// agent is a client in a few lines, like one in any language.
type agent struct{ url, key, secret string }

func (a agent) send(method, target, body string, header ...string) (status int, answer []byte, err error) {
	return a.sendFor(context.Background(), method, target, body, header...)
}

// sendFor signs a request again if it was on its way for longer than its signature is valid: with status 401
// it was not executed.
func (a agent) sendFor(ctx context.Context, method, target, body string, header ...string) (status int, answer []byte, err error) {
	for {
		begun := time.Now()
		status, answer, err = a.sendOnce(ctx, method, target, body, header...)
		if status != http.StatusUnauthorized || time.Since(begun) < 4*time.Second {
			return status, answer, err
		}
	}
}

func (a agent) sendOnce(ctx context.Context, method, target, body string, header ...string) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, a.url+target, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	secret, _ := hex.DecodeString(a.secret)
	ts := strconv.FormatInt(time.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, a.key)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, method, target, []byte(body)))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// tool calls a tool.
func (a agent) tool(name, arguments string) (out struct {
	Result struct {
		StructuredContent json.RawMessage
		IsError           bool
	}
}, err error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
	_, answer, err := a.send("POST", mcp.Path, body, "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	return out, err
}

// testAgents are the agents that tests run as processes.
var testAgents = map[string]func(agent){
	"rest":      restAgent,
	"mcp":       mcpAgent,
	"careful":   carefulAgent,
	"careless":  carelessAgent,
	"reissuing": reissuingAgent,
	"fragile":   fragileAgent,
	"advance":   advanceAgent,
	"curious":   curiousAgent,
	"leak": func(a agent) {
		_, _, _ = a.send("POST", "/v1/portfolio/orders", `{"client_order_id":"`+a.secret+`"}`)
		fmt.Println("cannot sign with", a.secret)
		os.Exit(3)
	},
	"environment": func(a agent) {
		argv, err := splitCommand(os.Getenv("DX_MCP"))
		if self, _ := os.Executable(); err != nil || len(argv) != 2 || argv[0] != self || argv[1] != "mcp" || client.Timeout(time.Second) < 24*time.Hour {
			os.Exit(4)
		}
	},
	"crash": func(a agent) { _, _, _ = a.send("GET", "/v1/time", ""); os.Exit(7) },
	"stall": func(agent) { select {} },
	"impatient": func(a agent) { // closes its connection while it waits, when it is asked to end, and does not end
		asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		_, _, _ = a.sendFor(asked, "POST", "/v1/arena/advance", `{"by_ms":3600000}`)
		select {}
	},
	"flood": func(a agent) {
		for {
			if status, _, err := a.send("GET", "/v1/markets", ""); err != nil || status == 503 {
				return
			}
		}
	},
}

// restAgent buys one contract of each round, and lets time pass.
func restAgent(a agent) {
	seen := map[string]bool{}
	for id := 1; ; {
		l, ok := a.series()
		if !ok {
			return
		}
		if l != nil && !seen[l.RoundNumber] && l.YesAsk > 0 {
			seen[l.RoundNumber] = true
			if status, _, err := a.send("POST", "/v1/portfolio/orders", buy(id, l)); err != nil || status == 503 {
				return
			}
			id++
		}
		if status, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":5000}`); err != nil || status != 200 {
			return
		}
	}
}

// mcpAgent waits for events, and bids in each round.
func mcpAgent(a agent) {
	for after, id := "0", 1; ; {
		out, err := a.tool("wait_for_event", `{"after_seq":"`+after+`","timeout_ms":20000}`)
		var waited struct {
			NextSeq string `json:"next_seq"`
			Events  []struct {
				Kind string
				Msg  struct {
					Status   string
					MarketID int `json:"market_id"`
					Category int

					Generation int
				}
			}
		}
		if err != nil || out.Result.IsError || json.Unmarshal(out.Result.StructuredContent, &waited) != nil { // the connection was cut, or the venue restarts
			waitForVenue()
			continue
		}
		after = waited.NextSeq
		for _, e := range waited.Events {
			if e.Kind == "round" && e.Msg.Status == "trading" {
				if _, err := a.tool("place_order", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"generation":%d,"side":"buy","outcome":"no","tick":4000,"qty":2}`, id, e.Msg.MarketID, e.Msg.Generation)); err != nil {
					return
				}
				id++
			}
		}
	}
}

// withAgent adds a seat whose process is an agent of this file.
func withAgent(name string) func(*Config) {
	return func(c *Config) {
		c.Seats = append(c.Seats, Seat{Name: name, Command: "env DX_TEST_AGENT=" + name + " " + os.Args[0]})
	}
}

// TestProcesses tests agents over REST and the agent lane: two runs have the same commands, and each
// agent traded.
func TestProcesses(t *testing.T) {
	var first *seedFigures
	for range 2 {
		dir := t.TempDir()
		c := testConfig(t, withAgent("rest"), withAgent("mcp"), func(c *Config) { c.Seeds = "7" })
		mustRun(t, c, Options{Dir: dir})
		runs := figuresOf(t, dir)
		f := runs[0]
		for _, s := range f.Seats[5:] {
			delete(s.Rejections, "unauthorized") // see sendFor
			if len(s.Rejections) > 0 {           // the wait that is open when the run ends is none
				t.Errorf("%s: rejections %v", s.Name, s.Rejections)
			}
			if s.ExitStatus != nil {
				t.Errorf("seat %s ended during the run with exit status %d", s.Name, *s.ExitStatus)
			}
			if s.Stalls > 0 {
				t.Errorf("seat %s: %d stalls", s.Name, s.Stalls)
			}
			if s.Calls < 10 || s.Placements < 2 {
				t.Errorf("seat %s: %d calls, %d placements, want 10 and 2 or more", s.Name, s.Calls, s.Placements)
			}
			if (s.Tokens > 0) != (s.Name == "mcp") { // tokens are those of tools
				t.Errorf("seat %s: %d tokens, want some for mcp alone", s.Name, s.Tokens)
			}
		}
		if first != nil && (f.CommandsHash != first.CommandsHash || f.StateHash != first.StateHash || !f.Reproducible) {
			t.Errorf("%s %s, then %s %s", first.CommandsHash, first.StateHash, f.CommandsHash, f.StateHash)
		}
		first = f
	}
}

// TestClosedConnectionIsNoRejection tests that a wait whose client closes its connection is no rejection: at the end of a run the wait of a process may end with the process.
func TestClosedConnectionIsNoRejection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var run *seedRun
	mustFail(t, testConfig(t, withAgent("impatient"), func(c *Config) { c.Seeds = "7" }), Options{Dir: dir, Ready: func(s *seedRun) { run = s }, Progress: func(rounds, _ int) {
		if rounds > 1 {
			return
		}
		x := run.seats[5] // it waits, because time has passed
		interrupt(x.process.cmd)
		run.turns.mu.Lock()
		for x.waits.open > 0 {
			run.turns.changed.Wait()
		}
		run.turns.mu.Unlock()
		kill(x.process.cmd) // only now, because the end of the process would end the wait, too
	}})
	runs := figuresOf(t, dir)
	s := runs[0].Seats[5]
	late := s.Rejections["unauthorized"] // see sendFor
	delete(s.Rejections, "unauthorized")
	if s.Name != "impatient" || s.Calls != 1+late || len(s.Rejections) > 0 {
		t.Errorf("the seat is %+v, want impatient with %d calls and no rejections", s, 1+late)
	}
}

// TestRejectionOfAClosedConnection tests that a rejection counts although the connection is closed before
// its answer is written; only the error of a wait that the closing ends does not.
func TestRejectionOfAClosedConnection(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"insufficient_balance": 1, "draining": 1, "internal": 0} {
		dir := t.TempDir()
		s, err := newSeedRun(testConfig(t, func(c *Config) { c.Pace = "1" }), draw{seed: 1}, dir, []int{0}, &Options{Temp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, closes := context.WithCancel(t.Context())
		r := httptest.NewRequest("POST", "/v1/portfolio/orders", http.NoBody).WithContext(ctx)
		s.intercept(httptest.NewRecorder(), r, &gate.Call{Key: &core.Key{ID: s.seats[0].key}}, func(w http.ResponseWriter, _ *http.Request) {
			closes()
			e := schemas.ErrorOf(code)
			gate.WriteJSON(w, e.HTTP(), schemas.ErrorBody{Error: e})
		})
		s.turns.end()
		figures := seatFigures{Rejections: map[string]int{}}
		if err := errors.Join(s.seats[0].log.close(), figures.readTrajectory(filepath.Join(dir, trajectoriesDir, "hold.jsonl"))); err != nil {
			t.Fatal(err)
		}
		if figures.Calls != 1 || figures.Rejections[code] != want {
			t.Errorf("%s: %d calls, rejections %v", code, figures.Calls, figures.Rejections)
		}
	}
}

// TestBadSeats tests that a seat that crashes, stalls or floods ends no run, and that the report says
// what happened to it.
func TestBadSeats(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	t.Parallel() // it waits for a stall
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seats = c.Seats[:2] }, withAgent("crash"), withAgent("stall"), withAgent("rest"), withAgent("flood"), func(c *Config) { c.Seeds, c.Stall, c.Rounds = "3", "5s", 1 })
	r, err := Run(t.Context(), c, Options{Dir: dir})
	if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), `seat "crash" ended seed 3 with exit status 7`) {
		t.Fatalf("the run ends with %v, want an error that names seat, seed and status", err)
	}
	if s := r.Seats[2]; s.ExitStatus == nil || *s.ExitStatus != 7 || s.FailedSeeds != 1 || s.Verdict != stats.Failed || s.P != nil {
		t.Errorf("crash: %+v, want the verdict failed, and no test", s)
	}
	for _, p := range r.Paired {
		if p.Seat == "crash" || p.Other == "crash" {
			t.Errorf("a seat that failed is compared: %+v", p)
		}
	}
	list, err := Rank([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if last := list.Rows[len(list.Rows)-1]; last.Seat != "crash" || last.Rank != nil || last.Next != nil || list.Rows[len(list.Rows)-2].Next != nil {
		t.Errorf("the last row of the ranking is %+v, want crash without a rank", last)
	}
	if s := r.Seats[3]; s.Stalls == 0 || s.Calls.Mean != 0 {
		t.Errorf("stall: %+v", s)
	}
	if s := r.Seats[4]; s.Fills.Mean == 0 {
		t.Errorf("rest: %+v", s)
	}
	if s := r.Seats[5]; s.Stalls == 0 || s.Calls.Mean < callsMax {
		t.Errorf("flood: %+v", s)
	}
	if r.Reproducible {
		t.Error("a run with a stall is reproducible")
	}
}

// live is the round that the series shows.
type live struct {
	MarketID    int    `json:"market_id"`
	RoundNumber string `json:"round_number"`
	YesAsk      int    `json:"yes_ask"`
	Paused      bool   `json:"paused"`
	SecsToClose int    `json:"secs_to_close"`
}

// again sends a request until it is answered; false if the key is not valid any more.
func (a agent) again(method, target, body string) (status int, answer []byte, ok bool) {
	for {
		status, answer, err := a.send(method, target, body)
		switch {
		case status == 401:
			return status, answer, false
		case err == nil && status != 429 && status != 503:
			return status, answer, true
		case err == nil: // refused, and safe to repeat after a while
			for {
				if s, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":1000}`); err == nil && s == 200 {
					break
				} else if s == 401 {
					return s, nil, false
				} else if err != nil {
					waitForVenue()
				}
			}
		default:
			waitForVenue()
		}
	}
}

var parent = os.Getppid()

// waitForVenue waits before a request is sent again that had no answer: the venue may restart. An agent whose
// arena was killed ends.
func waitForVenue() {
	if os.Getppid() != parent {
		os.Exit(1)
	}
	time.Sleep(5 * time.Millisecond)
}

func (a agent) live() (l *live, ok bool) {
	status, answer, ok := a.again("GET", "/v1/series?category=1", "")
	l, _ = liveIn(status, answer)
	return l, ok
}

// series returns the live round, nil if there is none; ok is false if the series cannot be read at once.
func (a agent) series() (l *live, ok bool) {
	status, answer, _ := a.send("GET", "/v1/series?category=1", "") // no answer has the status 0
	return liveIn(status, answer)
}

func liveIn(status int, answer []byte) (l *live, ok bool) {
	var list struct{ Series []struct{ Live *live } }
	if status != 200 || json.Unmarshal(answer, &list) != nil || len(list.Series) == 0 {
		return nil, false
	}
	return list.Series[0].Live, true
}

// buy returns an order for one contract of YES, at once or not at all.
func buy(id int, l *live) string {
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":%d,"qty":1,"tif":"ioc"}`, id, l.MarketID, l.YesAsk)
}

// carefulAgent repeats an order whose answer is lost with the same client_order_id, does not trade in a
// paused market, and ends when its key is not valid. When it is asked to end it buys no more, and ends
// once its contracts are paid.
func carefulAgent(a agent) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt)
	ends := false
	for id := 1; ; id++ {
		l, ok := a.live()
		if !ok {
			return
		}
		select {
		case <-asked:
			ends = true
		default:
		}
		if ends {
			var held struct{ Positions []json.RawMessage }
			if _, answer, ok := a.again("GET", "/v1/portfolio/positions", ""); !ok || json.Unmarshal(answer, &held) == nil && len(held.Positions) == 0 {
				return
			}
		} else if l != nil && l.YesAsk > 0 && !l.Paused && l.SecsToClose > 2 {
			if _, _, ok := a.again("POST", "/v1/portfolio/orders", buy(id, l)); !ok {
				return
			}
		}
		if _, _, ok := a.again("POST", "/v1/arena/advance", `{"by_ms":2000}`); !ok {
			return
		}
	}
}

// carelessAgent places an order anew whenever something went wrong, and looks at nothing.
func carelessAgent(a agent) {
	market, ask := 1, 5000
	for id := 1; ; {
		if l, _ := a.series(); l != nil && l.YesAsk > 0 {
			market, ask = l.MarketID, l.YesAsk
		}
		for range 3 {
			status, _, err := a.send("POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":%d,"qty":1}`, id, market, ask))
			id++
			if err == nil && status < 500 {
				break
			}
		}
		if status, _, _ := a.send("POST", "/v1/arena/advance", `{"by_ms":1000}`); status == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// fragileAgent ends with an error at the first thing that it does not expect: an answer that is late,
// an error, a cut connection, a paused market.
func fragileAgent(a agent) {
	expect := func(ok bool) {
		if !ok {
			os.Exit(3)
		}
	}
	now := func() int64 {
		_, answer, err := a.send("GET", "/v1/time", "")
		var t struct {
			VenueTime int64 `json:"venue_time,string"`
		}
		expect(err == nil && json.Unmarshal(answer, &t) == nil && t.VenueTime > 0)
		return t.VenueTime
	}
	for id := 1; ; id++ {
		before := now()
		l, ok := a.series()
		expect(ok)
		if l != nil && l.YesAsk > 0 && l.SecsToClose > 2 {
			status, _, err := a.send("POST", "/v1/portfolio/orders", buy(id, l))
			expect(err == nil && status == 201 && !l.Paused)
		}
		expect(now()-before < 100_000_000)
		status, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":2000}`)
		expect(err == nil && status == 200)
	}
}

// advanceAgent lets time pass, a second at a time, and does nothing else.
func advanceAgent(a agent) {
	for {
		if status, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":1000}`); err != nil || status != 200 {
			return
		}
	}
}

// curiousAgent reads everything that may name the asset.
func curiousAgent(a agent) {
	for {
		for _, target := range []string{"/v1/series", "/v1/time", "/v1/markets", "/v1/exchange/status"} {
			if _, _, err := a.send("GET", target, ""); err != nil {
				return
			}
		}
		for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"dx://guide"}}`, `{"jsonrpc":"2.0","id":3,"method":"prompts/list"}`} {
			if _, _, err := a.send("POST", mcp.Path, body, "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25"); err != nil {
				return
			}
		}
		if status, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":30000}`); err != nil || status != 200 {
			return
		}
	}
}

// TestCertify tests each fault with an agent that handles it, which passes every check, and with agents
// that do not: one that goes on carelessly, and one that ends at the first surprise. They are refused
// with evidence. By default it runs four of the faults; with DX_LONG=1 all of them.
func TestCertify(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seats = c.Seats[:1] }, withAgent("careful"), withAgent("careless"), withAgent("fragile"), func(c *Config) { c.Seeds, c.Rounds = "5", 2 })
	faults := []string{lostAnswer, staleIndex + " 10", revokeKey + " 90s", socketCut}
	if os.Getenv("DX_LONG") != "" {
		faults = standardFaults
	}
	got, err := Certify(t.Context(), c, Options{Dir: dir, faults: faults}, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]int{}
	for _, x := range got.Checks {
		if x.Seat == "careful" && !x.Passed {
			t.Errorf("careful: %+v", x)
		}
		if x.Seat != "careful" && !x.Passed && !x.notExercised() && x.Check != "no orders and contracts at the end" {
			failed[x.Fault]++
			if len(x.Evidence) == 0 {
				t.Errorf("no evidence: %+v", x)
			}
		}
	}
	for _, fault := range faults {
		if failed[fault] == 0 {
			t.Errorf("neither agent is refused for %s", fault)
		}
	}
	if m, err := readManifest(filepath.Join(dir, "lost_answer")); err != nil || m.Reproducible {
		t.Errorf("a run whose agents were asked to end is reproducible: %v", err)
	}
	if got.Certified {
		t.Error("a careless agent is certified")
	}
	if again, err := verifyCertificate(dir, faults, nil); err != nil || again.Certified || again.SetupHash != got.SetupHash {
		t.Fatalf("the certificate as verified is %+v, %v, want the same setup, not certified", again, err)
	}
	for name, x := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"a verdict": {func(dir string) error {
			return edit(filepath.Join(dir, certificateName), `"certified": false`, `"certified": true`)
		}, "certified is true, the bundles give false"},
		"a check": {func(dir string) error {
			return edit(filepath.Join(dir, certificateName), `"passed": false`, `"passed": true`)
		}, "passed is true"},
		"a setup": {func(dir string) error {
			return edit(filepath.Join(dir, certificateName), `"setup_hash": "`, `"setup_hash": "0`)
		}, "setup_hash"},
		"a name twice": {func(dir string) error {
			return edit(filepath.Join(dir, certificateName), `"certified"`, `"certified": true, "certified"`)
		}, "is not written as dx arena certify writes it"},
		"a byte of a trajectory": {func(dir string) error {
			return edit(filepath.Join(dir, socketCut, trajectoriesDir, "careful.jsonl"), `"method":"GET"`, `"method":"PUT"`)
		}, "careful.jsonl was changed"},
		"the faults of a seat": {func(dir string) error {
			return edit(filepath.Join(dir, socketCut, manifestName), `"socket_cut"`, `"lost_answer"`)
		}, "setup_hash"},
		"the rules for a seat": {func(dir string) error {
			return edit(filepath.Join(dir, socketCut, manifestName), `"fund": 100,`, `"fund": 100, "holds": true,`)
		}, "is not written as dx arena writes it"},
		"another agent": {func(dir string) error {
			return edit(filepath.Join(dir, socketCut, manifestName), "DX_TEST_AGENT=careless", "DX_TEST_AGENT=careful")
		}, "is of another setup"},
		"no bundle": {func(dir string) error { return os.RemoveAll(filepath.Join(dir, socketCut)) }, "no such file"},
	} {
		changed := t.TempDir()
		if err := errors.Join(os.CopyFS(changed, os.DirFS(dir)), x.change(changed)); err != nil {
			t.Fatal(err)
		}
		if _, err := verifyCertificate(changed, faults, nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("a certificate with %s: %v, want %q", name, err, x.want)
		}
	}
}

// reissuingAgent buys every three seconds under a new id, and never looks up what a lost answer was about.
func reissuingAgent(a agent) {
	for id := 1; ; id++ {
		if l, _ := a.series(); l != nil && l.YesAsk > 0 {
			_, _, _ = a.send("POST", "/v1/portfolio/orders", buy(id, l))
		}
		if status, _, _ := a.send("POST", "/v1/arena/advance", `{"by_ms":3000}`); status == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// TestCertifyExercises tests that a fault of requests strikes placements, also of an agent that places few,
// and that a check of what an agent never did does not pass: a short run certifies neither an agent that
// loses orders nor one that places none.
func TestCertifyExercises(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	var first []Check
	for range 2 {
		c := testConfig(t, func(c *Config) { c.Seats = nil }, withAgent("reissuing"), withAgent("retrying"), func(c *Config) { c.Seeds, c.Rounds = "1", 1 })
		got, err := Certify(t.Context(), c, Options{Dir: t.TempDir(), faults: []string{lostAnswer, lateAnswer + " 500", staleIndex + " 10"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Certified || !errors.Is(got.Refusal(), ErrRefused) || !strings.Contains(got.Refusal().Error(), "--rounds") {
			t.Errorf("certified: %v", got.Refusal())
		}
		for _, x := range got.Checks {
			needsOrders := x.Check != "it runs to the end" && (x.Check != "it goes on within 10 s after a fault" || x.Fault != staleIndex+" 10")
			switch {
			case x.Seat == "retrying" && needsOrders && (x.Passed || x.Exercised != 0 || x.Found != notExercised):
				t.Errorf("an agent without orders: %+v", x)
			case x.Seat == "reissuing" && x.Exercised == 0:
				t.Errorf("not exercised: %+v", x)
			case x.Seat == "reissuing" && x.Check == "an unknown outcome is looked up or repeated" && (x.Passed || len(x.Evidence) < aimedStrikes):
				t.Errorf("lost orders that nobody looks up: %+v", x)
			}
		}
		got.Checks = slices.DeleteFunc(got.Checks, func(x Check) bool { // how an agent ends goes by the machine's clock
			return x.Check != "an unknown outcome is looked up or repeated" && x.Check != "it goes on within 10 s after a fault"
		})
		if first != nil && !reflect.DeepEqual(first, got.Checks) {
			t.Errorf("the same seed gives\n%+v, then\n%+v", first, got.Checks)
		}
		first = got.Checks
	}
}
