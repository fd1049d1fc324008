package server

import (
	"log/slog"
	"sync"
	"time"

	"duplex/core/engine"
	"duplex/lanes/admin"
)

// Progress is the progress of a start. The venue restores its journal in phases.
type Progress struct {
	Phase       engine.Phase
	Unit        string // of Done and Total: bytes or groups
	Done, Total uint64
	Ended       bool // the journal is restored, or Open has failed; the other fields are of the last phase
}

// progressLogInterval is the time between two lines of the log about a start.
const progressLogInterval = 5 * time.Second

// startProgress reports the progress of a start: to /readyz, and to Options.Progress or
// the log.
type startProgress struct {
	log    *slog.Logger
	report func(Progress) // nil: to the log
	began  time.Time
	logged time.Time

	mu      sync.Mutex
	current Progress
}

func newStartProgress(log *slog.Logger, report func(Progress)) *startProgress {
	s := &startProgress{log: log, report: report, began: time.Now(), current: Progress{Phase: engine.Loading, Unit: "bytes"}}
	s.logged = s.began
	return s
}

// update is called by one goroutine at a time.
func (s *startProgress) update(p engine.Progress) {
	now := Progress{Phase: p.Phase, Unit: "bytes", Done: p.Done, Total: p.Total}
	if p.Phase == engine.Replaying {
		now.Unit = "groups"
	}
	s.mu.Lock()
	s.current = now
	s.mu.Unlock()
	if s.report != nil {
		s.report(now)
		return
	}
	if time.Since(s.logged) >= progressLogInterval {
		s.logged = time.Now()
		s.log.Info("venue starting", "phase", string(now.Phase), now.Unit, now.Done, "of", now.Total)
	}
}

// end is called once, when the journal is restored or the start has failed.
func (s *startProgress) end(e *engine.Engine, err error) {
	if s.report != nil {
		last := s.current // nothing writes it any more
		last.Ended = true
		s.report(last)
	}
	if err == nil {
		s.log.Info("journal restored", "seq", e.Seq(), "took_ms", time.Since(s.began).Milliseconds())
	}
}

// now returns the progress in the form of /readyz.
func (s *startProgress) now() admin.Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	return admin.Start{Phase: string(s.current.Phase), Unit: s.current.Unit, Done: s.current.Done, Total: s.current.Total}
}
