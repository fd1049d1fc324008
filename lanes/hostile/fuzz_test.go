package hostile

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	"duplex/schemas"
)

// FuzzDoor: whatever comes in over a connection, each answer has a status and a code that
// belong together; without a signature nothing is let in and nothing changes; and the
// ordinary client is served after it.
func FuzzDoor(f *testing.F) {
	for _, s := range []struct{ method, target, more, body string }{
		{"GET", balance, "", ""}, {"POST", preview, "Content-Length: 91\r\n", order("1", "")}, {"POST", "/v1/portfolio/orders", "Transfer-Encoding: chunked\r\n", chunked(order("2", ""))},
		{"DELETE", "/v1/portfolio/orders/batch", "Content-Length: 17\r\nContent-Type: application/json\r\n", `{"order_ids":[1]}`}, {"GET", "/v1/portfolio/orders?status=resting&limit=1", "", ""},
		{"POST", "/v1/mcp", "Content-Length: 58\r\nMCP-Protocol-Version: 2025-11-25\r\n", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`}, {"GET", socketPath, upgrade, "\x88\x80\x00\x00\x00\x00"},
		{"OPTIONS", "*", "Origin: null\r\n", ""}, {"PRI", "*", "", "SM\r\n\r\n"}, {"POST", "http://x/v1/time", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"},
	} {
		f.Add(s.method, s.target, s.more, s.body, true)
		f.Add(s.method, s.target, s.more, s.body, false)
	}
	d := open(f)
	d.Venue.Terms.ResponseBudget = 50 // ms; who waits for a seq that never comes
	d.Venue.Terms.WriteFloor, d.Venue.Terms.WriteCap = 1_000_000, 1_000_000
	key := d.Key(1, readTrade)
	f.Fuzz(func(t *testing.T, method, target, more, body string, signed bool) {
		three := ""
		if signed {
			text := body
			if strings.Contains(more, "chunked") {
				if b, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(body))); err == nil {
					text = string(b)
				}
			}
			three = d.three(key, method, target, text)
		}
		before := d.state()
		c, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil { // of what waits or streams
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(c, method+" "+target+" HTTP/1.1\r\nHost: x\r\n"+three+more+"\r\n"+body)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		for r := bufio.NewReader(c); ; {
			a := read(r)
			if a.status == 0 || a.status == http.StatusSwitchingProtocols {
				break
			}
			sound(t, a, signed)
		}
		if signed {
			d.served(t)
		} else {
			d.unharmed(t, before)
		}
	})
}

// sound wants an answer's status to be that of its code. What net/http says by itself has
// none.
func sound(t *testing.T, a answer, signed bool) {
	t.Helper()
	if a.header.Get("Content-Type") != "application/json" {
		if a.status < 400 && !signed || a.status == 500 {
			t.Fatalf("%d %v %s", a.status, a.header, a.body)
		}
		return
	}
	code := a.code()
	switch {
	case a.body != "" && !json.Valid([]byte(a.body)), a.status < 400 && !signed, a.status >= 400 && a.body != "" && !schemas.Known(code), code == "internal":
		t.Fatalf("%d %s", a.status, a.body)
	case code != "" && !strings.Contains(a.body, "jsonrpc") && schemas.MeaningOf(code).HTTP != a.status:
		t.Fatalf("%d is not the status of %s", a.status, a.body)
	}
}
