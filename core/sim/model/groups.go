package model

import (
	"cmp"
	"slices"

	"duplex/core"
)

type groupID struct {
	user core.UserID
	id   uint32
}

// group is a bound on the fills of a group of orders (docs/rules/orders.md#group-bounds).
type group struct {
	limit   core.Qty
	window  uint32
	tripped bool
	fills   []groupFill // since the bound was set, or the count was 0
}

type groupFill struct {
	at int64
	n  core.Qty
}

// filled is the number of contracts that count at a time: those of the running tenth of the window and of the ten
// before it.
func (g *group) filled(at int64) (n core.Qty) {
	tenth := int64(max(g.window, 1)) * 100_000
	for _, f := range g.fills {
		if f.at/tenth >= at/tenth-10 {
			n += f.n
		}
	}
	return n
}

func (v *Venue) setGroup(c *core.SetGroup) core.Reject {
	id := groupID{c.User, c.Group}
	g := v.groups[id]
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case c.Group == 0 || v.rules.Revision < core.RevisionMakers:
		return core.UnknownGroup
	case c.FillLimit < 1 || c.FillLimit > 1_000_000 || c.WindowMs < 100 || c.WindowMs > 3_600_000:
		return core.BadQty
	case !v.mayHave(id):
		return core.GroupLimitReached
	}
	if g.window != c.WindowMs {
		g.fills = nil
	}
	g.limit, g.window = c.FillLimit, c.WindowMs
	v.groups[id] = g
	return core.OK
}

func (v *Venue) resetGroup(c *core.ResetGroup) core.Reject {
	id := groupID{c.User, c.Group}
	g, found := v.groups[id]
	if !found {
		return core.UnknownGroup
	}
	g.tripped, g.fills = false, nil
	v.groups[id] = g
	return core.OK
}

func (v *Venue) deleteGroup(c *core.DeleteGroup) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case c.Group == 0 || v.rules.Revision < core.RevisionMakers:
		return core.UnknownGroup
	}
	delete(v.groups, groupID{c.User, c.Group})
	return core.OK
}

func (v *Venue) countFill(u core.UserID, id uint32, n core.Qty) {
	if g, found := v.groups[groupID{u, id}]; found {
		g.fills = append(slices.Clone(g.fills), groupFill{v.now.Ts, n})
		v.groups[groupID{u, id}] = g
	}
}

// reached returns the groups that take orders although their fills have reached the bound.
func (v *Venue) reached() (list []groupID) {
	for id, g := range v.groups {
		if !g.tripped && g.filled(v.now.Ts) >= g.limit {
			list = append(list, id)
		}
	}
	return list
}

// trip trips the groups in which a placement has filled and whose fills have reached the bound.
func (v *Venue) trip(in map[groupID]bool) {
	for _, id := range v.reached() {
		if !in[id] {
			continue // its bound was lowered below its count, which trips nothing
		}
		g := v.groups[id]
		g.tripped = true
		v.groups[id] = g
		v.sweep(core.GroupLimit, func(o order) bool { return o.User == id.user && o.Group == id.id })
	}
}

// has reports whether an order is of the group, or for group 0 of the account.
func (id groupID) has(o order) bool { return o.User == id.user && (id.id == 0 || o.Group == id.id) }

// mayHave reports whether something can be set for a group: 200 groups of an account have something.
func (v *Venue) mayHave(id groupID) bool {
	list := v.Groups(id.user)
	return id.id == 0 || len(list) < 200 || slices.ContainsFunc(list, func(g core.Group) bool { return g.ID == id.id })
}

// Groups returns the groups for which a user has set something, by id.
func (v *Venue) Groups(u core.UserID) (list []core.Group) {
	ids := map[groupID]bool{}
	for id := range v.groups {
		ids[id] = true
	}
	for id := range v.deadmen {
		ids[id] = true
	}
	for id := range v.lines {
		ids[id] = true
	}
	for id := range ids {
		if id.user == u && id.id != 0 {
			g := v.groups[id]
			row := core.Group{ID: id.id, FillLimit: g.limit, WindowMs: g.window, Filled: g.filled(v.now.Ts), Tripped: g.tripped, Deadline: v.deadmen[id].at}
			_, row.Bound = v.lines[id]
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(a, b core.Group) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
