// Package atomicfile writes a file completely or not at all.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with one that holds b and has mode 0600. It creates the
// directory if necessary. After an error the old file, or its absence, is unchanged.
func Write(path string, b []byte) error { return WriteMode(path, b, 0o600) }

// WriteMode is Write with another mode.
func WriteMode(path string, b []byte, mode fs.FileMode) error {
	return WriteWith(path, mode, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// WriteWith is WriteMode with the bytes that fill writes. An error of fill leaves everything
// unchanged. Until fill has returned, nobody but the owner can read the file.
func WriteWith(path string, mode fs.FileMode, fill func(f *os.File) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	err = fill(f)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
