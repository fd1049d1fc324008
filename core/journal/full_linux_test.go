package journal

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"duplex/internal/memdir"
)

// TestFullDisk checks a log on a full disk: it opens, accepts groups up to the end of its
// segment, and then stops with ENOSPC. With space again, it has every group that was delivered
// and continues.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	memdir.Mount(t, dir, "1m")
	log := filepath.Join(dir, "journal")
	f := mustOpen(t, log)
	propose(t, f, 1, 3)
	mustClose(t, f)
	free := memdir.Fill(t, dir)
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
