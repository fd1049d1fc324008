package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/replica"
)

// The defaults of Options.ArchiveEvery and Options.ArchiveHold.
const (
	defaultArchiveEvery = time.Minute
	defaultArchiveHold  = 20 << 30
)

// archive keeps a verified copy of the journal and its snapshots in a second place, such as a mounted
// disk (docs/rules/operation.md#archive). Its errors never stop the venue: the journal keeps the
// groups that the archive lacks, up to holdBytes, and the archive tries again. Its methods are safe
// for concurrent use.
type archive struct {
	from, to  string
	every     time.Duration
	holdBytes int64
	log       *slog.Logger
	journal   atomic.Pointer[segmentSizer] // nil until the venue is open
	done      chan struct{}                // closed when run has returned
	stop      context.CancelFunc

	below    atomic.Uint64 // the archive has the groups below this
	released atomic.Bool   // holdBytes was exceeded

	mu     sync.Mutex
	newest time.Time // when the last copy that succeeded began
	failed bool      // the last copy did not succeed
}

// segmentSizer is a log that knows the size of its groups.
type segmentSizer interface {
	SegmentBytes(from, below uint64) (int64, error)
}

// newArchive prepares the archive, so that the journal keeps what it has not copied.
func (v *Venue) newArchive(e *engine.Options) {
	if v.options.ArchiveTo == "" {
		return
	}
	a := &archive{
		from: v.keys.journal(), to: filepath.Join(v.options.ArchiveTo, "journal"), every: cmp.Or(v.options.ArchiveEvery, defaultArchiveEvery),
		holdBytes: cmp.Or(v.options.ArchiveHold, defaultArchiveHold), log: v.options.Log, newest: time.Now(), done: make(chan struct{}),
	}
	v.archive = a
	hold := e.Hold
	e.Hold = func(below uint64) uint64 {
		if hold != nil {
			below = hold(below)
		}
		return a.hold(below)
	}
}

// startArchive begins to copy.
func (v *Venue) startArchive() {
	if v.archive == nil {
		return
	}
	if l, ok := v.engine.Log().(segmentSizer); ok {
		v.archive.journal.Store(&l)
	}
	ctx, stop := context.WithCancel(context.Background())
	v.archive.stop = stop
	go v.archive.run(ctx)
}

// hold returns the number below which the journal may be trimmed, given the one below which the venue
// would trim it. The engine may ask while it opens, when there is no journal to measure yet: then what
// the archive lacks is kept.
func (a *archive) hold(below uint64) uint64 {
	keep := min(below, a.below.Load())
	l := a.journal.Load()
	if l == nil {
		return keep
	}
	held, err := (*l).SegmentBytes(keep, below)
	if err != nil {
		a.log.Error("cannot tell how much of the journal is kept for the archive", "err", err)
	}
	if held <= a.holdBytes {
		return keep
	}
	if !a.released.Swap(true) {
		a.log.Error("the journal is trimmed although the archive lacks it: begin a new archive in another folder", "archive", a.to, "bytes", held)
	}
	return below
}

func (a *archive) run(ctx context.Context) {
	defer close(a.done)
	t := time.NewTicker(a.every)
	defer t.Stop()
	for {
		a.copy(ctx)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// close copies what the venue wrote last, and ends. If the disk of the archive does not answer, it
// waits until ctx ends, and the archive lacks the end of the journal. The engine must be closed.
func (a *archive) close(ctx context.Context) {
	if a.stop == nil { // it was not started
		return
	}
	a.stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-a.done
		a.copy(ctx)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		a.log.Error("the archive lacks the end of the journal, because its disk did not answer in time", "archive", a.to)
	}
}

// copy brings the archive up to date.
func (a *archive) copy(ctx context.Context) {
	begun := time.Now()
	c, err := journal.Copy(ctx, a.from, a.to, journal.CopyOptions{Other: []string{FingerprintFile, EnvironmentFile}, Prove: true})
	if err == nil {
		err = a.dropSnapshots()
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		if a.failed {
			a.log.Info("the archive is written again", "archive", a.to)
		}
		a.failed, a.newest = false, begun
		a.below.Store(c.Below)
		return
	}
	if !a.failed {
		a.log.Error("the archive cannot be written; the journal keeps what it lacks", "archive", a.to, "err", err)
	}
	a.failed = true
}

// dropSnapshots removes from the archive all snapshots but the first, from which everything in it can
// be replayed, the newest two, from which a restored venue starts, and those that the venue keeps, which
// would be copied again.
func (a *archive) dropSnapshots() error {
	paths, err := journal.Snapshots(replica.SnapshotDir(a.to))
	if err != nil || len(paths) <= 3 {
		return err
	}
	for _, path := range paths[2 : len(paths)-1] { // newest first
		_, err := os.Stat(filepath.Join(replica.SnapshotDir(a.from), filepath.Base(path)))
		if errors.Is(err, os.ErrNotExist) {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// state returns the time since the last copy that succeeded began, or since the start of the venue, and
// whether the journal was trimmed although the archive lacked it.
func (a *archive) state() (age time.Duration, released bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.newest), a.released.Load()
}
