package venue

import "duplex/core"

// setDeadman arms the account's dead-man switch to fire after ms milliseconds; 0 disarms it
// (docs/rules/orders.md#dead-man-switch). Disarming a switch that is not armed emits no event.
func (v *Venue) setDeadman(u core.UserID, ms uint32) core.Reject {
	if !v.userExists(u) {
		return core.UnknownUser
	}
	a := &v.accounts[u]
	wasArmed := a.deadline != 0
	a.timeout, a.deadline = ms, 0
	if ms > 0 {
		a.deadline = v.now.Ts + int64(ms)*core.NsPerMs
		v.deadmanTimers.add(a.deadline, uint64(u))
	}
	if wasArmed || ms > 0 {
		v.ev.Add(&core.DeadmanChanged{User: u, Armed: ms > 0, TimeoutMs: ms, Deadline: a.deadline})
	}
	return core.OK
}

// fireDeadmanSwitches cancels all orders of each account whose deadline has passed at ts, and
// disarms its switch.
func (v *Venue) fireDeadmanSwitches(ts int64) {
	for {
		t, ok := v.deadmanTimers.pop(ts)
		if !ok {
			return
		}
		a := &v.accounts[t.key]
		if a.deadline != t.at {
			continue // armed again or disarmed since
		}
		a.deadline, a.timeout = 0, 0
		v.cancelAccountOrders(a.ID, core.DeadmanFired, anyOrder)
		v.ev.Add(&core.DeadmanChanged{User: a.ID, Fired: true})
	}
}

// deadmanDue returns the next deadline of an armed switch, or never.
func (v *Venue) deadmanDue() int64 {
	v.deadmanTimers.prune(len(v.accounts), v.deadmanCurrent)
	return v.deadmanTimers.firstCurrent(v.deadmanCurrent)
}

// deadmanCurrent reports whether the account's switch still has the timer's deadline.
func (v *Venue) deadmanCurrent(t timer) bool { return v.accounts[t.key].deadline == t.at }

// Deadman returns the state of an account's dead-man switch: its timeout in ms and its deadline
// in ns since the Unix epoch, both 0 if it is disarmed.
func (v *Venue) Deadman(u core.UserID) (timeoutMs uint32, deadline int64) {
	return v.accounts[u].timeout, v.accounts[u].deadline
}
