//go:build unix

package server

import "syscall"

// openFiles returns the limit of open files of this process. The Go runtime has raised it to the hard limit.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0 // the least places
	}
	return uint64(l.Cur) // of another type on FreeBSD
}
