//go:build unix

package ws

import (
	"errors"
	"syscall"
)

// attempt is a write that takes what the socket has room for now, and never waits.
type attempt struct {
	raw syscall.RawConn // nil: there is no socket to try on
	on  func(fd uintptr) bool
	b   []byte
	n   int
	err error
}

func (a *attempt) over(raw syscall.RawConn) {
	a.raw, a.on = raw, func(fd uintptr) bool {
		a.n, a.err = syscall.Write(int(fd), a.b)
		return true
	}
}

func (a *attempt) write(b []byte) (int, error) {
	if a.raw == nil {
		return 0, nil
	}
	a.b = b
	err := a.raw.Write(a.on)
	a.b = nil
	if errors.Is(a.err, syscall.EAGAIN) || errors.Is(a.err, syscall.EINTR) {
		a.n, a.err = 0, nil
	}
	return a.n, errors.Join(err, a.err)
}
