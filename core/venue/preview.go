package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// Preview is what a placement would do if it were the next command
// (docs/rules/orders.md#preview). Amounts are in pips, quantities in contracts.
type Preview struct {
	Fills    []PreviewFill
	Status   core.OrderStatus
	Reason   core.Reason
	Fee      core.Pips // of all fills
	Spent    core.Pips // price of the contracts bought, without fees
	Earned   core.Pips // price of the contracts sold, without fees
	Filled   core.Qty
	Resting  core.Qty
	Ahead    core.Qty  // contracts ahead of those that would rest, at their price
	Reserved core.Pips // for the contracts that would rest
	Cash     core.Pips // the account's free cash afterwards
	Tick     core.Tick // the worst price, in the order's own outcome

	// Violation is the bound of a mandate that rejects the placement. If there is no rejection, it is ask_above:
	// the placement would wait for the owner, and the rest is what it would do if it were approved now.
	Violation *core.Violation
}

// PreviewFill is one fill of a preview. TickYes is in YES space; Fee is the taker's, in pips.
type PreviewFill struct {
	Maker   core.OrderID
	TickYes core.Tick
	Qty     core.Qty
	Fee     core.Pips
	Path    core.Path

	user    core.UserID // of the maker
	side    core.Side
	outcome core.Outcome
}

// Preview returns what a placement would do, or its rejection. It changes nothing and can run
// concurrently with other reads. The placement would have the stamp ts, in ns, or if that is not after
// the last command's, the next one.
func (v *Venue) Preview(c *core.PlaceOrder, ts int64) (p Preview, r core.Reject) {
	switch {
	case !v.userExists(c.User):
		return p, core.UnknownUser
	case c.ClientID == 0:
		return p, rejectOr(c.Fault, core.ClientOrderIDRequired)
	case v.UsedID(c.User, c.ClientID):
		return p, core.DuplicateClientOrderID
	}
	var t taker
	ts = max(ts, v.now.Ts+1)
	r = v.admit(c, ts, &t)
	p.Violation = t.violation
	if r == core.OK && p.Violation != nil && v.asks.full(c.User) {
		p.Violation, r = nil, core.ApprovalLimit
	}
	if r != core.OK {
		return p, r
	}
	p.Tick = t.tick
	if t.reason == core.NoReason {
		p.Fills = v.simulateMatch(&t)
	}
	for i := range p.Fills {
		g := &p.Fills[i]
		price := core.Pips(g.Qty) * core.Pips(core.InYes(c.Outcome, g.TickYes))
		p.Fee += g.Fee
		p.Filled += g.Qty
		if c.Side == core.Buy {
			p.Spent += price
		} else {
			p.Earned += price
		}
	}
	var released core.Pips
	if v.bounded && v.wouldTrip(c.User, c.Group, p.Filled, ts) {
		if t.reason == core.NoReason && c.TIF.Rests() {
			t.reason = core.GroupLimit
		}
		released = v.reservedInGroup(c.User, c.Group) - t.releasedInGroup
	}
	if p.setOutcome(c, &t); p.Resting > 0 {
		p.Ahead = t.market.book.LevelQty(t.bid, t.limit)
	}
	if c.Side == core.Buy {
		p.Reserved = core.Pips(p.Resting) * core.ReservationPerContract(v.fees.Maker, c.Tick)
	}
	p.Cash = v.ledger.Cash(c.User) + t.releasedBySTP + released + p.Earned - p.Spent - p.Fee - p.Reserved
	return p, core.OK
}

// Offered returns how many contracts the book would sell to a market buy for its max_cost, fees included,
// within its tick, whatever its quantity is, and what the first of them costs with its fee. Both are 0 if
// nothing is offered, or if the slot is not trading.
func (v *Venue) Offered(c *core.PlaceOrder) (n core.Qty, first core.Pips) {
	m := v.market(c.Market)
	if m == nil || m.Status != core.Trading || !v.userExists(c.User) || !c.Tick.InDomain() {
		return 0, 0
	}
	t := taker{
		cmd: c, market: m, left: core.QtyMax, family: v.family(c.User), tick: c.Tick, bid: core.IsBid(c.Side, c.Outcome),
		limit: core.InYes(c.Outcome, c.Tick), rate: v.fees.Taker, budget: clampToPips(c.MaxCost),
	}
	n = core.QtyMax - v.simulate(t, nil).left
	t.left, t.budget = 1, noBudget
	var one []PreviewFill
	if v.simulate(t, &one); len(one) > 0 {
		first = core.Pips(core.InYes(c.Outcome, one[0].TickYes)) + one[0].Fee
	}
	return n, first
}

// simulateMatch does what match does, but returns the fills and changes only t.
func (v *Venue) simulateMatch(t *taker) (fills []PreviewFill) {
	if t.cmd.Flags.Has(core.PostOnly) {
		if t.crosses() {
			t.reason = core.PostOnlyCross
		}
		return nil
	}
	after := v.simulate(*t, &fills)
	if t.cmd.TIF == core.FOK && after.left > 0 {
		t.reason = core.FokInfeasible
		return nil
	}
	*t = after
	return fills
}

// simulate walks the book as match does, changes nothing and returns the taker as it would be
// afterwards. It appends the fills to *fills unless fills is nil.
func (v *Venue) simulate(t taker, fills *[]PreviewFill) taker {
	b := t.market.book
	var own []PreviewFill
	if fills == nil {
		fills = &own
	}
	for r := b.Best(!t.bid); r != book.None && t.left > 0; r = b.Next(r) {
		o := v.pool.At(r)
		if !t.reaches(o.TickYes()) {
			break
		}
		x := v.computeMatch(&t, o, soldEarlier(*fills, o))
		if x.evict != core.NoReason {
			if o.User == t.cmd.User {
				unit := core.Pips(o.Left) * core.Pips(o.Unit)
				if t.releasedBySTP += unit; t.cmd.Group != 0 && v.pool.Terms(r).Group == t.cmd.Group {
					t.releasedInGroup += unit
				}
			}
			continue
		}
		if x.qty > 0 {
			p := core.InYes(t.cmd.Outcome, o.TickYes())
			fee := core.Fee(t.rate, x.qty, p)
			*fills = append(*fills, PreviewFill{o.ID, o.TickYes(), x.qty, fee, core.PathOf(t.cmd.Side, o.Side()), o.User, o.Side(), o.Outcome()})
			t.left -= x.qty
			if t.budget != noBudget {
				t.budget -= core.Pips(x.qty)*core.Pips(p) + fee
			}
		}
		if x.stop {
			t.reason = x.reason
			break
		}
	}
	return t
}

// soldEarlier returns how many contracts of the other outcome the account of a resting reduce_only
// buy has sold in the fills of a simulation.
func soldEarlier(fills []PreviewFill, o *book.Order) (n core.Qty) {
	if !o.Flags().Has(core.ReduceOnly) {
		return 0
	}
	for i := range fills {
		if g := &fills[i]; g.user == o.User && g.side == core.Sell && g.outcome == o.Outcome().Other() {
			n += g.Qty
		}
	}
	return n
}

// setOutcome sets status, reason and resting quantity from the taker after the simulation.
func (p *Preview) setOutcome(c *core.PlaceOrder, t *taker) {
	p.Reason = t.reason
	switch {
	case t.left == 0:
		p.Status, p.Reason = core.Executed, core.NoReason
	case p.Reason == core.NoReason && !c.TIF.Rests():
		p.Status, p.Reason = core.Canceled, core.IocRemainder
	case p.Reason != core.NoReason:
		p.Status = core.Canceled
	case p.Filled > 0:
		p.Status, p.Resting = core.PartiallyFilled, t.left
	default:
		p.Status, p.Resting = core.Resting, t.left
	}
}
