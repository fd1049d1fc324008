package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/feeds/adapter/adaptertest"
)

// ambiguousIn scans a stream in pieces of a size and returns the ordinal of the request
// with an ambiguous end, 0 if there is none.
func ambiguousIn(stream string, size int) (count int64) {
	var s headScanner
	for at := 0; at < len(stream); at += size {
		if s.scan([]byte(stream[at:min(at+size, len(stream))])) {
			count = s.count
		}
	}
	return count
}

// TestHeadScanner checks that the scanner reports exactly the request with an ambiguous
// end, however the stream is cut into reads.
func TestHeadScanner(t *testing.T) {
	const within = "Transfer-Encoding: chunked\r\n\r\nxx"
	plain := fmt.Sprintf("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(within), within)
	get := "GET /b HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		text  string
		count int64
	}{
		"a body that looks like a head":     {plain + get + plain, 0},
		"chunks alone":                      {plain + "POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 0},
		"both":                              {get + plain + "POST /c HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\ncontent-length: 3\r\n\r\n", 3},
		"both, in the other order":          {"POST /c HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 1},
		"both, after a rejected upgrade":    {"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\nPOST /c HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 2},
		"both, with bare line feeds":        {"POST /c HTTP/1.1\ncontent-length: 3\nTransfer-Encoding: chunked\n\n", 1},
		"both, after a folded length":       {"POST /b HTTP/1.1\r\nContent-Length:\r\n 4\r\n\r\n\n\n\r\nPOST /c HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 2},
		"a folded line that looks like one": {"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n Content-Length: 3\r\n\r\n", 0},
		"chunks on HTTP/1.0":                {"POST /c HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 1},
	} {
		for size := 1; size <= len(c.text); size++ {
			if got := ambiguousIn(c.text, size); got != c.count {
				t.Errorf("%s, in pieces of %d: got %d, want %d", name, size, got, c.count)
			}
		}
	}
	var endless headScanner
	for range 3 * maxHeaderBytes {
		endless.scan([]byte("x"))
	}
	if len(endless.part) > 3*maxHeaderBytes || !endless.done {
		t.Errorf("%d bytes of an endless line are buffered", len(endless.part))
	}
}

// TestBodyArrived checks when the whole body of a request has been read with its head.
func TestBodyArrived(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: x\r\n"
	for text, want := range map[string]bool{
		head + "Content-Length: 4\r\n\r\nbody":                                        true,
		head + "Content-Length: 4\r\n\r\nbod":                                         false,
		head + "Content-Length: 4\r\n\r\n":                                            false,
		head + "Content-Length: 4\r\n\r\nbody" + head:                                 true,
		head + "Content-Length: 4\r\n\r\nbody" + head + "Content-Length: 4\r\n\r\nbo": false, // a guess on the safe side
		head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                          false,
	} {
		c := &framingConn{}
		c.heads.scan([]byte(text))
		if got := c.bodyArrived(); got != want {
			t.Errorf("bodyArrived after %q: %v, want %v", text, got, want)
		}
	}
	if (*framingConn)(nil).bodyArrived() {
		t.Error("no connection")
	}
}

// TestHijackedIsNotScanned checks that the bytes of a WebSocket are not parsed.
func TestHijackedIsNotScanned(t *testing.T) {
	c := &framingConn{place: &place{}}
	connState(c, http.StateActive)
	if c.heads.scan([]byte("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")); c.heads.count != 1 {
		t.Error("a request is not scanned")
	}
	connState(c, http.StateHijacked)
	if c.heads.scan([]byte("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")) || c.heads.count != 1 {
		t.Error("a hijacked connection is scanned")
	}
}

// TestOnlyTheAmbiguousRequest checks that requests that arrive in one read before an
// ambiguous one are served, on HTTP/1.0 too.
func TestOnlyTheAmbiguousRequest(t *testing.T) {
	addr := serve(t, unsignedEdge(bareGate(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, 200, 1) })), nil)
	c := dial(t, addr)
	keepAlive := "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	both := "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	if _, err := io.WriteString(c, keepAlive+keepAlive+both+keepAlive); err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, c); !slices.Equal(got, []int{200, 200, 400}) {
		t.Error(got)
	}
}

// unsignedEdge is Edge without authentication.
func unsignedEdge(g *Gate, h http.Handler) http.Handler {
	return g.handler("rest", listenerRules{signed: true, beforeBody: func(*http.Request, *Call) error { return nil }}, h)
}

// statuses returns the status of each response until the connection ends.
func statuses(t *testing.T, c net.Conn) (all []int) {
	t.Helper()
	for r := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection does not end")
			}
			return all
		}
		_, _ = io.Copy(io.Discard, resp.Body) // only the status matters
		all = append(all, resp.StatusCode)
	}
}

// TestClientDisconnect checks that a disconnect ends the context of a request on a path
// with NoBudget, also after other requests on the connection. On REST it does not.
func TestClientDisconnect(t *testing.T) {
	g := bareGate()
	g.SetPathOptions("/own", PathOptions{NoBudget: true})
	ended := make(chan error, 1)
	edge := unsignedEdge(g, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if string(CallOf(r.Context()).Body) != "hold" {
			WriteJSON(w, 200, 1)
			return
		}
		_ = http.NewResponseController(w).Flush() // the client sees that it is served
		<-r.Context().Done()
		ended <- r.Context().Err()
	}))
	c := dial(t, serve(t, edge, nil))
	one := "POST /own HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
	if _, err := io.WriteString(c, one+strings.Replace(one, "/own", "/rest", 1)+"GET /own HTTP/1.1\r\nHost: x\r\n\r\nPOST /own HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nhold"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for range 3 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp.Status, err)
		}
	}
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for path, want := range map[string]error{"/own": context.Canceled, "/rest": nil} {
		unsignedEdge(g, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			end, bounded := r.Context().Deadline()
			if err := r.Context().Err(); err != want || bounded != (want == nil) || bounded && time.Until(end) > g.Budget() {
				t.Errorf("%s: error %v, deadline %v %v", path, err, end, bounded)
			}
		})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(canceled, "GET", path, nil))
	}
}

// TestEveryHeadSize sends requests whose heads end, and whose pieces are cut, at every
// offset around the size of net/http's read buffer. None may be reported as malformed.
func TestEveryHeadSize(t *testing.T) {
	const buffer = 4096
	s := Server(unsignedEdge(bareGate(), http.NotFoundHandler()), slog.New(slog.DiscardHandler))
	s.ReadHeaderTimeout, s.ReadTimeout = 0, 0 // however slow the machine is
	l := adaptertest.NewWire()                // one read of the server returns the bytes of one write of the client, as far as they fit
	serveOn(t, s, WrapListener(l, Places{Timeout: time.Hour}))
	const small = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	send := func(size, cut int, text string) {
		t.Helper()
		// The long request arrives in two pieces after a short one, then in one piece
		// between two others.
		c, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for _, piece := range []string{small, text[:cut], text[cut:] + small, small + text + small} {
				if _, err := io.WriteString(c, piece); err != nil {
					return
				}
			}
		}()
		r := bufio.NewReader(c)
		for n := range 6 {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("%d bytes, cut at %d: response %d: %v", size, cut, n, err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusNotFound || resp.Close {
				t.Fatalf("%d bytes, cut at %d: response %d: %s, close %v, %s, %v", size, cut, n, resp.Status, resp.Close, b, err)
			}
		}
	}
	for _, form := range []string{
		"GET /~ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: ~\r\n\r\n",
		"POST / HTTP/1.1\r\nX: ~\r\nContent-Length: 2\r\nHost: x\r\n\r\n{}",
	} {
		long := strings.Index(form, "~") // start of the long line
		of := func(size int) string {
			return strings.Replace(form, "~", strings.Repeat("x", size-len(form)+1), 1)
		}
		for _, n := range []int{buffer, 2 * buffer} {
			for size := n - 3; size <= n+long+3; size++ {
				send(size, size/2, of(size))
			}
			for cut := n - 3; cut <= n+long+3; cut++ {
				send(n+buffer/2, cut, of(n+buffer/2))
			}
		}
	}
}
