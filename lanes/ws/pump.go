package ws

import (
	"context"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

const (
	pingEvery      = 30 * time.Second
	maxMissedPongs = 2
	sweepEvery     = time.Second
)

// load reads the books, rounds and index prices that the pump starts from.
func (l *Lane) load() {
	l.engine.Read(func(v *venue.Venue, _ *view.View) {
		l.last, l.grid = v.Now(), v.Rules().Grid
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok {
				current := tools.BookOf(v, &s, int(core.TickMax))
				l.books[m] = &book{}
				l.books[m].reset(&s.Round, l.grid)
				l.books[m].Yes, l.books[m].No = current.Yes, current.No
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

// pump publishes the engine's batches. After ctx ends it publishes the batches that are
// already applied, then returns.
func (l *Lane) pump(ctx context.Context, f *engine.Follower) {
	defer close(l.pumpStopped)
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pumpDone = true
		l.applied.Broadcast()
	}()
	began := time.Now()
	books, sweep := time.NewTimer(l.limits.snapshotInterval/snapshotSlices), time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-f.Ready():
			l.publishBatch(f)
		case <-books.C:
			l.clock.Store(int64(time.Since(began)))
			l.sendDueSnapshots(time.Now())
			books.Reset(l.limits.snapshotInterval / snapshotSlices)
		case now := <-sweep.C:
			l.pingAll(now)
		case <-ctx.Done():
			for l.hasBatch(f) {
				l.publishBatch(f)
			}
			return
		}
	}
}

func (l *Lane) hasBatch(f *engine.Follower) bool {
	select {
	case <-f.Ready():
		return true
	default:
		return false
	}
}

func (l *Lane) publishBatch(f *engine.Follower) {
	b, err := f.Next(context.Background())
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range b.Applied {
		if a := &b.Applied[i]; a.Stamp.Seq > l.last.Seq {
			l.last = a.Stamp
			l.publishCommand(a)
		}
	}
	l.publishAccounts()
	l.applied.Broadcast()
}

// lockCaughtUp locks l.mu once the pump has published every command applied before the call.
// A snapshot taken under the lock then includes every event that any lane has already
// returned (docs/rules/events.md#subscribe).
func (l *Lane) lockCaughtUp() {
	seq := l.engine.Seq()
	l.mu.Lock()
	for l.last.Seq < seq && !l.pumpDone {
		l.applied.Wait()
	}
}

// closeRevoked closes the connections of a revoked key, so that they receive no event after
// the revocation (docs/rules/accounts.md#revocation).
func (l *Lane) closeRevoked(key string) {
	for c := range l.conns {
		if c.call.Key.ID == key {
			c.close(keyRevoked)
		}
	}
}

// publishCommand publishes the events of one command.
func (l *Lane) publishCommand(a *engine.Applied) {
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
			l.publishLevel(a.Stamp, e)
		case *core.Filled:
			l.publishTrade(a.Stamp, e)
		case *core.Indexed:
			l.publishIndex(a.Stamp.Seq, &e.Tick)
		case *core.RoundChanged:
			l.publishRound(a.Stamp, &e.Round)
		case *core.KeyChanged:
			if e.Key.Revoked {
				l.closeRevoked(e.Key.ID)
			}
		}
		if len(l.accounts) > 0 {
			tools.AffectedUsers(e, l.setAccountDirty)
		}
	}
	l.flush()
}

func (l *Lane) publish(f *frame) {
	l.Stats.Frames.Add(1)
	l.Stats.Delivered.Add(uint64(l.topics.publish(f)))
}

func (l *Lane) publishTrade(at core.Stamp, e *core.Filled) {
	if !l.topics.hasReaders(trades, e.Market) {
		return
	}
	t := tools.TradeOf(&view.Trade{
		Seq: at.Seq, Ts: at.Ts, Market: e.Market, Generation: e.Generation, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path,
		TakerSide: e.TakerSide, TakerOutcome: e.TakerOutcome,
	})
	l.publish(frameOf(trades, "trade", e.Market, at.Seq, &t))
}

func (l *Lane) publishIndex(seq uint64, t *core.IndexTick) {
	l.index[t.Feed] = t
	if l.topics.hasReaders(oracle, 0) {
		l.publish(tickFrame(seq, t))
	}
}

func tickFrame(seq uint64, t *core.IndexTick) *frame {
	f := frameOf(oracle, "oracle", 0, seq, &schemas.WSOracle{
		Feed: uint8(t.Feed), Price: schemas.U64(t.Price), Ts: schemas.U64(t.Second * core.NsPerSec), FreshSourceCount: t.Count,
	})
	f.conflationID = uint8(t.Feed)
	return f
}

// publishRound publishes a round after a transition. A new generation of the slot starts an
// empty book: the pending deltas of the old book are published first, and a snapshot of the
// new one follows.
func (l *Lane) publishRound(at core.Stamp, r *core.Round) {
	round := *r
	l.rounds[r.Market] = &round
	if b := l.books[r.Market]; b == nil || b.Generation != r.Generation {
		l.flush()
		l.startBook(at, &round)
	}
	if l.topics.hasReaders(rounds, r.Market) {
		l.publish(roundFrame(at, r))
	}
}

func roundFrame(at core.Stamp, r *core.Round) *frame {
	w := tools.RoundOf(r, at.Ts)
	return frameOf(rounds, "round", r.Market, at.Seq, &w)
}

func (l *Lane) startBook(at core.Stamp, r *core.Round) {
	b := l.books[r.Market]
	if b == nil {
		b = &book{}
		l.books[r.Market] = b
	}
	b.reset(r, l.grid)
	l.snapshotSchedule.setDirty(r.Market)
	f := b.frame(at)
	for _, s := range l.topics.all[deltas] {
		s.send(f)
	}
	for _, s := range l.topics.byMarket[deltas][r.Market] {
		s.send(f)
	}
}

// sendDueSnapshots sends the changed books to the next slice of orderbook_snapshot readers.
func (l *Lane) sendDueSnapshots(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	readers, dirty := l.snapshotSchedule.advance()
	for s := range readers {
		l.sendDueSnapshot(s, dirty, now)
	}
}

func (l *Lane) sendDueSnapshot(s *sub, dirty marketSet, now time.Time) {
	due := s.deferred | dirty
	if now.Sub(s.snapshotSince) < l.limits.snapshotInterval {
		s.deferred = due
		return
	}
	s.deferred = 0
	for m := range due.each() {
		if s.wants(m) {
			s.sendIfNewer(l.books[m].frame(l.last))
		}
	}
}

// sendIfNewer queues a snapshot unless the subscription already has one of the same seq: the
// book may have changed just before the subscription began.
func (s *sub) sendIfNewer(f *frame) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.lastSeq[f.market] < f.seq {
		c.push(s, f)
	}
}

// pingAll pings each connection whose ping is due and closes each one that missed
// maxMissedPongs pongs (docs/rules/events.md#pings).
func (l *Lane) pingAll(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		switch {
		case now.Sub(c.pinged) < c.pingEvery:
		case c.missedPongs.Load() >= maxMissedPongs:
			c.close(noPong)
		default:
			c.pinged = now
			c.missedPongs.Add(1)
			c.send(ping)
		}
	}
}

// staleSnapshot returns a snapshot of the book of a connection that has been stale for longest,
// ready to write; nothing if no stale book is wanted any more. It is never queued: if conflation
// could drop it again, a slow reader of many books would never receive some of them.
func (l *Lane) staleSnapshot(c *conn) []item {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.staleBooks) > 0 {
		s, m := c.staleBooks[0].sub, c.staleBooks[0].market
		c.staleBooks = c.staleBooks[1:]
		if !s.stale.has(m) || !slices.Contains(c.subs, s) || !s.wants(m) {
			continue
		}
		s.stale &^= marketBit(m)
		f := l.books[m].frameAsOf(l.last)
		batch := append(c.spare[:0], item{f: f, sub: s, prev: s.lastSeq[m]})
		c.spare = nil
		s.lastSeq[m] = f.seq
		c.queuedBytes += f.size()
		return c.addProbe(batch, f.size(), l.clock.Load())
	}
	c.staleBooks = nil
	return nil
}
