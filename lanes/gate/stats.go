package gate

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/engine"
)

// Stats counts requests and refusals for the operator.
type Stats struct {
	Requests atomic.Uint64
	mu       sync.RWMutex
	ops      map[served]*OpStats
	refused  sync.Map // code → *atomic.Uint64
}

// OpStats is one operation's count on one lane.
type OpStats struct {
	Done, Failed atomic.Uint64
	Took         engine.Spread // ns
}

// served is an operation on a lane.
type served struct{ lane, op string }

func (s *Stats) count(c *Call, status int, took time.Duration) {
	s.Requests.Add(1)
	o := s.of(served{c.Lane, c.Op})
	if status >= 400 {
		o.Failed.Add(1)
	} else {
		o.Done.Add(1)
	}
	o.Took.Add(uint64(took))
}

func (s *Stats) of(at served) *OpStats {
	s.mu.RLock()
	o := s.ops[at]
	s.mu.RUnlock()
	if o != nil {
		return o
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o = s.ops[at]; o == nil {
		if s.ops == nil {
			s.ops = map[served]*OpStats{}
		}
		o = &OpStats{}
		s.ops[at] = o
	}
	return o
}

func (s *Stats) refuse(code string) {
	x, ok := s.refused.Load(code)
	if !ok {
		x, _ = s.refused.LoadOrStore(code, new(atomic.Uint64))
	}
	x.(*atomic.Uint64).Add(1)
}

// Ops and Refusals visit the counts.
func (s *Stats) Ops(visit func(lane, op string, o *OpStats)) {
	s.mu.RLock()
	ops := maps.Clone(s.ops)
	s.mu.RUnlock()
	for at, o := range ops {
		visit(at.lane, at.op, o)
	}
}

func (s *Stats) Refusals(visit func(code string, n uint64)) {
	s.refused.Range(func(k, v any) bool { visit(k.(string), v.(*atomic.Uint64).Load()); return true })
}
