package venue

import (
	"slices"

	"duplex/core"
	"duplex/core/book"
)

// quote leaves the group of a quote with at most one order on its side of the market
// (docs/rules/orders.md#quotes). The checks before that change nothing; what refuses the order itself leaves the
// side empty, so that no old price stays behind.
func (v *Venue) quote(c *core.QuoteSide) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.rules.Revision < core.RevisionMakers:
		return core.UnknownMarket
	case c.Cancel:
		return v.quoteNothing(c)
	case c.ClientID != 0 && !v.accounts[c.User].ids.add(c.ClientID):
		return core.DuplicateClientOrderID
	}
	if r := v.admitQuote(c); r != core.OK {
		v.recordRejected(v.quotePlacement(c), r)
		return r
	}
	last := v.lastQuotesOf(c)
	own, bid, kept := v.quotesOf(c, last), c.Side == core.Buy, book.None
	done := core.Quoted{User: c.User}
	for _, r := range own {
		if v.keeps(c, r) {
			kept = r
			break
		}
	}
	placed := kept == book.None && v.placeable(c)
	ends := func(of bool, tickYes core.Tick) bool {
		return of == bid || placed && (bid && tickYes <= c.Tick || !bid && tickYes >= c.Tick)
	}
	for _, r := range slices.Backward(own) {
		if o := v.pool.At(r); r != kept && ends(o.Bid(), o.TickYes()) {
			v.closeOrder(r, core.Canceled, core.Requoted, core.CauseCancel)
			done.Canceled++
		}
	}
	v.cancelQuoteAsks(c, ends)
	if kept != book.None {
		done.Order, done.Kept, done.Left = v.pool.At(kept).ID, true, c.Qty
		if left := core.Qty(v.pool.At(kept).Left); left > c.Qty {
			v.reduceOrder(kept, left-c.Qty, core.CauseDecrease)
		}
		last[c.Side] = done.Order
		*v.ev.Quoted() = done
		return core.OK
	}
	p := v.quotePlacement(c)
	var t taker
	r := v.admit(p, v.now.Ts, &t)
	if r == core.OK && t.violation != nil {
		r = core.MandateViolation // a quote never waits
	}
	if r != core.OK {
		v.recordRejected(p, r).Violation = t.violation
		return r
	}
	v.level = nil // the order has an event of its own, whose total shows its place in the queue
	v.enter(p, &t)
	done.Order, done.Left, done.Reason = core.OrderID(v.now.Seq), t.left, t.reason
	if last[c.Side] = done.Order; t.reason == core.NoReason {
		done.Ahead = v.level.Qty - t.left
	}
	*v.ev.Quoted() = done
	return core.OK
}

// quoteNothing empties a side.
func (v *Venue) quoteNothing(c *core.QuoteSide) core.Reject {
	m := v.market(c.Market)
	switch {
	case v.tooLate(c.NotAfter, v.now.Ts):
		return core.TooLate
	case m == nil:
		return core.UnknownMarket
	case c.Generation != 0 && c.Generation != m.Generation:
		return core.StaleGeneration
	}
	done := core.Quoted{User: c.User}
	for _, r := range slices.Backward(v.quotesOf(c, v.lastQuotesOf(c))) {
		if v.pool.At(r).Bid() == (c.Side == core.Buy) {
			v.closeOrder(r, core.Canceled, core.Requoted, core.CauseCancel)
			done.Canceled++
		}
	}
	v.cancelQuoteAsks(c, func(bid bool, _ core.Tick) bool { return bid == (c.Side == core.Buy) })
	*v.ev.Quoted() = done
	return core.OK
}

// cancelQuoteAsks cancels what waits of the group of a quote in its market and ends as a resting order would.
func (v *Venue) cancelQuoteAsks(c *core.QuoteSide, ends func(bid bool, tickYes core.Tick) bool) {
	if len(v.asks.of) == 0 {
		return
	}
	v.cancelAsks(c.User, core.Requoted, func(p *core.PlaceOrder) bool {
		return p.Market == c.Market && p.Group == c.Group && ends(core.IsBid(p.Side, p.Outcome), core.InYes(p.Outcome, p.Tick))
	})
}

// admitQuote makes the checks of a quote that leave the orders of its group alone, after that of its
// client_order_id.
func (v *Venue) admitQuote(c *core.QuoteSide) core.Reject {
	m, a := v.market(c.Market), &v.accounts[c.User]
	switch {
	case c.ClientID == 0:
		return rejectOr(c.Fault, core.ClientOrderIDRequired)
	case v.tooLate(c.NotAfter, v.now.Ts):
		return core.TooLate
	case c.Fault == core.CrossedQuote:
		return core.CrossedQuote
	case m == nil:
		return core.UnknownMarket
	case c.Generation != 0 && c.Generation != m.Generation:
		return core.StaleGeneration
	case a.Suspended || a.Agent != nil && v.suspended(a):
		return core.UserSuspended
	case v.bounded && v.isTripped(c.User, c.Group):
		return core.GroupTripped
	}
	return core.OK
}

// quoteKey names the orders of a group in a market.
type quoteKey struct {
	user   core.UserID
	market core.MarketID
	group  uint32
}

// lastQuotes are the orders of the newest quotes of a group in a market, the bid first. They are remembered only to
// find them soon: without them the venue walks through the orders of the account.
type lastQuotes [2]core.OrderID

// lastQuotesOf returns what is remembered of a quote's group in its market. No more is remembered than a small
// multiple of what rests.
func (v *Venue) lastQuotesOf(c *core.QuoteSide) *lastQuotes {
	key := quoteKey{c.User, c.Market, c.Group}
	l := v.lastQuotes[key]
	if l == nil {
		if len(v.lastQuotes) > 1024+2*v.pool.Len() {
			clear(v.lastQuotes)
		}
		l = new(lastQuotes)
		v.lastQuotes[key] = l
	}
	return l
}

// quotesOf returns the resting orders of a quote's group in its market, the oldest first. The list is valid until
// the next call.
func (v *Venue) quotesOf(c *core.QuoteSide, last *lastQuotes) []book.Ref {
	v.quoted = v.quoted[:0]
	open := v.ledger.HoldingRef(c.User, c.Market).Open
	for _, id := range [2]core.OrderID{min(last[0], last[1]), max(last[0], last[1])} {
		if r := v.pool.Find(id); r != book.None {
			v.quoted = append(v.quoted, r)
		}
	}
	if len(v.quoted) == int(open) {
		return v.quoted // the account has no other order there
	}
	v.quoted = v.quoted[:0]
	for r := range v.pool.OldestFirst(&v.accounts[c.User].orders) {
		if open == 0 {
			break
		}
		if v.pool.At(r).Market() != c.Market {
			continue
		}
		if open--; v.pool.Terms(r).Group == c.Group {
			v.quoted = append(v.quoted, r)
		}
	}
	return v.quoted
}

// keeps reports whether an order can be that of a quote, with its place in the queue: it has the price and the
// terms, and does not have to grow.
func (v *Venue) keeps(c *core.QuoteSide, r book.Ref) bool {
	o := v.pool.At(r)
	return o.Bid() == (c.Side == core.Buy) && o.TickYes() == c.Tick && o.Flags() == core.QuoteFlags && v.pool.Terms(r).Expiry == 0 &&
		v.placeable(c) && core.Qty(o.Left) >= c.Qty
}

// placeable reports whether the order of a quote has a price and a quantity that any order can have.
func (v *Venue) placeable(c *core.QuoteSide) bool {
	return c.Fault == core.OK && c.Tick.InDomain() && v.legal[c.Tick] && c.Qty >= 1 && c.Qty <= core.QtyMax
}

// quotePlacement returns the order of a quote. A sale of contracts that are free ties up no cash, so it comes
// before a buy of the other outcome at the same price.
func (v *Venue) quotePlacement(c *core.QuoteSide) *core.PlaceOrder {
	p := v.ev.Order()
	*p = c.PlaceOrder // a copy: the log has the command as it came
	p.Type, p.TIF, p.Flags = core.Limit, core.GTC, core.QuoteFlags
	held := core.Yes // what a sale on this side sells
	if c.Side == core.Buy {
		held = core.No
	}
	p.Side, p.Outcome = core.Buy, held.Other()
	if v.market(c.Market) != nil && c.Qty >= 1 && c.Qty <= v.ledger.HoldingRef(c.User, c.Market).Free(held) {
		p.Side, p.Outcome = core.Sell, held
	}
	p.Tick = core.InYes(p.Outcome, c.Tick)
	return p
}
