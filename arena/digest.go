package arena

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// digest returns the SHA-256 of what the process of a seat is, in hexadecimal: of its command, and the contents of
// its program, of each argument that is a file, and of the files that the seat names, one after the other. It is
// nil for a baseline.
func (s *Seat) digest() (*string, error) {
	if s.Command == "" {
		return nil, nil
	}
	program, err := exec.LookPath(s.argv[0])
	if err != nil {
		return nil, err
	}
	files := []string{program}
	for _, arg := range s.argv[1:] {
		if f, err := os.Stat(arg); err == nil && f.Mode().IsRegular() {
			files = append(files, arg)
		}
	}
	h := sha256.New()
	io.WriteString(h, s.Command) //nolint:errcheck // a hash takes everything
	for _, path := range slices.Concat(files, s.Files) {
		if err := addContents(h, path); err != nil {
			return nil, err
		}
	}
	return new(hex.EncodeToString(h.Sum(nil))), nil
}

// addContents writes the content of a file; of a folder those of all files in it, in the order of their paths.
func addContents(to io.Writer, path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, f)
		return errors.Join(err, f.Close())
	})
}

// digests returns the digest of each seat, in the order of the file.
func (c *Config) digests() ([]*string, error) {
	list := make([]*string, len(c.Seats))
	for i := range c.Seats {
		var err error
		if list[i], err = c.Seats[i].digest(); err != nil {
			return nil, badConfig("seat %q: %w", c.Seats[i].Name, err)
		}
	}
	return list, nil
}

// checkDigests returns an error that names the first seat whose digest is not the one that it had in an earlier
// seed.
func (c *Config) checkDigests(now []*string, earlier []SeatEnd) error {
	for i := range earlier {
		e := &earlier[i]
		if have := now[e.Number-1]; e.Digest != nil && have != nil && *e.Digest != *have {
			return badConfig("seat %q: its command, its program (as PATH finds it) or one of its files is another one than in an earlier seed: run it into another folder with --out. --changed-agents continues, and the seat is then \"mixed agents\", without a verdict", c.Seats[e.Number-1].Name)
		}
	}
	return nil
}

// changed returns an error if the agents are not those that a run began with.
func (c *Config) changed(begun, now []*string) error {
	for i := range now {
		if now[i] != nil && *now[i] != *begun[i] {
			return fmt.Errorf("seat %q: its program or one of its files was changed while the run went on", c.Seats[i].Name)
		}
	}
	return nil
}
