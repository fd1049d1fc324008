package sim

import "sync"

// gate is where the sequencer waits for the simulation: it goes on only when it is
// told to, with everything else at rest. So what a group holds, and what is due in
// it, never depends on how goroutines are scheduled.
type gate struct {
	mu   sync.Mutex
	wide bool // lets everybody through
	wait chan struct{}
}

// pass waits to be let through.
func (g *gate) pass() {
	g.mu.Lock()
	if g.wide {
		g.mu.Unlock()
		return
	}
	ch := make(chan struct{})
	g.wait = ch
	g.mu.Unlock()
	<-ch
}

// let lets whoever waits through; false if nobody does.
func (g *gate) let() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait == nil {
		return false
	}
	close(g.wait)
	g.wait = nil
	return true
}

// open lets everybody through from now on.
func (g *gate) open() {
	g.mu.Lock()
	g.wide = true
	g.mu.Unlock()
	g.let()
}
