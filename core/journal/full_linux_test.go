package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk returns a directory on a disk of the given size. It skips the test if the process
// may not mount one.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a disk:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk uses up the disk space, until the returned function frees it.
func fillDisk(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{64 << 10, 4 << 10, 1} {
		for {
			if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk checks a log on a full disk: it opens, accepts groups up to the end of its
// segment, and then stops with ENOSPC. With space again, it has every group that was delivered
// and continues.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "1m")
	log := filepath.Join(dir, "journal")
	f := mustOpen(t, log)
	propose(t, f, 1, 3)
	mustClose(t, f)
	free := fillDisk(t, dir)
	f = mustOpen(t, log)
	n := 3
	var err error
	for err == nil {
		if err = f.Propose(context.Background(), Group{Node: 7, Proposal: uint64(n + 1), Body: body(n + 1)}); err == nil {
			n++
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || n == 3 {
		t.Fatalf("after group %d: %v", n, err)
	}
	_ = f.Close() // it returns the error of the log
	free()
	f = mustOpen(t, log)
	got := mustDrain(t, f, 1)
	if len(got) < n {
		t.Fatalf("%d groups of %d are there", len(got), n)
	}
	propose(t, f, len(got)+1, len(got)+100)
	mustClose(t, f)
}
