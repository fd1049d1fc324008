//go:build unix && !linux

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// unlock ends the lock that fileutil took. An error does not matter, because closing the file unlocks too,
// if later.
func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
