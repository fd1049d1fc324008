package ws

import (
	"context"
	"math"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

const (
	pingEvery  = 30 * time.Second
	pingsMax   = 2 // missed
	sweepEvery = 5 * time.Second
)

// load takes over the state that the pump goes on from.
func (l *Lane) load() {
	l.engine.Read(func(v *venue.Venue, _ *view.View) {
		l.at, l.grid = v.Now().Seq, v.Rules().Grid
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Slot(m); ok {
				is := tools.BookOf(v, &s, int(core.TickMax))
				l.books[m] = &book{}
				l.books[m].reset(&s.Round, l.grid)
				l.books[m].Yes, l.books[m].No = is.Yes, is.No
				l.rounds[m] = &s.Round
			}
		}
		for f := range core.Feed(core.Feeds) {
			if t, ok, _, _ := v.Index(f); ok {
				l.index[f] = &t
			}
		}
	})
}

// pump publishes what the engine did, until ctx ends and all that was done by then is
// out.
func (l *Lane) pump(ctx context.Context, f *engine.Follower) {
	defer close(l.pumped)
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
		l.came.Broadcast()
	}()
	books, sweep := time.NewTimer(l.bounds.every/phases), time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-f.Ready():
			l.take(f)
		case <-books.C:
			l.snapshots(time.Now())
			books.Reset(l.bounds.every / phases)
		case now := <-sweep.C:
			l.sweep(now)
		case <-ctx.Done():
			for l.ready(f) {
				l.take(f)
			}
			return
		}
	}
}

func (l *Lane) ready(f *engine.Follower) bool {
	select {
	case <-f.Ready():
		return true
	default:
		return false
	}
}

// take publishes one batch.
func (l *Lane) take(f *engine.Follower) {
	b, err := f.Next(context.Background())
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range b.Applied {
		if a := &b.Applied[i]; a.Stamp.Seq > l.at {
			l.at = a.Stamp.Seq
			l.apply(a)
		}
	}
	l.tell()
	l.came.Broadcast()
}

// abreast takes the lock once all is out that was applied before: what its caller was
// told on another lane is in what he is told here.
func (l *Lane) abreast() {
	seq := l.engine.Seq()
	l.mu.Lock()
	for l.at < seq && !l.over {
		l.came.Wait()
	}
}

// expel closes the connections of a revoked key, so that what comes behind the
// revocation is not told to them.
func (l *Lane) expel(key string) {
	for c := range l.conns {
		if c.call.Key.ID == key {
			c.shut(keyRevoked)
		}
	}
}

// apply publishes what one command did.
func (l *Lane) apply(a *engine.Applied) {
	if set, ok := a.Command.(*core.SetRules); ok && a.Reject == core.OK {
		l.grid = set.Rules.Grid
		for _, b := range l.books {
			if b != nil {
				b.TickSize, b.snapshot = schemas.TickSizeOf(l.grid), nil
			}
		}
	}
	for _, e := range a.Events {
		switch e := e.(type) {
		case *core.LevelChanged:
			l.level(a.Stamp.Seq, e)
		case *core.Filled:
			l.trade(a.Stamp, e)
		case *core.Indexed:
			l.indexed(a.Stamp.Seq, &e.Tick)
		case *core.RoundChanged:
			l.round(a.Stamp.Seq, &e.Round)
		case *core.KeyChanged:
			if e.Key.Revoked {
				l.expel(e.Key.ID)
			}
		}
		if len(l.accounts) > 0 {
			l.touch(e)
		}
	}
	l.flush()
}

func (l *Lane) publish(f *frame) {
	l.Stats.Frames.Add(1)
	l.Stats.Handed.Add(uint64(l.topics.publish(f)))
}

func (l *Lane) trade(at core.Stamp, e *core.Filled) {
	if !l.topics.read(trades, e.Market) {
		return
	}
	t := tools.TradeOf(&view.Trade{
		Seq: at.Seq, Ts: at.Ts, Market: e.Market, Generation: e.Generation, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path,
		TakerSide: e.TakerSide, TakerOutcome: e.TakerOutcome,
	})
	l.publish(frameOf(trades, "trade", e.Market, at.Seq, &t))
}

func (l *Lane) indexed(seq uint64, t *core.IndexTick) {
	l.index[t.Feed] = t
	if l.topics.read(oracle, 0) {
		l.publish(tickFrame(seq, t))
	}
}

func tickFrame(seq uint64, t *core.IndexTick) *frame {
	f := frameOf(oracle, "oracle", 0, seq, &schemas.WSOracle{
		Feed: uint8(t.Feed), Price: schemas.U64(t.Price), Ts: schemas.U64(t.Second * core.NsPerSec), FreshSourceCount: t.Count,
	})
	f.latest = uint8(t.Feed)
	return f
}

// round publishes a transition. A new life of the slot begins its book anew, so the
// old one's deltas go out first and a snapshot follows.
func (l *Lane) round(seq uint64, r *core.Round) {
	is := *r
	l.rounds[r.Market] = &is
	if b := l.books[r.Market]; b == nil || b.Generation != r.Generation {
		l.flush()
		l.begin(seq, &is)
	}
	if l.topics.read(rounds, r.Market) {
		l.publish(roundFrame(seq, r))
	}
}

func roundFrame(seq uint64, r *core.Round) *frame {
	w := tools.RoundOf(r)
	return frameOf(rounds, "round", r.Market, seq, &w)
}

func (l *Lane) begin(seq uint64, r *core.Round) {
	b := l.books[r.Market]
	if b == nil {
		b = &book{}
		l.books[r.Market] = b
	}
	b.reset(r, l.grid)
	l.phase.soil(r.Market)
	f := b.frame(seq)
	for _, s := range l.topics.all[deltas] {
		s.put(f)
	}
	for _, s := range l.topics.one[deltas][r.Market] {
		s.put(f)
	}
}

// snapshots hands every changed book to those who read orderbook_snapshot and whose
// turn it is.
func (l *Lane) snapshots(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	readers, dirty := l.phase.turn()
	for s := range readers {
		l.snapshot(s, dirty, now)
	}
}

func (l *Lane) snapshot(s *sub, dirty slots, now time.Time) {
	due := s.owed | dirty
	if now.Sub(s.born) < l.bounds.every {
		s.owed = due
		return
	}
	s.owed = 0
	for m := range due.each() {
		if s.wants(m) {
			s.changed(l.books[m].frame(l.at))
		}
	}
}

// changed hands over a snapshot, unless the last had all that is in it: a book may have
// changed just before the subscription began.
func (s *sub) changed(f *frame) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.last[f.market] < f.seq {
		c.push(s, f)
	}
}

// sweep pings, and closes whoever missed two (contract ws, Holding up).
func (l *Lane) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		switch {
		case now.Sub(c.pinged) < pingEvery:
		case c.missed.Load() >= pingsMax:
			c.shut(silent)
		default:
			c.pinged = now
			c.missed.Add(1)
			c.send(ping)
		}
	}
}

// refresh gives the writer the snapshots that a thinned reader waits for. However many
// they are, and whatever comes meanwhile, they are in its hands before they could be
// thinned again: it would never get on.
func (l *Lane) refresh(c *conn) (batch []item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = false
	c.thinAt = math.MaxInt
	for _, s := range c.subs {
		due := s.stale
		s.stale = 0
		for m := range due.each() {
			if s.wants(m) {
				c.push(s, l.books[m].now(l.at))
			}
		}
	}
	c.thinAt = max(l.bounds.thin, c.queued+l.bounds.thin/2)
	return c.hand()
}
