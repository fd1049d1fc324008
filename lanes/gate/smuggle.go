package gate

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
)

// A request with both Content-Length and Transfer-Encoding has two ends, and who
// stands between client and venue may see the other one. net/http forgets the
// Content-Length before any handler, so the connection itself looks for the pair
// (contract core, Order of checks).

// Listen makes connections that notice ambiguous requests. Their server needs
// ConnContext.
func Listen(l net.Listener) net.Listener { return &listener{l} }

type listener struct{ net.Listener }

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{patient: patient{Conn: c}}, nil
}

type connKey struct{}

// ConnContext lets a handler ask its connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// Hijacked is a server's hook: a connection that has become a socket brings no more
// requests, so nothing looks at it any longer.
func Hijacked(c net.Conn, s http.ConnState) {
	if c, ok := c.(*conn); ok && s == http.StateHijacked {
		c.done = true
		c.blind.Store(false)
		c.settle()
	}
}

// connOf is the connection of a request; nil where its server has others.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// look says whether the lane of this request wants to know when its caller goes away.
// net/http finds out by reading one byte ahead, on a goroutine and with deadlines of
// its own, for every request; where nobody asks, that read comes back empty at once.
func (c *conn) look(there bool) {
	if c != nil {
		c.blind.Store(!there)
	}
}

// ambiguous tells whether this request named both ways of ending its body, or chunks
// in a version that has none.
func (c *conn) ambiguous(r *http.Request) bool {
	return c != nil && c.both.Load() && (len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1))
}

// conn watches the heads of the requests that come in. It reads along, line by line
// and as lenient as net/http, and changes nothing. Behind a chunked body it stops
// looking: such a request is the last of its connection.
type conn struct {
	patient
	blind atomic.Bool // nobody asks whether the caller is still there
	part  []byte      // of a line that comes in pieces
	head  head
	skip  int64 // bytes of a body still to pass
	both  atomic.Bool
	done  bool
}

// head is what was seen of the head being read.
type head struct {
	begun   bool
	old     bool // HTTP/1.0, which knows no chunks
	chunked bool
	sized   bool   // Content-Length is there
	length  []byte // its value
	folding bool   // the last line was Content-Length: a folded one goes on with it
}

// NetConn is the connection below, for who must set its options.
func (c *conn) NetConn() net.Conn { return c.Conn }

func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.blind.Load() { // see look: no buffered reader asks for so little
		return 0, nil
	}
	n, err := c.patient.Read(b)
	if n > 0 && !c.done {
		c.watch(b[:n])
	}
	return n, err
}

func (c *conn) watch(b []byte) {
	for len(b) > 0 && !c.done {
		if c.skip > 0 {
			n := min(c.skip, int64(len(b)))
			c.skip -= n
			b = b[n:]
			continue
		}
		line, rest, whole := bytes.Cut(b, lineEnd)
		b = rest
		if len(c.part) > 0 || !whole {
			c.part = append(c.part, line...)
			line = c.part
		}
		if !whole {
			c.done = len(c.part) > 2*headerBytes // net/http has refused it by now
			return
		}
		c.line(bytes.TrimSuffix(line, carriage))
		c.part = c.part[:0]
	}
}

var (
	lineEnd          = []byte("\n")
	carriage         = []byte("\r")
	colon            = []byte(":")
	contentLength    = []byte("Content-Length")
	transferEncoding = []byte("Transfer-Encoding")
	oldVersion       = []byte(" HTTP/1.0")
)

func (c *conn) line(line []byte) {
	h := &c.head
	switch {
	case len(line) == 0 && h.begun:
		c.judge()
	case len(line) == 0: // between two requests
	case !h.begun:
		h.begun, h.old = true, bytes.HasSuffix(line, oldVersion)
	case line[0] == ' ' || line[0] == '\t':
		if h.folding {
			h.length = append(append(h.length, ' '), line...)
		}
	default:
		h.field(line)
	}
}

func (h *head) field(line []byte) {
	if x := line[0] | 0x20; x != 'c' && x != 't' { // most are neither of the two
		h.folding = false
		return
	}
	name, value, _ := bytes.Cut(line, colon)
	h.folding = bytes.EqualFold(name, contentLength)
	switch {
	case h.folding:
		h.sized, h.length = true, append(h.length[:0], value...)
	case bytes.EqualFold(name, transferEncoding):
		h.chunked = true
	}
}

// judge looks at one whole head. net/http refuses a length that is no number.
func (c *conn) judge() {
	h := c.head
	c.head = head{length: h.length[:0]}
	if h.chunked {
		c.both.Store(h.sized || h.old)
		c.done = true
		return
	}
	c.skip, _ = strconv.ParseInt(string(bytes.TrimSpace(h.length)), 10, 64)
}
