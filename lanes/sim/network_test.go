package sim

import (
	"errors"
	"net"
	"sync"
)

var errCut = errors.New("the network is closed")

// network is a listener whose connections are pipes.
type network struct {
	calls chan net.Conn
	over  chan struct{}

	mu   sync.Mutex
	cut  bool
	open []net.Conn // the clients' ends, in the order of dial
}

func newNetwork() *network {
	return &network{calls: make(chan net.Conn), over: make(chan struct{})}
}

// dial connects a client.
func (n *network) dial() (net.Conn, error) {
	here, there := net.Pipe()
	n.mu.Lock()
	if n.cut {
		n.mu.Unlock()
		return nil, errCut
	}
	n.open = append(n.open, here)
	n.mu.Unlock()
	select {
	case n.calls <- there:
		return here, nil
	case <-n.over:
		return nil, errCut
	}
}

// isCut reports whether the network was closed.
func (n *network) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

// close closes every connection and accepts no more.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		return
	}
	n.cut = true
	close(n.over)
	for _, c := range n.open {
		c.Close()
	}
}

// Accept, Close and Addr make it a net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.calls:
		return c, nil
	case <-n.over:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.close(); return nil }
func (n *network) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe" }
