package sim

import (
	"context"
	"net"
	"sync"

	"duplex/feeds/adapter/adaptertest"
)

// network is a listener whose connections are pipes that can be cut.
type network struct {
	*adaptertest.Wire
	over chan struct{} // closed when the network is

	mu   sync.Mutex
	open []net.Conn // the clients' ends, in the order of dial
}

func newNetwork() *network {
	return &network{Wire: adaptertest.NewWire(), over: make(chan struct{})}
}

// dial connects a client.
func (n *network) dial() (net.Conn, error) {
	c, err := n.Dial(context.Background(), "", "")
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isCut() {
		c.Close()
		return nil, net.ErrClosed
	}
	n.open = append(n.open, c)
	return c, nil
}

// isCut reports whether the network was closed.
func (n *network) isCut() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

// Close closes every connection and accepts no more.
func (n *network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isCut() {
		return nil
	}
	close(n.over)
	for _, c := range n.open {
		c.Close()
	}
	return n.Wire.Close()
}
