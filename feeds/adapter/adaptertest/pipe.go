// Package adaptertest provides an HTTP server on an in-memory network. In a synctest
// bubble its connections use virtual time, so that tests of stalls and of day-long
// connections do not wait.
package adaptertest

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Wire is an in-memory net.Listener with its dialer.
type Wire struct {
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewWire returns an open Wire.
func NewWire() *Wire { return &Wire{calls: make(chan net.Conn), closed: make(chan struct{})} }

// Accept waits for the next connection.
func (w *Wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener; later dials fail.
func (w *Wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Addr returns an empty address. Dial ignores the address it is given.
func (w *Wire) Addr() net.Addr { return &net.TCPAddr{} }

// Dial connects to the listener, whatever the address. It has the signature of
// http.Transport.DialContext.
func (w *Wire) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.calls <- theirs:
		return ours, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *Wire) transport() http.RoundTripper {
	return &http.Transport{DialContext: w.Dial, DisableKeepAlives: true}
}

// Serve runs a server until stop is called. The transport connects to it for every host.
func Serve(handler http.HandlerFunc) (transport http.RoundTripper, stop func()) {
	w := NewWire()
	s := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(w) }) // returns after Close
	return w.transport(), func() { s.Close(); serving.Wait() }
}

// ServeNothing accepts every connection and neither reads nor writes, until stop is called.
func ServeNothing() (transport http.RoundTripper, stop func()) {
	w := NewWire()
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := w.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	})
	return w.transport(), func() { _ = w.Close(); accepting.Wait() }
}
