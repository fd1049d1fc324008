package gate

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
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
		from := max(0, len(c.head)-3)
		c.head = append(c.head, b...)
		end := bytes.Index(c.head[from:], []byte("\r\n\r\n"))
		if end < 0 {
			c.done = len(c.head) > 2*headerBytes // net/http has refused it by now
			return
		}
		end += from + 4
		b = bytes.Clone(c.head[end:])
		c.judge(string(c.head[:end]))
		c.head = c.head[:0]
	}
}

// judge looks at one whole head. A chunked body is not followed: such a request is
// the last of its connection (ReadBody).
func (c *conn) judge(head string) {
	var length, chunked bool
	for line := range strings.SplitSeq(head, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case strings.EqualFold(name, "Content-Length"):
			length = true
			c.skip, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		case strings.EqualFold(name, "Transfer-Encoding"):
			chunked = true
		case strings.EqualFold(name, "Upgrade"):
			c.done = true
		}
	}
	if chunked {
		c.both.Store(length)
		c.done = true
	}
}
