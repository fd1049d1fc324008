//go:build unix

package ws

import (
	"errors"
	"syscall"
)

// nonblockingWriter writes as many bytes as the socket accepts without blocking.
type nonblockingWriter struct {
	raw      syscall.RawConn // nil if the connection is no TCP socket; write then accepts no bytes
	callback func(fd uintptr) bool
	b        []byte
	n        int
	err      error
}

func (a *nonblockingWriter) bind(raw syscall.RawConn) {
	a.raw, a.callback = raw, func(fd uintptr) bool {
		a.n, a.err = syscall.Write(int(fd), a.b)
		return true
	}
}

// bound reports whether write tells how much the socket accepts.
func (a *nonblockingWriter) bound() bool { return a.raw != nil }

func (a *nonblockingWriter) write(b []byte) (int, error) {
	if a.raw == nil {
		return 0, nil
	}
	a.b = b
	err := a.raw.Write(a.callback)
	a.b = nil
	if errors.Is(a.err, syscall.EAGAIN) || errors.Is(a.err, syscall.EINTR) {
		a.n, a.err = 0, nil
	}
	return a.n, errors.Join(err, a.err)
}
