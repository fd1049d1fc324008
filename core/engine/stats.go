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
	Checked                 atomic.Uint64 // commands after which THE INVARIANT held

	GroupSizes Spread // commands
	Sequenced  Spread // ns from a group's first command to its answers
	Syncs      Spread // ns
	Applies    Spread // ns
}

func (s *Stats) sync(d time.Duration, commands, bytes int) {
	s.Groups.Add(1)
	s.Commands.Add(uint64(commands))
	s.Bytes.Add(uint64(bytes))
	s.SyncNs.Add(int64(d))
	raise(&s.SyncMaxNs, int64(d))
	s.GroupSizes.Add(uint64(commands))
	s.Syncs.Add(uint64(max(d, 0)))
}

func (s *Stats) apply(d time.Duration, commands int) {
	s.ApplyNs.Add(int64(d))
	raise(&s.ApplyMaxNs, int64(d))
	s.Applies.Add(uint64(max(d, 0)))
	s.Checked.Add(uint64(commands))
}

func raise(a *atomic.Int64, n int64) {
	for was := a.Load(); n > was && !a.CompareAndSwap(was, n); was = a.Load() {
	}
}

// Stats gives the counters; they go on counting.
func (e *Engine) Stats() *Stats { return &e.stats }

// Depth is how many commands wait to be sealed.
func (e *Engine) Depth() int { return e.queue.depth() }
