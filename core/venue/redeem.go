package venue

import "duplex/core"

// redeem turns pairs of free contracts into core.Payout pips each, until the round is settled or
// void (docs/rules/money.md#redeem).
func (v *Venue) redeem(c *core.Redeem) core.Reject {
	m := v.market(c.Market)
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case m == nil:
		return core.UnknownMarket
	case m.Status.Final():
		return core.MarketNotTrading
	case c.Qty < 1:
		return core.BadQty
	}
	h := v.ledger.HoldingRef(c.User, c.Market)
	if c.Qty > min(h.Free(core.Yes), h.Free(core.No)) {
		return core.InsufficientPosition
	}
	paid := v.ledger.Redeem(c.User, c.Market, c.Qty)
	v.ev.Add(&core.Redeemed{User: c.User, Market: c.Market, Generation: m.Generation, Qty: c.Qty, Credit: paid})
	return core.OK
}
