//go:build unix

package engine

import "golang.org/x/sys/unix"

// freeOf is the space that this process may still use on the disk of a directory, in bytes.
func freeOf(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}
