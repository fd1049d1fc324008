package ws

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Lane serves the event stream of a venue. Its methods are safe for concurrent use.
type Lane struct {
	Stats Stats

	limits      limits
	numbered    atomic.Uint64 // connections
	clock       atomic.Int64  // ns since the pump began, a few ms old: a reading of the clock for each queued frame would cost more than to queue it
	gate        *gate.Gate
	engine      *engine.Engine
	writers     *writerPool
	ctx         context.Context // ends with stop
	stop        context.CancelFunc
	pumpStopped chan struct{}  // closed when the pump has returned
	openConns   sync.WaitGroup // connections, including those in their handshake

	mu               sync.Mutex
	last             core.Stamp // of the last published command
	applied          sync.Cond  // signals a change of last or pumpDone
	pumpDone         bool       // the pump publishes nothing more
	books            [venue.Slots + 1]*book
	rounds           [venue.Slots + 1]*core.Round
	index            [core.Feeds]*core.IndexTick
	grid             core.Grid
	snapshotSchedule snapshotSchedule
	topics           topics
	accounts         map[core.UserID]*account
	conns            map[*conn]struct{} // connections after their handshake
	connsByKey       map[string]int     // connections by key, including those in their handshake
	draining         bool
	notice           *frame     // says when the lane closes; nil until it is known
	deltas           []delta    // of the current command
	dirtyAccounts    []*account // of the current batch
}

// Mount registers GET /v1/ws on m and starts to follow the engine. Requests must pass
// through g.Edge before they reach m. The caller must call Close.
func Mount(m *gate.Routes, g *gate.Gate) *Lane { return mount(m, g, defaultLimits) }

func mount(m *gate.Routes, g *gate.Gate, lim limits) *Lane {
	l := &Lane{
		limits: lim, gate: g, engine: g.Venue.Engine, writers: newWriterPool(), pumpStopped: make(chan struct{}),
		accounts: map[core.UserID]*account{}, conns: map[*conn]struct{}{}, connsByKey: map[string]int{},
	}
	l.applied.L = &l.mu
	ctx, cancel := context.WithCancel(context.Background())
	l.ctx, l.stop = ctx, cancel
	follower := l.engine.Follow() // before load, so that no command falls between the two
	l.load()
	g.BrowserCredentials = browserCredentials
	m.Handle(operation.Method+" "+operation.Path, l)
	go l.pump(ctx, follower)
	return l
}

// Close publishes the commands applied so far, closes every connection with 1012 and waits
// until all have ended. If ctx ends first, Close drops the remaining connections and
// returns ctx.Err().
func (l *Lane) Close(ctx context.Context) error {
	l.mu.Lock()
	l.draining = true
	l.mu.Unlock()
	l.stop()
	<-l.pumpStopped
	l.each(func(c *conn) { c.close(restarting) })
	down := make(chan struct{})
	go func() {
		l.openConns.Wait()
		l.writers.close()
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

// Drain tells every connection, also each one that is opened later, that the lane closes at a time (ns).
func (l *Lane) Drain(closeTs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice = replyFrame(&schemas.WSAnswer{Type: "draining", Msg: &schemas.WSDraining{CloseTs: schemas.U64(closeTs)}})
	for c := range l.conns {
		c.send(l.notice)
	}
}

// Restart closes every connection with 1012, because this node does not know the state of the venue
// any more. New handshakes get node_behind while that is so.
func (l *Lane) Restart() { l.each(func(c *conn) { c.close(restarting) }) }

func (l *Lane) each(visit func(*conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		visit(c)
	}
}

// reserveConn counts a connection against the limit of its key. Each successful call needs
// a call of unregister.
func (l *Lane) reserveConn(c *conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		return tools.NewError("draining")
	}
	if l.connsByKey[c.call.Key.ID] >= maxConnsPerKey {
		return tools.NewError("too_many_connections")
	}
	l.connsByKey[c.call.Key.ID]++
	l.openConns.Add(1)
	return nil
}

// register adds a connection after its handshake. It closes the connection at once if its
// key was revoked, the lane closed, or the node fell behind, during the handshake.
func (l *Lane) register(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	c.pinged = time.Now()
	l.Stats.Opened.Add(1)
	if !c.keyValid() {
		c.close(keyRevoked)
	}
	if l.notice != nil {
		c.send(l.notice)
	}
	if l.draining || !l.engine.ServesReads() {
		c.close(restarting)
	}
}

// unregister removes a connection and its subscriptions.
func (l *Lane) unregister(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range c.subs {
		l.remove(s)
	}
	c.subs = nil
	delete(l.conns, c)
	if l.connsByKey[c.call.Key.ID]--; l.connsByKey[c.call.Key.ID] == 0 {
		delete(l.connsByKey, c.call.Key.ID)
	}
	l.openConns.Done()
}

// remove detaches a subscription from its sources.
func (l *Lane) remove(s *sub) {
	if s.channel != user {
		l.topics.change(s, s.markets, without)
		l.snapshotSchedule.remove(s)
		return
	}
	a := l.accounts[s.conn.call.Key.User]
	a.subs = slices.DeleteFunc(a.subs, func(x *sub) bool { return x == s })
	if len(a.subs) == 0 {
		delete(l.accounts, a.user)
	}
}
