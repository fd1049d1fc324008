package arena

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// digest returns what the process of a seat is, in hexadecimal: the SHA-256 of the SHA-256s of its command, of its
// program, of each argument that is a file, and of the files that the seat names. It is nil for a baseline.
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
	addHash(h, []byte(s.Command))
	for _, path := range slices.Concat(files, s.Files) {
		if err := addContents(h, path); err != nil {
			return nil, err
		}
	}
	return new(hex.EncodeToString(h.Sum(nil))), nil
}

// addHash adds the SHA-256 of a text. Of texts that follow each other directly, bytes could move from one to the next.
func addHash(to hash.Hash, text []byte) {
	sum := sha256.Sum256(text)
	to.Write(sum[:])
}

// addContents adds the content of a file; of a folder the path and the content of each file in it, in the order of
// their paths. What is no file, such as a pipe, is an error: to read it may never end.
func addContents(to hash.Hash, path string) error {
	if f, err := os.Stat(path); err != nil || !f.IsDir() {
		return cmp.Or(err, addFile(to, path))
	}
	return filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		addHash(to, []byte(filepath.ToSlash(rel)))
		return addFile(to, at)
	})
}

func addFile(to hash.Hash, path string) error {
	if err := checkRegular(path); err != nil {
		return err
	}
	sum, err := hashFile(path)
	if err != nil {
		return err
	}
	b, err := hex.DecodeString(sum)
	to.Write(b)
	return err
}

// checkRegular returns an error unless a path leads to a file.
func checkRegular(path string) error {
	f, err := os.Stat(path)
	if err == nil && !f.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	return err
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
