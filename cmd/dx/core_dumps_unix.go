//go:build unix

package main

import "syscall"

// disableCoreDumps makes sure that a crash writes no file with the memory of this process, which
// holds the master key and the secrets of the API keys (docs/security.md#secrets-on-disk).
func disableCoreDumps() error {
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}
