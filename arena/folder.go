package arena

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"duplex/core/journal"
)

// lockName is the file in the folder of a run that two runs at the same time would lock. It stays there.
const lockName = "LOCK"

// lockRun takes the lock of the folder of a run, which it creates unless it exists.
func lockRun(dir string) (*journal.FileLock, error) {
	lock, err := journal.Lock(filepath.Join(dir, lockName))
	if errors.Is(err, journal.ErrLocked) {
		return nil, fmt.Errorf("%s is in use by another dx arena: wait until that has ended, or name another folder with --out", dir)
	}
	if err != nil {
		return nil, &ConfigError{err} // such as a name that is a file
	}
	return lock, nil
}

// checkReplaceable returns an error unless a folder is missing, empty, or a bundle, complete or not: a run
// replaces it, and must not delete what is not its own.
func checkReplaceable(dir string) error {
	empty := true
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir && d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		top, _, inside := strings.Cut(rel, "/")
		empty = false
		switch {
		case d.IsDir() && slices.Contains([]string{trajectoriesDir, "journal", "export"}, top):
			return nil
		case rel == manifestName, inside && (top == "journal" || top == "export"), path.Dir(rel) == trajectoriesDir && path.Ext(rel) == ".jsonl":
			return nil
		}
		return notOwn(dir, rel)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || empty:
		return err
	}
	if s, err := os.Stat(filepath.Join(dir, trajectoriesDir)); err != nil || !s.IsDir() { // a bundle begins with it
		return notOwn(dir, "no "+trajectoriesDir)
	}
	return nil
}

// runAround returns the folder of the run, certification or bundle in which a path is, which need not exist,
// or that it is itself; "" if there is none.
func runAround(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for at, resolved := path, false; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil && !resolved { // what does not exist has no links
			at, resolved = real, true
		}
		if IsRun(at) || IsCertification(at) || IsBundle(at) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", nil
		}
	}
}

func notOwn(dir, what string) error {
	return badConfig("%s is no bundle of dx arena, which would replace it: it has %s. Move it away, or name another folder with --out", dir, what)
}

// checkSeedFolder is checkReplaceable for the folder of a seed, which has bundles of single seats if each
// has its own venue.
func checkSeedFolder(at string, c *Config) error {
	if !c.Solo {
		return checkReplaceable(at)
	}
	entries, err := os.ReadDir(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.ContainsFunc(c.Seats, func(s Seat) bool { return s.Name == e.Name() }) {
			return notOwn(at, e.Name())
		}
		if err := checkReplaceable(filepath.Join(at, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
