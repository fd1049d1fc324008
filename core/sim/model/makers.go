package model

import "duplex/core"

// deadman is a dead-man switch: its timeout in ms and its deadline in ns.
type deadman struct {
	ms uint32
	at int64
}

// beat is the newest sign of life of a process: at is its stamp in ns.
type beat struct {
	session uint64
	at      int64
}

// bind binds orders to a connection, or to none (docs/rules/orders.md#cancel-on-disconnect).
func (v *Venue) bind(c *core.BindOrders) core.Reject {
	id := groupID{c.User, c.Group}
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.rules.Revision < core.RevisionMakers || !c.Release && c.Line.Session == 0:
		return core.UnknownGroup
	case c.Release:
		delete(v.lines, id)
		return core.OK
	}
	if c.Line.Node != 0 {
		v.beat(c.Line.Node, c.Line.Session)
	}
	if !v.mayHave(id) {
		return core.GroupLimitReached
	}
	v.lines[id] = c.Line
	return core.OK
}

// end ends connections, and cancels what is bound to them.
func (v *Venue) end(is func(groupID, core.Line) bool) {
	for id, l := range v.lines {
		if is(id, l) {
			delete(v.lines, id)
			v.sweep(core.Disconnected, id.has)
		}
	}
}

// beat notes that a process lives: those of its machine before it do not.
func (v *Venue) beat(node uint32, session uint64) {
	v.end(func(_ groupID, l core.Line) bool { return l.Node == node && l.Session != session })
	if node != 0 {
		v.beats[node] = beat{session, v.now.Ts}
	}
}

// lapse ends the connections of machines of which nothing was heard for four seconds.
func (v *Venue) lapse() {
	for node, b := range v.beats {
		if b.at+4*second <= v.now.Ts {
			delete(v.beats, node)
			v.end(func(_ groupID, l core.Line) bool { return l.Node == node })
		}
	}
}

// quote leaves a group with at most one order on one side of a market (docs/rules/orders.md#quotes).
func (v *Venue) quoteSide(c core.QuoteSide) core.Reject {
	m, opened := v.markets[c.Market]
	late := c.NotAfter != 0 && c.NotAfter < v.now.Ts
	stale := c.Generation != 0 && c.Generation != m.Generation
	buys := c.Side == core.Buy
	mine := func(o order) bool { return o.User == c.User && o.Market == c.Market && o.Group == c.Group }
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.rules.Revision < core.RevisionMakers:
		return core.UnknownMarket
	case c.Cancel && late:
		return core.TooLate
	case c.Cancel && !opened:
		return core.UnknownMarket
	case c.Cancel && stale:
		return core.StaleGeneration
	case c.Cancel:
		v.sweep(core.Requoted, func(o order) bool { return mine(o) && o.bid() == buys })
		v.out.Quoted = &core.Quoted{User: c.User, Canceled: uint32(len(v.out.Ended))}
		return core.OK
	case c.ClientID == 0 && c.Fault != core.OK:
		return c.Fault
	case c.ClientID == 0:
		return core.ClientOrderIDRequired
	case v.users[c.User].used[c.ClientID]:
		return core.DuplicateClientOrderID
	}
	v.users[c.User].used[c.ClientID] = true
	switch {
	case late:
		return core.TooLate
	case c.Fault == core.CrossedQuote:
		return core.CrossedQuote
	case !opened:
		return core.UnknownMarket
	case stale:
		return core.StaleGeneration
	case v.suspended(c.User):
		return core.UserSuspended
	case v.groups[groupID{c.User, c.Group}].tripped:
		return core.GroupTripped
	}
	good := v.resting(func(o order) bool {
		return mine(o) && o.bid() == buys && o.tickYes() == c.Tick && o.TIF == core.GTC && o.Flags == core.PostOnly|core.CancelOnPause && !o.clipped && o.left >= c.Qty
	})
	if len(good) > 0 && c.Qty > 0 && c.Fault == core.OK {
		kept := good[0]
		v.sweep(core.Requoted, func(o order) bool { return mine(o) && o.bid() == buys && o.id != kept.id })
		v.refund(kept, kept.left-c.Qty)
		v.setLeft(kept, c.Qty)
		v.out.Quoted = &core.Quoted{User: c.User, Order: kept.id, Left: c.Qty, Kept: true, Canceled: uint32(len(v.out.Ended))}
		return core.OK
	}
	valid := c.Fault == core.OK && onGrid(v.rules.Grid, c.Tick) && c.Qty >= 1 && c.Qty <= 1_000_000
	v.sweep(core.Requoted, func(o order) bool {
		return mine(o) && (o.bid() == buys || valid && (buys && o.tickYes() <= c.Tick || !buys && o.tickYes() >= c.Tick))
	})
	p := c.PlaceOrder
	p.Type, p.TIF, p.Flags = core.Limit, core.GTC, core.PostOnly|core.CancelOnPause
	no := contract{c.Market, core.No}
	switch {
	case buys && c.Qty >= 1 && v.unsold(c.User, no) >= c.Qty:
		p.Side, p.Outcome = core.Sell, core.No
	case !buys && (c.Qty < 1 || v.unsold(c.User, contract{c.Market, core.Yes}) < c.Qty):
		p.Side, p.Outcome = core.Buy, core.No
	default:
		p.Outcome = core.Yes
	}
	p.Tick = ownTick(p.Outcome, c.Tick)
	done := core.Quoted{User: c.User, Order: core.OrderID(v.now.Seq), Left: c.Qty, Canceled: uint32(len(v.out.Ended))}
	r := v.execute(p, v.refused)
	if r == core.OK {
		done.Reason, done.Ahead = v.out.Ended[done.Order].Reason, v.QueueAhead(done.Order)
		v.out.Quoted = &done
	}
	return r
}
