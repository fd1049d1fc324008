package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// unlock ends the lock that fileutil took: one of the open file description, or of flock if there are none.
// An error does not matter, because closing the file unlocks too, if later.
func unlock(f *os.File) {
	_ = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
}
