package bridge

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"duplex/internal/atomicfile"
)

// Change is a planned change of a host's config file.
type Change struct {
	Path     string
	Fragment []byte
	old, new []byte
	mode     fs.FileMode // of the file; 0 if it does not exist
	secret   bool
}

// Plan reads the host's file and returns the change that adds s. It writes nothing.
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

// Needed reports whether the file differs from the planned one.
func (c *Change) Needed() bool {
	return c.mode == 0 || !bytes.Equal(c.old, c.new) || c.mode != c.wantedMode()
}

// wantedMode returns the planned mode. Only the owner can read a new file and a file with
// a secret.
func (c *Change) wantedMode() fs.FileMode {
	if c.mode == 0 || c.secret {
		return 0o600
	}
	return c.mode
}

// Backup returns the path of the backup, or "" if the file does not exist.
func (c *Change) Backup() string {
	if c.mode == 0 {
		return ""
	}
	return c.Path + ".dx-backup"
}

// Write writes the backup, then replaces the file atomically.
func (c *Change) Write() error {
	if at := c.Backup(); at != "" {
		if err := atomicfile.Write(at, c.old); err != nil {
			return err
		}
	}
	return atomicfile.WriteMode(c.Path, c.new, c.wantedMode())
}
