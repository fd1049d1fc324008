package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"duplex/core/journal"
)

// fault is a failure of the disk or the machine at a step of the log.
type fault struct {
	name string
	err  error // what the log's step returns
	torn bool  // writes that were not synced may be lost, in part or as a whole
}

var errCrash = errors.New("simulated crash")

var faults = []fault{
	{"power is cut", errCrash, true},
	{"power is cut", errCrash, true},
	{"the process is killed", errCrash, false},
	{"a sync fails", syscall.EIO, false},
	{"a sync fails, then power is cut", syscall.EIO, true},
	{"the disk is full", syscall.ENOSPC, true},
}

// disk is the data directory between two starts, with the fault that will strike.
type disk struct {
	dir   string
	r     *rand.Rand
	t     *trace
	left  int // steps until the fault; negative: none
	steps int

	last image  // the files before the next step; only kept shortly before the fault
	hit  *fault // the fault that struck; nil: none yet
	at   string // the point at which it struck
	find image  // the files that the next start finds
	err  error  // of the simulation itself
}

// newDisk writes the image to a new directory under root. The fault strikes at step left.
func newDisk(root string, life int, im image, left int, r *rand.Rand, t *trace) (*disk, error) {
	d := &disk{dir: filepath.Join(root, fmt.Sprint("life", life)), r: r, t: t, left: left, last: im}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	return d, im.put(d.dir)
}

// arm makes the fault strike n steps from now.
func (d *disk) arm(n int) (err error) {
	d.left = n
	d.last, err = takeImage(d.dir)
	return err
}

// watch is called after each step of the log, and returns the error of a fault that strikes.
func (d *disk) watch(s journal.Step) error {
	d.steps++
	if d.hit != nil {
		return d.hit.err
	}
	d.left--
	if d.left > 1 || d.left < 0 {
		return nil
	}
	before := d.last
	if d.last, d.err = takeImage(d.dir); d.err != nil {
		return d.err
	}
	if d.left > 0 {
		return nil
	}
	f := faults[d.r.IntN(len(faults))]
	d.injectFault(&f, before, d.last, string(s))
	return f.err
}

// injectFault lets f strike during the step between two images.
func (d *disk) injectFault(f *fault, before, after image, at string) {
	d.hit, d.find, d.at = f, after, at
	how := "all writes are on disk"
	if f.torn {
		d.find, how = crash(before, after, d.r)
	}
	d.t.line("disk %s at %q: %s", f.name, at, how)
}

// remove deletes the directory.
func (d *disk) remove() error { return os.RemoveAll(d.dir) }

// sector is the number of bytes that a disk writes atomically.
const sector = 512

// image holds the files of a data directory by relative path. The contents are read-only.
type image map[string][]byte

// takeImage reads the directory, without temporary files (.tmp) and the lock, which a start
// ignores.
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

// put writes the image to a new directory.
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

// change is one operation that turns an image into the next. Changes are in the order in
// which the log does them; after a crash those after a certain one are missing.
type change struct {
	what  string
	apply func(image)
	torn  func(image, *rand.Rand) string // applies a part of the change; nil: the change is atomic
}

// changes returns the operations that turn a into b.
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
	slices.SortStableFunc(gone, func(x, y change) int { // a snapshot is removed before the log it covers
		return strings.Compare(path.Ext(x.what), path.Ext(y.what))
	})
	return slices.Concat(grown, made, shots, marks, gone)
}

func whole(what string, apply func(image)) change { return change{what: what, apply: apply} }

// written is a write to a file, which may grow. If the file was cut too, the cut comes
// afterwards.
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

// tear applies a part of a write and returns a description: some of its sectors, or, if it
// appends, its first bytes, in a file of the full length or in one that ends after them.
func tear(im image, name string, was, to []byte, r *rand.Rand) string {
	from, end := bounds(was, to)
	if from == end {
		return "nothing"
	}
	b := slices.Clone(was)
	kind := r.IntN(4)
	if len(bytes.Trim(was[from:], "\x00")) > 0 {
		kind = 3 // existing bytes are overwritten sector by sector
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

// bounds returns the offset of the first byte that differs, and the offset after the last.
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

// crash returns the files that a crash between a and b leaves, and a description.
func crash(a, b image, r *rand.Rand) (image, string) {
	list := changes(a, b)
	im := maps.Clone(a)
	at := r.IntN(len(list) + 1)
	for _, c := range list[:at] {
		c.apply(im)
	}
	if at == len(list) {
		return im, "all writes are on disk"
	}
	if c := list[at]; c.torn != nil && r.IntN(4) > 0 {
		return im, c.what + ": " + c.torn(im, r)
	}
	return im, "all before " + list[at].what
}
