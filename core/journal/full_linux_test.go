package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk is a directory on a disk of its own, of so many bytes. Where the test may not
// mount one, it is skipped.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("no disk of its own:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk takes all the space that is left, until the returned function frees it.
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

// A log on a disk without a free byte opens, takes groups up to the end of its segment,
// then stops and says why; with space again everything that was delivered is there, and
// it goes on.
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
		if err = f.Propose(Group{Node: 7, Proposal: uint64(n + 1), Body: body(n + 1)}); err == nil {
			n++
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || n == 3 {
		t.Fatalf("after group %d: %v", n, err)
	}
	_ = f.Close() // its error is that of the log
	free()
	f = mustOpen(t, log)
	got := mustDrain(t, f, 1)
	if len(got) < n {
		t.Fatalf("%d groups of %d are there", len(got), n)
	}
	propose(t, f, len(got)+1, len(got)+100)
	mustClose(t, f)
}
