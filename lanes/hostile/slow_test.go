package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
)

// TestSlow checks that a connection that sends its headers or body too slowly is closed at the
// deadline, and that other connections are served meanwhile (docs/rules/limits.md#times).
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openInMemory(t)
		k := d.NewKey(1, everyone)
		before := d.state()
		body := order("1", "")
		wrong := lines(k.ID, d.millis(0), "A"+strings.Repeat("B", 42)+"=")
		var all sync.WaitGroup
		for _, c := range []struct {
			name   string
			text   string // sent at once
			drip   string // sent every 50 ms
			status int    // 0: the connection ends without a response
			after  time.Duration
		}{
			{"nothing at all", "", "", 0, gate.HeaderTimeout},
			{"half a line", "GET /v1/ti", "", 400, gate.HeaderTimeout},
			{"a head that never ends", "GET /v1/time HTTP/1.1\r\nHost: x\r\n", "", 0, gate.HeaderTimeout},
			{"one header at a time", "GET /v1/time HTTP/1.1\r\nHost: x\r\n", "X: y\r\n", 0, gate.HeaderTimeout},
			{"one byte of a header at a time", "GET /v1/time HTTP/1.1\r\nHost: x\r\nX: ", "y", 0, gate.HeaderTimeout},
			{"no body", strings.TrimSuffix(d.post(k, "POST", "/v1/portfolio/orders", body, ""), body), "", 401, gate.BodyTimeout},
			{"half a body", strings.TrimSuffix(d.post(k, "POST", "/v1/portfolio/orders", body, ""), `"generation":1}`), "", 401, gate.BodyTimeout},
			{"one byte of a body at a time", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\n" + wrong + "Content-Length: 60000\r\n\r\n", " ", 401, gate.BodyTimeout},
			{"one chunk at a time", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\n" + wrong + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 401, gate.BodyTimeout},
			{"a chunk of 2^63", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\n" + wrong + "Transfer-Encoding: chunked\r\n\r\n8000000000000000\r\n" + body, "", 401, gate.BodyTimeout},
			{"a body without credentials", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n", " ", 401, 0},
			{"chunks without credentials", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 401, 0},
			{"a chunk's size that never ends", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\n" + wrong + "Transfer-Encoding: chunked\r\n\r\n0", "0", 401, gate.BodyTimeout},
			{"100-continue without a body", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\n" + wrong + "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", "", 401, gate.BodyTimeout},
		} {
			all.Go(func() {
				start := time.Now()
				conn := d.dial(t)
				defer conn.Close()
				all.Go(func() {
					if _, err := io.WriteString(conn, c.text); err != nil {
						return
					}
					for c.drip != "" {
						time.Sleep(50 * time.Millisecond)
						if _, err := io.WriteString(conn, c.drip); err != nil {
							return
						}
					}
				})
				r := bufio.NewReader(conn)
				got := read(r)
				if got.status != c.status || c.status == 401 && got.code() != "unauthorized" {
					t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.status)
				}
				if took := time.Since(start); took != c.after {
					t.Errorf("%s: closed after %v, want %v", c.name, took, c.after)
				}
				if rest, err := io.ReadAll(r); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s: after the answer: %q %v", c.name, rest, err)
				}
				d.checkServes(t)
			})
		}
		all.Wait()
		d.checkUnchanged(t, before)
	})
}

// TestIdle checks that an idle keep-alive connection is closed without a response.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openInMemory(t)
		conn := d.dial(t)
		if _, err := io.WriteString(conn, d.get(d.ordinary, balance, "")); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		if got := read(r); got.status != 200 {
			t.Fatal(got)
		}
		start := time.Now()
		if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
			t.Errorf("the idle connection ends with %q, %v, want no bytes and no error", rest, err)
		}
		if took := time.Since(start); took != gate.IdleTimeout {
			t.Errorf("closed after %v", took)
		}
	})
}

// TestManyWaiting checks that 500 connections with unfinished requests do not keep other
// clients from being served.
func TestManyWaiting(t *testing.T) {
	d := newTestVenue(t)
	before := d.state()
	for n := range 500 {
		conn := d.dial(t)
		if _, err := fmt.Fprintf(conn, "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nX-N: %d\r\n", n); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		d.checkUnchanged(t, before)
	}
}

// TestNoReader checks that a connection whose client does not read its responses is closed
// after the response timeout, and much earlier if it has shown no valid signature.
func TestNoReader(t *testing.T) {
	for name, c := range map[string]struct {
		text  func(d *testVenue) string
		after time.Duration
	}{
		"unsigned": {func(*testVenue) string { return "GET / HTTP/1.1\r\nHost: x\r\n\r\n" }, gate.UnsignedTimeout + 100*time.Millisecond},
		"signed":   {func(d *testVenue) string { return d.get(d.ordinary, "/v1/markets", "") }, gate.ResponseTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := openInMemory(t)
				conn := d.dial(t)
				text, start := strings.Repeat(c.text(d), 100), time.Now()
				for {
					if _, err := io.WriteString(conn, text); err != nil {
						if errors.Is(err, os.ErrDeadlineExceeded) {
							t.Error("the connection is still open")
						}
						break
					}
				}
				if took := time.Since(start); took != c.after {
					t.Errorf("closed after %v, want %v", took, c.after)
				}
				d.checkServes(t)
			})
		})
	}
}

// TestStreamsLast checks that streams and WebSockets outlive the response timeout.
func TestStreamsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openInMemory(t)
		k := d.NewKey(1, everyone)
		x := d.dialSocket(t, k)
		conn := d.dial(t)
		body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://markets/1"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		if _, err := io.WriteString(conn, d.post(k, "POST", "/v1/mcp", body, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n")); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		until(t, r, "acknowledged")
		beats := make(chan error)
		go func() { // reads the venue's heartbeats, because the in-memory pipe has no buffer
			for {
				line, err := r.ReadString('\n')
				if err != nil || strings.Contains(line, "notifications/resources/updated") {
					beats <- err
					return
				}
			}
		}()
		for start := time.Now(); time.Since(start) < 2*gate.ResponseTimeout; time.Sleep(10 * time.Second) {
			if typ, _, got := x.command(`{"id":1,"cmd":"list_subscriptions"}`); typ != "ok" { // also answers pings
				t.Fatal(got)
			}
		}
		d.Submit(&core.PlaceOrder{User: 1, ClientID: 99, Market: 1, Qty: 1, Tick: 5000})
		if err := <-beats; err != nil {
			t.Error(err)
		}
	})
}

// until reads lines up to one that contains what.
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
