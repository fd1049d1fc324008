package sim

import "duplex/core"

// once returns a decrease or a redeem with a client_request_id, of few so that they repeat.
func (w *workload) once() core.Command {
	id := uint64(1 + w.r.IntN(40))
	if w.r.IntN(3) == 0 {
		return &core.Redeem{User: w.user(), Market: w.market(), Qty: core.Qty(w.r.IntN(4)), RequestID: id}
	}
	x := w.order()
	return &core.DecreaseOrder{User: x.user, Order: x.order, Amount: core.Qty(w.r.IntN(4)), RequestID: id}
}

// quote returns a quote of one side: of the few prices that the placements have, so that quotes keep orders, move
// them and meet each other.
func (w *workload) quote() *core.QuoteSide {
	w.next++
	c := &core.QuoteSide{Cancel: w.r.IntN(8) == 0, PlaceOrder: core.PlaceOrder{
		User: w.user(), ClientID: w.next, Market: w.market(), Side: core.Side(w.r.IntN(2)), Group: uint32(1 + w.r.IntN(2)), Flags: core.QuoteFlags,
		Qty: core.Qty(1 + w.r.IntN(12)), Tick: []core.Tick{4800, 4900, 4900, 5000, 5000, 5100, 5150}[w.r.IntN(7)],
	}}
	if c.User > users { // few accounts, so that one quotes often
		c.User = core.UserID(1 + w.r.IntN(2))
	}
	switch w.r.IntN(30) {
	case 0:
		c.Generation = uint32(w.r.IntN(4))
	case 1:
		c.Fault = core.CrossedQuote
	case 2:
		c.Fault, c.Tick = core.BadPriceTick, 0
	case 3:
		c.ClientID = uint64(w.r.IntN(2))
	case 4:
		c.Qty = 0
	case 5:
		c.NotAfter = max(1, w.now()+int64(w.r.IntN(9)-3)*core.NsPerSec/8)
	}
	return c
}

// line returns a command about the connections to which orders are bound.
func (w *workload) line() core.Command {
	u, id := w.user(), uint32(w.r.IntN(4))
	l := core.Line{Node: uint32(w.r.IntN(3)), Session: uint64(w.r.IntN(3)), Conn: uint64(w.r.IntN(2))}
	switch w.r.IntN(8) {
	case 0:
		return &core.ArmDeadman{User: u, Group: id, TimeoutMs: uint32(1000 + w.r.IntN(60_000))}
	case 1:
		return &core.DisarmDeadman{User: u, Group: id}
	case 2:
		if n := len(w.bound); n > 0 && w.r.IntN(4) > 0 {
			return &core.EndConnection{User: w.bound[n-1].User, Line: w.bound[n-1].Line}
		}
		return &core.EndConnection{User: u, Line: l}
	case 3:
		return &core.Beat{Node: l.Node, Session: 1 + l.Session}
	case 4:
		return &core.BindOrders{User: u, Group: id, Release: true}
	}
	w.bound = append(w.bound, &core.BindOrders{User: u, Group: id, Line: l})
	return w.bound[len(w.bound)-1]
}

// group returns a command about the bound of a group.
func (w *workload) group() core.Command {
	u, id := w.user(), uint32(w.r.IntN(4))
	switch w.r.IntN(6) {
	case 0:
		return &core.ResetGroup{User: u, Group: id}
	case 1:
		return &core.DeleteGroup{User: u, Group: id}
	}
	return &core.SetGroup{User: u, Group: id, FillLimit: core.Qty(1 + w.r.IntN(60)), WindowMs: uint32(100 * (1 + w.r.IntN(50)))}
}
