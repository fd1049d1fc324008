package engine

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats counts the engine's work since its start. Fields ending in Ns are sums in ns, or with
// Max the greatest single value. Every field may be read at any time.
type Stats struct {
	Groups, Commands, Bytes atomic.Uint64 // persisted
	SyncNs, SyncMaxNs       atomic.Int64
	ApplyNs, ApplyMaxNs     atomic.Int64
	Shed, Snapshots         atomic.Uint64
	InvariantChecks         atomic.Uint64 // commands after which THE INVARIANT held
	ProposedAgain           atomic.Uint64 // attempts after one that the log did not confirm
	RepeatsDropped          atomic.Uint64 // delivered groups whose proposal was applied before
	AttestedSeq             atomic.Uint64 // of the newest checkpoint that a majority attests as this member has it
	ForeignCommands         atomic.Uint64 // delivered commands that another member proposed
	StampAheadMaxNs         atomic.Int64  // by which a delivered stamp was ahead of the clock of this member

	// Checkpoints by what this member concluded from their attestations.
	AttestConfirmed, AttestSuspect, AttestDiverged atomic.Uint64

	GroupSizes   Histogram // commands of a group
	GroupLatency Histogram // ns from a group's first command to its receipts
	SyncLatency  Histogram // ns
	Delivery     Histogram // ns from a proposal of this member to its delivery; of a member
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

// Stats returns the engine's counters. They keep counting.
func (e *Engine) Stats() *Stats { return &e.stats }

// QueueDepth is the number of commands that wait to be sealed.
func (e *Engine) QueueDepth() int { return e.queue.depth() }

// Histogram counts values by powers of two: 1, up to 2, up to 4, and so on. Adding and
// reading take no lock.
type Histogram struct {
	counts [histogramBuckets]atomic.Uint64 // counts[i] has the values above 1<<(i-1), up to 1<<i
	sum    atomic.Uint64
}

// histogramBuckets is enough for values up to 2^40: in ns, 18 minutes.
const histogramBuckets = 41

// Add counts one value.
func (h *Histogram) Add(n uint64) {
	h.counts[min(bits.Len64(max(n, 1)-1), histogramBuckets-1)].Add(1)
	h.sum.Add(n)
}

// Read returns the number of values and their sum. atMost has, for each power of two from
// 2^from to 2^last, the number of values up to it.
func (h *Histogram) Read(from, last int) (count, sum uint64, atMost map[uint64]uint64) {
	atMost = map[uint64]uint64{}
	for i := range h.counts {
		if count += h.counts[i].Load(); i >= from && i <= last {
			atMost[1<<i] = count
		}
	}
	return count, h.sum.Load(), atMost
}
