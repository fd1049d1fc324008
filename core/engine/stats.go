package engine

import (
	"sync/atomic"
	"time"
)

// Stats counts what an operator watches. Times are in ns, summed.
type Stats struct {
	Groups, Commands, Bytes atomic.Uint64
	SyncNs, SyncMaxNs       atomic.Int64
	ApplyNs, ApplyMaxNs     atomic.Int64
	Shed, Snapshots         atomic.Uint64
	InvariantChecks         atomic.Uint64 // commands after which THE INVARIANT held

	GroupSizes   Histogram // commands
	GroupLatency Histogram // ns from a group's first command to its answers
	SyncLatency  Histogram // ns
	ApplyLatency Histogram // ns
}

func (s *Stats) sync(d time.Duration, commands, bytes int) {
	s.Groups.Add(1)
	s.Commands.Add(uint64(commands))
	s.Bytes.Add(uint64(bytes))
	s.SyncNs.Add(int64(d))
	storeMax(&s.SyncMaxNs, int64(d))
	s.GroupSizes.Add(uint64(commands))
	s.SyncLatency.Add(uint64(max(d, 0)))
}

func (s *Stats) apply(d time.Duration, commands int) {
	s.ApplyNs.Add(int64(d))
	storeMax(&s.ApplyMaxNs, int64(d))
	s.ApplyLatency.Add(uint64(max(d, 0)))
	s.InvariantChecks.Add(uint64(commands))
}

func storeMax(a *atomic.Int64, n int64) {
	for was := a.Load(); n > was && !a.CompareAndSwap(was, n); was = a.Load() {
	}
}

// Stats gives the counters; they go on counting.
func (e *Engine) Stats() *Stats { return &e.stats }

// QueueDepth is how many commands wait to be sealed.
func (e *Engine) QueueDepth() int { return e.queue.depth() }
