package gate

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// However a stream of requests is cut into reads, the pair is seen where it is, and
// nowhere else.
func TestWatch(t *testing.T) {
	plain := "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 31\r\n\r\nTransfer-Encoding: chunked\r\n\r\nxx"
	if n := len("Transfer-Encoding: chunked\r\n\r\nxx"); n != 32 {
		t.Fatal(n)
	}
	plain = strings.Replace(plain, "31", "32", 1)
	get := "GET /b HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, c := range map[string]struct {
		text string
		both bool
	}{
		"a body that looks like a head": {plain + get + plain, false},
		"chunked alone":                 {plain + "POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false},
		"the pair":                      {get + plain + "POST /c HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\ncontent-length: 3\r\n\r\n", true},
		"the pair, the other way round": {"POST /c HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		"behind an upgrade to nothing":  {"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\nPOST /c HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		"the pair on bare line feeds":   {"POST /c HTTP/1.1\ncontent-length: 3\nTransfer-Encoding: chunked\n\n", true},
		"the pair behind a folded one":  {"POST /b HTTP/1.1\r\nContent-Length:\r\n 4\r\n\r\n\n\n\r\nPOST /c HTTP/1.1\r\ncontent-length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		"a folded line that looks it":   {"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n Content-Length: 3\r\n\r\n", false},
		"chunks on HTTP/1.0":            {"POST /c HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", true},
	} {
		for size := 1; size <= len(c.text); size++ {
			w := &conn{}
			for at := 0; at < len(c.text); at += size {
				w.watch([]byte(c.text[at:min(at+size, len(c.text))]))
			}
			if w.both.Load() != c.both {
				t.Errorf("%s, in pieces of %d: %v", name, size, !c.both)
			}
		}
	}
	here, there := net.Pipe()
	defer there.Close()
	socket := &conn{patient: patient{Conn: here}}
	Hijacked(socket, http.StateActive)
	socket.watch([]byte("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"))
	Hijacked(socket, http.StateHijacked)
	if !socket.done {
		t.Error("a socket is watched")
	}
	endless := &conn{}
	for range 3 * headerBytes {
		endless.watch([]byte("x"))
	}
	if len(endless.part) > 3*headerBytes || !endless.done {
		t.Errorf("a head without end is kept: %d", len(endless.part))
	}
}
