package ws

import (
	"context"
	"slices"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/lanes/gate"
	"duplex/tools"
)

// Lane is the event lane of a venue.
type Lane struct {
	Stats Stats

	bounds bounds
	gate   *gate.Gate
	engine *engine.Engine
	crew   *crew
	stop   context.CancelFunc
	pumped chan struct{}  // closed when the pump has ended
	open   sync.WaitGroup // connections

	mu       sync.Mutex
	at       uint64    // the last command whose frames are out
	came     sync.Cond // at has risen, or over is set
	over     bool      // nothing more comes out
	books    [venue.Slots + 1]*book
	rounds   [venue.Slots + 1]*core.Round
	index    [core.Feeds]*core.IndexTick
	grid     core.Grid
	phase    phase
	topics   topics
	accounts map[core.UserID]*account
	conns    map[*conn]struct{} // accepted
	seats    map[string]int     // connections by key, those in their handshake too
	draining bool
	changes  []delta    // of the command being published
	touched  []*account // of the batch being published
}

// Mount puts `GET /v1/ws` onto m, which must stand behind g.Edge, and starts to
// follow the engine. Close ends it.
func Mount(m *gate.Routes, g *gate.Gate) *Lane { return mount(m, g, defaultBounds) }

func mount(m *gate.Routes, g *gate.Gate, b bounds) *Lane {
	l := &Lane{
		bounds: b, gate: g, engine: g.Venue.Engine, crew: newCrew(), pumped: make(chan struct{}),
		accounts: map[core.UserID]*account{}, conns: map[*conn]struct{}{}, seats: map[string]int{},
	}
	l.came.L = &l.mu
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	follower := l.engine.Follow() // first, so that nothing is missed
	l.load()
	g.Offered = offered
	m.Handle(facts.Method+" "+facts.Path, l)
	go l.pump(ctx, follower)
	return l
}

// Close tells what has happened until now, closes every connection with 1012 and
// waits until all are down, or ctx ends.
func (l *Lane) Close(ctx context.Context) error {
	l.mu.Lock()
	l.draining = true
	l.mu.Unlock()
	l.stop()
	<-l.pumped
	l.each(func(c *conn) { c.shut(restarting) })
	down := make(chan struct{})
	go func() {
		l.open.Wait()
		l.crew.end()
		close(down)
	}()
	select {
	case <-down:
		return nil
	case <-ctx.Done():
		l.each(func(c *conn) { _ = c.net.Close() })
		return ctx.Err()
	}
}

func (l *Lane) each(visit func(*conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		visit(c)
	}
}

// seat keeps a place for a connection of a key.
func (l *Lane) seat(c *conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		return tools.Refuse("draining")
	}
	if l.seats[c.call.Key.ID] >= perKey {
		return tools.Refuse("too_many_connections")
	}
	l.seats[c.call.Key.ID]++
	l.open.Add(1)
	return nil
}

// enter makes an accepted connection known. What happened while it shook hands it is
// told now: its key may be gone, or the lane closed.
func (l *Lane) enter(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	c.pinged = time.Now()
	l.Stats.Opened.Add(1)
	if !c.sound() {
		c.shut(keyRevoked)
	}
	if l.draining {
		c.shut(restarting)
	}
}

// leave forgets a connection.
func (l *Lane) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range c.subs {
		l.remove(s)
	}
	c.subs = nil
	delete(l.conns, c)
	if l.seats[c.call.Key.ID]--; l.seats[c.call.Key.ID] == 0 {
		delete(l.seats, c.call.Key.ID)
	}
	l.open.Done()
}

// remove takes a subscription out of whatever feeds it.
func (l *Lane) remove(s *sub) {
	if s.channel != user {
		l.topics.remove(s)
		l.phase.remove(s)
		return
	}
	a := l.accounts[s.conn.call.Key.User]
	a.subs = slices.DeleteFunc(a.subs, func(x *sub) bool { return x == s })
	if len(a.subs) == 0 {
		delete(l.accounts, a.user)
	}
}
