package sim

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sector is the number of bytes that a disk writes completely or not at all.
const sector = 512

// image has the files of a data directory, by their path in it. The contents are read-only.
type image map[string][]byte

// takeImage reads a directory, without temporary files (.tmp) and the lock, which a start ignores.
func takeImage(dir string) (image, error) {
	im := image{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil && strings.Contains(p, ".tmp") {
			return nil // the wal creates and removes these concurrently
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil || strings.Contains(name, ".tmp") || name == "LOCK" {
			return err
		}
		im[name], err = os.ReadFile(p)
		return err
	})
	return im, err
}

// put writes the image into an empty directory.
func (im image) put(dir string) error {
	for _, name := range im.names() {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(p, im[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (im image) names() []string { return slices.Sorted(maps.Keys(im)) }

// change is one change between two images. Changes are in the order in which the log makes them, and a crash
// can lose the last ones.
type change struct {
	what  string
	apply func(image)
	torn  func(image, *rand.Rand) string // applies a part of it and describes the part; nil if the change is atomic
}

// changes returns the changes from a to b.
func changes(a, b image) (list []change) {
	var grown, created, marks, snapshots, removed []change
	for _, name := range b.names() {
		was, had := a[name]
		now := b[name]
		switch isWAL := strings.HasSuffix(name, ".wal"); {
		case had && bytes.Equal(was, now):
		case had && isWAL:
			grown = append(grown, written(name, was, now))
			if len(now) < len(was) {
				grown = append(grown, atomicChange("cut "+name, func(im image) { im[name] = now }))
			}
		case isWAL:
			created = append(created, atomicChange("new "+name, func(im image) { im[name] = now }))
		case strings.HasSuffix(name, ".snapshot"):
			snapshots = append(snapshots, atomicChange("new "+name, func(im image) { im[name] = now }))
		default:
			marks = append(marks, atomicChange("replace "+name, func(im image) { im[name] = now }))
		}
	}
	for _, name := range a.names() {
		if _, still := b[name]; !still {
			removed = append(removed, atomicChange("remove "+name, func(im image) { delete(im, name) }))
		}
	}
	slices.SortStableFunc(removed, func(x, y change) int { // snapshots first: the log is trimmed after that
		return strings.Compare(path.Ext(x.what), path.Ext(y.what))
	})
	return slices.Concat(grown, created, snapshots, marks, removed)
}

// atomicChange is a change that a crash leaves completely or not at all.
func atomicChange(what string, apply func(image)) change { return change{what: what, apply: apply} }

// written is a write into a file that can grow by it. If the file was also truncated, that is a later change.
func written(name string, was, now []byte) change {
	was = append(slices.Clone(was), make([]byte, max(0, len(now)-len(was)))...)
	to := slices.Clone(was)
	copy(to, now)
	return change{
		what:  "write " + name,
		apply: func(im image) { im[name] = to },
		torn:  func(im image, r *rand.Rand) string { return tear(im, name, was, to, r) },
	}
}

// tear applies a part of a write: some of its sectors. Of an appending write it can also be the first bytes,
// or a file that ends within the write.
func tear(im image, name string, was, to []byte, r *rand.Rand) string {
	from, end := bounds(was, to)
	if from == end {
		return "nothing"
	}
	b := slices.Clone(was)
	kind := r.IntN(4)
	if len(bytes.Trim(was[from:], "\x00")) > 0 {
		kind = 3 // existing bytes are overwritten by sectors
	}
	switch kind {
	case 0:
		n := from + r.IntN(end-from)
		copy(b, to[:n])
		im[name] = b
		return fmt.Sprintf("%d of %d bytes", n-from, end-from)
	case 1:
		n := from + r.IntN(end-from)
		im[name] = slices.Clone(to[:n])
		return fmt.Sprintf("a file that ends after %d of %d bytes", n-from, end-from)
	default:
		var kept []int
		for at := from / sector * sector; at < end; at += sector {
			if r.IntN(2) == 0 {
				stop := min(at+sector, len(b))
				copy(b[at:stop], to[at:stop])
				kept = append(kept, at/sector)
			}
		}
		im[name] = b
		return fmt.Sprintf("sectors %v of %d to %d", kept, from/sector, (end-1)/sector)
	}
}

// bounds returns the offset of the first byte in which two files differ, and the offset after the last.
func bounds(a, b []byte) (from, end int) {
	for from < len(b) && a[from] == b[from] {
		from++
	}
	end = len(b)
	for end > from && a[end-1] == b[end-1] {
		end--
	}
	return from, end
}

// crash draws the files that a crash between a and b leaves, and describes them.
func crash(a, b image, r *rand.Rand) (image, string) {
	list := changes(a, b)
	im := maps.Clone(a)
	at := r.IntN(len(list) + 1)
	for _, c := range list[:at] {
		c.apply(im)
	}
	if at == len(list) {
		return im, "everything written"
	}
	if c := list[at]; c.torn != nil && r.IntN(4) > 0 {
		return im, c.what + ": " + c.torn(im, r)
	}
	return im, "all before " + list[at].what
}
