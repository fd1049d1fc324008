package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWrite checks content, mode and directory of a written file, and that a write that
// fails changes nothing and leaves no other file.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "f")
	for _, mode := range []fs.FileMode{0o600, 0o644} {
		if err := WriteMode(path, []byte(mode.String()), mode); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		st, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(b) != mode.String() || st.Mode() != mode {
			t.Errorf("%s: %q, %v, %v, %v", mode, b, st.Mode(), err, statErr)
		}
	}
	occupied := filepath.Join(dir, "d")
	if err := os.MkdirAll(filepath.Join(occupied, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(occupied, nil); err == nil {
		t.Error("a directory was replaced")
	}
	unfinished := errors.New("no more bytes")
	if err := WriteWith(path, 0o600, func(f *os.File) error {
		_, err := f.WriteString("half")
		return errors.Join(err, unfinished)
	}); !errors.Is(err, unfinished) {
		t.Errorf("a file that is not finished: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != fs.FileMode(0o644).String() {
		t.Errorf("%q, %v", b, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}
