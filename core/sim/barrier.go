package sim

import "sync"

// barrier is where the sequencer waits for the simulation, which releases it only while every other
// goroutine is blocked. So the contents of a group, and what is due in it, never depend on how goroutines
// are scheduled.
type barrier struct {
	mu   sync.Mutex
	open bool // nobody waits any more
	wait chan struct{}
}

// pass waits until the barrier is released.
func (g *barrier) pass() {
	g.mu.Lock()
	if g.open {
		g.mu.Unlock()
		return
	}
	ch := make(chan struct{})
	g.wait = ch
	g.mu.Unlock()
	<-ch
}

// release lets the waiting goroutine continue. It returns false if none waits.
func (g *barrier) release() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait == nil {
		return false
	}
	close(g.wait)
	g.wait = nil
	return true
}

// releaseAll lets every goroutine pass, now and from now on.
func (g *barrier) releaseAll() {
	g.mu.Lock()
	g.open = true
	g.mu.Unlock()
	g.release()
}
