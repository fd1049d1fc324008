// Package memdir makes folders in memory for tests that need no disk, and small disks for tests that
// fill one.
package memdir

import (
	"os"
	"testing"
)

// New returns a folder in /dev/shm that is removed at the end of the test. On a machine without
// /dev/shm it is t.TempDir().
func New(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "dx")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
