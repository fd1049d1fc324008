package gate

import (
	"sync"

	"duplex/core"
	"duplex/core/engine"
)

// inFlightLimiter bounds the placements in flight (docs/rules/limits.md#placements-in-hand):
// under overload the admitted ones keep a low latency and the others are shed at once.
// Cancels are not limited. One account holds at most a quarter of the bound, but only
// once half of it is taken, so that a burst of one account passes while there is room.
type inFlightLimiter struct {
	mu     sync.Mutex
	total  int
	byUser map[core.UserID]int
}

// acquire takes a slot for account u, or returns engine.ErrShed. A caller that gets one must
// release it.
func (f *inFlightLimiter) acquire(u core.UserID, bound int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.total >= bound || f.total >= bound/2 && f.byUser[u] >= max(1, bound/4) {
		return engine.ErrShed
	}
	if f.byUser == nil {
		f.byUser = map[core.UserID]int{}
	}
	f.total++
	f.byUser[u]++
	return nil
}

func (f *inFlightLimiter) release(u core.UserID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total--
	if f.byUser[u]--; f.byUser[u] == 0 {
		delete(f.byUser, u)
	}
}
