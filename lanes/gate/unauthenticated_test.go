package gate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// TestPendingBodiesAreBounded reads bodies of many sources that never end, and checks the budget: the
// bodies that began first are shed, the newest is read, and small ones do not count
// (docs/rules/limits.md#before-a-signature).
func TestPendingBodiesAreBounded(t *testing.T) {
	const size = 60 << 10
	var u unauthenticated
	from := func(i int) source {
		return source{network: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)}
	}
	small := u.begin(from(0), 1, func() { t.Error("a small body is shed") })
	if _, err := io.Copy(io.Discard, small.reader(strings.NewReader(strings.Repeat("s", freeBodyBytes)))); err != nil {
		t.Fatal(err)
	}
	var stopped []int
	all := make([]*pendingBody, 2*pendingBodyBudget/size)
	for i := range all {
		all[i] = u.begin(from(i+1), 1, func() { stopped = append(stopped, i) })
		if _, err := io.Copy(io.Discard, all[i].reader(strings.NewReader(strings.Repeat("b", size)))); err != nil {
			t.Fatalf("body %d: %v", i, err)
		}
		if u.bytes > pendingBodyBudget {
			t.Fatalf("%d bytes of %d bodies", u.bytes, i+1)
		}
	}
	fit := pendingBodyBudget / (size - freeBodyBytes)
	if len(stopped) != len(all)-fit || u.shed.Load() != uint64(len(stopped)) {
		t.Errorf("%d of %d shed, and %d counted; %d fit", len(stopped), len(all), u.shed.Load(), fit)
	}
	for i, n := range stopped {
		if n != i {
			t.Fatalf("body %d was shed in place of %d", n, i)
		}
	}
	for i, b := range all {
		if _, err := b.reader(bytes.NewReader([]byte("more"))).Read(make([]byte, 4)); (i < len(stopped)) != errors.Is(err, errShedBody) {
			t.Fatalf("body %d of %d shed: %v", i, len(stopped), err)
		}
		if b.end() != (i < len(stopped)) {
			t.Fatalf("body %d", i)
		}
	}
	if small.end() || u.bytes != 0 || u.counted.Len() != 0 || len(u.bySource) != 0 {
		t.Errorf("after the end: %d bytes, %d bodies, %d sources", u.bytes, u.counted.Len(), len(u.bySource))
	}
}

// TestPendingBodiesOfANetwork sends 300 bodies of one network over HTTP/2 that never end. The oldest are
// answered with shed, which ends their connection, and a body that is sent at once passes.
func TestPendingBodiesOfANetwork(t *testing.T) {
	const most, connections, streams = 20, 3, 100
	g := bareGate()
	got := make(chan []byte, 1)
	handler := g.handler("rest", authentication{
		beforeBody: func(*http.Request, *Call) error { return nil },
		behindBody: func(_ *http.Request, c *Call) error { got <- c.Body; return nil },
	}, http.NotFoundHandler())
	raw := listen(t)
	l, pool := serveTLSOn(t, raw, handler, nil)
	l.places.PerNetwork, l.places.Timeout = most, time.Hour
	for range connections {
		c := newH2Client(t, dial(t, raw.Addr().String()), pool)
		for range streams {
			id := c.stream
			c.stream += 2
			if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.header.Bytes(), EndHeaders: true}); err != nil {
				t.Fatal(err)
			}
			if err := c.WriteData(id, false, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for end := time.Now().Add(3 * time.Minute); g.UnauthenticatedShed() < (connections-1)*most; {
		if time.Now().After(end) {
			t.Fatalf("%d were shed", g.UnauthenticatedShed())
		}
		time.Sleep(time.Millisecond) // no signal: the bodies arrive at the server in its own time
	}
	c := handshake(t, dial(t, raw.Addr().String()), pool, "http/1.1")
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
	handler := g.handler("rest", authentication{
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
