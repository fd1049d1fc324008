package gate

import "net"

// Listener is a listener for an http.Server that Server made. The server needs it to detect
// ambiguous ends, to write error bodies for malformed requests, and to bound connections.
type Listener struct {
	net.Listener
	places *placeTable
	tls    *handshakes // nil without TLS
}

// WrapListener returns a Listener that accepts from l within the bounds of p.
func WrapListener(l net.Listener, p Places) *Listener {
	return &Listener{Listener: l, places: newPlaceTable(p)}
}

// Accept returns the next connection that has a place; with TLS, one whose handshake is done.
func (l *Listener) Accept() (net.Conn, error) {
	if l.tls != nil {
		return l.tls.accept(l)
	}
	p, err := l.accept()
	if err != nil {
		return nil, err
	}
	p.framing = &framingConn{Conn: p.conn, place: p}
	return p.framing, nil
}

// Close stops accepting. With TLS it also ends the handshakes in progress.
func (l *Listener) Close() error {
	if l.tls != nil {
		l.tls.stop()
	}
	return l.Listener.Close()
}

// accept returns the place of the next connection that has one.
func (l *Listener) accept() (*place, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if p := l.places.take(c); p != nil {
			return p, nil
		}
		_ = c.Close() // the client sees the end; there is nobody to tell here
	}
}

// Conns returns the number of open connections, and Unsigned that of those which have shown no valid
// credential. They are safe for concurrent use, as are all methods below.
func (l *Listener) Conns() int {
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	return l.places.open
}

// Unsigned returns the number of open connections that have shown no valid credential.
func (l *Listener) Unsigned() int {
	l.places.mu.Lock()
	defer l.places.mu.Unlock()
	return l.places.unsigned.Len()
}

// Places returns the number of connections that the listener serves at once.
func (l *Listener) Places() int { return l.places.Max }

// Rejected returns the number of connections that were closed at once, because the listener was full of
// connections with a write in progress.
func (l *Listener) Rejected() uint64 { return l.places.rejected.Load() }

// Evicted calls visit with the number of connections that ended for others, by reason: "full", the
// listener was full; "network", their network had too many; "family", their family had.
func (l *Listener) Evicted(visit func(reason string, n uint64)) {
	for why := range l.places.evicted {
		visit(evictionNames[why], l.places.evicted[why].Load())
	}
}
