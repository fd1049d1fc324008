package bridge

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Change is what Install would do to a file, or did.
type Change struct {
	Path     string
	Fragment []byte
	old, new []byte
	mode     fs.FileMode // of the file; 0: there is none
	secret   bool
}

// Plan reads the host's file and works out the change. Nothing is written.
func (h *Host) Plan(s *Server) (*Change, error) {
	path, err := h.File()
	if err != nil {
		return nil, err
	}
	c := &Change{Path: path, secret: len(s.Env) > 0}
	if c.Fragment, err = h.Fragment(s); err != nil {
		return nil, err
	}
	if c.old, err = os.ReadFile(path); err == nil {
		var at fs.FileInfo
		if at, err = os.Stat(path); err == nil {
			c.mode = at.Mode().Perm()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if c.new, err = h.Merge(c.old, s); err != nil {
		return nil, &fs.PathError{Op: "merge", Path: path, Err: err}
	}
	return c, nil
}

// Needed tells whether the file is not as wanted yet.
func (c *Change) Needed() bool {
	return c.mode == 0 || !bytes.Equal(c.old, c.new) || c.mode != c.wanted()
}

// wanted is the mode of the file: a new one, and one with a secret, is its owner's.
func (c *Change) wanted() fs.FileMode {
	if c.mode == 0 || c.secret {
		return 0o600
	}
	return c.mode
}

// Backup is where what was there before is kept; "" if there was nothing.
func (c *Change) Backup() string {
	if c.mode == 0 {
		return ""
	}
	return c.Path + ".dx-backup"
}

// Write makes the change: first a copy of what is there, then all at once.
func (c *Change) Write() error {
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	if at := c.Backup(); at != "" {
		if err := replace(at, c.old, 0o600); err != nil {
			return err
		}
	}
	return replace(c.Path, c.new, c.wanted())
}

// replace puts a file there at once or not at all.
func replace(path string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
