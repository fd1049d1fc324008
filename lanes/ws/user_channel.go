package ws

import (
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// account is a user with at least one subscription to the channel user. Live and replayed
// events both come from the view, so a resumed stream equals the one that was missed
// (docs/rules/events.md#resume).
type account struct {
	user    core.UserID
	sentSeq uint64 // its readers have every event up to this seq
	subs    []*sub
	dirty   bool // has an event in the current batch
}

// userStart is the start of a user subscription: a snapshot, or the missed events, as of a
// seq.
type userStart struct {
	resumed bool
	asOf    uint64
	frames  []*frame
}

// userStart prepares the start of a user subscription. It does not take the lane's lock,
// because a snapshot may be large.
func (l *Lane) userStart(u core.UserID, since *schemas.U64) *userStart {
	start := &userStart{}
	var missed []view.UserEvent
	var snapshot schemas.WSUserSnapshot
	l.engine.Read(func(v *venue.Venue, w *view.View) {
		start.asOf = v.Now().Seq
		if since != nil && uint64(*since) <= start.asOf {
			missed, start.resumed = w.EventsAfter(u, uint64(*since))
		}
		if !start.resumed {
			snapshot = userSnapshot(v, w, u)
		}
	})
	if start.resumed {
		start.frames = eventFrames(missed)
	} else {
		start.frames = []*frame{snapshotFrame(&snapshot)}
	}
	return start
}

func snapshotFrame(s *schemas.WSUserSnapshot) *frame {
	return frameOf(user, "user_snapshot", 0, uint64(s.AsOfSeq), s)
}

// userSnapshot returns the current state of an account.
func userSnapshot(v *venue.Venue, w *view.View, u core.UserID) schemas.WSUserSnapshot {
	cash, reserved := v.Balance(u)
	timeout, deadline := v.Deadman(u, 0)
	out := schemas.WSUserSnapshot{
		AsOfSeq: schemas.U64(v.Now().Seq), Cash: schemas.U64(cash), Reserved: schemas.U64(reserved),
		Deadman: schemas.Deadman{Armed: deadline != 0, TimeoutMs: int64(timeout), DeadlineTs: schemas.U64(deadline)},
		Groups:  tools.GroupsOf(v, u, v.Now().Ts), Approvals: tools.WaitingApprovals(v, w, u),
	}
	for m := core.MarketID(1); m <= venue.Slots; m++ {
		if _, ok := v.Market(m); !ok {
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

// prepareUserSnapshot prepares a new snapshot for the user subscription sid. It returns nil
// if sid is no user subscription.
func (c *conn) prepareUserSnapshot(sid schemas.Int) *userStart {
	c.lane.mu.Lock()
	s, err := c.find(sid)
	c.lane.mu.Unlock()
	if err != nil || s.channel != user {
		return nil
	}
	return c.lane.userStart(c.call.Key.User, nil)
}

// subscribeUser adds a user subscription. It sends the prepared start and then the events
// since.
func (l *Lane) subscribeUser(s *sub, start *userStart) {
	u := s.conn.call.Key.User
	a := l.accounts[u]
	if a == nil {
		a = &account{user: u, sentSeq: start.asOf}
		l.accounts[u] = a
	}
	l.catchUp(a, s, start)
	a.subs = append(a.subs, s)
}

// resendUserSnapshot sends a subscription a new snapshot between its events: the prepared one, unless the
// subscription has later events already. Then it takes another one, after the events that it includes.
func (l *Lane) resendUserSnapshot(s *sub, start *userStart) {
	a := l.accounts[s.conn.call.Key.User]
	if a.sentSeq > start.asOf {
		var snapshot schemas.WSUserSnapshot
		a.deliver(l.unsentEvents(a, func(v *venue.Venue, w *view.View) { snapshot = userSnapshot(v, w, a.user) }))
		start = &userStart{frames: []*frame{snapshotFrame(&snapshot)}}
	}
	for _, f := range start.frames {
		s.send(f)
	}
}

// catchUp sends the subscription s its start, and sends s and the account's other readers
// their events up to the engine's seq.
func (l *Lane) catchUp(a *account, s *sub, start *userStart) {
	var fresh []view.UserEvent
	var complete bool
	var snapshot schemas.WSUserSnapshot
	old := l.unsentEvents(a, func(v *venue.Venue, w *view.View) {
		if fresh, complete = w.EventsAfter(a.user, start.asOf); !complete {
			snapshot = userSnapshot(v, w, a.user)
		}
	})
	frames := append(start.frames, eventFrames(fresh)...)
	if !complete {
		frames = append(start.frames, snapshotFrame(&snapshot))
	}
	for _, f := range frames {
		s.send(f)
	}
	a.deliver(old)
}

// unsentEvents returns the events that the account's readers do not have yet, and calls also
// with the same state of the engine.
func (l *Lane) unsentEvents(a *account, also func(*venue.Venue, *view.View)) []*frame {
	var events []view.UserEvent
	complete := true
	var snapshot schemas.WSUserSnapshot
	l.engine.Read(func(v *venue.Venue, w *view.View) {
		if len(a.subs) > 0 {
			if events, complete = w.EventsAfter(a.user, a.sentSeq); !complete { // the pump has fallen behind the view's retention limit
				snapshot = userSnapshot(v, w, a.user)
			}
		}
		a.sentSeq = v.Now().Seq
		also(v, w)
	})
	if !complete {
		return []*frame{snapshotFrame(&snapshot)}
	}
	return eventFrames(events)
}

func (a *account) deliver(frames []*frame) {
	for _, f := range frames {
		for _, s := range a.subs {
			s.send(f)
		}
	}
}

func (l *Lane) setAccountDirty(u core.UserID) {
	if a := l.accounts[u]; a != nil && !a.dirty {
		a.dirty = true
		l.dirtyAccounts = append(l.dirtyAccounts, a)
	}
}

// publishAccounts sends the events of a batch to the readers of its accounts.
func (l *Lane) publishAccounts() {
	for i, a := range l.dirtyAccounts {
		a.deliver(l.unsentEvents(a, func(*venue.Venue, *view.View) {}))
		a.dirty = false
		l.dirtyAccounts[i] = nil
	}
	l.dirtyAccounts = l.dirtyAccounts[:0]
}
