package cluster

import (
	"errors"
	"net"
	"syscall"
	"time"
)

const (
	freeWait  = 2 * time.Second      // for an address in use
	freeEvery = 5 * time.Millisecond // between two attempts
)

// whenFree repeats what listens on an address while the address is in use, for freeWait at most. A member that forms
// closes its peer port and etcd opens it again; a process that this one starts at that moment has a copy of the
// closed socket until it becomes the other program.
func whenFree(listen func() error) error {
	until := time.Now().Add(freeWait)
	for {
		err := listen()
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(until) {
			return err
		}
		time.Sleep(freeEvery)
	}
}

// listenTCP is net.Listen, when the address is free.
func listenTCP(address string) (l net.Listener, err error) {
	err = whenFree(func() error {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l, err
}
