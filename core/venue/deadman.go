package venue

import "duplex/core"

// deadman is a dead-man switch; zero: disarmed.
type deadman struct {
	timeout  uint32 // ms
	deadline int64  // ns
}

// deadmanOf returns the switch of an account, or of a group if id is not 0; nil if the group has none.
func (v *Venue) deadmanOf(u core.UserID, id uint32) *deadman {
	if id == 0 {
		return &v.accounts[u].deadman
	}
	if g, found := v.groups.Get(groupKey(u, id)); found {
		return &g.deadman
	}
	return nil
}

// setDeadman arms the dead-man switch of the account, or of a group if id is not 0, to fire after ms milliseconds;
// 0 disarms it (docs/rules/orders.md#dead-man-switch). Disarming a switch that is not armed emits no event.
func (v *Venue) setDeadman(u core.UserID, id, ms uint32) core.Reject {
	switch {
	case !v.userExists(u):
		return core.UnknownUser
	case id != 0 && v.rules.Revision < core.RevisionMakers:
		return core.UnknownGroup
	}
	if ms == 0 {
		if s := v.deadmanOf(u, id); s != nil && s.deadline != 0 {
			v.disarm(u, id, s, false)
		}
		return core.OK
	}
	s := &v.accounts[u].deadman
	if id != 0 {
		g, r := v.groupRow(u, id)
		if r != core.OK {
			return r
		}
		s = &g.deadman
	}
	*s = deadman{ms, v.now.Ts + int64(ms)*core.NsPerMs}
	v.deadmanTimers.add(s.deadline, groupKey(u, id))
	v.ev.Add(&core.DeadmanChanged{User: u, Group: id, Armed: true, TimeoutMs: ms, Deadline: s.deadline})
	return core.OK
}

// disarm disarms a switch that is armed.
func (v *Venue) disarm(u core.UserID, id uint32, s *deadman, fired bool) {
	*s = deadman{}
	if id != 0 {
		g, _ := v.groups.Get(groupKey(u, id))
		v.dropUnused(u, id, g)
	}
	v.ev.Add(&core.DeadmanChanged{User: u, Group: id, Fired: fired})
}

// fireDeadmanSwitches cancels the orders of each account and each group whose deadline has passed at ts, and
// disarms the switch.
func (v *Venue) fireDeadmanSwitches(ts int64) {
	for {
		t, ok := v.deadmanTimers.pop(ts)
		if !ok {
			return
		}
		if !v.deadmanCurrent(t) {
			continue // armed again or disarmed since
		}
		u, id := core.UserID(t.key>>32), uint32(t.key)
		v.cancelAccountOrders(u, core.DeadmanFired, scope{group: id})
		v.disarm(u, id, v.deadmanOf(u, id), true)
	}
}

// deadmanDue returns the next deadline of an armed switch, or never.
func (v *Venue) deadmanDue() int64 {
	v.deadmanTimers.prune(len(v.accounts)+v.groups.Len(), v.deadmanCurrent)
	return v.deadmanTimers.firstCurrent(v.deadmanCurrent)
}

// deadmanCurrent reports whether the switch still has the timer's deadline.
func (v *Venue) deadmanCurrent(t timer) bool {
	s := v.deadmanOf(core.UserID(t.key>>32), uint32(t.key))
	return s != nil && s.deadline == t.at
}

// Deadman returns the state of the dead-man switch of an account, or of a group if id is not 0: its timeout in ms
// and its deadline in ns since the Unix epoch, both 0 if it is disarmed.
func (v *Venue) Deadman(u core.UserID, id uint32) (timeoutMs uint32, deadline int64) {
	if s := v.deadmanOf(u, id); s != nil {
		return s.timeout, s.deadline
	}
	return 0, 0
}
