package venue

import "duplex/core"

// member is a machine with a process to whose connections orders are or were bound. A log of one machine has none.
type member struct {
	session uint64
	beat    int64 // stamp of its last sign of life, ns
}

// bind binds the orders of an account, or of a group, to a connection, or with Release to none
// (docs/rules/orders.md#cancel-on-disconnect).
func (v *Venue) bind(c *core.BindOrders) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.rules.Revision < core.RevisionMakers || !c.Release && c.Line.Session == 0:
		return core.UnknownGroup
	}
	if c.Release {
		if g, found := v.groups.Get(groupKey(c.User, c.Group)); found && g.bound() {
			v.release(c.User, c.Group, g)
		}
		return core.OK
	}
	if c.Line.Node != 0 {
		v.beat(c.Line.Node, c.Line.Session)
	}
	g, r := v.groupRow(c.User, c.Group)
	if r != core.OK {
		return r
	}
	was := g.bound()
	if g.line = c.Line; !was && c.Group != 0 {
		v.emitGroup(c.User, c.Group, g, core.GroupSet)
	}
	return core.OK
}

// endConnection cancels what is bound to a connection. What a newer one has is left alone.
func (v *Venue) endConnection(c *core.EndConnection) core.Reject {
	if c.Line.Session != 0 {
		v.disconnect(groupKey(c.User, 0), func(key uint64, g *group) (ends, more bool) {
			return g.line == c.Line, core.UserID(key>>32) == c.User
		})
	}
	return core.OK
}

// beat notes a sign of life of a process, and cancels what is bound to earlier ones of its machine.
func (v *Venue) beat(node uint32, session uint64) {
	if m, _ := v.members.Get(node); m.session != session {
		v.disconnect(0, func(_ uint64, g *group) (ends, more bool) {
			return g.bound() && g.line.Node == node && g.line.Session != session, true
		})
	}
	if node != 0 {
		v.members.Set(node, member{session, v.now.Ts})
	}
}

// lapse cancels what is bound to the connections of machines that have sent no beat for too long at ts.
func (v *Venue) lapse(ts int64) {
	var gone []uint32 // the tree must not change while it is read
	v.members.Scan(func(node uint32, m member) bool {
		if lapseOf(m) <= ts {
			gone = append(gone, node)
		}
		return true
	})
	for _, node := range gone {
		v.members.Delete(node)
		v.disconnect(0, func(_ uint64, g *group) (ends, more bool) { return g.bound() && g.line.Node == node, true })
	}
}

func lapseOf(m member) int64 { return m.beat + core.BeatLapseMs*core.NsPerMs }

// lapseDue returns when the first machine has sent no beat for too long, or never.
func (v *Venue) lapseDue() int64 {
	at := never
	v.members.Scan(func(_ uint32, m member) bool {
		at = min(at, lapseOf(m))
		return true
	})
	return at
}

// disconnect ends the connections of the rows from a key on for which ends is true, by account, then by group, and
// cancels what is bound to them. It reads the rows while more is true.
func (v *Venue) disconnect(from uint64, which func(key uint64, g *group) (ends, more bool)) {
	var keys []uint64 // the tree must not change while it is read
	v.groups.Ascend(from, func(key uint64, g *group) bool {
		ends, more := which(key, g)
		if ends && more {
			keys = append(keys, key)
		}
		return more
	})
	for _, key := range keys {
		u, id := core.UserID(key>>32), uint32(key)
		g, _ := v.groups.Get(key)
		v.cancelAccountOrders(u, core.Disconnected, scope{group: id})
		v.release(u, id, g)
	}
}

// release binds a row to no connection.
func (v *Venue) release(u core.UserID, id uint32, g *group) {
	g.line = core.Line{}
	change := core.GroupSet
	if v.dropUnused(u, id, g) {
		change = core.GroupDeleted
	}
	if id != 0 {
		v.emitGroup(u, id, g, change)
	}
}

// Bound reports whether orders are bound to connections of a machine, of an earlier process too.
func (v *Venue) Bound(node uint32) (bound bool) {
	v.groups.Scan(func(_ uint64, g *group) bool {
		bound = g.bound() && g.line.Node == node
		return !bound
	})
	return bound
}
