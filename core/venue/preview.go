package venue

import "duplex/core"

// Preview is what a placement would do if it came now.
type Preview struct {
	Fills    []PreviewFill
	Status   core.OrderStatus
	Reason   core.Reason
	Fee      core.Pips
	Spent    core.Pips // price of bought contracts, without fees
	Earned   core.Pips // price of sold contracts, without fees
	Filled   core.Qty
	Resting  core.Qty
	Reserved core.Pips // for what would rest
	Cash     core.Pips // free cash after
}

// Preview runs a placement against the book and changes nothing. It gives the
// reject the placement would get, a used client_order_id's among them. The placement
// gets the stamp ts, or one right behind the last command if that is later.
func (v *Venue) Preview(c *core.PlaceOrder, ts int64) (p Preview, r core.Reject) {
	switch {
	case !v.userExists(c.User):
		return p, core.UnknownUser
	case c.ClientID == 0:
		return p, orElse(c.Fault, core.ClientOrderIDRequired)
	case v.UsedID(c.User, c.ClientID):
		return p, core.DuplicateClientOrderID
	}
	var t taker
	if r := v.admit(c, max(ts, v.now.Ts+1), &t); r != core.OK {
		return p, r
	}
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
	p.setOutcome(c, &t)
	if c.Side == core.Buy {
		p.Reserved = core.Pips(p.Resting) * core.ReservationPerContract(v.fees.Maker, c.Tick)
	}
	p.Cash = v.ledger.Cash(c.User) + t.releasedBySTP + p.Earned - p.Spent - p.Fee - p.Reserved
	return p, core.OK
}

// simulateMatch is match, looked at.
func (v *Venue) simulateMatch(t *taker) (seen []PreviewFill) {
	if t.cmd.Flags.Has(core.PostOnly) {
		if t.crosses() {
			t.reason = core.PostOnlyCross
		}
		return nil
	}
	after := v.simulate(*t, &seen)
	if t.cmd.TIF == core.FOK && after.left > 0 {
		t.reason = core.FokInfeasible
		return nil
	}
	*t = after
	return seen
}

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
