package gate

import (
	"sync"

	"duplex/core"
	"duplex/core/engine"
)

// flight bounds the placements in hand, where the operator has set a bound (Gate.InFlight):
// those who are let in are then served about as fast as in calm, and the others are told
// `shed` at once instead of waiting with everybody. Cancels are always let in. One
// account holds at most a quarter, as of the sequencer's queue (contract core, Limits),
// but that only binds once half is taken: a burst of one in a calm venue harms nobody.
type flight struct {
	mu sync.Mutex
	n  int
	of map[core.UserID]int
}

func (f *flight) enter(u core.UserID, bound int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n >= bound || f.n >= bound/2 && f.of[u] >= max(1, bound/4) {
		return engine.ErrShed
	}
	if f.of == nil {
		f.of = map[core.UserID]int{}
	}
	f.n++
	f.of[u]++
	return nil
}

func (f *flight) leave(u core.UserID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.of[u]--; f.of[u] == 0 {
		delete(f.of, u)
	}
}
