package export

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"duplex/internal/memdir"
)

// TestFullDisk exports to a disk that is too small: the export fails with ENOSPC in the middle of a
// later file, never has a file under a final name that is not complete, and leaves nothing.
func TestFullDisk(t *testing.T) {
	for _, format := range []Format{CSV, Parquet} {
		disk := t.TempDir()
		memdir.Mount(t, disk, "512k")
		dir := filepath.Join(disk, "out")
		f, err := Create(dir, Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		err = f.Table(&sample, until)
		for n := int64(0); err == nil && n < 1<<20; n++ {
			row := Row{n * 7919, day + n*day/5000, string(rune('a'+n%26)) + "x", n * n, uint64(n), true} // 5,000 rows a day
			err = f.Row(row[1].(int64), row)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: %v", format, err)
		}
		done := map[string]File{}
		for _, x := range f.files {
			done[x.Name] = x
		}
		present, err := filepath.Glob(filepath.Join(dir, "ledger*"))
		if err != nil || len(present) != len(done) || len(done) == 0 {
			t.Errorf("%s: the folder has %v, complete are %v, %v", format, present, done, err)
		}
		if err := f.Abort(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v are left", format, left, err)
		}
	}
}
