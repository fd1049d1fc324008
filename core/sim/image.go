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

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// image is the files of a data directory by their path in it. The bytes of an image
// are never written to.
type image map[string][]byte

// takeImage reads the directory. Files in the making (.tmp) and the lock are left out: no
// start looks at them.
func takeImage(dir string) (image, error) {
	im := image{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil && strings.Contains(p, ".tmp") {
			return nil // the wal makes and removes these when it likes
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

// put makes a fresh directory that holds the image.
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

// change is one thing that was done between two images, in the order in which the
// log does things: what was not synced by a later one may be missing after a crash.
type change struct {
	what  string
	apply func(image)
	torn  func(image, *rand.Rand) string // leaves a part of it; nil: there are no parts
}

// changes finds what was done to turn a into b.
func changes(a, b image) (list []change) {
	var grown, made, marks, shots, gone []change
	for _, name := range b.names() {
		was, had := a[name]
		now := b[name]
		switch isWAL := strings.HasSuffix(name, ".wal"); {
		case had && bytes.Equal(was, now):
		case had && isWAL:
			grown = append(grown, written(name, was, now))
			if len(now) < len(was) {
				grown = append(grown, whole("cut "+name, func(im image) { im[name] = now }))
			}
		case isWAL:
			made = append(made, whole("new "+name, func(im image) { im[name] = now }))
		case strings.HasSuffix(name, ".snapshot"):
			shots = append(shots, whole("new "+name, func(im image) { im[name] = now }))
		default:
			marks = append(marks, whole("replace "+name, func(im image) { im[name] = now }))
		}
	}
	for _, name := range a.names() {
		if _, still := b[name]; !still {
			gone = append(gone, whole("remove "+name, func(im image) { delete(im, name) }))
		}
	}
	slices.SortStableFunc(gone, func(x, y change) int { // snapshots first: what they cover is trimmed after
		return strings.Compare(path.Ext(x.what), path.Ext(y.what))
	})
	return slices.Concat(grown, made, shots, marks, gone)
}

func whole(what string, apply func(image)) change { return change{what: what, apply: apply} }

// written is a write into a file, which may grow by it; if it was cut as well, that
// came after.
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

// tear leaves part of a write: some of its sectors; of one that appends also a run of
// bytes from its start, or a file that ends within it.
func tear(im image, name string, was, to []byte, r *rand.Rand) string {
	from, end := bounds(was, to)
	if from == end {
		return "nothing"
	}
	b := slices.Clone(was)
	kind := r.IntN(4)
	if len(bytes.Trim(was[from:], "\x00")) > 0 {
		kind = 3 // over bytes that are there a disk writes sectors
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

// bounds gives the first byte in which two files differ and the one behind the last.
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

// crash gives what a crash between a and b leaves, and tells it.
func crash(a, b image, r *rand.Rand) (image, string) {
	list := changes(a, b)
	im := maps.Clone(a)
	at := r.IntN(len(list) + 1)
	for _, c := range list[:at] {
		c.apply(im)
	}
	if at == len(list) {
		return im, "everything arrived"
	}
	if c := list[at]; c.torn != nil && r.IntN(4) > 0 {
		return im, c.what + ": " + c.torn(im, r)
	}
	return im, "all before " + list[at].what
}
