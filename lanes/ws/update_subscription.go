package ws

import (
	"time"

	"duplex/schemas"
)

// update runs update_subscription (docs/rules/events.md#update_subscription).
func (c *conn) update(id schemas.Int, p *schemas.WSUpdate) error {
	if err := c.lane.waitSeq(p.MinSeq, nil); err != nil {
		return err
	}
	var start *userStart // prepared without the lock, as in subscribe
	if p.Action == "get_snapshot" {
		start = c.prepareUserSnapshot(p.Sid)
	}
	l := c.lane
	l.lockCaughtUp()
	defer l.mu.Unlock()
	s, err := c.find(p.Sid)
	if err != nil {
		return err
	}
	if err := l.checkMarkets(p.MarketIDs); err != nil {
		return err
	}
	markets := marketSetOf(p.MarketIDs)
	switch p.Action {
	case "get_snapshot":
		return l.resend(id, s, markets, start)
	case "add_markets":
		return l.addMarkets(id, s, markets)
	default:
		return l.removeMarkets(id, s, markets)
	}
}

func (s *sub) confirmUpdate(id schemas.Int) {
	s.conn.answer(id, "ok", schemas.WSUpdated{Sid: int64(s.sid), MarketIDs: s.markets.ids()})
}

// resend runs get_snapshot: it sends the current state of the markets. Trades have no
// state; REST lists past ones.
func (l *Lane) resend(id schemas.Int, s *sub, markets marketSet, start *userStart) error {
	if s.channel == trades || s.channel == user && start == nil {
		return commandError("unsupported_action")
	}
	if markets == 0 {
		markets = s.markets
	} else if !s.channel.byMarket() || !s.all && markets&^s.markets != 0 {
		return commandError("unknown_market")
	}
	s.confirmUpdate(id)
	switch s.channel {
	case user:
		l.resendUserSnapshot(s, start)
	case oracle:
		for _, t := range l.index {
			if t != nil {
				s.send(tickFrame(l.last.Seq, t))
			}
		}
	case rounds:
		for m := range l.selectedMarkets(s, markets).each() {
			s.send(roundFrame(l.last, l.rounds[m]))
		}
	default:
		for m := range l.selectedMarkets(s, markets).each() {
			s.sendSnapshot(l.books[m].frameAsOf(l.last))
		}
	}
	return nil
}

// selectedMarkets returns the markets that a command names, or all of the subscription's if
// it names none.
func (l *Lane) selectedMarkets(s *sub, markets marketSet) marketSet {
	if s.all && markets != 0 {
		return markets
	}
	return l.openMarkets(s, markets)
}

// sendSnapshot queues a snapshot of a book, which is then no longer stale.
func (s *sub) sendSnapshot(f *frame) {
	c := s.conn
	c.mu.Lock()
	s.stale &^= marketBit(f.market)
	c.push(s, f)
	c.mu.Unlock()
}

// addMarkets runs add_markets. A subscription to all markets, or to a channel without
// markets, is an error.
func (l *Lane) addMarkets(id schemas.Int, s *sub, markets marketSet) error {
	if s.all || !s.channel.byMarket() {
		return commandError("unsupported_action")
	}
	if s.conn.overlaps(s.channel, markets, s) {
		return commandError("already_subscribed")
	}
	added := markets &^ s.markets
	s.markets |= added
	l.topics.change(s, added, with)
	s.confirmUpdate(id)
	if added != 0 {
		since := s.snapshotSince
		l.sendFirstSnapshots(s, added)
		if s.snapshotSince = since; s.channel == snapshots {
			s.snapshotSince = time.Now()
		}
	}
	return nil
}

// removeMarkets runs delete_markets. It rejects the removal of the last market, because a
// subscription without markets means one to all.
func (l *Lane) removeMarkets(id schemas.Int, s *sub, markets marketSet) error {
	if s.all || !s.channel.byMarket() || s.markets&^markets == 0 {
		return commandError("unsupported_action")
	}
	if markets&^s.markets != 0 {
		return commandError("unknown_market")
	}
	l.topics.change(s, markets, without)
	s.markets &^= markets
	s.conn.mu.Lock()
	s.stale &^= markets
	s.conn.mu.Unlock()
	s.confirmUpdate(id)
	return nil
}
