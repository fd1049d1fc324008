package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"duplex/core"
)

// TestSlow: who takes his time for a head, a body or the next request is let go in the
// time there is for it, here a short one, and those beside him notice nothing.
func TestSlow(t *testing.T) {
	const patience = time.Second
	d := open(t, func(s *http.Server) { s.ReadHeaderTimeout, s.IdleTimeout = patience, patience })
	d.Gate.BodyTime = patience
	k := d.Key(1, everyone)
	before := d.state()
	body := order("1", "")
	for _, c := range []struct {
		name   string
		text   string // what he sends at once
		drip   string // what he sends again and again
		status int    // 0: the connection ends without a word; 400 is net/http's own
	}{
		{"nothing at all", "", "", 0},
		{"half a line", "GET /v1/ti", "", 400},
		{"a head that never ends", "GET /v1/time HTTP/1.1\r\nHost: x\r\n", "", 0},
		{"a header a time", "GET /v1/time HTTP/1.1\r\nHost: x\r\n", "X: y\r\n", 0},
		{"a byte of a header a time", "GET /v1/time HTTP/1.1\r\nHost: x\r\nX: ", "y", 0},
		{"no body", strings.TrimSuffix(d.post(k, "POST", "/v1/portfolio/orders", body, ""), body), "", 401},
		{"half a body", strings.TrimSuffix(d.post(k, "POST", "/v1/portfolio/orders", body, ""), `"qty":10}`), "", 401},
		{"a byte of a body a time", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", " ", 401},
		{"a chunk a time", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 401},
		{"a chunk of 2^63", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8000000000000000\r\n" + body, "", 401},
		{"a chunk's size that never ends", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0", "0", 401},
		{"nobody goes on", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", "", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := d.dial(t)
			if _, err := io.WriteString(conn, c.text); err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			go func() {
				tick := time.NewTicker(patience / 20)
				defer tick.Stop()
				for c.drip != "" {
					select {
					case <-gone:
						return
					case <-tick.C:
						if _, err := io.WriteString(conn, c.drip); err != nil {
							return
						}
					}
				}
			}()
			r := bufio.NewReader(conn)
			got := read(r)
			if got.status != c.status || c.status == 401 && got.code() != "unauthorized" {
				t.Errorf("%d %s", got.status, got.body)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || isTimeout(err) {
				t.Errorf("then %q %v", rest, err)
			}
			close(gone)
			d.served(t)
		})
	}
	t.Cleanup(func() { d.unharmed(t, before) })
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// TestIdle: a kept connection that asks nothing more is closed, without a word.
func TestIdle(t *testing.T) {
	d := open(t, func(s *http.Server) { s.IdleTimeout = 100 * time.Millisecond })
	conn := d.dial(t)
	if _, err := io.WriteString(conn, d.get(d.plain, balance, "")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if got := read(r); got.status != 200 {
		t.Fatal(got)
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("%q %v", rest, err)
	}
}

// TestManyWaiting: five hundred that have begun a request and do not end it keep nobody
// out, and cost little.
func TestManyWaiting(t *testing.T) {
	d := open(t)
	before := d.state()
	for n := range 500 {
		conn := d.dial(t)
		if _, err := fmt.Fprintf(conn, "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nX-N: %d\r\n", n); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		d.unharmed(t, before)
	}
}

// TestNoReader: who asks and asks and reads no answer is let go once an answer could not
// leave in its time. There is one by default.
func TestNoReader(t *testing.T) {
	d := open(t, func(s *http.Server) {
		if s.WriteTimeout == 0 {
			t.Error("an answer may take for ever")
		}
		s.WriteTimeout = 2 * time.Second
	})
	for name, text := range map[string]string{"unsigned": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "signed": d.get(d.plain, "/v1/markets", "")} {
		t.Run(name, func(t *testing.T) {
			conn := d.dial(t)
			text := strings.Repeat(text, 100)
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					if isTimeout(err) {
						t.Error("the connection is held")
					}
					break
				}
			}
			d.served(t)
		})
	}
}

// TestStreamsLast: a stream and a socket live longer than an answer may take.
func TestStreamsLast(t *testing.T) {
	const patience = 200 * time.Millisecond
	d := open(t, func(s *http.Server) { s.WriteTimeout = patience })
	k := d.Key(1, everyone)
	x := d.talk(t, k)
	conn := d.dial(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://markets/1"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	if _, err := io.WriteString(conn, d.post(k, "POST", "/v1/mcp", body, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	until(t, r, "acknowledged")
	<-time.After(2 * patience)
	d.Do(&core.PlaceOrder{User: 1, ClientID: 99, Market: 1, Qty: 1, Tick: 5000})
	until(t, r, "notifications/resources/updated")
	if typ, _, got := x.says(`{"id":1,"cmd":"list_subscriptions"}`); typ != "ok" {
		t.Error(got)
	}
}

// until reads lines until one holds this.
func until(t *testing.T, r *bufio.Reader, what string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("no %s: %v", what, err)
		}
		if strings.Contains(line, what) {
			return
		}
	}
}
