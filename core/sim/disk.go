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

// fault is a failure at a step of the log on its files.
type fault struct {
	name string
	err  error // the error that the log gets
	torn bool  // what was not synced can be lost, whole or in part
}

var errCrash = errors.New("the machine crashed")

var faults = []fault{
	{"power is cut", errCrash, true},
	{"power is cut", errCrash, true},
	{"the process is killed", errCrash, false},
	{"a sync fails", syscall.EIO, false},
	{"a sync fails, then power is cut", syscall.EIO, true},
	{"the disk is full", syscall.ENOSPC, true},
}

// disk is the data directory from one start of the venue to its end.
type disk struct {
	dir   string
	r     *rand.Rand
	t     *trace
	left  int // steps until the fault; negative: no fault
	steps int

	last  image // the files before the next step; only kept when that step is the fault
	fault *fault
	at    string // the point of the fault, see points
	after image  // the files after the fault
	err   error  // an error of the simulation itself
}

// newDisk writes the image into a new directory under root.
func newDisk(root string, life int, im image, left int, r *rand.Rand, t *trace) (*disk, error) {
	d := &disk{dir: filepath.Join(root, fmt.Sprint("life", life)), r: r, t: t, left: left, last: im}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	return d, im.put(d.dir)
}

// arm makes the fault happen n steps from now.
func (d *disk) arm(n int) (err error) {
	d.left = n
	d.last, err = takeImage(d.dir)
	return err
}

// watch is called at each step of the log. It returns the fault's error when its count reaches 0, and after.
func (d *disk) watch(s journal.Step) error {
	d.steps++
	if d.fault != nil {
		return d.fault.err
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

// injectFault records a fault at a step from one image to another, and draws the files that it leaves.
func (d *disk) injectFault(f *fault, before, after image, at string) {
	d.fault, d.after, d.at = f, after, at
	how := "everything written"
	if f.torn {
		d.after, how = crash(before, after, d.r)
	}
	d.t.line("disk %s at %q: %s", f.name, at, how)
}

// remove deletes the directory.
func (d *disk) remove() error { return os.RemoveAll(d.dir) }
