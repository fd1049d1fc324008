package venue

import (
	"iter"
	"slices"

	"duplex/core"
	"duplex/core/book"
)

// groupSlices are the slices in which a group counts its fills: the running one and the ten before it, each a
// tenth of the window long and aligned to the Unix epoch. So a fill counts for 1 to 1.1 windows, and the state
// does not grow with the fills (docs/rules/orders.md#group-bounds).
const groupSlices = 11

// group is what an account has set for a group of its orders. A row exists while it has one of the three. That of
// group 0 is for all orders of the account, and has a connection alone.
type group struct {
	// A bound of the fills.
	limit   core.Qty // 0: none
	window  uint32   // ms
	tripped bool
	newest  int64 // number of the newest slice; slice n is sums[n%groupSlices]
	sums    [groupSlices]core.Qty

	deadman deadman
	line    core.Line // the connection whose end cancels the orders; zero: none
}

func (g *group) bound() bool { return g.line.Session != 0 }

// groupKey sorts groups by account, then by id.
func groupKey(u core.UserID, id uint32) uint64 { return uint64(u)<<32 | uint64(id) }

// slice is the number of the slice of ts, in ns.
func (g *group) slice(ts int64) int64 {
	return ts / (int64(g.window) * core.NsPerMs / (groupSlices - 1))
}

// filled is the number of contracts that count at ts.
func (g *group) filled(ts int64) (n core.Qty) {
	if g.limit == 0 {
		return 0
	}
	for i := max(g.slice(ts)-groupSlices+1, g.newest-groupSlices+1, 0); i <= g.newest; i++ {
		n += g.sums[i%groupSlices]
	}
	return n
}

// count adds a fill at ts.
func (g *group) count(n core.Qty, ts int64) {
	for at := g.slice(ts); g.newest < at; {
		g.newest = max(g.newest+1, at-groupSlices+1) // slices that have passed entirely are skipped
		g.sums[g.newest%groupSlices] = 0
	}
	g.sums[g.newest%groupSlices] += n
}

// forget sets the count to 0.
func (g *group) forget() { g.newest, g.sums = 0, [groupSlices]core.Qty{} }

func (g *group) row(id uint32, ts int64) core.Group {
	return core.Group{ID: id, FillLimit: g.limit, WindowMs: g.window, Filled: g.filled(ts), Tripped: g.tripped, Deadline: g.deadman.deadline, Bound: g.bound()}
}

// Groups returns the groups for which an account has set something, by id, as of ts in ns.
func (v *Venue) Groups(u core.UserID, ts int64) iter.Seq[core.Group] {
	return func(yield func(core.Group) bool) {
		v.groups.Ascend(groupKey(u, 1), func(key uint64, g *group) bool {
			return core.UserID(key>>32) == u && yield(g.row(uint32(key), ts))
		})
	}
}

// setGroup sets the bound of a group. One that has a bound keeps its count, unless the window is another one,
// and stays tripped or not: setting trips nothing.
func (v *Venue) setGroup(c *core.SetGroup) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case c.Group == 0 || v.rules.Revision < core.RevisionMakers:
		return core.UnknownGroup
	case c.FillLimit < 1 || c.FillLimit > core.FillLimitMax || c.WindowMs < core.GroupWindowMin || c.WindowMs > core.GroupWindowMax:
		return core.BadQty
	}
	g, r := v.groupRow(c.User, c.Group)
	if r != core.OK {
		return r
	}
	if g.window != c.WindowMs {
		g.forget()
	}
	g.limit, g.window = c.FillLimit, c.WindowMs
	v.emitGroup(c.User, c.Group, g, core.GroupSet)
	return core.OK
}

// groupRow returns the row of a group, new if there is none and the account may have another.
func (v *Venue) groupRow(u core.UserID, id uint32) (*group, core.Reject) {
	g, found := v.groups.Get(groupKey(u, id))
	if found {
		return g, core.OK
	}
	n := 0
	for range v.Groups(u, v.now.Ts) {
		n++
	}
	if id != 0 && n >= core.GroupsMax {
		return nil, core.GroupLimitReached
	}
	g = &group{}
	v.groups.Set(groupKey(u, id), g)
	v.bounded = true
	return g, core.OK
}

// dropUnused removes the row of a group for which nothing is set any more.
func (v *Venue) dropUnused(u core.UserID, id uint32, g *group) bool {
	if g.limit != 0 || g.deadman.deadline != 0 || g.bound() {
		return false
	}
	v.groups.Delete(groupKey(u, id))
	v.bounded = v.groups.Len() > 0
	return true
}

// resetGroup lets a group take orders again, and sets its count to 0.
func (v *Venue) resetGroup(c *core.ResetGroup) core.Reject {
	g, found := v.groups.Get(groupKey(c.User, c.Group))
	if !found || g.limit == 0 {
		return core.UnknownGroup
	}
	g.tripped = false
	g.forget()
	v.emitGroup(c.User, c.Group, g, core.GroupReset)
	return core.OK
}

// deleteGroup removes the bound of a group and leaves its orders. A group without one is a no-op.
func (v *Venue) deleteGroup(c *core.DeleteGroup) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case c.Group == 0 || v.rules.Revision < core.RevisionMakers:
		return core.UnknownGroup
	}
	if g, found := v.groups.Get(groupKey(c.User, c.Group)); found && g.limit != 0 {
		g.limit, g.window, g.tripped = 0, 0, false // the window of the next bound is another one, so it counts from 0
		v.dropUnused(c.User, c.Group, g)
		v.emitGroup(c.User, c.Group, g, core.GroupDeleted)
	}
	return core.OK
}

func (v *Venue) emitGroup(u core.UserID, id uint32, g *group, change core.GroupChange) {
	v.ev.Add(&core.GroupChanged{User: u, Change: change, Group: g.row(id, v.now.Ts)})
}

// isTripped reports whether a group takes no orders.
func (v *Venue) isTripped(u core.UserID, id uint32) bool {
	g, found := v.groups.Get(groupKey(u, id))
	return found && g.tripped
}

// countFills counts a fill in the groups of both orders. It is not inlined, because venues without bounds would pay
// for it in registers.
//
//go:noinline
func (v *Venue) countFills(c *core.PlaceOrder, maker book.Ref, n core.Qty) {
	v.countFill(c.User, c.Group, n)
	v.countFill(v.pool.At(maker).User, v.pool.Terms(maker).Group, n)
}

// countFill counts a fill of an order in a group. A group whose bound is reached trips when the command ends.
func (v *Venue) countFill(u core.UserID, id uint32, n core.Qty) {
	g, found := v.groups.Get(groupKey(u, id))
	if !found || g.limit == 0 {
		return
	}
	if g.count(n, v.now.Ts); !g.tripped && g.filled(v.now.Ts) >= g.limit {
		g.tripped = true
		v.tripped = append(v.tripped, groupKey(u, id))
	}
}

// wouldTrip reports whether n contracts more would trip a group at ts.
func (v *Venue) wouldTrip(u core.UserID, id uint32, n core.Qty, ts int64) bool {
	g, found := v.groups.Get(groupKey(u, id))
	return found && g.limit != 0 && n > 0 && !g.tripped && g.filled(ts)+n >= g.limit
}

// reservedInGroup is what the resting orders of a group reserve.
func (v *Venue) reservedInGroup(u core.UserID, id uint32) (sum core.Pips) {
	for r := range v.pool.NewestFirst(&v.accounts[u].orders) {
		if o := v.pool.At(r); o.Side() == core.Buy && v.pool.Terms(r).Group == id {
			sum += core.Pips(o.Left) * core.Pips(o.Unit)
		}
	}
	return sum
}

// cancelTripped cancels the resting orders of the groups that a command has tripped, by account, then by group.
func (v *Venue) cancelTripped() {
	slices.Sort(v.tripped)
	for _, key := range v.tripped {
		u, id := core.UserID(key>>32), uint32(key)
		g, _ := v.groups.Get(key)
		v.emitGroup(u, id, g, core.GroupTrip)
		v.cancelAccountOrders(u, core.GroupLimit, scope{group: id})
	}
	v.tripped = v.tripped[:0]
}
