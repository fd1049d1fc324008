package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// copiesOf copies the descriptors of the open files in dir, as a process that starts has them until it
// executes its program.
func copiesOf(t *testing.T, dir string) (copies []int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		file, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || !strings.HasPrefix(file, dir) {
			continue // one of them read the folder
		}
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if n, err = syscall.Dup(n); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, n)
	}
	return copies
}

// TestOpenWhileAProcessStarts tests that a log opens although another process still has copies of the
// descriptors with which it was open before: the folder at once, the WAL when the copies are gone.
func TestOpenWhileAProcessStarts(t *testing.T) {
	if _, err := os.ReadFile("/proc/locks"); err != nil {
		t.Skip("needs the list of locks and their waiters: ", err)
	}
	dir := t.TempDir()
	f := mustOpen(t, dir)
	propose(t, f, 1, 3)
	copies := copiesOf(t, dir)
	mustClose(t, f)
	lock, err := Lock(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	segs, err := listSegments(filepath.Join(dir, walDir))
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(segs[len(segs)-1].path)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		var err error
		f, err = Open(dir, Options{})
		opened <- err
	}()
	inode := fmt.Sprintf(":%d ", st.Sys().(*syscall.Stat_t).Ino)
	for waits := false; !waits && len(opened) == 0; time.Sleep(time.Millisecond) {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(locks)) {
			waits = waits || strings.Contains(line, "->") && strings.Contains(line, inode)
		}
	}
	for _, n := range copies {
		if err := syscall.Close(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if n := len(mustDrain(t, f, 1)); n != 3 {
		t.Errorf("%d groups", n)
	}
	mustClose(t, f)
}
