package gate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// TestPendingBodiesAreBounded holds bodies of many sources open, and checks the bounds: the bodies that
// began first are shed, the newest waits until these have ended, and small bodies do not count as large ones
// (docs/rules/limits.md#before-a-signature).
func TestPendingBodiesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		large  bool
		source func(i int) byte
		most   int // of a source
		fit    int
	}{
		"large ones": {true, func(int) byte { return 1 }, 100_000, pendingBodyBudget / MaxBodyBytes},
		"in number":  {false, func(int) byte { return 1 }, 100_000, maxPendingBodies},
		"by source":  {false, func(i int) byte { return byte(i % 2) }, 50, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUnauthenticated()
				var stopped []int
				add := func(i int) *pendingBody {
					from := source{network: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, c.source(i)}), 32)}
					b, err := u.begin(from, c.most, func() { stopped = append(stopped, i) })
					if err == nil && c.large {
						err = b.grow()
					}
					if err != nil {
						t.Errorf("body %d: %v", i, err)
					}
					return b
				}
				var all []*pendingBody
				for i := range c.fit {
					all = append(all, add(i))
				}
				if len(stopped) > 0 {
					t.Fatalf("%d of the bodies that fit are shed", len(stopped))
				}
				const more = 10
				for i := range more {
					added := make(chan *pendingBody, 1)
					go func() { added <- add(c.fit + i) }()
					synctest.Wait()
					select {
					case <-added:
						t.Fatalf("body %d did not wait for the end of the one that was shed", c.fit+i)
					default:
					}
					if !all[i].end() {
						t.Fatalf("body %d, the oldest, was not shed", i)
					}
					all = append(all, <-added)
				}
				for i, b := range all[more:] {
					if b.end() {
						t.Errorf("body %d was shed", more+i)
					}
				}
				for i, n := range stopped {
					if n != i {
						t.Errorf("body %d was shed in place of %d", n, i)
					}
				}
				if len(stopped) != more || u.shed.Load() != more {
					t.Errorf("%d bodies were shed, %d counted, want %d", len(stopped), u.shed.Load(), more)
				}
				if u.all.live.Len() != 0 || u.large.live.Len() != 0 || len(u.sources) != 0 {
					t.Errorf("after the end: %d bodies, %d large ones, %d sources, want none", u.all.live.Len(), u.large.live.Len(), len(u.sources))
				}
				if !u.all.free.TryAcquire(int64(u.all.limit)) {
					t.Errorf("after the end the bodies do not leave all %d bytes free", u.all.limit)
				}
				if !u.large.free.TryAcquire(int64(u.large.limit)) {
					t.Errorf("after the end the large bodies do not leave all %d bytes free", u.large.limit)
				}
			})
		})
	}
}

// TestShedBodyWaitsNoMore sheds a body that waits for its share.
func TestShedBodyWaitsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnauthenticated()
		var bodies [3]*pendingBody
		results := make(chan error, 2)
		bodies[0], _ = u.begin(source{}, 1, func() {})
		for i := 1; i < 3; i++ {
			go func() {
				var err error
				bodies[i], err = u.begin(source{}, 1, func() {})
				results <- err
			}()
			synctest.Wait()
		}
		if err := <-results; !errors.Is(err, errShedBody) || !bodies[1].end() {
			t.Errorf("the second body: %v", err)
		}
		if !bodies[0].end() {
			t.Error("the first body was not shed")
		}
		if err := <-results; err != nil || bodies[2].end() {
			t.Errorf("the third body: %v", err)
		}
	})
}

// TestReadAll reads bodies of every size around the sizes of the buffers, with and without a length, in
// pieces.
func TestReadAll(t *testing.T) {
	whole := strings.Repeat("0123456789", MaxBodyBytes/10+2)
	for _, size := range []int{0, 1, smallBodyBytes - 1, smallBodyBytes, smallBodyBytes + 1, 40_000, MaxBodyBytes - 1, MaxBodyBytes, MaxBodyBytes + 1} {
		for _, length := range []int64{-1, int64(size)} {
			if length == 0 || length > MaxBodyBytes {
				continue // there is no body, or it is rejected by its length
			}
			for _, read := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.HalfReader, iotest.DataErrReader} {
				got, err := readAll(read(strings.NewReader(whole[:size])), length, nil)
				if err != nil || string(got) != whole[:size] {
					t.Errorf("%d bytes, length %d: %d bytes, %v", size, length, len(got), err)
				}
			}
		}
	}
	if got, err := readAll(strings.NewReader(whole+whole), -1, nil); err != nil || len(got) != MaxBodyBytes+1 {
		t.Errorf("a long body: %d bytes, %v", len(got), err)
	}
	if _, err := readAll(iotest.ErrReader(io.ErrUnexpectedEOF), -1, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// TestPendingBodiesOfANetwork sends bodies of one network over HTTP/2 that never end, one more than may be
// pending on each connection. Each body beyond the bound makes the oldest one end with shed, and a body of
// another network passes.
func TestPendingBodiesOfANetwork(t *testing.T) {
	const most, connections = 20, 3
	g := bareGate()
	got := make(chan []byte, 1)
	handler := g.handler("rest", listenerRules{
		signed:     true,
		beforeBody: func(*http.Request, *Call) error { return nil },
		behindBody: func(_ *http.Request, c *Call) error { got <- c.Body; return nil },
	}, http.NotFoundHandler())
	raw := listen(t)
	_, pool := serveTLSOn(t, raw, handler, func(l *Listener) { l.places.PerNetwork, l.places.Timeout = most, time.Hour })
	var last *h2Client
	for i := range connections {
		c := newH2Client(t, dial(t, raw.Addr().String()), pool)
		for range most + 1 {
			id := c.stream
			c.stream += 2
			if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.header.Bytes(), EndHeaders: true}); err != nil {
				t.Fatal(err)
			}
			if err := c.WriteData(id, false, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		if status := c.status(t); status != "503" {
			t.Errorf("connection %d: the body that was shed ended with %s", i, status)
		}
		if last != nil {
			for n := range most {
				if status := last.status(t); status != "503" {
					t.Errorf("connection %d: body %d ended with %s", i-1, n+1, status)
				}
			}
		}
		if want := uint64(i*(most+1) + 1); g.UnauthenticatedShed() != want {
			t.Errorf("after connection %d: %d were shed in place of %d", i, g.UnauthenticatedShed(), want)
		}
		last = c
	}
	c := handshake(t, dialFrom(t, "127.0.2.1", raw.Addr().String()), pool, "http/1.1")
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nwhole"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 404 {
		t.Fatal(resp, err)
	}
	if body := <-got; string(body) != "whole" {
		t.Errorf("the body is %q", body)
	}
}

// TestRequestsOfAForwardedNetwork holds requests of one network open behind a trusted proxy. One more of
// that network is shed, one of another network is not, and the end of a request makes room
// (docs/rules/limits.md#connections).
func TestRequestsOfAForwardedNetwork(t *testing.T) {
	const most = 3
	g := bareGate()
	g.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	reached, release := make(chan struct{}), make(chan struct{})
	handler := g.handler("rest", listenerRules{
		signed:     true,
		beforeBody: func(*http.Request, *Call) error { return nil },
		behindBody: func(*http.Request, *Call) error { reached <- struct{}{}; <-release; return nil },
	}, http.NotFoundHandler())
	l := WrapListener(listen(t), Places{PerNetwork: most, Proxies: g.TrustedProxies})
	serveOn(t, Server(handler, slog.New(slog.DiscardHandler)), l)
	ask := func(from string) *bufio.Reader {
		c := dial(t, l.Addr().String())
		if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\n\r\n", from); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(c)
	}
	status := func(r *bufio.Reader) int {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	var held []*bufio.Reader
	for range most {
		held = append(held, ask("203.0.113.7"))
		<-reached
	}
	if got := status(ask("203.0.113.7")); got != 503 {
		t.Errorf("one more of the network: %d", got)
	}
	other := ask("203.0.113.8")
	<-reached
	for range most + 1 {
		release <- struct{}{}
	}
	for _, r := range append(held, other) {
		if got := status(r); got != 404 {
			t.Errorf("a request within the bound: %d", got)
		}
	}
	again := ask("203.0.113.7")
	<-reached
	release <- struct{}{}
	if got := status(again); got != 404 || g.UnauthenticatedShed() != 1 {
		t.Errorf("after the end of the others: %d, %d shed", got, g.UnauthenticatedShed())
	}
}
