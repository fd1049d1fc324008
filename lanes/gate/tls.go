package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"duplex/internal/timeouts"
)

// MaxStreams is the number of requests that one HTTP/2 connection has in progress at once
// (docs/rules/limits.md#connections).
const MaxStreams = 100

// handshakes makes the TLS connections of a Listener. Each handshake runs in a goroutine of
// its own and ends within HeaderTimeout, so that a slow client delays nobody. The bound of
// the listener counts them.
//
// net/http cannot do this itself: a framingConn must read what TLS has decrypted, while
// net/http serves HTTP/2 only on a *tls.Conn. A client chooses the protocol in the
// handshake, so the handshake comes first. HTTP/2 has no requests with an ambiguous end.
type handshakes struct {
	config *tls.Config
	within time.Duration // for one handshake
	start  sync.Once
	ctx    context.Context // ends with the listener
	stop   context.CancelFunc
	ready  chan accepted
	failed atomic.Uint64
}

type accepted struct {
	conn net.Conn
	err  error
}

// WrapTLSListener returns a Listener that accepts from l within the bounds of p and speaks TLS: HTTP/2
// and HTTP/1.1, whatever the client prefers. config must have certificates; its NextProtos are completed.
func WrapTLSListener(l net.Listener, config *tls.Config, p Places) *Listener {
	config = config.Clone()
	config.NextProtos = append([]string{"h2", "http/1.1"}, config.NextProtos...)
	out := WrapListener(l, p)
	h := &handshakes{config: config, within: timeouts.Of(HeaderTimeout), ready: make(chan accepted)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	out.tls = h
	return out
}

// FailedHandshakes returns the number of connections whose TLS handshake failed; 0 without
// TLS. It is safe for concurrent use.
func (l *Listener) FailedHandshakes() uint64 {
	if l.tls == nil {
		return 0
	}
	return l.tls.failed.Load()
}

// accept returns the next connection whose handshake is done, or the next error of the listener.
func (h *handshakes) accept(l *Listener) (net.Conn, error) {
	h.start.Do(func() { go h.run(l) })
	select {
	case a := <-h.ready:
		return a.conn, a.err
	case <-h.ctx.Done():
		return nil, net.ErrClosed
	}
}

// run accepts connections until the listener is closed.
func (h *handshakes) run(l *Listener) {
	for {
		p, err := l.accept()
		if err != nil {
			if !h.deliver(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // net/http waits before it asks again
		}
		go h.handshake(p)
	}
}

func (h *handshakes) handshake(p *place) {
	c := &placedConn{p.conn, p}
	ctx, cancel := context.WithTimeout(h.ctx, h.within)
	defer cancel()
	t := tls.Server(c, h.config)
	if err := t.HandshakeContext(ctx); err != nil {
		h.failed.Add(1)
		if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) && plain.Conn != nil && looksLikeHTTP(plain.RecordHeader[:]) {
			_, _ = io.WriteString(plain.Conn, plainHTTP) // the client may have gone
		}
		_ = c.Close() // the client sees the end
		return
	}
	var conn net.Conn = t
	switch t.ConnectionState().NegotiatedProtocol {
	case "h2":
	case "http/1.1", "": // a client without ALPN speaks HTTP/1.1
		p.framing = &framingConn{Conn: t, place: p}
		conn = p.framing
	default: // the handshake was all that the client wanted, such as the proof of a domain for ACME
		_ = t.Close()
		return
	}
	if !h.deliver(accepted{conn: conn}) {
		_ = conn.Close()
	}
}

// plainHTTP is the response to a request without TLS: a client that gets nothing looks for the fault elsewhere.
const plainHTTP = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 28\r\nConnection: close\r\n\r\nThis port speaks HTTPS only\n"

// looksLikeHTTP reports whether the first bytes of a connection are those of a request.
func looksLikeHTTP(head []byte) bool {
	for _, method := range []string{"GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO", "PATCH", "CONNE", "PRI *"} {
		if string(head) == method {
			return true
		}
	}
	return false
}

// deliver passes a to accept. It returns false if the listener has been closed.
func (h *handshakes) deliver(a accepted) bool {
	select {
	case h.ready <- a:
		return true
	case <-h.ctx.Done():
		return false
	}
}

// placedConn is a connection below TLS. It frees its place on the listener when it is closed.
type placedConn struct {
	net.Conn
	place *place
}

// NetConn returns the underlying connection, for setting its options.
func (c *placedConn) NetConn() net.Conn { return c.Conn }

// CloseWrite sends a FIN.
func (c *placedConn) CloseWrite() error { return closeWrite(c.Conn) }

// Close closes the connection and frees its place.
func (c *placedConn) Close() error {
	c.place.release()
	return c.Conn.Close()
}
