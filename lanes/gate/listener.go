package gate

import (
	"net"
	"sync"
	"sync/atomic"
)

// MaxConns is the number of connections that one listener serves at once
// (docs/rules/limits.md#connections). The bound keeps file descriptors for the journal.
const MaxConns = 16_384

// Listener is a listener for an http.Server that Server made. The server needs it to detect
// ambiguous ends and to write error bodies for malformed requests. It serves at most
// MaxConns connections at once and closes any further one as soon as it is accepted.
type Listener struct {
	net.Listener
	max      int64
	open     atomic.Int64
	rejected atomic.Uint64
	tls      *handshakes // nil without TLS
}

// WrapListener returns a Listener that accepts from l.
func WrapListener(l net.Listener) *Listener { return &Listener{Listener: l, max: MaxConns} }

// Accept returns the next connection within the bound; with TLS, one whose handshake is done.
func (l *Listener) Accept() (net.Conn, error) {
	if l.tls != nil {
		return l.tls.accept(l)
	}
	c, release, err := l.accept()
	if err != nil {
		return nil, err
	}
	return &framingConn{Conn: c, release: release}, nil
}

// Close stops accepting. With TLS it also ends the handshakes in progress.
func (l *Listener) Close() error {
	if l.tls != nil {
		l.tls.stop()
	}
	return l.Listener.Close()
}

// accept returns the next connection within the bound, and what gives its place back.
func (l *Listener) accept() (c net.Conn, release func(), err error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, nil, err
		}
		if l.open.Add(1) <= l.max {
			return c, sync.OnceFunc(func() { l.open.Add(-1) }), nil
		}
		l.open.Add(-1)
		l.rejected.Add(1)
		_ = c.Close() // the client sees the end; there is nobody to tell here
	}
}

// Conns returns the number of open connections. It is safe for concurrent use.
func (l *Listener) Conns() int { return int(l.open.Load()) }

// Rejected returns the number of connections that were closed because the listener was
// full. It is safe for concurrent use.
func (l *Listener) Rejected() uint64 { return l.rejected.Load() }
