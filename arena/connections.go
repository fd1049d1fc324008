package arena

import (
	"cmp"
	"net"
	"sync"
)

// connections is the listener of the API, which knows its connections by their remote addresses.
type connections struct {
	net.Listener

	mu    sync.Mutex
	conns map[string]net.Conn
}

func listen(address string) (*connections, error) {
	l, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	return &connections{Listener: l, conns: map[string]net.Conn{}}, nil
}

func (l *connections) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c.RemoteAddr().String()] = c
	return &knownConn{c, l}, nil
}

// cut closes the connections from some remote addresses.
func (l *connections) cut(remote map[string]struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for address := range remote {
		if c := l.conns[address]; c != nil {
			_ = c.Close() // it may be closed already
		}
	}
}

type knownConn struct {
	net.Conn
	of *connections
}

func (c *knownConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c.RemoteAddr().String())
	c.of.mu.Unlock()
	return c.Conn.Close()
}
