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

// desk is a venue with all lanes whose clock stands: whatever changes was asked for.
type desk struct {
	*lanetest.House
	plain lanetest.Key // of the ordinary client that looks in after each case
}

func open(t testing.TB, tune ...func(*http.Server)) *desk {
	t.Helper()
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	events, agents := ws.Mount(h.Routes, h.Gate), mcp.Mount(h.Routes, h.Gate, "test")
	h.Serve(tune...)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		agents.Close()
		if err := events.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	h.Venue.Terms.ReadRate = 1_000_000 // of keys made from now on
	h.Stop()
	return &desk{h, h.Key(2, core.ScopeRead)}
}

// state is what may not change.
type state struct {
	seq  uint64
	hash [32]byte
}

func (d *desk) state() (s state) {
	var err error
	if s.seq, s.hash, err = d.Engine.Hash(); err != nil {
		panic(err)
	}
	return s
}

// holdings are what account 1 has and wants, without the seq it is told as of: what the
// core hears of and refuses uses up a seq, and nothing else.
func (d *desk) holdings(t *testing.T) (all string) {
	t.Helper()
	k := d.Key(1, core.ScopeRead)
	for _, of := range []string{"portfolio/balance", "portfolio/orders", "portfolio/positions", "portfolio/fills", "portfolio/deadman", "withdrawals"} {
		got := d.raw(t, d.get(k, "/v1/"+of, ""))
		if got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		all += asOf.ReplaceAllString(got.body, "") + "\n"
	}
	return all
}

var asOf = regexp.MustCompile(`,?\\?"as_of_seq\\?":\\?"\d+\\?"`)

// unharmed wants the ordinary client to be served, and the state to be as it was.
func (d *desk) unharmed(t testing.TB, before state) {
	t.Helper()
	d.served(t)
	if after := d.state(); after != before {
		t.Errorf("the state went from seq %d to %d", before.seq, after.seq)
	}
}

// served wants an ordinary signed read on a connection of its own to succeed.
func (d *desk) served(t testing.TB) {
	t.Helper()
	got := d.raw(t, d.get(d.plain, "/v1/portfolio/balance", "Connection: close\r\n"))
	if got.status != 200 || !strings.Contains(got.body, `"cash":"100000000"`) {
		t.Errorf("the ordinary client is told %d %s", got.status, got.body)
	}
}

// answer is what came back. Status 0 is a connection that ended without a word.
type answer struct {
	status int
	header http.Header
	body   string
}

// code is the venue's code of an answer; "" where it is none of the venue's errors.
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

// dial opens a connection that does not outlast the test's patience.
func (d *desk) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// raw sends bytes as they are, on a connection of their own, and reads one answer.
func (d *desk) raw(t testing.TB, text string) answer {
	t.Helper()
	c := d.dial(t)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, text) }() // the server may close before it has read all
	return read(bufio.NewReader(c))
}

// read reads one answer, and passes over what only says to go on.
func read(r *bufio.Reader) (a answer) {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return a
	}
	if resp.StatusCode == http.StatusContinue {
		return read(r)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body) // what came of it is what there is
	return answer{resp.StatusCode, resp.Header, string(b)}
}

func (d *desk) millis(off time.Duration) string {
	return strconv.FormatInt((d.Now()+int64(off))/core.NsPerMs, 10)
}

// three are the header lines of a signature made now over these.
func (d *desk) three(k lanetest.Key, method, target, body string) string {
	ts := d.millis(0)
	return lines(k.ID, ts, schemas.Sign(k.Secret, ts, method, target, []byte(body)))
}

func lines(key, ts, signature string) string {
	return fmt.Sprintf("%s: %s\r\n%s: %s\r\n%s: %s\r\n", schemas.HeaderKey, key, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, signature)
}

// get is a signed read with more header lines.
func (d *desk) get(k lanetest.Key, target, more string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + d.three(k, "GET", target, "") + more + "\r\n"
}

// post is a signed request with a body and its length.
func (d *desk) post(k lanetest.Key, method, target, body, more string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n%s\r\n%s", method, target, d.three(k, method, target, body), len(body), more, body)
}

func order(id string, more string) string {
	return `{"client_order_id":"` + id + `","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":10` + more + `}`
}

// shot is one case: what is sent, and the answer it is owed.
type shot struct {
	name   string
	text   func(k lanetest.Key) string
	status int
	code   string // "" for a success, and for what net/http refuses before the venue hears of it
}

// fire runs cases that must change nothing, each with a key of its own.
func (d *desk) fire(t *testing.T, shots []shot) {
	for _, s := range shots {
		t.Run(s.name, func(t *testing.T) {
			k := d.Key(1, everyone)
			before := d.state()
			got := d.raw(t, s.text(k))
			s.judge(t, got)
			d.unharmed(t, before)
		})
	}
}

func (s *shot) judge(t *testing.T, got answer) {
	t.Helper()
	if got.status != s.status || got.code() != s.code {
		t.Errorf("%d %q, not %d %q: %s", got.status, got.code(), s.status, s.code, got.body)
	}
	if s.code != "" && (got.header.Get("X-Request-Id") == "" || got.header.Get("Date") == "" || got.header.Get("Content-Type") != "application/json") {
		t.Errorf("header %v", got.header)
	}
}
