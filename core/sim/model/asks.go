package model

import (
	"cmp"
	"math/big"
	"slices"

	"duplex/core"
)

// askWait is the longest wait for an owner (docs/rules/agent-accounts.md#approvals).
const askWait = 300 * second

// judge says what becomes of a placement of an agent that needs so much money, or false if it is placed.
type judge func(c *core.PlaceOrder, need *big.Int) (core.Reject, bool)

// above returns the violation of ask_above by a buy, or nil.
func (v *Venue) above(c *core.PlaceOrder, need *big.Int) *core.Violation {
	a := v.users[c.User].agent
	if a == nil || !a.mandate.Has(core.RuleAskAbove) {
		return nil
	}
	used := v.openCost(c.User, func(id core.MarketID) bool { return id == c.Market })
	left := minus(new(big.Int).SetUint64(a.mandate.AskAbove), used)
	if left.Sign() < 0 {
		left = integer(0)
	}
	if !less(left, need) {
		return nil
	}
	return &core.Violation{Rule: core.RuleAskAbove, Rev: a.rev, Limit: a.mandate.AskAbove, Used: used.Uint64(), Asked: need.Uint64()}
}

// refused refuses what an agent may not place unasked.
func (v *Venue) refused(c *core.PlaceOrder, need *big.Int) (core.Reject, bool) {
	if v.out.Violation = v.above(c, need); v.out.Violation != nil {
		return core.MandateViolation, true
	}
	return core.OK, false
}

// waits lets wait what an agent may not place unasked.
func (v *Venue) waits(c *core.PlaceOrder, need *big.Int) (core.Reject, bool) {
	over := v.above(c, need)
	if over == nil {
		return core.OK, false
	}
	if len(v.Asks(c.User)) == 20 {
		return core.ApprovalLimit, true
	}
	m := v.markets[c.Market]
	x := core.Ask{
		ID: v.now.Seq, Place: *c, Number: m.Number, Category: m.Category, Cost: core.Pips(need.Int64()), OpenCost: core.Pips(over.Used),
		Created: v.now.Ts, Expires: min(m.CloseTs, v.now.Ts+askWait),
	}
	x.Place.Generation, x.Place.Unpriced = m.Generation, false
	v.asks[x.ID] = x
	v.noteAsk(x, core.AskChanged{})
	return core.OK, true
}

// noteAsk notes an ask that is new or has ended.
func (v *Venue) noteAsk(x core.Ask, e core.AskChanged) {
	a := v.users[x.Place.User].agent
	if e.Ask, e.Owner, e.Agent = x, a.owner, a.name; e.Status != core.AskWaiting {
		delete(v.asks, x.ID)
		e.Decided = v.now.Ts
	}
	v.out.Asks[x.ID] = e
}

func (v *Venue) decideAsk(c *core.DecideAsk) core.Reject {
	x, waits := v.asks[c.Ask]
	switch {
	case !waits || v.owner(x.Place.User) != c.Owner:
		return core.UnknownApproval
	case v.now.Ts >= x.Expires:
		return core.InvalidTransition
	case !c.Approve:
		v.noteAsk(x, core.AskChanged{Status: core.AskRejected})
		return core.OK
	}
	delete(v.asks, c.Ask)
	r := v.execute(x.Place, func(p *core.PlaceOrder, need *big.Int) (core.Reject, bool) {
		if shown := integer(int64(x.Cost)); less(shown, need) {
			v.out.Violation = &core.Violation{Rule: core.RuleAskAbove, Rev: v.users[p.User].agent.rev, Limit: shown.Uint64(), Asked: need.Uint64()}
			return core.MandateViolation, true
		}
		return core.OK, false
	})
	if r != core.OK {
		v.noteAsk(x, core.AskChanged{Status: core.AskRefused, Reject: r})
	} else {
		v.noteAsk(x, core.AskChanged{Status: core.AskPlaced, Order: core.OrderID(v.now.Seq)})
	}
	return core.OK
}

// sweepAsks cancels what waits and matches.
func (v *Venue) sweepAsks(why core.Reason, match func(core.PlaceOrder) bool) {
	for _, x := range v.asks {
		if match(x.Place) {
			v.noteAsk(x, core.AskChanged{Status: core.AskCanceled, Reason: why})
		}
	}
}

func (v *Venue) expireAsks() {
	for _, x := range v.asks {
		if x.Expires <= v.now.Ts {
			v.noteAsk(x, core.AskChanged{Status: core.AskExpired})
		}
	}
}

// revoke removes a key, and cancels what it has asked.
func (v *Venue) revoke(id string) {
	k := v.keys[id]
	delete(v.keys, id)
	v.sweepAsks(core.KeyRevoked, func(c core.PlaceOrder) bool { return c.User == k.user && c.Key == k.number })
}

// Asks returns what waits of an account, by id.
func (v *Venue) Asks(u core.UserID) (list []core.Ask) {
	for _, x := range v.asks {
		if x.Place.User == u {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b core.Ask) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
