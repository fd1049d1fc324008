package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
	"duplex/lanes/ws"
	"duplex/schemas"
)

const (
	everyone  = core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw
	readTrade = core.ScopeRead | core.ScopeTrade
)

// testVenue is a test server with all lanes. Its clock is frozen, so that only requests change
// the state.
type testVenue struct {
	*lanetest.Server
	ordinary lanetest.Key // key of the client that reads after each case
}

func newTestVenue(t testing.TB) *testVenue {
	t.Helper()
	return opened(t, (*lanetest.Server).Serve)
}

// openInMemory is newTestVenue for a synctest bubble: its connections are in memory.
func openInMemory(t testing.TB) *testVenue {
	t.Helper()
	return opened(t, (*lanetest.Server).ServeInMemory)
}

func opened(t testing.TB, serve func(*lanetest.Server)) *testVenue {
	t.Helper()
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	events, agents := ws.Mount(h.Routes, h.Gate), mcp.Mount(h.Routes, h.Gate, "test")
	h.Gate.Hosts = []string{"x"} // the Host header of these tests' requests
	serve(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		agents.Close()
		if err := events.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	h.Venue.Config.ReadRate = 1_000_000 // for keys created from here on
	h.FreezeClock()
	return &testVenue{h, h.NewKey(2, core.ScopeRead)}
}

// state identifies a state of the venue.
type state struct {
	seq  uint64
	hash [32]byte
}

func (d *testVenue) state() (s state) {
	var err error
	if s.seq, s.hash, err = d.Engine.Hash(); err != nil {
		panic(err)
	}
	return s
}

// holdings returns everything that account 1 can read about itself, without as_of_seq: a
// command that the core rejects takes a seq and changes nothing else.
func (d *testVenue) holdings(t *testing.T) (all string) {
	t.Helper()
	k := d.NewKey(1, core.ScopeRead)
	for _, of := range []string{"portfolio/balance", "portfolio/orders", "portfolio/positions", "portfolio/fills", "portfolio/deadman", "withdrawals", "forecasts"} {
		got := d.raw(t, d.get(k, "/v1/"+of, ""))
		if got.status != 200 {
			t.Fatalf("GET /v1/%s: %d %s, want 200", of, got.status, got.body)
		}
		all += asOf.ReplaceAllString(got.body, "") + "\n"
	}
	return all
}

var asOf = regexp.MustCompile(`,?\\?"as_of_seq\\?":\\?"\d+\\?"`)

// checkUnchanged checks that the ordinary client is served and the state equals before.
func (d *testVenue) checkUnchanged(t testing.TB, before state) {
	t.Helper()
	d.checkServes(t)
	if after := d.state(); after != before {
		t.Errorf("the state went from seq %d to %d", before.seq, after.seq)
	}
}

// checkServes checks that a signed read on its own connection succeeds.
func (d *testVenue) checkServes(t testing.TB) {
	t.Helper()
	got := d.raw(t, d.get(d.ordinary, "/v1/portfolio/balance", "Connection: close\r\n"))
	if got.status != 200 || !strings.Contains(got.body, `"cash":"100000000"`) {
		t.Errorf("ordinary read: %d %s", got.status, got.body)
	}
}

// answer is a response. Its status is 0 if the connection ended without one.
type answer struct {
	status int
	header http.Header
	body   string
}

// code returns the error code of an answer, "" if it is none of the venue's errors.
func (a answer) code() string {
	var e struct {
		Error struct {
			Code any
			Data struct{ Code string }
		}
	}
	if json.Unmarshal([]byte(a.body), &e) != nil {
		return ""
	}
	if e.Error.Data.Code != "" {
		return e.Error.Data.Code
	}
	code, _ := e.Error.Code.(string)
	return code
}

// testTimeout exceeds every timeout of the venue.
const testTimeout = 5 * time.Minute

// dial opens a connection whose deadline is testTimeout.
func (d *testVenue) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := d.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return c
}

// raw sends text on a new connection and reads one answer.
func (d *testVenue) raw(t testing.TB, text string) answer {
	t.Helper()
	c := d.dial(t)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // the server may close before it has read everything
	return read(bufio.NewReader(c))
}

// read reads one answer. It skips 100 Continue.
func read(r *bufio.Reader) (a answer) {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return a
	}
	if resp.StatusCode == http.StatusContinue {
		return read(r)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body) // a partial body is returned as it is
	return answer{resp.StatusCode, resp.Header, string(b)}
}

func (d *testVenue) millis(off time.Duration) string {
	return strconv.FormatInt((d.Now()+int64(off))/core.NsPerMs, 10)
}

// signatureHeaders returns the header lines that sign a request at the venue's time.
func (d *testVenue) signatureHeaders(k lanetest.Key, method, target, body string) string {
	ts := d.millis(0)
	return lines(k.ID, ts, schemas.Sign(k.Secret, ts, method, target, []byte(body)))
}

func lines(key, ts, signature string) string {
	return fmt.Sprintf("%s: %s\r\n%s: %s\r\n%s: %s\r\n", schemas.HeaderKey, key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, signature)
}

// get returns a signed read with more header lines.
func (d *testVenue) get(k lanetest.Key, target, more string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + d.signatureHeaders(k, "GET", target, "") + more + "\r\n"
}

// post returns a signed request with a body and its length.
func (d *testVenue) post(k lanetest.Key, method, target, body, more string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n%s\r\n%s", method, target, d.signatureHeaders(k, method, target, body), len(body), more, body)
}

func order(id string, more string) string {
	if !strings.Contains(more, `"generation"`) {
		more = `,"generation":1` + more
	}
	return `{"client_order_id":"` + id + `","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":10` + more + `}`
}

// attackCase is a request and its expected answer.
type attackCase struct {
	name   string
	text   func(k lanetest.Key) string
	status int
	code   string // "" for a success
}

// runCases runs cases that must change nothing, each with a new key.
func (d *testVenue) runCases(t *testing.T, cases []attackCase) {
	for _, s := range cases {
		t.Run(s.name, func(t *testing.T) {
			k := d.NewKey(1, everyone)
			before := d.state()
			got := d.raw(t, s.text(k))
			s.check(t, got)
			d.checkUnchanged(t, before)
		})
	}
}

// unauthorizedBody is the body of every 401 outside the agent lane, whatever the cause
// (docs/rules/accounts.md#unauthorized).
const unauthorizedBody = `{"error":{"code":"unauthorized","num":null,"origin":"gateway","message":"unauthorized","details":null}}`

func (s *attackCase) check(t *testing.T, got answer) {
	t.Helper()
	if got.status != s.status || got.code() != s.code {
		t.Errorf("%d %q, want %d %q: %s", got.status, got.code(), s.status, s.code, got.body)
	}
	if got.status == 401 && got.body != unauthorizedBody && !strings.Contains(got.body, `"jsonrpc"`) {
		t.Errorf("the body of a 401 depends on the cause: %s", got.body)
	}
	if s.code != "" && (got.header.Get("X-Request-Id") == "" || got.header.Get("Date") == "" || got.header.Get("Content-Type") != "application/json") {
		t.Errorf("missing or wrong headers: %v", got.header)
	}
}
