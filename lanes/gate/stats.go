package gate

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/engine"
)

// Stats counts requests and errors for the metrics. It is safe for concurrent use.
type Stats struct {
	Requests atomic.Uint64
	mu       sync.RWMutex
	ops      map[opKey]*OpStats
	errors   sync.Map // code → *atomic.Uint64
}

// OpStats counts the requests of one operation on one lane. A request with a status of 400
// or above has failed.
type OpStats struct {
	Succeeded, Failed atomic.Uint64
	Latency           engine.Histogram // ns
}

type opKey struct{ lane, op string }

func (s *Stats) count(c *Call, status int, latency time.Duration) {
	s.Requests.Add(1)
	o := s.opStats(opKey{c.Lane, c.Op})
	if status >= 400 {
		o.Failed.Add(1)
	} else {
		o.Succeeded.Add(1)
	}
	o.Latency.Add(uint64(latency))
}

func (s *Stats) opStats(at opKey) *OpStats {
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
			s.ops = map[opKey]*OpStats{}
		}
		o = &OpStats{}
		s.ops[at] = o
	}
	return o
}

func (s *Stats) countError(code string) {
	x, ok := s.errors.Load(code)
	if !ok {
		x, _ = s.errors.LoadOrStore(code, new(atomic.Uint64))
	}
	x.(*atomic.Uint64).Add(1)
}

// Ops calls visit for every operation that has been requested, in no order.
func (s *Stats) Ops(visit func(lane, op string, o *OpStats)) {
	s.mu.RLock()
	ops := maps.Clone(s.ops)
	s.mu.RUnlock()
	for at, o := range ops {
		visit(at.lane, at.op, o)
	}
}

// Errors calls visit for every error code that has been returned, in no order.
func (s *Stats) Errors(visit func(code string, n uint64)) {
	s.errors.Range(func(k, v any) bool { visit(k.(string), v.(*atomic.Uint64).Load()); return true })
}
