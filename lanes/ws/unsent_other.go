//go:build !linux && !darwin

package ws

import "syscall"

// limitUnsent does nothing: this system has no such option.
func limitUnsent(syscall.RawConn, int) {}
