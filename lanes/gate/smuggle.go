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
	return &conn{Conn: c}, nil
}

type connKey struct{}

// ConnContext lets a handler ask its connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(*conn); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// ambiguous tells whether this request named both ways of ending its body.
func ambiguous(r *http.Request) bool {
	c, ok := r.Context().Value(connKey{}).(*conn)
	return ok && len(r.TransferEncoding) > 0 && c.both.Load()
}

// conn watches the heads of the requests that come in. It reads along and changes
// nothing. Behind a chunked body or an upgrade it stops looking.
type conn struct {
	net.Conn
	head []byte // of the request being read, from its first byte
	skip int64  // bytes of a body still to pass
	both atomic.Bool
	done bool
}

// NetConn is the connection below, for who must set its options.
func (c *conn) NetConn() net.Conn { return c.Conn }

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
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
		head := b
		if len(c.head) > 0 { // the rest of one that came in pieces
			c.head = append(c.head, b...)
			head = c.head
		}
		end := bytes.Index(head, headEnd)
		if end < 0 {
			if len(c.head) == 0 {
				c.head = append(c.head, b...)
			}
			c.done = len(c.head) > 2*headerBytes // net/http has refused it by now
			return
		}
		end += len(headEnd)
		rest := len(head) - end
		c.judge(head[:end])
		c.head = c.head[:0]
		b = b[len(b)-rest:]
	}
}

var (
	headEnd          = []byte("\r\n\r\n")
	colon            = []byte(":")
	contentLength    = []byte("Content-Length")
	transferEncoding = []byte("Transfer-Encoding")
	upgrade          = []byte("Upgrade")
)

// judge looks at one whole head. A chunked body is not followed: such a request is
// the last of its connection (ReadBody).
func (c *conn) judge(head []byte) {
	var length, chunked bool
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, headEnd[:2])
		name, value, _ := bytes.Cut(line, colon)
		switch {
		case bytes.EqualFold(name, contentLength):
			length = true
			c.skip, _ = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64) // net/http refuses what is no number
		case bytes.EqualFold(name, transferEncoding):
			chunked = true
		case bytes.EqualFold(name, upgrade):
			c.done = true
		}
	}
	if chunked {
		c.both.Store(length)
		c.done = true
	}
}
