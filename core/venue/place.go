package venue

import (
	"math/bits"

	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
)

// place executes a placement: the checks in their order (docs/rules/orders.md#order-of-checks),
// then matching. What is left rests or is canceled.
func (v *Venue) place(c *core.PlaceOrder) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	a := &v.accounts[c.User]
	if c.ClientID == 0 {
		r := rejectOr(c.Fault, core.ClientOrderIDRequired)
		v.recordRejected(c, r)
		return r
	}
	if !a.ids.add(c.ClientID) {
		return core.DuplicateClientOrderID // adds no row: the id already has the first order's
	}
	var t taker
	if r := v.admit(c, v.now.Ts, &t); r != core.OK {
		v.recordRejected(c, r).Violation = t.violation
		return r
	}
	if t.violation != nil {
		return v.ask(c, &t)
	}
	v.enter(c, &t)
	if len(v.tripped) > 0 {
		v.cancelTripped()
	}
	return core.OK
}

// enter matches an admitted placement. What is left rests or is canceled.
func (v *Venue) enter(c *core.PlaceOrder, t *taker) {
	e := v.ev.Placed()
	e.Place, e.Generation, e.Tick, e.Reject, e.Violation = c, t.market.Generation, t.tick, core.OK, nil
	v.ledger.CountOrder(c.User)
	if t.reason == core.NoReason {
		v.match(t)
	}
	if t.left == 0 {
		return
	}
	if t.reason == core.NoReason && !c.TIF.Rests() {
		t.reason = core.IocRemainder
	}
	if t.reason == core.NoReason && len(v.tripped) > 0 && v.isTripped(c.User, c.Group) {
		t.reason = core.GroupLimit
	}
	if t.reason != core.NoReason {
		*v.ev.Closed() = core.OrderClosed{Order: core.OrderID(v.now.Seq), User: c.User, Status: core.Canceled, Reason: t.reason, Left: t.left}
		return
	}
	v.rest(c, t)
}

// recordRejected emits a rejected order, for its row.
func (v *Venue) recordRejected(c *core.PlaceOrder, r core.Reject) *core.OrderPlaced {
	row := v.ev.Placed()
	*row = core.OrderPlaced{Place: c, Tick: c.Tick, Reject: r}
	if m := v.market(c.Market); m != nil {
		row.Generation = m.Generation
	}
	return row
}

// rejectOr returns r, or other if r is OK. cmp.Or would cost the matching path instructions.
func rejectOr(r, other core.Reject) core.Reject {
	if r != core.OK {
		return r
	}
	return other
}

// admit makes all checks of a placement but those of its client_order_id, and fills t. It changes no
// state. An order that is canceled before it can match has its reason in t; one that an agent may not place
// unasked has the violation of ask_above in t. ts is the stamp of the placement, in ns.
func (v *Venue) admit(c *core.PlaceOrder, ts int64, t *taker) core.Reject {
	if v.tooLate(c.NotAfter, ts) {
		return core.TooLate
	}
	if c.Fault != core.OK {
		return c.Fault
	}
	m, a := v.market(c.Market), &v.accounts[c.User]
	switch {
	case m == nil:
		return core.UnknownMarket
	case c.Generation != 0 && c.Generation != m.Generation:
		return core.StaleGeneration
	case a.Suspended || a.Agent != nil && v.suspended(a):
		return core.UserSuspended
	case v.bounded && v.isTripped(c.User, c.Group):
		return core.GroupTripped
	case m.Status != core.Trading || v.closed(m, ts):
		return core.MarketNotTrading
	case v.paused(m):
		return core.MarketPaused
	case !c.Tick.InDomain() || c.Type == core.Limit && !v.legal[c.Tick]:
		return core.BadPriceTick
	case c.Qty < 1 || c.Qty > core.QtyMax:
		return core.BadQty
	case c.TIF == core.GTT && c.Expiry <= ts:
		return core.BadExpiry
	}
	h := v.ledger.HoldingRef(c.User, c.Market)
	if c.Flags.Has(core.ReduceOnly) {
		if c.Side == core.Sell && c.Qty > h.Free(c.Outcome) || c.Side == core.Buy && c.Qty > h.Contracts(c.Outcome.Other()) {
			return core.ReduceOnlyViolation
		}
	}
	if c.Side == core.Sell && c.Qty > h.Free(c.Outcome) {
		return core.InsufficientPosition
	}
	if c.TIF.Rests() && c.Type == core.Limit && h.Open >= v.rules.OpenOrders {
		return core.OpenOrderLimit
	}
	if c.Side == core.Buy && h.Exposure(c.Outcome)+c.Qty > min(v.rules.Contracts, ledger.ContractsMax) {
		return core.PerMarketLimit
	}
	*t = taker{
		cmd: c, market: m, left: c.Qty, family: v.family(c.User), tick: c.Tick, bid: core.IsBid(c.Side, c.Outcome),
		limit: core.InYes(c.Outcome, c.Tick), rate: v.fees.Taker, budget: noBudget,
	}
	if a.Agent != nil {
		return v.admitAgents(a, h, ts, t)
	}
	if c.Side == core.Buy {
		return v.checkFunds(c, t)
	}
	return core.OK
}

// admitAgents makes the last checks of an agent's placement: its mandate, its money, and whether it asks. It is apart,
// because the placements of other accounts would pay for it in registers.
func (v *Venue) admitAgents(a *account, h *ledger.Holding, ts int64, t *taker) core.Reject {
	if t.violation = v.checkMandate(a, h, ts, t); t.violation != nil {
		return core.MandateViolation
	}
	if t.cmd.Side == core.Sell {
		return core.OK
	}
	if r := v.checkFunds(t.cmd, t); r != core.OK {
		return r
	}
	if t.reason == core.NoReason {
		t.violation = v.checkUnasked(a, h, t)
	}
	return core.OK
}

// tooLate reports whether ts is after a command's bound, in ns; 0 is none
// (docs/rules/orders.md#not-after).
func (v *Venue) tooLate(notAfter, ts int64) bool {
	return notAfter != 0 && ts > notAfter && v.rules.Revision >= core.RevisionMakers
}

// buyCost is what a buy reserves at most: the reservation at its tick, and for a market order no
// more than its max_cost (docs/rules/money.md#reservations).
func (v *Venue) buyCost(t *taker) core.Pips {
	need := core.Pips(t.cmd.Qty) * v.reservation[t.tick]
	if t.cmd.Type == core.Market {
		need = min(need, clampToPips(t.cmd.MaxCost))
	}
	return need
}

// checkFunds checks that the account can pay for a buy's reservation
// (docs/rules/money.md#reservations). A reservation covers the cost of any fill, so matching needs no
// check of its own.
func (v *Venue) checkFunds(c *core.PlaceOrder, t *taker) core.Reject {
	need := v.buyCost(t)
	if c.Type == core.Market {
		t.budget = clampToPips(c.MaxCost)
	} else if c.MaxCost > 0 && need > clampToPips(c.MaxCost) {
		t.reason = core.MaxCostInfeasible
		return core.OK
	}
	if v.ledger.Cash(c.User) < need {
		return core.InsufficientBalance
	}
	return core.OK
}

// clampToPips converts a max_cost to pips. Amounts beyond int64 become core.PipsMax, which no
// order can cost.
func clampToPips(n uint64) core.Pips {
	if bits.Len64(n) > 63 {
		return core.PipsMax
	}
	return core.Pips(n)
}

// rest adds what is left of a limit order to the book and reserves for it at the maker rate in force,
// which stays pinned to the order (docs/rules/money.md#pinned-rates).
func (v *Venue) rest(c *core.PlaceOrder, t *taker) {
	r := v.pool.Alloc(core.OrderID(v.now.Seq))
	o := v.pool.At(r)
	o.User, o.Left, o.MakerRate = c.User, uint32(t.left), v.fees.Maker
	o.SetAttributes(c.Market, c.Side, c.Outcome, c.Flags)
	terms := book.Terms{Group: c.Group}
	if c.TIF == core.GTT {
		terms.Expiry = c.Expiry
		v.expiryTimers.add(c.Expiry, v.now.Seq)
	}
	v.pool.SetTerms(r, terms)
	if c.Side == core.Buy {
		unit := core.ReservationPerContract(o.MakerRate, c.Tick)
		o.Unit = uint16(unit)
		v.ledger.Reserve(c.User, core.Pips(t.left)*unit, core.CauseOrder)
	}
	a := &v.accounts[c.User]
	a.resting++
	v.pool.AddToAccount(&a.orders, r)
	v.ledger.AddResting(c.User, c.Market, c.Side, c.Outcome, t.left, core.Pips(o.Unit))
	total := t.market.book.Add(r, t.limit)
	v.emitLevelChange(t.market, t.bid, t.limit, t.left, total)
}
