package gate

import (
	"sync"

	"duplex/core"
	"duplex/core/engine"
)

// inFlightLimiter bounds the placements in flight (docs/rules/limits.md#placements-in-hand):
// under overload the admitted ones keep a low latency and the others are shed at once.
// Cancels are not limited. One family of accounts holds at most a quarter of the bound, but
// only once half of it is taken, so that a burst of one family passes while there is room.
type inFlightLimiter struct {
	mu      sync.Mutex
	total   int
	byOwner map[core.UserID]int
}

// acquire takes a slot for the family of the owner u, or returns engine.ErrShed. A caller that gets one must
// release it.
func (f *inFlightLimiter) acquire(u core.UserID, bound int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total >= bound || f.total >= bound/2 && f.byOwner[u] >= max(1, bound/4) {
		return engine.ErrShed
	}
	if f.byOwner == nil {
		f.byOwner = map[core.UserID]int{}
	}
	f.total++
	f.byOwner[u]++
	return nil
}

func (f *inFlightLimiter) release(u core.UserID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total--
	if f.byOwner[u]--; f.byOwner[u] == 0 {
		delete(f.byOwner, u)
	}
}
