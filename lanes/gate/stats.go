package gate

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats counts requests and refusals for the operator.
type Stats struct {
	Requests atomic.Uint64
	ops      sync.Map // op → *OpStats
	refused  sync.Map // code → *atomic.Uint64
}

// OpStats is one operation's count.
type OpStats struct {
	Done, Failed atomic.Uint64
	TookNs       atomic.Int64
}

func (s *Stats) count(op string, status int, took time.Duration) {
	s.Requests.Add(1)
	x, ok := s.ops.Load(op)
	if !ok {
		x, _ = s.ops.LoadOrStore(op, &OpStats{})
	}
	o := x.(*OpStats)
	if status >= 400 {
		o.Failed.Add(1)
	} else {
		o.Done.Add(1)
	}
	o.TookNs.Add(int64(took))
}

func (s *Stats) refuse(code string) {
	x, ok := s.refused.Load(code)
	if !ok {
		x, _ = s.refused.LoadOrStore(code, new(atomic.Uint64))
	}
	x.(*atomic.Uint64).Add(1)
}

// Ops and Refusals visit the counts.
func (s *Stats) Ops(visit func(op string, o *OpStats)) {
	s.ops.Range(func(k, v any) bool { visit(k.(string), v.(*OpStats)); return true })
}

func (s *Stats) Refusals(visit func(code string, n uint64)) {
	s.refused.Range(func(k, v any) bool { visit(k.(string), v.(*atomic.Uint64).Load()); return true })
}
