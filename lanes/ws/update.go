package ws

import (
	"time"

	"duplex/schemas"
)

// update is update_subscription.
func (c *conn) update(id schemas.Int, p *schemas.WSUpdate) error {
	var start *opening // made before the lock is taken, as in subscribe
	if p.Action == "get_snapshot" {
		start = c.portrait(p.Sid)
	}
	l := c.lane
	l.abreast()
	defer l.mu.Unlock()
	s, err := c.find(p.Sid)
	if err != nil {
		return err
	}
	if err := l.known(p.MarketIDs); err != nil {
		return err
	}
	markets := slotsOf(p.MarketIDs)
	switch p.Action {
	case "get_snapshot":
		return l.again(id, s, markets, start)
	case "add_markets":
		return l.widen(id, s, markets)
	default:
		return l.narrow(id, s, markets)
	}
}

func (s *sub) updated(id schemas.Int) {
	s.conn.answer(id, "ok", schemas.WSUpdated{Sid: int64(s.sid), MarketIDs: s.markets.ids()})
}

// again sends the state anew. Trades have none: what passed stands in REST's list.
func (l *Lane) again(id schemas.Int, s *sub, markets slots, start *opening) error {
	if s.channel == trades || s.channel == user && start == nil {
		return refusal("unsupported_action")
	}
	if markets == 0 {
		markets = s.markets
	} else if !s.channel.byMarket() || !s.all && markets&^s.markets != 0 {
		return refusal("unknown_market")
	}
	s.updated(id)
	switch s.channel {
	case user:
		l.rejoin(s, start)
	case oracle:
		for _, t := range l.index {
			if t != nil {
				s.put(tickFrame(l.at, t))
			}
		}
	case rounds:
		for m := range l.chosen(s, markets).each() {
			s.put(roundFrame(l.at, l.rounds[m]))
		}
	default:
		for m := range l.chosen(s, markets).each() {
			s.fresh(l.books[m].now(l.at))
		}
	}
	return nil
}

// chosen are the markets named, or else all that the subscription has.
func (l *Lane) chosen(s *sub, markets slots) slots {
	if s.all && markets != 0 {
		return markets
	}
	return l.opened(s, markets)
}

// fresh hands over a snapshot, also where one was due for frames that were dropped.
func (s *sub) fresh(f *frame) {
	c := s.conn
	c.mu.Lock()
	s.stale &^= bit(f.market)
	c.push(s, f)
	c.mu.Unlock()
}

// widen is add_markets. A subscription to all, or one without markets, has nothing
// to add.
func (l *Lane) widen(id schemas.Int, s *sub, markets slots) error {
	if s.all || !s.channel.byMarket() {
		return refusal("unsupported_action")
	}
	if s.conn.carries(s.channel, markets, s) {
		return refusal("already_subscribed")
	}
	added := markets &^ s.markets
	s.markets |= added
	l.topics.join(s, added)
	s.updated(id)
	if added != 0 {
		born := s.born
		l.first(s, added)
		if s.born = born; s.channel == snapshots {
			s.born = time.Now()
		}
	}
	return nil
}

// narrow is delete_markets. The last market cannot go: no markets would read as all.
func (l *Lane) narrow(id schemas.Int, s *sub, markets slots) error {
	if s.all || !s.channel.byMarket() || s.markets&^markets == 0 {
		return refusal("unsupported_action")
	}
	if markets&^s.markets != 0 {
		return refusal("unknown_market")
	}
	l.topics.leave(s, markets)
	s.markets &^= markets
	s.conn.mu.Lock()
	s.stale &^= markets
	s.conn.mu.Unlock()
	s.updated(id)
	return nil
}
