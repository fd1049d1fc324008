package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
)

// proxy stands between a client and the venue, and breaks connections. Its address stays when the venue restarts.
type proxy struct {
	listener net.Listener

	mu    sync.Mutex
	venue string        // host:port
	fault fault         // of the next request that begins with its method
	held  chan struct{} // not nil: nothing passes until it is closed
	open  map[net.Conn]bool
}

// fault is what happens to a request.
type fault struct {
	method string // such as "POST "; "": none
	after  bool   // the venue gets the request, and the client no response
}

func newProxy(venue string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, venue: venue, open: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(near)
	}
}

func (p *proxy) serve(near net.Conn) {
	defer near.Close()
	p.mu.Lock()
	venue := p.venue
	p.open[near] = true
	p.mu.Unlock()
	defer p.set(func() { delete(p.open, near) })
	far, err := net.Dial("tcp", venue)
	if err != nil {
		return // the client finds the connection cut, as behind a proxy whose venue is down
	}
	defer far.Close()
	lose := make(chan struct{})
	go func() {
		defer far.Close()
		_ = p.pass(far, near, func(b []byte) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			if f := p.fault; f.method != "" && bytes.HasPrefix(b, []byte(f.method)) {
				p.fault = fault{}
				if !f.after {
					return errCut
				}
				close(lose)
			}
			return nil
		})
	}()
	_ = p.pass(near, far, func([]byte) error {
		select {
		case <-lose:
			return errCut
		default:
			return nil
		}
	})
}

var errCut = errors.New("cut")

// pass copies until an end, or until see returns an error for what arrives.
func (p *proxy) pass(to, from net.Conn, see func([]byte) error) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			held := p.held
			p.mu.Unlock()
			if held != nil {
				<-held
			}
			if err := see(buf[:n]); err != nil {
				return err
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

// say sends text to the client on each open connection.
func (p *proxy) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_, _ = io.WriteString(c, text)
	}
}

// hold lets nothing pass until the returned function is called: connections stay open and silent.
func (p *proxy) hold() (release func()) {
	held := make(chan struct{})
	p.set(func() { p.held = held })
	return func() {
		p.set(func() { p.held = nil })
		close(held)
	}
}
