package hostile

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// FuzzConnection checks, for arbitrary input, that the status of each response matches its
// error code, that an unsigned request is rejected and changes nothing, and that the ordinary
// client is served afterwards.
func FuzzConnection(f *testing.F) {
	for _, s := range []struct{ method, target, more, body string }{
		{"GET", balance, "", ""}, {"POST", preview, "Content-Length: 91\r\n", order("1", "")}, {"POST", "/v1/portfolio/orders", "Transfer-Encoding: chunked\r\n", chunked(order("2", ""))},
		{"DELETE", "/v1/portfolio/orders/batch", "Content-Length: 17\r\nContent-Type: application/json\r\n", `{"order_ids":[1]}`}, {"GET", "/v1/portfolio/orders?status=resting&limit=1", "", ""},
		{"POST", "/v1/mcp", "Content-Length: 58\r\nMCP-Protocol-Version: 2025-11-25\r\n", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`}, {"GET", socketPath, upgrade, "\x88\x80\x00\x00\x00\x00"},
		{"OPTIONS", "*", "Origin: null\r\n", ""}, {"PRI", "*", "", "SM\r\n\r\n"}, {"POST", "http://x/v1/time", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"},
	} {
		f.Add(s.method, s.target, s.more, s.body, true)
		f.Add(s.method, s.target, s.more, s.body, false)
	}
	d := newTestVenue(f)
	d.Venue.Config.ResponseBudget = 50 // ms; bounds reads with an unreachable min_seq
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap = 1_000_000, 1_000_000
	key := d.NewKey(1, readTrade)
	f.Fuzz(func(t *testing.T, method, target, more, body string, signed bool) {
		signature := ""
		if signed {
			text := body
			if strings.Contains(more, "chunked") {
				if b, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(body))); err == nil {
					text = string(b)
				}
			}
			signature = d.signatureHeaders(key, method, target, text)
		}
		if !signed {
			// An order of an earlier input may be on its way although its budget has ended.
			if _, err := d.Engine.Submit(t.Context(), &core.Clock{}); err != nil {
				t.Fatal(err)
			}
		}
		before := d.state()
		c, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil { // bounds long polls and streams
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(c, method+" "+target+" HTTP/1.1\r\nHost: x\r\n"+signature+more+"\r\n"+body)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		for r := bufio.NewReader(c); ; {
			a := read(r)
			if a.status == 0 || a.status == http.StatusSwitchingProtocols {
				break
			}
			checkStatusOfCode(t, a, signed)
		}
		if signed {
			d.checkServes(t)
		} else {
			d.checkUnchanged(t, before)
		}
	})
}

// malformed lists the statuses, besides 400, of requests that net/http rejects before any
// handler.
var malformed = []int{417, 431, 501, 505}

// checkStatusOfCode checks that a rejection has the venue's error body, a request id, and the
// status of its code.
func checkStatusOfCode(t *testing.T, a answer, signed bool) {
	t.Helper()
	if a.header.Get("Content-Type") != "application/json" {
		if a.status < 400 && !signed || a.status >= 400 {
			t.Fatalf("only a signed success may have another type than JSON: %d %v %s", a.status, a.header, a.body)
		}
		return
	}
	code := a.code()
	switch {
	case a.body != "" && !json.Valid([]byte(a.body)), a.status < 400 && !signed, a.status >= 400 && a.body != "" && !schemas.IsErrorCode(code), code == "internal":
		t.Fatalf("want JSON, success only if signed, and a code of the table other than internal: %d %s", a.status, a.body)
	case a.status >= 400 && a.header.Get("X-Request-Id") == "":
		t.Fatalf("the error %d has no request id: %v", a.status, a.header)
	case code == "schema_violation" && slices.Contains(malformed, a.status):
	case code != "" && !strings.Contains(a.body, "jsonrpc") && schemas.ErrorInfoOf(code).HTTP != a.status:
		t.Fatalf("status %d does not match the code of %s", a.status, a.body)
	}
}
