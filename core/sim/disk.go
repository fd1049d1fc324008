package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	"duplex/core/journal"
)

// fault is what goes wrong at a step of the disk, and what the machine finds of its
// files when it starts again.
type fault struct {
	name string
	err  error // what the log is told
	torn bool  // what was not synced may be gone, in part
}

var errCrash = errors.New("the machine is gone")

var faults = []fault{
	{"power is cut", errCrash, true},
	{"power is cut", errCrash, true},
	{"the process is killed", errCrash, false},
	{"a sync fails", syscall.EIO, false},
	{"a sync fails, then power is cut", syscall.EIO, true},
	{"the disk is full", syscall.ENOSPC, true},
}

// disk is a data directory in one life of the machine.
type disk struct {
	dir   string
	r     *rand.Rand
	t     *trace
	left  int // steps until the fault; below 0: none
	steps int

	last image // before the next step; only kept when the fault is near
	hit  *fault
	at   string // the point it came at
	find image  // what is found after it
	err  error  // of the simulation itself
}

// newDisk puts the image into a directory of its own under root.
func newDisk(root string, life int, im image, left int, r *rand.Rand, t *trace) (*disk, error) {
	d := &disk{dir: filepath.Join(root, fmt.Sprint("life", life)), r: r, t: t, left: left, last: im}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	return d, im.put(d.dir)
}

// arm lets the fault come n steps from now.
func (d *disk) arm(n int) (err error) {
	d.left = n
	d.last, err = takeImage(d.dir)
	return err
}

// watch is told of each step of the log; the fault comes when its count is down.
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

// injectFault is the fault between two images.
func (d *disk) injectFault(f *fault, before, after image, at string) {
	d.hit, d.find, d.at = f, after, at
	how := "everything arrived"
	if f.torn {
		d.find, how = crash(before, after, d.r)
	}
	d.t.line("disk %s at %q: %s", f.name, at, how)
}

// remove takes the directory away.
func (d *disk) remove() error { return os.RemoveAll(d.dir) }
