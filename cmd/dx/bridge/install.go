package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/internal/atomicfile"
)

// Change is a planned change of a host's config file.
type Change struct {
	Path     string
	Fragment []byte
	old, new []byte
	mode     fs.FileMode // of the file; 0 if it does not exist
	secret   bool
	doctor   string // the arguments of dx mcp doctor for this server
}

// Plan reads the host's file and returns the change that adds s. It writes nothing.
func (h *Host) Plan(s *Server) (*Change, error) {
	path, err := h.File()
	if err != nil {
		return nil, err
	}
	c := &Change{Path: path, secret: len(s.Env) > 0, doctor: "mcp doctor"}
	if i := slices.Index(s.Args, "--profile"); i >= 0 && i+1 < len(s.Args) {
		c.doctor += " --profile " + cli.ShellWord(s.Args[i+1])
	}
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

// NewServer returns an entry by which a host starts this program as dx mcp.
func NewServer(name string) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if strings.Contains(self, "go-build") {
		return nil, errors.New("go run deletes this program when it ends: run go build -o bin/dx ./cmd/dx, then use bin/dx")
	}
	return &Server{Name: name, Command: self, Args: []string{"mcp"}}, nil
}

// Apply writes the change if it is needed, and says so to out.
func (c *Change) Apply(out io.Writer) error {
	if !c.Needed() {
		_, err := fmt.Fprintf(out, "%s needs no change.\n", c.Path)
		return err
	}
	if err := c.Write(); err != nil {
		return err
	}
	backup := ""
	if c.Backup() != "" {
		backup = " The old file is " + c.Backup() + "."
	}
	_, err := fmt.Fprintf(out, "Wrote %s.%s\nRestart the host. If it finds no tools, run:\n\n  %s %s\n", c.Path, backup, cli.CommandName(), c.doctor)
	return err
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
