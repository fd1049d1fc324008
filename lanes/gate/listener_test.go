package gate

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// TestMaxConns fills a listener, checks that one connection more is closed at once, and that
// the end of a connection makes room for another (docs/rules/limits.md#connections).
func TestMaxConns(t *testing.T) {
	const bound = 3
	bounded := WrapListener(listen(t))
	bounded.max = bound
	ended := make(chan struct{}, 2*bound)
	s := Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }), slog.New(slog.DiscardHandler))
	state := s.ConnState
	s.ConnState = func(c net.Conn, x http.ConnState) {
		if state(c, x); x == http.StateClosed {
			ended <- struct{}{}
		}
	}
	serveOn(t, s, bounded)
	addr := bounded.Addr().String()
	answers := func(c net.Conn) bool {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // a closed connection shows in the read
		b := make([]byte, len("HTTP/1.1 204"))
		_, err := io.ReadFull(c, b)
		if err != nil && !errors.Is(err, io.EOF) {
			var reset *net.OpError
			if !errors.As(err, &reset) {
				t.Fatal(err)
			}
		}
		return string(b) == "HTTP/1.1 204"
	}
	var all []net.Conn
	for range bound {
		all = append(all, dial(t, addr))
		if !answers(all[len(all)-1]) {
			t.Fatal("a connection within the bound has no answer")
		}
	}
	if answers(dial(t, addr)) || bounded.Rejected() != 1 || bounded.Conns() != bound {
		t.Errorf("beyond the bound: %d rejected, %d open", bounded.Rejected(), bounded.Conns())
	}
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if c := dial(t, addr); !answers(c) || bounded.Conns() != bound {
		t.Errorf("after the end of one: %d open", bounded.Conns())
	}
}
