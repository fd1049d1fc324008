package gate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/tools"
)

// bareGate returns a gate without an engine: it rejects every signature.
func bareGate() *Gate {
	return New(&tools.Venue{Config: tools.DefaultConfig(func() int64 { return time.Now().UnixNano() })}, nil, slog.New(slog.DiscardHandler))
}

// serve starts a server on loopback and returns its address.
func serve(t *testing.T, h http.Handler, tune func(*http.Server)) string {
	t.Helper()
	s := Server(h, slog.New(slog.DiscardHandler))
	if tune != nil {
		tune(s)
	}
	l := listen(t)
	serveOn(t, s, WrapListener(l, Places{Timeout: time.Hour}))
	return l.Addr().String()
}

// listen returns a listener on loopback.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveOn runs a server until the test ends.
func serveOn(t *testing.T, s *http.Server, l net.Listener) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = s.Close(); <-done })
}

// dial opens a connection from 127.0.0.1, with a deadline of three minutes for all operations.
func dial(t *testing.T, to string) net.Conn {
	t.Helper()
	return dialFrom(t, "127.0.0.1", to)
}

// dialFrom is dial from another address.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryConnectionEnds sends requests that are answered before their bodies are read,
// and requests whose bodies never arrive, to the handler of each listener. The server
// must end every connection within its time limits.
func TestEveryConnectionEnds(t *testing.T) {
	const bound, each = 200 * time.Millisecond, 8
	g := bareGate()
	g.BodyTimeout = bound
	g.Origins = []string{"https://page.example"}
	none := func(*http.Request, *Call) error { return nil }
	operator := func(*http.Request, *Call) error { return tools.NewError("unauthorized") }
	for name, handler := range map[string]http.Handler{
		"api":    g.Edge(http.NotFoundHandler()),
		"portal": g.Guard("portal", none, http.NotFoundHandler()),
		"admin":  g.Guard("admin", operator, http.NotFoundHandler()),
	} {
		addr := serve(t, handler, func(s *http.Server) {
			s.ReadHeaderTimeout, s.IdleTimeout = bound, bound
			if s.ReadTimeout <= 0 || s.ReadTimeout > HeaderTimeout+BodyTimeout {
				t.Errorf("ReadTimeout is %v", s.ReadTimeout)
				return
			}
			s.ReadTimeout = bound
		})
		var wg sync.WaitGroup
		for kind, text := range map[string]string{
			"a body over the cap, nothing of it sent":   "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n",
			"the longest body that net/http drains":     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n",
			"a longer one":                              "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 262145\r\n\r\n",
			"a body over the cap, half of it sent":      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat(" ", 50000),
			"a body within the cap, nothing of it sent": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
			"a body with GET":                           "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
			"HTTP/1.0 with keep-alive":                  "POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 100000\r\n\r\n",
			"chunks over the cap without an end":        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n", 70000) + strings.Repeat(" ", 70000) + "\r\n",
			"one chunk over the cap, half of it sent":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n", 90000) + strings.Repeat(" ", 70000),
			"chunks without an end":                     "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n",
			"a trailer without an end":                  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX: ",
			"a body that waits for 100 Continue":        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n",
			"an unknown expectation, with a body":       "POST / HTTP/1.1\r\nHost: x\r\nExpect: the best\r\nContent-Length: 100000\r\n\r\n",
			"a preflight with a body":                   "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: https://page.example\r\nAccess-Control-Request-Method: POST\r\nContent-Length: 100000\r\n\r\n",
			"an upgrade with a body":                    "GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 100000\r\n\r\n",
			"a head that net/http rejects, with a body": "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n",
			"a transfer coding that net/http rejects":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n",
			"a head that is too long":                   "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2*maxHeaderBytes),
			"a head without an end":                     "GET / HTTP/1.1\r\nHost: x\r\n",
			"nothing":                                   "",
		} {
			for range each {
				c := dial(t, addr)
				wg.Go(func() {
					if _, err := io.WriteString(c, text); err != nil {
						return // the server has closed it already
					}
					if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%s: %s: the connection does not end", name, kind)
					}
				})
			}
		}
		wg.Wait()
	}
}

// wrongCredentials are the header lines of credentials that are not valid.
const wrongCredentials = "DX-ACCESS-KEY: k\r\nDX-ACCESS-TIMESTAMP: 1\r\nDX-ACCESS-SIGNATURE: s\r\n"

// TestOversizedBodyEndsConnection checks that an oversized body is rejected before all of
// it has arrived, and that no request after it is served.
func TestOversizedBodyEndsConnection(t *testing.T) {
	g := bareGate()
	addr := serve(t, g.Edge(http.NotFoundHandler()), nil)
	for _, framing := range []string{"Content-Length: 65537\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n10001\r\n"} {
		c := dial(t, addr)
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\n"+wrongCredentials+framing+strings.Repeat(" ", MaxBodyBytes)); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		if strings.HasPrefix(framing, "Transfer") {
			_, _ = io.WriteString(c, " ") // the length of a chunked body is known only as it arrives
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !resp.Close {
			t.Errorf("%q: %s, close %v", framing, resp.Status, resp.Close)
		}
		_, _ = io.WriteString(c, " GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, resp.Body)
		if after, err := io.ReadAll(r); len(after) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: after the response: %q, %v", framing, after, err)
		}
	}
}

// closing reports its calls of CloseWrite and Close, in their order.
type closing struct {
	*net.TCPConn
	calls chan string
}

func (c closing) CloseWrite() error { c.calls <- "CloseWrite"; return c.TCPConn.CloseWrite() }
func (c closing) Close() error      { c.calls <- "Close"; return c.TCPConn.Close() }

type closingListener struct {
	net.Listener
	calls chan string
}

func (l *closingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return closing{c.(*net.TCPConn), l.calls}, nil
}

// TestErrorResponseEndsStream checks that a client whose request is rejected midway
// receives a FIN after the response, before the server closes the socket half a second
// later.
func TestErrorResponseEndsStream(t *testing.T) {
	l := &closingListener{listen(t), make(chan string, 8)}
	serveOn(t, Server(http.NotFoundHandler(), slog.New(slog.DiscardHandler)), WrapListener(l, Places{}))
	c := dial(t, l.Addr().String())
	go func() { // the server stops reading before the end
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // a very slow reader gets a reset here
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(resp.Status)
	}
	if first := <-l.calls; first != "CloseWrite" { // the response may arrive before it
		t.Errorf("the server calls %s first", first)
	}
}
