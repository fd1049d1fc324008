package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// bytesRead is the number of bytes that this process has read from files.
func bytesRead(t *testing.T) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	if _, err := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRestartReadsTheLogTwice counts the bytes that Open and a Deliver of all groups read. Open
// verifies every segment, and the WAL then reads the last one. Deliver reads the others, and
// takes the groups of the last one from memory.
func TestRestartReadsTheLogTwice(t *testing.T) {
	small := wal.SegmentSizeBytes
	wal.SegmentSizeBytes = 4 << 20
	t.Cleanup(func() { wal.SegmentSizeBytes = small })
	for name, groups := range map[string]int{"one segment": 3900, "three segments": 11_500} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			f := mustOpen(t, dir)
			for i := range groups {
				if err := f.Propose(context.Background(), Group{Proposal: uint64(i + 1), Body: make([]byte, 900)}); err != nil {
					t.Fatal(err)
				}
			}
			mustClose(t, f)
			size := int64(0)
			paths, err := filepath.Glob(filepath.Join(dir, walDir, "*.wal"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				st, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				size += st.Size()
			}
			before := bytesRead(t)
			f = mustOpen(t, dir)
			got := mustDrain(t, f, 1)
			read := bytesRead(t) - before
			mustClose(t, f)
			if len(got) != groups {
				t.Fatalf("%d of %d groups", len(got), groups)
			}
			t.Logf("read %d bytes of %d segments with %d bytes", read, len(paths), size)
			if read > 2*size+1<<18 {
				t.Errorf("each byte was read %.2f times", float64(read)/float64(size))
			}
		})
	}
}
