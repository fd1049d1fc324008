package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// FileLock is the lock of a file, from Lock until Close. While this process starts another one, that has
// copies of all open files until it executes its program. A lock that only closing ends lasts as long as
// the copies; so Close unlocks.
type FileLock struct{ file *os.File }

// Lock takes the lock of the file at path. It creates the file and its folder unless they exist.
// Errors: ErrLocked, or one of the disk.
func Lock(path string) (*FileLock, error) {
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	return &FileLock{lock.File}, nil
}

// Close ends the lock. Errors: one of the disk.
func (l *FileLock) Close() error {
	unlock(l.file)
	return l.file.Close()
}

// waitUnlocked waits until nobody locks the segments in dir. The WAL closes its files without unlocking
// them. As the caller has the lock of the folder, only a process that starts has copies of them.
func waitUnlocked(dir string) error {
	segs, err := listSegments(dir)
	if err != nil {
		return err
	}
	for _, seg := range segs {
		lock, err := fileutil.LockFile(seg.path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := (&FileLock{lock.File}).Close(); err != nil {
			return err
		}
	}
	return nil
}
