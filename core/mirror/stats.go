package mirror

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/history"
)

// stats counts the work of a mirror since its start.
type stats struct {
	rows             [tableCount]atomic.Uint64
	commits, errors  atomic.Uint64
	commitNs, paused atomic.Int64
	held             atomic.Int64

	mu    sync.Mutex
	reads map[readKey]uint64
}

type readKey struct{ route, outcome string }

// read counts a read.
func (s *stats) read(route string, err error) {
	outcome := "ok"
	var cut *history.Cut
	switch {
	case errors.As(err, &cut):
		outcome = "partial"
	case errors.Is(err, history.ErrUnavailable):
		outcome = "unavailable"
	case err != nil:
		outcome = "error"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads == nil {
		s.reads = map[readKey]uint64{}
	}
	s.reads[readKey{route, outcome}]++
}

// Stats returns the counters.
func (m *Mirror) Stats() (out history.Stats) {
	s := &m.stats
	out = history.Stats{
		Rows: map[string]uint64{}, Commits: s.commits.Load(), CommitSeconds: time.Duration(s.commitNs.Load()).Seconds(),
		PausedSeconds: time.Duration(s.paused.Load()).Seconds(), Errors: s.errors.Load(), HeldBytes: s.held.Load(),
	}
	if s := m.store.Load(); s != nil {
		if lite, ok := (*s).(*sqlite); ok {
			if info, err := os.Stat(lite.path + "-wal"); err == nil {
				out.WALBytes = info.Size()
			}
		}
	}
	for i := range schema {
		out.Rows[schema[i].name] = s.rows[i].Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, n := range s.reads {
		out.Reads = append(out.Reads, history.Reads{Route: k.route, Outcome: k.outcome, Count: n})
	}
	return out
}
