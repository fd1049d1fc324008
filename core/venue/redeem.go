package venue

import "duplex/core"

// redeem turns pairs of free contracts into core.Payout pips each, until the round is settled or
// void (docs/rules/money.md#redeem).
func (v *Venue) redeem(c *core.Redeem) core.Reject {
	m := v.market(c.Market)
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.usedRequest(c.User, c.RequestID):
		return core.DuplicateClientRequestID
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
	id := c.RequestID
	if v.rules.Revision < core.RevisionMakers {
		id = 0
	}
	v.ev.Add(&core.Redeemed{User: c.User, Market: c.Market, Generation: m.Generation, Qty: c.Qty, Credit: paid, RequestID: id})
	v.useRequest(c.User, id)
	return core.OK
}

// usedRequest reports whether an account has used a client_request_id (docs/rules/orders.md#client-request-id).
// Few accounts use one, so these ids are no part of account. 0 is never used.
func (v *Venue) usedRequest(u core.UserID, id uint64) bool {
	ids := v.requests[u]
	return id != 0 && ids != nil && ids.has(id)
}

// useRequest records a client_request_id of an account for good. A command that is rejected leaves it free.
func (v *Venue) useRequest(u core.UserID, id uint64) {
	if id == 0 || v.rules.Revision < core.RevisionMakers {
		return
	}
	ids := v.requests[u]
	if ids == nil {
		ids = &idSet{}
		v.requests[u] = ids
	}
	ids.add(id)
}
