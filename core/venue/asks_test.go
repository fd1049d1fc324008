package venue

import (
	"bytes"
	"slices"
	"testing"

	"duplex/core"
)

// askAbove returns a bound of what may be at stake in one round unasked, in pips.
func askAbove(pips uint64) func(*core.Mandate) {
	return bound(core.RuleAskAbove, func(m *core.Mandate) { m.AskAbove = pips })
}

// asked returns the one ask that the last command changed.
func (f *family) asked() core.AskChanged {
	f.Helper()
	list := eventsOf[*core.AskChanged](f)
	if len(list) != 1 {
		f.Fatalf("%d asks changed: %v", len(list), f.last)
	}
	return *list[0]
}

// ask lets an order of the agent wait, and returns its id.
func (f *family) ask(c *core.PlaceOrder) uint64 {
	f.Helper()
	f.must(c)
	e := f.asked()
	if e.Status != core.AskWaiting || len(eventsOf[*core.OrderPlaced](f)) != 0 {
		f.Fatalf("%+v, events %v, want that it waits", e, f.last)
	}
	return e.Ask.ID
}

// approve decides what waits.
func (f *family) approve(id uint64) core.AskChanged {
	f.Helper()
	f.must(&core.DecideAsk{Owner: owner, Ask: id, Approve: true})
	return f.asked()
}

// restart replaces the venue by one that is restored from its state.
func (f *family) restart() { f.v = restored(f.T, f.v) }

// TestAsks checks which placements wait, what they would cost, and what waiting changes: only that the id is used up
// (docs/rules/agent-accounts.md#approvals).
func TestAsks(t *testing.T) {
	f := newFamily(t)
	f.setMandate(askAbove(20_000))
	f.must(f.order(agent, core.Buy, core.Yes, 4000, 3))
	for _, c := range []struct {
		what  string
		waits bool
		order *core.PlaceOrder
	}{
		{"within the bound with what is open", false, f.order(agent, core.Buy, core.Yes, 3800, 2)},
		{"above it with what is open", true, f.order(agent, core.Buy, core.Yes, 4000, 2)},
		{"another outcome counts too", true, f.order(agent, core.Buy, core.No, 4000, 2)},
		{"another market counts alone", false, with(f.order(agent, core.Buy, core.Yes, 4000, 4), func(c *core.PlaceOrder) { c.Market = 2 })},
		{"post_only is at the taker rate too", true, with(f.order(agent, core.Buy, core.Yes, 4000, 2), func(c *core.PlaceOrder) { c.Flags = core.PostOnly })},
		{"a market order by its max_cost", true, with(f.order(agent, core.Buy, core.Yes, 9999, 9), func(c *core.PlaceOrder) {
			c.Type, c.TIF, c.MaxCost = core.Market, core.IOC, 9000
		})},
		{"a market order within it", false, with(f.order(agent, core.Buy, core.Yes, 9999, 9), func(c *core.PlaceOrder) {
			c.Type, c.TIF, c.MaxCost = core.Market, core.IOC, 100
		})},
		{"what max_cost cancels", false, with(f.order(agent, core.Buy, core.Yes, 4000, 9), func(c *core.PlaceOrder) { c.MaxCost = 1 })},
	} {
		usage, cash := f.v.Usage(agent), f.cash(agent)
		f.must(c.order)
		waits := len(eventsOf[*core.AskChanged](f)) == 1
		if waits != c.waits {
			t.Errorf("%s: waits %t, events %v", c.what, waits, f.last)
		}
		if p, r := f.v.Preview(with(c.order, func(p *core.PlaceOrder) { p.ClientID += 1000 }), f.at.Ts); r != core.OK || c.waits && p.Violation.Rule != core.RuleAskAbove {
			t.Errorf("%s: the preview is %+v, %v", c.what, p, r)
		}
		if waits {
			if after := f.v.Usage(agent); after != usage || f.cash(agent) != cash || len(f.last) != 1 {
				t.Errorf("%s: usage %+v, %d pips, events %v, want that nothing else changed", c.what, after, f.cash(agent), f.last)
			}
			f.want(c.what+", the same id", c.order, core.DuplicateClientOrderID)
		}
	}
	if e := f.v.Asks(agent)[0]; e.OpenCost != 3*4000+2*3800 || e.Cost != 2*4060 || e.Number != 1 || e.Category != 1 || e.Place.Generation != 1 {
		t.Errorf("the ask is %+v", e)
	}

	f.want("a sale of what is not held", f.order(agent, core.Sell, core.Yes, 4000, 2), core.InsufficientPosition)
	f.want("what cash rejects", f.order(agent, core.Buy, core.Yes, 4000, 1000), core.InsufficientBalance)
	f.setMandate(askAbove(20_000), cost(core.RuleOrderCost, 100))
	f.want("what another bound rejects", f.order(agent, core.Buy, core.Yes, 4000, 2), core.MandateViolation)
	f.setMandate(askAbove(0))
	for len(f.v.Asks(agent)) < core.AsksMax {
		f.ask(f.order(agent, core.Buy, core.Yes, 100, 1))
	}
	more := f.order(agent, core.Buy, core.Yes, 100, 1)
	if _, r := f.v.Preview(more, f.at.Ts); r != core.ApprovalLimit {
		t.Errorf("a preview of the 21st is %v", r)
	}
	f.want("the 21st", more, core.ApprovalLimit)
	if rows := eventsOf[*core.OrderPlaced](f); len(rows) != 1 || rows[0].Reject != core.ApprovalLimit {
		t.Errorf("the 21st: %v, want a rejected row", f.last)
	}
	f.want("its id", more, core.DuplicateClientOrderID)
}

func with(c *core.PlaceOrder, change func(*core.PlaceOrder)) *core.PlaceOrder {
	p := *c
	change(&p)
	return &p
}

// TestAsksNeverWait checks that a replace and a quote above the bound are refused (docs/rules/agent-accounts.md#rule-ask_above).
func TestAsksNeverWait(t *testing.T) {
	f := newFamily(t)
	f.must(f.order(agent, core.Buy, core.Yes, 4000, 3))
	rests := core.OrderID(f.at.Seq)
	f.setMandate(askAbove(12_300))
	want := core.Violation{Rule: core.RuleAskAbove, Rev: 2, Limit: 12_300, Asked: 4 * 4060}
	f.want("a replace within it", &core.ReplaceOrder{PlaceOrder: *f.order(agent, core.Buy, core.Yes, 4000, 3), Old: rests}, core.OK)
	rests = core.OrderID(f.at.Seq)
	if r := f.do(&core.ReplaceOrder{PlaceOrder: *f.order(agent, core.Buy, core.Yes, 4000, 4), Old: rests}); r != core.MandateViolation || *eventsOf[*core.OrderPlaced](f)[0].Violation != want {
		t.Errorf("a replace above it: %v, %v", r, f.last)
	}
	if f.v.accounts[agent].resting != 1 {
		t.Error("the old order of the replace is gone")
	}
	want.Used = 12_000 // reserved at the maker rate
	if r := f.do(&core.QuoteSide{PlaceOrder: *with(f.order(agent, core.Buy, core.Yes, 4000, 4), func(c *core.PlaceOrder) { c.Group = 1 })}); r != core.MandateViolation || *eventsOf[*core.OrderPlaced](f)[0].Violation != want {
		t.Errorf("a quote above it: %v, %v", r, f.last)
	}
}

// TestDecideAsk checks what a decision does, in every order with what changes before it
// (docs/rules/agent-accounts.md#approvals). Each case runs on the venue and on a restored one.
func TestDecideAsk(t *testing.T) {
	expire := func(f *family) { f.at.Ts = f.v.Asks(agent)[0].Expires - 1 }
	for _, c := range []struct {
		what   string
		change func(f *family)
		order  func(*core.PlaceOrder)
		status core.AskStatus
		why    string
		rule   core.MandateRule
	}{
		{"nothing changed", func(*family) {}, nil, core.AskPlaced, "", 0},
		{"in its last nanosecond", func(f *family) { f.at.Ts = f.v.Asks(agent)[0].Expires - 2 }, nil, core.AskPlaced, "", 0},
		{"from its end on", expire, nil, core.AskWaiting, "invalid_transition", 0},
		{"a lower bound", func(f *family) { f.setMandate(askAbove(0)) }, nil, core.AskPlaced, "", 0},
		{"another bound", func(f *family) { f.setMandate(cost(core.RuleOrderCost, 100)) }, nil, core.AskRefused, "mandate_violation", core.RuleOrderCost},
		{"a narrower collar", func(f *family) { f.setMandate(collar(1)) }, func(c *core.PlaceOrder) { c.Tick = 9000 }, core.AskRefused, "mandate_violation", core.RulePriceCollar},
		{"the money is gone", func(f *family) {
			f.must(&core.Transfer{Owner: owner, ClientID: "back", From: agent, To: owner, Amount: f.cash(agent)})
		}, nil, core.AskRefused, "insufficient_balance", 0},
		{"fees rose", func(f *family) { f.must(&core.SetFees{Fees: core.Fees{Taker: 300}}) }, nil, core.AskRefused, "mandate_violation", core.RuleAskAbove},
		{"fees fell", func(f *family) { f.must(&core.SetFees{Fees: core.Fees{Taker: 200}}) }, nil, core.AskPlaced, "", 0},
		{"a pause", func(f *family) { f.must(&core.PauseMarket{Market: 1}) }, nil, core.AskRefused, "market_paused", 0},
		{"another grid", func(f *family) {
			r := f.v.Rules()
			r.Grid = core.Grid{Bands: []core.Band{{From: 100, To: 9900, Step: 100}}}
			f.must(&core.SetRules{Rules: r})
		}, func(c *core.PlaceOrder) { c.Tick = 390 }, core.AskRefused, "bad_price_tick", 0},
		{"too late", func(f *family) { f.at.Ts += core.NsPerSec }, func(c *core.PlaceOrder) { c.NotAfter = origin + core.NsPerSec }, core.AskRefused, "too_late", 0},
		{"it has expired", func(f *family) { f.at.Ts += core.NsPerSec }, func(c *core.PlaceOrder) { c.TIF, c.Expiry = core.GTT, origin+core.NsPerSec }, core.AskRefused, "bad_expiry", 0},
		{"it ends at once", func(*family) {}, func(c *core.PlaceOrder) { c.TIF = core.FOK }, core.AskPlaced, "", 0},
	} {
		for _, restarts := range []bool{false, true} {
			f := newFamily(t)
			f.must(&core.ActivateRules{Revision: core.RevisionNewest})
			f.setMandate(askAbove(10_000))
			order := f.order(agent, core.Buy, core.Yes, 4000, 30)
			if c.order != nil {
				c.order(order)
			}
			id := f.ask(order)
			c.change(f)
			if restarts {
				f.restart()
			}
			placed := f.v.Performance(agent).OrdersToday
			if c.why == "invalid_transition" {
				f.want(c.what, &core.DecideAsk{Owner: owner, Ask: id, Approve: true}, core.InvalidTransition)
				f.want(c.what+", rejected", &core.DecideAsk{Owner: owner, Ask: id}, core.InvalidTransition)
				continue
			}
			e := f.approve(id)
			row := eventsOf[*core.OrderPlaced](f)
			switch {
			case e.Status != c.status || e.Why() != c.why || e.Decided != f.at.Ts || e.Agent != "scout" || e.Owner != owner:
				t.Errorf("%s: %+v", c.what, e)
			case len(row) != 1 || row[0].Place.ClientID != order.ClientID || row[0].Reject.String() != c.why:
				t.Errorf("%s: the rows are %v", c.what, f.last)
			case c.rule != 0 && row[0].Violation.Rule != c.rule:
				t.Errorf("%s: %+v, want rule %v", c.what, row[0].Violation, c.rule)
			case c.rule == core.RuleAskAbove && *row[0].Violation != core.Violation{Rule: c.rule, Rev: 2, Limit: 30 * 4060, Asked: 30 * 4072}:
				t.Errorf("%s: %+v", c.what, row[0].Violation)
			case (c.status == core.AskPlaced) != (e.Order == core.OrderID(f.at.Seq)) || (c.status == core.AskPlaced) != (f.v.Performance(agent).OrdersToday == placed+1):
				t.Errorf("%s: order %d, %d orders today", c.what, e.Order, f.v.Performance(agent).OrdersToday)
			}
			f.want(c.what+", again", &core.DecideAsk{Owner: owner, Ask: id, Approve: true}, core.UnknownApproval)
		}
	}
}

// TestDecisionsOfOthers checks that nobody else decides, and that a rejection ends what waits.
func TestDecisionsOfOthers(t *testing.T) {
	f := newFamily(t)
	f.setMandate(askAbove(0))
	id := f.ask(f.order(agent, core.Buy, core.Yes, 4000, 3))
	for _, u := range []core.UserID{0, friend, agent, 99} {
		for _, approve := range []bool{false, true} {
			f.want("another account", &core.DecideAsk{Owner: u, Ask: id, Approve: approve}, core.UnknownApproval)
		}
	}
	f.want("another id", &core.DecideAsk{Owner: owner, Ask: id + 1}, core.UnknownApproval)
	f.must(&core.DecideAsk{Owner: owner, Ask: id})
	if e := f.asked(); e.Status != core.AskRejected || e.Why() != "" || len(f.last) != 1 || len(f.v.Asks(agent)) != 0 {
		t.Errorf("a rejection: %v", f.last)
	}
	f.want("an approval after it", &core.DecideAsk{Owner: owner, Ask: id, Approve: true}, core.UnknownApproval)
}

// TestApprovedOrderTrades checks that an approved order is matched as a new one, with the key that asked.
func TestApprovedOrderTrades(t *testing.T) {
	f := newFamily(t)
	f.must(&core.CreateKey{User: agent, Key: "k", Scopes: core.ScopeTrade})
	key := eventsOf[*core.KeyChanged](f)[0].Key.Number
	f.setMandate(askAbove(0), collar(500))
	f.must(f.order(other, core.Buy, core.Yes, 4500, 1)) // the reference of the collar
	market := with(f.order(agent, core.Buy, core.Yes, core.TickMax, 5), func(c *core.PlaceOrder) {
		c.Type, c.TIF, c.MaxCost, c.Unpriced, c.Key = core.Market, core.IOC, 40_000, true, key
	})
	id := f.ask(market)
	if x := f.v.Asks(agent)[0]; x.Place.Tick != 5000 || x.Place.Unpriced {
		t.Errorf("the order is %+v, want the tick that the collar chose", x.Place)
	}
	f.must(f.order(other, core.Buy, core.Yes, 4800, 1)) // the collar would now allow 5300
	f.must(f.order(friend, core.Buy, core.No, 4900, 2)) // YES at 5100, beyond the tick
	f.must(f.order(friend, core.Buy, core.No, 5000, 3)) // YES at 5000
	e := f.approve(id)
	fills := eventsOf[*core.Filled](f)
	if e.Order != core.OrderID(f.at.Seq) || len(fills) != 1 || fills[0].Qty != 3 || fills[0].TickYes != 5000 || fills[0].Taker != e.Order {
		t.Errorf("%+v, events %v, want 3 contracts at 5000", e, f.last)
	}
	if row := eventsOf[*core.OrderPlaced](f)[0]; row.Place.Key != key || row.Tick != 5000 {
		t.Errorf("the order is %+v at %d", row.Place, row.Tick)
	}
	if got, unchanged := f.v.ledger.HoldingRef(agent, 1).Contracts(core.Yes), market.Tick; got != 3 || unchanged != core.TickMax {
		t.Errorf("the agent holds %d, the command has the tick %d", got, unchanged)
	}
}

// quoted is a quote of the agent in market 1; at a tick 0 it takes the side away.
func quoted(side core.Side, group uint32, tick core.Tick) *core.QuoteSide {
	return &core.QuoteSide{Cancel: tick == 0, PlaceOrder: core.PlaceOrder{User: agent, Market: 1, ClientID: 900, Side: side, Group: group, Tick: tick, Qty: 1}}
}

// TestAsksEnd checks what ends an order that waits, with which reason, and what does not
// (docs/rules/agent-accounts.md#approvals).
func TestAsksEnd(t *testing.T) {
	var key core.KeyNumber
	for _, c := range []struct {
		what   string
		order  func(*core.PlaceOrder)
		cause  func(f *family) core.Command
		status core.AskStatus // AskWaiting: it stays
		why    core.Reason
	}{
		{"a halt", nil, func(*family) core.Command { return &core.HaltAgent{Owner: owner, Agent: agent} }, core.AskCanceled, core.Halted},
		{"a close", nil, func(*family) core.Command { return &core.CloseAgent{Owner: owner, Agent: agent} }, core.AskCanceled, core.Halted},
		{"the owner leaves", nil, func(*family) core.Command { return &core.RevokeKey{User: owner} }, core.AskCanceled, core.Halted},
		{"its key is revoked", nil, func(*family) core.Command { return &core.RevokeKey{User: agent, Key: "k"} }, core.AskCanceled, core.KeyRevoked},
		{"another key is revoked", func(c *core.PlaceOrder) { c.Key = 0 }, func(*family) core.Command { return &core.RevokeKey{User: agent, Key: "k"} }, core.AskWaiting, 0},
		{"the agent is suspended", nil, func(*family) core.Command { return &core.SuspendUser{User: agent} }, core.AskCanceled, core.Suspended},
		{"the family is suspended", nil, func(*family) core.Command { return &core.SuspendUser{User: owner} }, core.AskCanceled, core.Suspended},
		{"an operator", nil, func(*family) core.Command { return &core.CancelUserOrders{User: agent} }, core.AskCanceled, core.ByOperator},
		{"all its orders", nil, func(*family) core.Command { return &core.CancelAll{User: agent} }, core.AskCanceled, core.MassCancel},
		{"those of its market", nil, func(*family) core.Command { return &core.CancelAll{User: agent, Market: 1} }, core.AskCanceled, core.MassCancel},
		{"those of another market", nil, func(*family) core.Command { return &core.CancelAll{User: agent, Market: 2} }, core.AskWaiting, 0},
		{"those of its group", nil, func(*family) core.Command { return &core.CancelAll{User: agent, Group: 7} }, core.AskCanceled, core.MassCancel},
		{"those of another group", nil, func(*family) core.Command { return &core.CancelAll{User: agent, Group: 8} }, core.AskWaiting, 0},
		{"the agent cancels it", nil, func(f *family) core.Command {
			return &core.CancelOrder{User: agent, Order: core.OrderID(f.v.Asks(agent)[0].ID)}
		}, core.AskCanceled, core.UserCancel},
		{"a pause", nil, func(*family) core.Command { return &core.PauseMarket{Market: 1} }, core.AskWaiting, 0},
		{"a pause that cancels it", func(c *core.PlaceOrder) { c.Flags = core.CancelOnPause }, func(*family) core.Command { return &core.PauseMarket{Market: 1} }, core.AskCanceled, core.Paused},
		{"a void", nil, func(*family) core.Command { return &core.VoidMarket{Market: 1} }, core.AskCanceled, core.RoundClosed},
		{"a void of another market", nil, func(*family) core.Command { return &core.VoidMarket{Market: 2} }, core.AskWaiting, 0},
		{"the dead-man switch", nil, func(f *family) core.Command {
			f.must(&core.ArmDeadman{User: agent, TimeoutMs: 1000})
			f.at.Ts += core.NsPerSec
			return &core.Clock{}
		}, core.AskCanceled, core.DeadmanFired},
		{"the switch of its group", nil, func(f *family) core.Command {
			f.must(&core.ArmDeadman{User: agent, Group: 7, TimeoutMs: 1000})
			f.at.Ts += core.NsPerSec
			return &core.Clock{}
		}, core.AskCanceled, core.DeadmanFired},
		{"its connection ends", nil, func(f *family) core.Command {
			f.must(&core.BindOrders{User: agent, Group: 7, Line: core.Line{Session: 1}})
			return &core.EndConnection{User: agent, Line: core.Line{Session: 1}}
		}, core.AskCanceled, core.Disconnected},
		{"its side of the group is quoted away", nil, func(*family) core.Command { return quoted(core.Buy, 7, 0) }, core.AskCanceled, core.Requoted},
		{"the other side is quoted away", nil, func(*family) core.Command { return quoted(core.Sell, 7, 0) }, core.AskWaiting, 0},
		{"another group is quoted away", nil, func(*family) core.Command { return quoted(core.Buy, 8, 0) }, core.AskWaiting, 0},
		{"its side is quoted away in another market", nil, func(*family) core.Command {
			c := quoted(core.Buy, 7, 0)
			c.Market = 2
			return c
		}, core.AskWaiting, 0},
		{"a quote of its side", nil, func(f *family) core.Command { f.setMandate(); return quoted(core.Buy, 7, 4100) }, core.AskCanceled, core.Requoted},
		{"a quote of its side that stays", nil, func(f *family) core.Command {
			f.setMandate()
			f.must(quoted(core.Buy, 7, 3900))
			f.setMandate(askAbove(0))
			f.ask(with(f.order(agent, core.Buy, core.Yes, 4000, 3), func(c *core.PlaceOrder) { c.Group = 7 }))
			c := quoted(core.Buy, 7, 3900)
			c.ClientID++
			return c
		}, core.AskCanceled, core.Requoted},
		{"a quote of the other side that would meet it", nil, func(f *family) core.Command { f.setMandate(); return quoted(core.Sell, 7, 4000) }, core.AskCanceled, core.Requoted},
		{"a quote of the other side beyond it", nil, func(f *family) core.Command { f.setMandate(); return quoted(core.Sell, 7, 4100) }, core.AskWaiting, 0},
		{"its group trips", nil, func(f *family) core.Command {
			f.must(&core.SetGroup{User: agent, Group: 7, FillLimit: 1, WindowMs: 1000})
			f.setMandate()
			f.must(with(f.order(agent, core.Buy, core.Yes, 4000, 1), func(c *core.PlaceOrder) { c.Group = 7 }))
			return f.order(other, core.Buy, core.No, 6000, 1)
		}, core.AskCanceled, core.GroupLimit},
		{"the mandate expires", nil, func(f *family) core.Command {
			f.setMandate(expires(f.at.Ts + core.NsPerSec))
			f.at.Ts += core.NsPerSec
			return &core.Clock{}
		}, core.AskCanceled, core.MandateExpired},
		{"another mandate", nil, func(f *family) core.Command {
			return &core.SetMandate{Owner: owner, Agent: agent, IfRev: f.v.accounts[agent].Agent.Rev}
		}, core.AskWaiting, 0},
		{"300 s", func(c *core.PlaceOrder) { c.Market = 3 }, func(f *family) core.Command {
			f.at.Ts = f.v.Asks(agent)[0].Created + 300*core.NsPerSec - 1
			return &core.Clock{}
		}, core.AskExpired, 0},
		{"the close of its round", nil, func(f *family) core.Command {
			f.at.Ts = origin + 60*core.NsPerSec - 1
			return &core.Clock{}
		}, core.AskExpired, 0},
		{"a moment before the close", nil, func(f *family) core.Command {
			f.at.Ts = origin + 60*core.NsPerSec - 2
			return &core.Clock{}
		}, core.AskWaiting, 0},
	} {
		for _, restarts := range []bool{false, true} {
			f := newFamily(t)
			f.must(&core.ActivateRules{Revision: core.RevisionNewest})
			f.must(&core.CreateKey{User: agent, Key: "k", Scopes: core.ScopeTrade})
			key = eventsOf[*core.KeyChanged](f)[0].Key.Number
			f.setMandate(askAbove(0))
			f.ask(with(f.order(agent, core.Buy, core.Yes, 4000, 2), func(o *core.PlaceOrder) {
				if o.Key, o.Group = key, 7; c.order != nil {
					c.order(o)
				}
			}))
			cmd := c.cause(f)
			if restarts {
				f.restart()
			}
			f.must(cmd)
			list := eventsOf[*core.AskChanged](f)
			if ended := len(list) == 1; ended != (c.status != core.AskWaiting) || ended && (list[0].Status != c.status || list[0].Reason != c.why) {
				t.Errorf("%s: %v, events %v", c.what, list, f.last)
			}
			if waits := len(f.v.Asks(agent)) == 1; waits != (c.status == core.AskWaiting) {
				t.Errorf("%s: waits %t", c.what, waits)
			}
			if f.cash(agent) > 500_000 || len(f.v.asks.of) != len(f.v.Asks(agent)) || f.v.asks.all.Len() != len(f.v.Asks(agent)) {
				t.Errorf("%s: %d pips, %d accounts with asks, %d in all", c.what, f.cash(agent), len(f.v.asks.of), f.v.asks.all.Len())
			}
		}
	}
}

// TestAsksExpireBeforeRounds checks that a tick at the close ends what waits before the round freezes, and that the
// next tick is due then.
func TestAsksExpireBeforeRounds(t *testing.T) {
	f := newFamily(t)
	f.setMandate(askAbove(0))
	f.ask(f.order(agent, core.Buy, core.Yes, 4000, 2))
	at := f.v.Asks(agent)[0].Expires
	if at != f.v.markets[1].CloseTs || f.v.askDue() != at || restored(t, f.v).askDue() != at {
		t.Errorf("it waits until %d, the round closes at %d, the tick is due at %d", at, f.v.markets[1].CloseTs, f.v.askDue())
	}
	f.at.Ts = at - 1
	f.must(&core.Clock{})
	expired := slices.IndexFunc(f.last, func(e core.Event) bool { a, ok := e.(*core.AskChanged); return ok && a.Status == core.AskExpired })
	froze := slices.IndexFunc(f.last, func(e core.Event) bool {
		r, ok := e.(*core.RoundChanged)
		return ok && r.Round.Market == 1 && r.Round.Status == core.Frozen
	})
	if expired < 0 || froze < expired {
		t.Errorf("the events are %v, want the end of the wait before the freeze", f.last)
	}
	if f.v.askDue() != never {
		t.Errorf("another tick is due at %d", f.v.askDue())
	}
}

// TestAsksOfAnEarlierRevision checks that the bound is BadMandate before core.RevisionAsks, and that a state without
// asks has its hash.
func TestAsksOfAnEarlierRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionMakers)
	m := mandate(askAbove(5))
	if r := v.do(&core.CreateAgent{Owner: 1, Name: "a", Mandate: m}); r != core.BadMandate {
		t.Errorf("revision %d: %v", core.RevisionMakers, r)
	}
	v.must(&core.ActivateRules{Revision: core.RevisionAsks})
	v.must(&core.CreateAgent{Owner: 1, Name: "a", Mandate: m})
	if r := v.do(&core.DecideAsk{Owner: 1, Ask: 1}); r != core.UnknownApproval {
		t.Errorf("a decision about nothing: %v", r)
	}
	if n, err := readArrayHead(piecesOf(t, v.Venue)[0]); err != nil || n != 25 {
		t.Errorf("the state has %d fields, %v", n, err)
	}
	if m.AskAbove, m.Set = 5, 0; m.Valid(core.RevisionNewest) {
		t.Error("a bound that is not set is valid")
	}
}

// TestAskInAnImage checks that an image keeps what waits when it ends later.
func TestAskInAnImage(t *testing.T) {
	f := newFamily(t)
	f.setMandate(askAbove(0))
	id := f.ask(f.order(agent, core.Buy, core.Yes, 4000, 2))
	image, err := f.v.Image()
	if err != nil {
		t.Fatal(err)
	}
	want := bytesOf(t, f.v)
	f.approve(id)
	if got, err := image.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the image changed, %v", err)
	}
}

// TestSeveralAsks checks that each decision ends one ask and leaves the others, that a void ends those of its market,
// and that an approved order that trips its group ends what waits in the group.
func TestSeveralAsks(t *testing.T) {
	f := newFamily(t)
	f.must(&core.ActivateRules{Revision: core.RevisionNewest})
	f.setMandate(askAbove(0))
	in := func(m core.MarketID, group uint32) uint64 {
		return f.ask(with(f.order(agent, core.Buy, core.Yes, 4000, 2), func(c *core.PlaceOrder) { c.Market, c.Group = m, group }))
	}
	wants := func(what string, ids ...uint64) {
		t.Helper()
		var got []uint64
		for _, x := range f.v.Asks(agent) {
			got = append(got, x.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%s: %v wait, want %v", what, got, ids)
		}
	}
	a, b, c, d, e := in(2, 7), in(1, 0), in(1, 0), in(2, 7), in(2, 8)
	if b != f.at.Seq-3 {
		t.Errorf("the id is %d, the command had seq %d", b, f.at.Seq-3)
	}
	wants("all", a, b, c, d, e)
	f.must(&core.DecideAsk{Owner: owner, Ask: b})
	wants("one is rejected", a, c, d, e)
	f.must(&core.VoidMarket{Market: 1})
	wants("the market is void", a, d, e)
	f.must(&core.SetGroup{User: agent, Group: 7, FillLimit: 1, WindowMs: 1000})
	f.must(with(f.order(other, core.Buy, core.No, 6000, 1), func(c *core.PlaceOrder) { c.Market = 2 }))
	f.approveAndEnd(a, d)
	wants("the group has tripped", e)
	if len(f.v.tripped) != 0 || f.v.accounts[agent].resting != 0 {
		t.Errorf("%d groups are left to cancel, %d orders rest", len(f.v.tripped), f.v.accounts[agent].resting)
	}
	f.must(&core.CancelAll{User: agent})
	wants("all are canceled")
	if len(f.v.asks.of) != 0 {
		t.Error("an agent without asks is kept")
	}
}

// approveAndEnd approves what waits, which ends another ask with its group.
func (f *family) approveAndEnd(id, ended uint64) {
	f.Helper()
	f.must(&core.DecideAsk{Owner: owner, Ask: id, Approve: true})
	list := eventsOf[*core.AskChanged](f)
	if len(list) != 2 || list[0].Status != core.AskPlaced || list[1].Ask.ID != ended || list[1].Reason != core.GroupLimit {
		f.Errorf("the approval ends %v", list)
	}
}

// TestEndedAsksLeaveNoTimers checks that the timers of asks that have ended do not stay in memory.
func TestEndedAsksLeaveNoTimers(t *testing.T) {
	f := newFamily(t)
	f.setMandate(askAbove(0))
	for range 3_000 {
		f.at.Seq++
		f.at.Ts++
		f.id++
		o := &core.PlaceOrder{User: agent, ClientID: f.id, Market: 3, Tick: 4000, Qty: 1}
		if r := f.v.Apply(f.at, o, &core.Events{}); r != core.OK {
			t.Fatal(r)
		}
		id := f.at.Seq
		f.at.Seq++
		f.at.Ts++
		if r := f.v.Apply(f.at, &core.DecideAsk{Owner: owner, Ask: id}, &core.Events{}); r != core.OK {
			t.Fatal(r)
		}
		keep := &core.PlaceOrder{User: agent, ClientID: f.id + 10_000, Market: 1, Tick: 4000, Qty: 1} // the earliest, so that none is outdated at the head
		if f.id == 1 {
			f.must(keep)
		}
		if f.v.Due(); len(f.v.asks.timers.heap) > 1_100 {
			t.Fatalf("%d timers", len(f.v.asks.timers.heap))
		}
	}
}
