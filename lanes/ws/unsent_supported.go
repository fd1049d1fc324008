//go:build linux || darwin

package ws

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnsent bounds the bytes that the kernel keeps for a socket and has not sent
// (TCP_NOTSENT_LOWAT). A smaller send buffer would do that too, but would also limit what is on its
// way to a distant reader. Without the option, as on an old kernel, messages wait in the kernel
// instead of the queue, so a failure is no error.
func limitUnsent(raw syscall.RawConn, n int) {
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, n) })
}
