//go:build !unix

package main

// disableCoreDumps does nothing: only Unix systems write core files.
func disableCoreDumps() error { return nil }
