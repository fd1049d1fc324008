//go:build !unix

package ws

import "syscall"

// nonblockingWriter accepts no bytes: this system has no non-blocking write, so a goroutine
// of the connection's own does every write.
type nonblockingWriter struct{}

func (*nonblockingWriter) bind(syscall.RawConn) {}

func (*nonblockingWriter) bound() bool { return false }

func (*nonblockingWriter) write([]byte) (int, error) { return 0, nil }
