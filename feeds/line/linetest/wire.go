// Package linetest is a network in memory: a server and the way to it, over which
// synctest's time passes by itself. With it a stall takes its ten seconds and a
// connection its day, and no test waits.
package linetest

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// wire hands each call to whoever accepts it.
type wire struct {
	calls chan net.Conn
	gone  chan struct{}
	once  sync.Once
}

func newWire() *wire { return &wire{calls: make(chan net.Conn), gone: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.gone:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.gone) })
	return nil
}

func (w *wire) Addr() net.Addr { return &net.TCPAddr{} }

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case w.calls <- theirs:
		return ours, nil
	case <-w.gone:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *wire) transport() http.RoundTripper {
	return &http.Transport{DialContext: w.dial, DisableKeepAlives: true}
}

// Serve runs a server, whatever host is asked for, until the returned stop.
func Serve(handler http.HandlerFunc) (way http.RoundTripper, stop func()) {
	w := newWire()
	s := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(w) }) // it ends with Close
	return w.transport(), func() { s.Close(); serving.Wait() }
}

// Deaf takes every call and never says or hears anything, until the returned stop.
func Deaf() (way http.RoundTripper, stop func()) {
	w := newWire()
	var taking sync.WaitGroup
	taking.Go(func() {
		for {
			c, err := w.Accept()
			if err != nil {
				return
			}
			defer c.Close()
		}
	})
	return w.transport(), func() { _ = w.Close(); taking.Wait() }
}
