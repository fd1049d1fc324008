package sim

import "sync"

// stepper blocks the sequencer until the simulation lets it continue, which it does while all
// other goroutines wait. So the contents of a group, and what is due in it, never depend on
// the scheduling of goroutines.
type stepper struct {
	mu       sync.Mutex
	released bool // never block again
	blocked  chan struct{}
}

// wait blocks until step or release is called.
func (g *stepper) wait() {
	g.mu.Lock()
	if g.released {
		g.mu.Unlock()
		return
	}
	ch := make(chan struct{})
	g.blocked = ch
	g.mu.Unlock()
	<-ch
}

// step lets a blocked goroutine continue. It returns false if none is blocked.
func (g *stepper) step() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.blocked == nil {
		return false
	}
	close(g.blocked)
	g.blocked = nil
	return true
}

// release wakes every blocked goroutine; from then on none is blocked.
func (g *stepper) release() {
	g.mu.Lock()
	g.released = true
	g.mu.Unlock()
	g.step()
}
