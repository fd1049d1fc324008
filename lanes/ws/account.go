package ws

import (
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// account is a user whose events somebody reads. They come from the view, live ones
// and replayed ones alike, so that a resumed stream is the one that was missed.
type account struct {
	user core.UserID
	last uint64 // seq up to which its readers were told
	subs []*sub
	due  bool // touched by the batch being published
}

// opening is how a user subscription begins: a snapshot or missed events, as of at.
type opening struct {
	resumed bool
	at      uint64
	frames  []*frame
}

// opening prepares a beginning, without the lane's lock: a snapshot may be large.
func (l *Lane) opening(u core.UserID, since *schemas.U64) *opening {
	o := &opening{}
	var missed []view.UserEvent
	var now schemas.WSUserSnapshot
	l.engine.Read(func(v *venue.Venue, w *view.View) {
		o.at = v.Now().Seq
		if since != nil && uint64(*since) <= o.at {
			missed, o.resumed = w.EventsAfter(u, uint64(*since))
		}
		if !o.resumed {
			now = portrait(v, w, u)
		}
	})
	if o.resumed {
		o.frames = eventFrames(missed)
	} else {
		o.frames = []*frame{frameOf(user, "user_snapshot", 0, o.at, &now)}
	}
	return o
}

// portrait is the account as it stands.
func portrait(v *venue.Venue, w *view.View, u core.UserID) schemas.WSUserSnapshot {
	cash, reserved := v.Balance(u)
	timeout, deadline := v.Deadman(u)
	out := schemas.WSUserSnapshot{
		AsOfSeq: schemas.U64(v.Now().Seq), Cash: schemas.U64(cash), Reserved: schemas.U64(reserved),
		Deadman: schemas.Deadman{Armed: deadline != 0, TimeoutMs: int64(timeout), DeadlineTs: schemas.U64(deadline)},
	}
	for m := core.MarketID(1); m <= venue.Slots; m++ {
		if _, ok := v.Slot(m); !ok {
			continue
		}
		if p := v.Position(u, m); p.Yes+p.No > 0 {
			out.Positions = append(out.Positions, tools.PositionOf(p))
		}
	}
	for o := range w.Orders(u, 0) {
		if o.Status.Live() {
			out.Orders = append(out.Orders, tools.OrderOf(o))
		}
	}
	return out
}

func eventFrames(events []view.UserEvent) []*frame {
	out := make([]*frame, len(events))
	for i := range events {
		_, msg := tools.EventOf(&events[i])
		out[i] = frameOf(user, "user", 0, events[i].Seq, msg)
	}
	return out
}

// portrait prepares the snapshot of a user subscription; nil if sid is none.
func (c *conn) portrait(sid schemas.Int) *opening {
	c.lane.mu.Lock()
	s, err := c.find(sid)
	c.lane.mu.Unlock()
	if err != nil || s.channel != user {
		return nil
	}
	return c.lane.opening(c.call.Key.User, nil)
}

// join lets a subscription begin, and go on with what came since the beginning was
// prepared.
func (l *Lane) join(s *sub, o *opening) {
	u := s.conn.call.Key.User
	a := l.accounts[u]
	if a == nil {
		a = &account{user: u, last: o.at}
		l.accounts[u] = a
	}
	l.catchUp(a, s, o)
	a.subs = append(a.subs, s)
}

// rejoin gives a subscription a new snapshot between its events. What it was told
// may already be beyond the snapshot, which then is taken under the lock.
func (l *Lane) rejoin(s *sub, o *opening) {
	a := l.accounts[s.conn.call.Key.User]
	if a.last > o.at {
		o = l.opening(a.user, nil)
	}
	a.subs = slices.DeleteFunc(a.subs, func(x *sub) bool { return x == s })
	l.catchUp(a, s, o)
	a.subs = append(a.subs, s)
}

// catchUp brings an account's readers to the engine's seq, and one that begins too.
func (l *Lane) catchUp(a *account, s *sub, o *opening) {
	var fresh []view.UserEvent
	var whole bool
	var now schemas.WSUserSnapshot
	old := l.news(a, func(v *venue.Venue, w *view.View) {
		if fresh, whole = w.EventsAfter(a.user, o.at); !whole {
			now = portrait(v, w, a.user)
		}
	})
	frames := append(o.frames, eventFrames(fresh)...)
	if !whole {
		frames = append(o.frames, frameOf(user, "user_snapshot", 0, uint64(now.AsOfSeq), &now))
	}
	for _, f := range frames {
		s.put(f)
	}
	a.hand(old)
}

// news reads what an account's readers have not been told, and along with it
// whatever else is wanted of the same instant.
func (l *Lane) news(a *account, also func(*venue.Venue, *view.View)) []*frame {
	var events []view.UserEvent
	whole := true
	var now schemas.WSUserSnapshot
	l.engine.Read(func(v *venue.Venue, w *view.View) {
		if len(a.subs) > 0 {
			if events, whole = w.EventsAfter(a.user, a.last); !whole { // the pump is more than the view keeps behind
				now = portrait(v, w, a.user)
			}
		}
		a.last = v.Now().Seq
		also(v, w)
	})
	if !whole {
		return []*frame{frameOf(user, "user_snapshot", 0, uint64(now.AsOfSeq), &now)}
	}
	return eventFrames(events)
}

func (a *account) hand(frames []*frame) {
	for _, f := range frames {
		for _, s := range a.subs {
			s.put(f)
		}
	}
}

// touch notes whose accounts an event is about.
func (l *Lane) touch(e core.Event) {
	switch e := e.(type) {
	case *core.OrderPlaced:
		l.due(e.Place.User)
	case *core.Filled:
		l.due(e.TakerUser)
		l.due(e.MakerUser)
	case *core.OrderClosed:
		l.due(e.User)
	case *core.OrderDecreased:
		l.due(e.User)
	case *core.BalanceChanged:
		l.due(e.User)
	case *core.PositionChanged:
		l.due(e.User)
	case *core.AccountSettled:
		l.due(e.User)
	case *core.DeadmanChanged:
		l.due(e.User)
	case *core.Deposited:
		l.due(e.User)
	case *core.WithdrawalChanged:
		l.due(e.Withdrawal.User)
	case *core.KeyChanged:
		l.due(e.Key.User)
	}
}

func (l *Lane) due(u core.UserID) {
	if a := l.accounts[u]; a != nil && !a.due {
		a.due = true
		l.touched = append(l.touched, a)
	}
}

// tell hands the accounts of a batch their events.
func (l *Lane) tell() {
	for i, a := range l.touched {
		a.hand(l.news(a, func(*venue.Venue, *view.View) {}))
		a.due = false
		l.touched[i] = nil
	}
	l.touched = l.touched[:0]
}
