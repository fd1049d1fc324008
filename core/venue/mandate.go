package venue

import (
	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
)

// checkMandate returns the first bound of the agent's mandate that a placement breaks, or nil
// (docs/rules/agent-accounts.md#mandate). It can lower the worst price of a market order that
// names none to the last that the collar allows. ts is the stamp of the placement, in ns.
func (v *Venue) checkMandate(a *account, h *ledger.Holding, ts int64, t *taker) *core.Violation {
	x := a.Agent
	if x.Halted {
		return &core.Violation{Rule: core.RuleHalted, Rev: x.Rev}
	}
	m, c := &x.Mandate, t.cmd
	if m.Set == 0 {
		return nil
	}
	buy := c.Side == core.Buy
	switch {
	case m.ExpiredAt(ts):
		return &core.Violation{Rule: core.RuleExpires, Rev: x.Rev}
	case m.Has(core.RuleCategories) && m.Categories>>t.market.Category&1 == 0:
		return &core.Violation{Rule: core.RuleCategories, Rev: x.Rev}
	case m.Has(core.RuleReduceOnly) && buy && !c.Flags.Has(core.ReduceOnly):
		return &core.Violation{Rule: core.RuleReduceOnly, Rev: x.Rev}
	case m.Has(core.RuleOrderQty) && c.Qty > m.OrderQty:
		return &core.Violation{Rule: core.RuleOrderQty, Rev: x.Rev, Limit: uint64(m.OrderQty), Asked: uint64(c.Qty)}
	}
	if m.Has(core.RulePriceCollar) {
		if last := v.collarTick(t, m.Collar); c.Unpriced {
			t.tick = last
			t.limit = core.InYes(c.Outcome, last)
		} else if buy && c.Tick > last || !buy && c.Tick < last {
			return &core.Violation{Rule: core.RulePriceCollar, Rev: x.Rev, Limit: uint64(last), Asked: uint64(c.Tick)}
		}
	}
	if m.Has(core.RuleOpenOrders) && c.TIF.Rests() && c.Type == core.Limit && a.resting >= m.OpenOrders {
		return &core.Violation{Rule: core.RuleOpenOrders, Rev: x.Rev, Limit: uint64(m.OpenOrders), Used: uint64(a.resting), Asked: 1}
	}
	realized, orders := v.ledger.Today(a.ID)
	if core.DayOf(ts) != core.DayOf(v.now.Ts) { // a preview of the first placement of a day
		realized, orders = 0, 0
	}
	if m.Has(core.RuleOrdersPerDay) && orders >= m.OrdersPerDay {
		return &core.Violation{Rule: core.RuleOrdersPerDay, Rev: x.Rev, Limit: uint64(m.OrdersPerDay), Used: uint64(orders), Asked: 1, ResetsTs: nextDay(ts)}
	}
	if !buy {
		return nil // a sale costs nothing
	}
	open := uint64(v.ledger.OpenCost(a.ID))
	used := [4]uint64{0, uint64(h.OpenCost()), open, open + uint64(max(0, -realized))}
	cost := uint64(v.buyCost(t))
	for i, used := range used {
		r := core.RuleOrderCost + core.MandateRule(i)
		if m.Has(r) && cost > core.Headroom(m.Cost(r), used) {
			p := &core.Violation{Rule: r, Rev: x.Rev, Limit: m.Cost(r), Used: used, Asked: cost}
			if r == core.RuleDailyLoss {
				p.ResetsTs = nextDay(ts)
			}
			return p
		}
	}
	return nil
}

// checkUnasked returns the violation of ask_above by a buy that passes all other checks, or nil
// (docs/rules/agent-accounts.md#approvals).
func (v *Venue) checkUnasked(a *account, h *ledger.Holding, t *taker) *core.Violation {
	m := &a.Agent.Mandate
	if !m.Has(core.RuleAskAbove) {
		return nil
	}
	used, cost := uint64(h.OpenCost()), uint64(v.buyCost(t))
	if cost <= core.Headroom(m.AskAbove, used) {
		return nil
	}
	return &core.Violation{Rule: core.RuleAskAbove, Rev: a.Agent.Rev, Limit: m.AskAbove, Used: used, Asked: cost}
}

// nextDay is the UTC midnight after ts, in ns.
func nextDay(ts int64) int64 { return (int64(core.DayOf(ts)) + 1) * core.NsPerDay }

// collarTick is the worst tick that a collar allows, in the taker's own outcome, within 1 to 9999
// (docs/rules/agent-accounts.md#price-collar). The reference is the best price of other accounts on
// the taker's own side of the book, which an accomplice cannot move against the agent's interest;
// without one, the middle of the price range or the best price of the other side if that is better
// for the agent.
func (v *Venue) collarTick(t *taker, collar core.Tick) core.Tick {
	buy := t.cmd.Side == core.Buy
	reference, ok := v.bestOfOthers(t, t.bid)
	if !ok {
		reference = core.Tick(core.Payout / 2)
		other, ok := v.bestOfOthers(t, !t.bid)
		switch {
		case ok && buy:
			reference = min(reference, other)
		case ok:
			reference = max(reference, other)
		}
	}
	if buy {
		return min(reference+collar, core.TickMax)
	}
	return max(reference-collar, core.TickMin)
}

// bestOfOthers returns the best tick of one side of the book, in the taker's own outcome, without
// the taker's own orders. Rules.OpenOrders bounds how many orders it skips.
func (v *Venue) bestOfOthers(t *taker, bid bool) (core.Tick, bool) {
	b := t.market.book
	for r := b.Best(bid); r != book.None; r = b.Next(r) {
		if o := v.pool.At(r); o.User != t.cmd.User {
			return core.InYes(t.cmd.Outcome, o.TickYes()), true
		}
	}
	return 0, false
}
