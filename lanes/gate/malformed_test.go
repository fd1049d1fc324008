package gate

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"duplex/internal/logbuffer"
	"duplex/schemas"
)

// TestMalformedRequests checks that a request that net/http rejects gets the status of
// net/http, the venue's error body and a request id that is in the log.
func TestMalformedRequests(t *testing.T) {
	var log logbuffer.Buffer
	g := bareGate()
	addr := serve(t, unsignedEdge(g, http.NotFoundHandler()), func(s *http.Server) {
		s.ConnContext = joinConn(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	})
	const before = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"no Host":                  {"GET / HTTP/1.1\r\n\r\n", 400},
		"an invalid Host":          {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
		"two Hosts":                {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
		"a header without a colon": {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length\r\n\r\n", 400},
		"NUL in a header":          {"GET / HTTP/1.1\r\nHost: x\r\nX: \x00\r\n\r\n", 400},
		"no version":               {"GET /\r\nHost: x\r\n\r\n", 400},
		"half a line":              {"GET /v1/ti", 400},
		"TLS":                      {"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03\r\n\r\n", 400},
		"a length below 0":         {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
		"a length that is text":    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n", 400},
		"two lengths":              {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
		"an unmet expectation":     {"POST / HTTP/1.1\r\nHost: x\r\nExpect: the best\r\nContent-Length: 2\r\n\r\n{}", 417},
		"a head over the cap":      {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", maxHeaderBytes+8192), 431},
		"an unknown coding":        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"an unknown version":       {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
		"HTTP/0.9":                 {"GET / HTTP/0.9\r\n\r\n", 505},
	} {
		for _, prefix := range []string{"", before} {
			conn := dial(t, addr)
			go func() {
				_, _ = io.WriteString(conn, prefix+c.text) // the server may close before it has read everything
				if !strings.HasSuffix(c.text, "\n") {
					_ = conn.(*net.TCPConn).CloseWrite() // the end of the stream completes half a line
				}
			}()
			r := bufio.NewReader(conn)
			if prefix != "" {
				resp, err := http.ReadResponse(r, nil)
				if err != nil || resp.StatusCode != 404 {
					t.Fatal(resp, err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
			}
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Errorf("%s gets no response: %v", name, err)
				continue
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Errorf("the response to %s has no whole body: %v", name, err)
			}
			var got schemas.ErrorBody
			if err := json.Unmarshal(b, &got); err != nil || got.Error != schemas.ErrorOf("schema_violation") {
				t.Errorf("%s: %s, want schema_violation", name, b)
			}
			h := resp.Header
			if resp.StatusCode != c.status || !resp.Close || h.Get("Content-Type") != "application/json" || resp.ContentLength != int64(len(b)) {
				t.Errorf("%s: %s, close %v, %v", name, resp.Status, resp.Close, h)
			}
			if at, err := http.ParseTime(h.Get("Date")); err != nil || time.Since(at).Abs() > time.Minute {
				t.Errorf("%s: Date %q", name, h.Get("Date"))
			}
			if id := h.Get("X-Request-Id"); len(id) != 24 || !strings.Contains(log.String(), "request_id="+id) {
				t.Errorf("%s: X-Request-Id %q", name, id)
			}
			if after, err := io.ReadAll(r); len(after) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: after the response: %q, %v", name, after, err)
			}
		}
	}
}

// TestHandlerBytesAreUnchanged checks that the bytes of a handler are never replaced, even
// if they look like an error of net/http.
func TestHandlerBytesAreUnchanged(t *testing.T) {
	const looks = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	addr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, looks)
			_ = c.Close()
			return
		}
		w.Header().Set("Content-Length", "10000")
		w.WriteHeader(http.StatusBadRequest)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, looks+strings.Repeat(" ", 10000-len(looks)))
	}), nil)
	for method, n := range map[string]int{"GET": 2, "CONNECT": 1} {
		c := dial(t, addr)
		if _, err := io.WriteString(c, strings.Repeat(method+" x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n", n)); err != nil {
			t.Fatal(err)
		}
		if method == "CONNECT" {
			if b, err := io.ReadAll(c); err != nil || string(b) != looks {
				t.Errorf("the bytes of a hijacked connection are %q, %v, want those of the handler", b, err)
			}
			continue
		}
		r := bufio.NewReader(c)
		for range n {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || !strings.HasPrefix(string(b), looks) || len(b) != 10000 {
				t.Errorf("the body is %q, %v, want the handler's 10000 bytes", b, err)
			}
		}
	}
}
