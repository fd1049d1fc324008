package venue

import (
	"slices"

	"duplex/core"
)

// asks are the placements that wait for an owner (docs/rules/agent-accounts.md#approvals). They are in no book and
// hold no money. None is ever modified, so an Image shares them.
type asks struct {
	all    tree[uint64, *core.Ask]
	of     map[core.UserID][]*core.Ask // by agent, oldest first
	timers timers                      // by id
}

func (s *asks) add(x *core.Ask) {
	s.all.Set(x.ID, x)
	s.of[x.Place.User] = append(s.of[x.Place.User], x)
	s.timers.add(x.Expires, x.ID)
}

// full reports whether no other order of an agent can wait.
func (s *asks) full(u core.UserID) bool { return len(s.of[u]) >= core.AsksMax }

func (s *asks) remove(x *core.Ask) {
	s.all.Delete(x.ID)
	u := x.Place.User
	if left := slices.DeleteFunc(s.of[u], func(y *core.Ask) bool { return y == x }); len(left) > 0 {
		s.of[u] = left
	} else {
		delete(s.of, u)
	}
}

// ask lets an admitted placement wait. t has the violation of ask_above.
func (v *Venue) ask(c *core.PlaceOrder, t *taker) core.Reject {
	if v.asks.full(c.User) {
		v.recordRejected(c, core.ApprovalLimit)
		return core.ApprovalLimit
	}
	m := t.market
	x := &core.Ask{
		ID: v.now.Seq, Place: *c, Number: m.Number, Category: m.Category, Cost: core.Pips(t.violation.Asked), OpenCost: core.Pips(t.violation.Used),
		Created: v.now.Ts, Expires: min(v.now.Ts+core.AskWaitNs, m.CloseTs),
	}
	x.Place.Generation, x.Place.Tick, x.Place.Unpriced = m.Generation, t.tick, false
	v.asks.add(x)
	v.emitAsk(core.AskChanged{Ask: *x})
	return core.OK
}

func (v *Venue) emitAsk(e core.AskChanged) {
	a := &v.accounts[e.Ask.Place.User]
	if e.Owner, e.Agent = a.Agent.Owner, a.Name; e.Status != core.AskWaiting {
		e.Decided = v.now.Ts
	}
	v.ev.Add(&e)
}

// endAsk ends what waits.
func (v *Venue) endAsk(x *core.Ask, s core.AskStatus, why core.Reason) {
	v.asks.remove(x)
	v.emitAsk(core.AskChanged{Ask: *x, Status: s, Reason: why})
}

// decideAsk places what an agent asks as a new order, or ends it. An ask that has ended is UnknownApproval here;
// package tools answers by the view, which has it.
func (v *Venue) decideAsk(c *core.DecideAsk) core.Reject {
	x, found := v.asks.all.Get(c.Ask)
	switch {
	case !found || v.family(x.Place.User) != c.Owner:
		return core.UnknownApproval
	case v.now.Ts >= x.Expires:
		return core.InvalidTransition
	case !c.Approve:
		v.endAsk(x, core.AskRejected, core.NoReason)
		return core.OK
	}
	p := v.ev.Order()
	*p = x.Place
	var t taker
	r := v.admitApproved(x, p, &t)
	v.asks.remove(x)
	if r != core.OK {
		v.recordRejected(p, r).Violation = t.violation
		v.emitAsk(core.AskChanged{Ask: *x, Status: core.AskRefused, Reject: r})
		return core.OK
	}
	v.emitAsk(core.AskChanged{Ask: *x, Status: core.AskPlaced, Order: core.OrderID(v.now.Seq)})
	v.enter(p, &t)
	v.cancelTripped()
	return core.OK
}

// admitApproved makes the checks of an approved placement. ask_above holds no more, but the cost that the owner has
// seen does.
func (v *Venue) admitApproved(x *core.Ask, p *core.PlaceOrder, t *taker) core.Reject {
	if r := v.admit(p, v.now.Ts, t); r != core.OK {
		return r
	}
	t.violation = nil
	if cost := v.buyCost(t); cost > x.Cost && t.reason == core.NoReason {
		t.violation = &core.Violation{Rule: core.RuleAskAbove, Rev: v.accounts[p.User].Agent.Rev, Limit: uint64(x.Cost), Asked: uint64(cost)}
		return core.MandateViolation
	}
	return core.OK
}

// cancelAsk cancels what waits, which a cancel names as it would an order.
func (v *Venue) cancelAsk(c *core.CancelOrder) core.Reject {
	x, found := v.asks.all.Get(uint64(c.Order))
	if !found || x.Place.User != c.User {
		return core.UnknownOrder
	}
	v.endAsk(x, core.AskCanceled, core.UserCancel)
	return core.OK
}

// cancelAsks cancels what waits of an account and matches, oldest first.
func (v *Venue) cancelAsks(u core.UserID, why core.Reason, match func(*core.PlaceOrder) bool) {
	for _, x := range slices.Clone(v.asks.of[u]) {
		if match(&x.Place) {
			v.endAsk(x, core.AskCanceled, why)
		}
	}
}

// cancelAsksInMarket cancels what waits in a market and has flags that match, oldest first.
func (v *Venue) cancelAsksInMarket(m core.MarketID, why core.Reason, match func(core.Flags) bool) {
	var ends []*core.Ask
	v.asks.all.Scan(func(_ uint64, x *core.Ask) bool {
		if x.Place.Market == m && match(x.Place.Flags) {
			ends = append(ends, x)
		}
		return true
	})
	for _, x := range ends {
		v.endAsk(x, core.AskCanceled, why)
	}
}

// expireAsks ends what nobody has decided until ts.
func (v *Venue) expireAsks(ts int64) {
	for {
		t, ok := v.asks.timers.pop(ts)
		if !ok {
			return
		}
		if x, found := v.asks.all.Get(t.key); found {
			v.endAsk(x, core.AskExpired, core.NoReason)
		}
	}
}

// askDue returns the earliest end of a wait, or never.
func (v *Venue) askDue() int64 {
	v.asks.timers.prune(v.asks.all.Len(), v.askCurrent)
	return v.asks.timers.firstCurrent(v.askCurrent)
}

// askCurrent reports whether the timer's ask still waits.
func (v *Venue) askCurrent(t timer) bool {
	_, found := v.asks.all.Get(t.key)
	return found
}

// Asks returns what waits of an account, oldest first. The list is read-only and valid until the next command.
func (v *Venue) Asks(u core.UserID) []*core.Ask { return v.asks.of[u] }
