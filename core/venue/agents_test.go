package venue

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"duplex/core"
)

// family is a venue with accounts 1 to 4 of 1,000,000 pips each, three BTC markets, and agent 5 of
// account 1 with 500,000 pips and an empty mandate.
type family struct {
	*testing.T
	v    *Venue
	at   core.Stamp
	last []core.Event
	id   uint64
}

const (
	owner  core.UserID = 1
	friend core.UserID = 2
	other  core.UserID = 3
	agent  core.UserID = 5
)

func newFamily(t *testing.T) *family {
	f := &family{T: t, v: New(), at: core.Stamp{Ts: origin + core.NsPerSec/2}}
	for _, c := range opening() {
		f.must(c)
	}
	f.must(&core.CreateAgent{Owner: owner, Name: "scout", Fund: 500_000})
	return f
}

// do applies a command and audits the venue.
func (f *family) do(c core.Command) core.Reject {
	f.at.Seq++
	f.at.Ts++
	ev := &core.Events{}
	r := f.v.Apply(f.at, c, ev)
	f.last = ev.List
	f.v.Audit()
	for u := core.UserID(1); int(u) < len(f.v.accounts); u++ {
		if !f.v.ledger.CheckAccount(u) {
			f.Fatalf("%T: the profit and loss of account %d does not add up", c, u)
		}
	}
	return r
}

func (f *family) must(c core.Command) {
	f.Helper()
	if r := f.do(c); r != core.OK {
		f.Fatalf("%T is rejected: %v", c, r)
	}
}

// want applies a command and checks its result. A rejected command must not change the state, apart
// from the stamp.
func (f *family) want(what string, c core.Command, want core.Reject) {
	f.Helper()
	before := f.state()
	if got := f.do(c); got != want {
		f.Errorf("%s: %q, want %q", what, got, want)
	}
	if _, placement := c.(*core.PlaceOrder); want != core.OK && !placement && !bytes.Equal(before, f.state()) {
		f.Errorf("%s: the rejected command changed the state", what)
	}
}

// state returns the encoded state without its last stamp.
func (f *family) state() []byte {
	now := f.v.now
	f.v.now = core.Stamp{}
	defer func() { f.v.now = now }()
	return bytesOf(f, f.v)
}

// order returns a gtc limit order in market 1 with a new client_order_id.
func (f *family) order(u core.UserID, s core.Side, o core.Outcome, tick core.Tick, qty core.Qty) *core.PlaceOrder {
	f.id++
	return &core.PlaceOrder{User: u, ClientID: f.id, Market: 1, Side: s, Outcome: o, Tick: tick, Qty: qty}
}

func (f *family) cash(u core.UserID) core.Pips { return f.v.ledger.Cash(u) }

// mandate returns a mandate with bounds.
func mandate(bounds ...func(*core.Mandate)) (m core.Mandate) {
	for _, b := range bounds {
		b(&m)
	}
	return m
}

func cost(r core.MandateRule, limit uint64) func(*core.Mandate) {
	return func(m *core.Mandate) { m.SetCost(r, limit) }
}

func bound(r core.MandateRule, set func(*core.Mandate)) func(*core.Mandate) {
	return func(m *core.Mandate) {
		m.Bound(r)
		set(m)
	}
}

func collar(n core.Tick) func(*core.Mandate) {
	return bound(core.RulePriceCollar, func(m *core.Mandate) { m.Collar = n })
}

func expires(ts int64) func(*core.Mandate) {
	return bound(core.RuleExpires, func(m *core.Mandate) { m.Expires = ts })
}

func (f *family) setMandate(bounds ...func(*core.Mandate)) {
	f.Helper()
	f.must(&core.SetMandate{Owner: owner, Agent: agent, IfRev: f.v.accounts[agent].Agent.Rev, Mandate: mandate(bounds...)})
}

// eventsOf returns the events of one type.
func eventsOf[E core.Event](f *family) (list []E) {
	for _, e := range f.last {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// TestCreateAgent checks docs/rules/agent-accounts.md#accounts.
func TestCreateAgent(t *testing.T) {
	f := newFamily(t)
	a := f.v.accounts[agent]
	if a.Name != "scout" || a.Agent.Owner != owner || a.Agent.Rev != 1 {
		t.Errorf("the agent is %+v, want scout of account %d at rev 1", a.User, owner)
	}
	if f.cash(agent) != 500_000 || f.cash(owner) != 500_000 {
		t.Errorf("the agent has %d pips, its owner %d, want 500000 each", f.cash(agent), f.cash(owner))
	}
	for _, c := range []struct {
		what string
		cmd  core.CreateAgent
		want core.Reject
	}{
		{"no owner", core.CreateAgent{Owner: 99, Name: "a"}, core.UnknownUser},
		{"an agent's agent", core.CreateAgent{Owner: agent, Name: "a"}, core.UnknownUser},
		{"a name used before", core.CreateAgent{Owner: owner, Name: "scout"}, core.DuplicateAgentName},
		{"more than the free cash", core.CreateAgent{Owner: owner, Name: "a", Fund: 500_001}, core.InsufficientBalance},
		{"a negative fund", core.CreateAgent{Owner: owner, Name: "a", Fund: -1}, core.BadAmount},
		{"an expiry that has come", core.CreateAgent{Owner: owner, Name: "a", Mandate: mandate(expires(origin))}, core.BadMandate},
		{"an order of no contract", core.CreateAgent{Owner: owner, Name: "a", Mandate: mandate(bound(core.RuleOrderQty, func(*core.Mandate) {}))}, core.BadMandate},
		{"the same name of another owner", core.CreateAgent{Owner: friend, Name: "scout"}, core.OK},
	} {
		f.want(c.what, &c.cmd, c.want)
	}
	f.want("a referrer that is an agent", &core.CreateUser{Name: "x", Referrer: agent}, core.UnknownUser)
	f.must(&core.CreateAgent{Owner: friend, Name: "second"})
	if got := f.v.accounts[f.v.accounts[friend].agents[1]].Referrer; got != f.v.accounts[friend].Referrer || got == 0 {
		t.Errorf("the agent's referrer is %d", got)
	}
	for i := 1; i < core.AgentsOpenMax; i++ {
		f.must(&core.CreateAgent{Owner: owner, Name: fmt.Sprint("n", i)})
	}
	f.want("the 33rd agent", &core.CreateAgent{Owner: owner, Name: "more"}, core.AgentLimit)
	f.must(&core.CloseAgent{Owner: owner, Agent: agent})
	f.must(&core.CreateAgent{Owner: owner, Name: "more"})
	for i := len(f.v.accounts[owner].agents); i < core.AgentsMax; i++ {
		u := f.v.accounts[owner].agents[i-1]
		f.v.Apply(f.at, &core.CloseAgent{Owner: owner, Agent: u}, &core.Events{})
		f.v.Apply(f.at, &core.CreateAgent{Owner: owner, Name: fmt.Sprint("m", i)}, &core.Events{})
	}
	f.must(&core.CloseAgent{Owner: owner, Agent: f.v.accounts[owner].agents[core.AgentsMax-1]})
	f.want("the 1001st agent", &core.CreateAgent{Owner: owner, Name: "last"}, core.AgentLimit)
	f.must(&core.SuspendUser{User: friend})
	f.want("a suspended owner", &core.CreateAgent{Owner: friend, Name: "third"}, core.UserSuspended)
}

// TestAgentKeys checks that an agent's key cannot withdraw, that a closed agent gets no key, and that
// a command of a revoked or unknown key is not authorized.
func TestAgentKeys(t *testing.T) {
	f := newFamily(t)
	f.want("a key that withdraws", &core.CreateKey{User: agent, Key: "k", Scopes: core.ScopeRead | core.ScopeWithdraw}, core.MissingScope)
	f.want("a withdrawal", &core.RequestWithdrawal{User: agent, ClientID: "w", Amount: 1, Destination: "bank"}, core.MissingScope)
	f.must(&core.CreateKey{User: agent, Key: "k", Scopes: core.ScopeTrade})
	f.must(&core.CreateKey{User: owner, Key: "o", Scopes: core.ScopeTrade})
	signed := func(n core.KeyNumber) bool { return f.v.Authorized(&core.CancelAll{User: agent, Key: n}) }
	for number, want := range map[core.KeyNumber]bool{0: true, 1: true, 2: true, 3: false, 1 << 40: false} {
		if got := signed(number); got != want {
			t.Errorf("a command of key %d is authorized: %t, want %t", number, got, want)
		}
	}
	f.must(&core.RevokeKey{User: agent, Key: "k"})
	again := restored(t, f.v)
	for _, v := range []*Venue{f.v, again} {
		if v.Authorized(&core.PlaceOrder{Key: 1}) || !v.Authorized(&core.PlaceOrder{Key: 2}) || v.keys.last != 2 {
			t.Errorf("after the revocation: the newest key is %d", v.keys.last)
		}
	}
	f.must(&core.CreateKey{User: agent, Key: "k", Scopes: core.ScopeTrade})
	if !signed(3) || signed(1) {
		t.Error("the number of a revoked key is used again")
	}
	f.must(&core.CloseAgent{Owner: owner, Agent: agent})
	if signed(3) || !signed(2) {
		t.Error("the keys after the close")
	}
	f.want("a key of a closed agent", &core.CreateKey{User: agent, Key: "n"}, core.InvalidTransition)
}

// TestTransfer checks docs/rules/agent-accounts.md#transfers.
func TestTransfer(t *testing.T) {
	f := newFamily(t)
	f.must(&core.CreateAgent{Owner: owner, Name: "second"})
	f.must(&core.CreateAgent{Owner: friend, Name: "foreign"})
	const second, foreign core.UserID = 6, 7
	f.must(f.order(agent, core.Buy, core.Yes, 5000, 20)) // reserves 101,260
	transfer := func(id string, from, to core.UserID, n core.Pips) *core.Transfer {
		return &core.Transfer{Owner: owner, ClientID: id, From: from, To: to, Amount: n}
	}
	f.want("to the agent", transfer("a", owner, agent, 7), core.OK)
	first := eventsOf[*core.Transferred](f)[0]
	f.want("back", transfer("b", agent, owner, 9), core.OK)
	if f.cash(owner) != 500_002 {
		t.Errorf("the owner has %d", f.cash(owner))
	}
	f.want("a repeat", transfer("a", owner, agent, 7), core.OK)
	if again := eventsOf[*core.Transferred](f); len(again) != 1 || *again[0] != *first || f.cash(owner) != 500_002 {
		t.Errorf("the repeat answers %+v, the first %+v", again, first)
	}
	cash := f.cash(agent)
	for _, c := range []struct {
		what string
		cmd  *core.Transfer
		want core.Reject
	}{
		{"other fields", transfer("a", owner, agent, 8), core.DuplicateTransferID},
		{"another direction", transfer("a", agent, owner, 7), core.DuplicateTransferID},
		{"to a stranger", transfer("c", owner, friend, 1), core.UnknownAgent},
		{"to another owner's agent", transfer("c", owner, foreign, 1), core.UnknownAgent},
		{"to oneself", transfer("c", owner, owner, 1), core.UnknownAgent},
		{"between agents", transfer("c", agent, second, 1), core.UnknownAgent},
		{"to nobody", transfer("c", owner, 99, 1), core.UnknownAgent},
		{"nothing", transfer("c", owner, agent, 0), core.BadAmount},
		{"a negative amount", transfer("c", owner, agent, -5), core.BadAmount},
		{"more than the free cash", transfer("c", agent, owner, cash+1), core.InsufficientBalance},
		{"all free cash, with an id that was rejected", transfer("c", agent, owner, cash), core.OK},
		{"reserved cash", transfer("d", agent, owner, 1), core.InsufficientBalance},
	} {
		f.want(c.what, c.cmd, c.want)
	}
	f.must(&core.SuspendUser{User: agent})
	f.want("from a suspended agent", transfer("e", agent, owner, 1), core.UserSuspended)
	f.must(&core.SuspendUser{User: agent, Lift: true})
	f.must(&core.SuspendUser{User: owner})
	f.want("in a suspended family", transfer("e", agent, owner, 1), core.UserSuspended)
	f.must(&core.SuspendUser{User: owner, Lift: true})
	f.must(&core.CloseAgent{Owner: owner, Agent: agent})
	f.want("a closed agent", transfer("e", owner, agent, 1), core.InvalidTransition)
	f.want("a repeat after the close", transfer("a", owner, agent, 7), core.OK)
	f.v = restored(t, f.v)
	f.want("a repeat after a restart", transfer("a", owner, agent, 7), core.OK)
	f.want("other fields after a restart", transfer("a", owner, agent, 8), core.DuplicateTransferID)
}

// TestFamilySelfTrade checks that no two accounts of a family trade with each other.
func TestFamilySelfTrade(t *testing.T) {
	closed := func(f *family) core.Reason {
		for _, e := range eventsOf[*core.OrderClosed](f) {
			if e.Order == core.OrderID(f.at.Seq) {
				return e.Reason
			}
		}
		return core.NoReason
	}
	for _, c := range []struct {
		what   string
		flags  core.Flags
		tif    core.TIF
		fills  int
		reason core.Reason
	}{
		{"a taker", 0, core.GTC, 1, core.SelfTradePrevention},
		{"stp_maker cancels only the account's own orders", core.StpMaker, core.GTC, 1, core.SelfTradePrevention},
		{"fok", 0, core.FOK, 0, core.FokInfeasible},
		{"fok with stp_maker", core.StpMaker, core.FOK, 0, core.FokInfeasible},
		{"post_only", core.PostOnly, core.GTC, 0, core.PostOnlyCross},
	} {
		f := newFamily(t)
		f.must(f.order(other, core.Buy, core.No, 5100, 1)) // the best ask, of a stranger
		f.must(f.order(owner, core.Buy, core.No, 5000, 5))
		o := f.order(agent, core.Buy, core.Yes, 5000, 4)
		o.Flags, o.TIF = c.flags, c.tif
		f.must(o)
		if n := len(eventsOf[*core.Filled](f)); n != c.fills || closed(f) != c.reason {
			t.Errorf("%s: %d fills, closed as %q", c.what, n, closed(f))
		}
		if f.v.accounts[owner].resting != 1 {
			t.Errorf("%s: the owner's order is gone", c.what)
		}
	}
}

// TestMandateRules checks each rule at its bound: the placement that passes and the one that does not
// (docs/rules/agent-accounts.md#mandate).
func TestMandateRules(t *testing.T) {
	const unit = 5063 // of one contract at 5000, with its fee
	buy := func(tick core.Tick, qty core.Qty) func(*family) *core.PlaceOrder {
		return func(f *family) *core.PlaceOrder { return f.order(agent, core.Buy, core.Yes, tick, qty) }
	}
	held := func(f *family) { // the agent holds 4 YES at 5000, for 20000 and a fee of 250
		f.must(f.order(other, core.Buy, core.No, 5000, 4))
		f.must(f.order(agent, core.Buy, core.Yes, 5000, 4))
	}
	lost := func(f *family) { // it sells 2 of them at 2000: loss 4000 + 64 + 10125
		held(f)
		f.must(f.order(other, core.Buy, core.Yes, 2000, 2))
		f.must(f.order(agent, core.Sell, core.Yes, 2000, 2))
	}
	const loss = 10_125 - 4_000 + 80
	day := (int64(core.DayOf(origin)) + 1) * core.NsPerDay
	for _, c := range []struct {
		what  string
		bound func(*core.Mandate)
		setup func(*family)
		order func(*family) *core.PlaceOrder
		want  *core.Violation
	}{
		{"category allowed", bound(core.RuleCategories, func(m *core.Mandate) { m.Categories = 1<<1 | 1<<9 }), nil, buy(5000, 1), nil},
		{"category", bound(core.RuleCategories, func(m *core.Mandate) { m.Categories = 1 << 2 }), nil, buy(5000, 1), &core.Violation{Rule: core.RuleCategories}},
		{"reduce_only", bound(core.RuleReduceOnly, func(*core.Mandate) {}), nil, buy(5000, 1), &core.Violation{Rule: core.RuleReduceOnly}},
		{"reduce_only with the flag", bound(core.RuleReduceOnly, func(*core.Mandate) {}), held, func(f *family) *core.PlaceOrder {
			o := f.order(agent, core.Buy, core.No, 4000, 4)
			o.Flags = core.ReduceOnly
			return o
		}, nil},
		{"reduce_only of a sale", bound(core.RuleReduceOnly, func(*core.Mandate) {}), held, func(f *family) *core.PlaceOrder { return f.order(agent, core.Sell, core.Yes, 5000, 4) }, nil},
		{"max_order_qty", bound(core.RuleOrderQty, func(m *core.Mandate) { m.OrderQty = 3 }), nil, buy(5000, 3), nil},
		{"max_order_qty + 1", bound(core.RuleOrderQty, func(m *core.Mandate) { m.OrderQty = 3 }), nil, buy(5000, 4), &core.Violation{Rule: core.RuleOrderQty, Limit: 3, Asked: 4}},
		{"max_open_orders", bound(core.RuleOpenOrders, func(m *core.Mandate) { m.OpenOrders = 1 }), nil, buy(4000, 1), nil},
		{"max_open_orders + 1", bound(core.RuleOpenOrders, func(m *core.Mandate) { m.OpenOrders = 1 }), func(f *family) {
			o := f.order(agent, core.Buy, core.Yes, 4000, 1)
			o.Market = 2 // orders of all markets count
			f.must(o)
		}, buy(4000, 1), &core.Violation{Rule: core.RuleOpenOrders, Limit: 1, Used: 1, Asked: 1}},
		{"max_open_orders of an ioc order", bound(core.RuleOpenOrders, func(m *core.Mandate) { m.OpenOrders = 0 }), nil, func(f *family) *core.PlaceOrder {
			o := f.order(agent, core.Buy, core.Yes, 4000, 1)
			o.TIF = core.IOC
			return o
		}, nil},
		{"max_orders_per_day", bound(core.RuleOrdersPerDay, func(m *core.Mandate) { m.OrdersPerDay = 2 }), held, buy(4000, 1), nil},
		{"max_orders_per_day + 1", bound(core.RuleOrdersPerDay, func(m *core.Mandate) { m.OrdersPerDay = 2 }), lost, buy(4000, 1), &core.Violation{Rule: core.RuleOrdersPerDay, Limit: 2, Used: 2, Asked: 1, ResetsTs: day}},
		{"max_order_cost", cost(core.RuleOrderCost, 3*unit), nil, buy(5000, 3), nil},
		{"max_order_cost + 1", cost(core.RuleOrderCost, 3*unit-1), nil, buy(5000, 3), &core.Violation{Rule: core.RuleOrderCost, Limit: 3*unit - 1, Asked: 3 * unit}},
		{"max_order_cost of a sale", cost(core.RuleOrderCost, 0), held, func(f *family) *core.PlaceOrder { return f.order(agent, core.Sell, core.Yes, 5000, 4) }, nil},
		{"max_order_cost of a market buy", cost(core.RuleOrderCost, 9_000), nil, func(f *family) *core.PlaceOrder {
			o := f.order(agent, core.Buy, core.Yes, 9999, 50)
			o.Type, o.TIF, o.MaxCost = core.Market, core.IOC, 9_000
			return o
		}, nil},
		{"max_market_cost", cost(core.RuleMarketCost, 20_250+unit), held, buy(5000, 1), nil},
		{"max_market_cost + 1", cost(core.RuleMarketCost, 20_250+unit-1), held, buy(5000, 1), &core.Violation{Rule: core.RuleMarketCost, Limit: 20_250 + unit - 1, Used: 20_250, Asked: unit}},
		{"max_market_cost of another market", cost(core.RuleMarketCost, unit), held, func(f *family) *core.PlaceOrder {
			o := f.order(agent, core.Buy, core.Yes, 5000, 1)
			o.Market = 2
			return o
		}, nil},
		{"max_open_cost with a resting order", cost(core.RuleOpenCost, 20_250+8_000+unit), func(f *family) {
			held(f)
			o := f.order(agent, core.Buy, core.Yes, 4000, 2)
			o.Market = 2
			f.must(o)
		}, buy(5000, 1), nil},
		{"max_open_cost + 1", cost(core.RuleOpenCost, 20_250+8_000+unit-1), func(f *family) {
			held(f)
			o := f.order(agent, core.Buy, core.Yes, 4000, 2)
			o.Market = 2
			f.must(o)
		}, buy(5000, 1), &core.Violation{Rule: core.RuleOpenCost, Limit: 28_250 + unit - 1, Used: 28_250, Asked: unit}},
		{"max_daily_loss", cost(core.RuleDailyLoss, loss+10_125+unit), lost, buy(5000, 1), nil},
		{"max_daily_loss + 1", cost(core.RuleDailyLoss, loss+10_125+unit-1), lost, buy(5000, 1), &core.Violation{Rule: core.RuleDailyLoss, Limit: loss + 10_125 + unit - 1, Used: loss + 10_125, Asked: unit, ResetsTs: day}},
		{"max_daily_loss on the next day", cost(core.RuleDailyLoss, 10_125+4_048), func(f *family) {
			lost(f)
			f.nextDay()
		}, func(f *family) *core.PlaceOrder { return nil }, nil},
		{"a limit above every sum", cost(core.RuleDailyLoss, 1<<64-1), lost, buy(5000, 1), nil},
		{"a limit below what is open", cost(core.RuleOpenCost, 1), held, buy(4000, 1), &core.Violation{Rule: core.RuleOpenCost, Limit: 1, Used: 20_250, Asked: 4_060}},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := newFamily(t)
			if c.setup != nil {
				c.setup(f)
			}
			f.setMandate(c.bound)
			o := c.order(f)
			if o == nil {
				if got := f.v.Usage(agent); got.LossToday != 0 || got.OrdersToday != 0 {
					t.Errorf("usage on the next day %+v", got)
				}
				return
			}
			want := core.OK
			if c.want != nil {
				c.want.Rev, want = 2, core.MandateViolation
			}
			p, r := f.v.Preview(o, 0)
			if r != want || !reflect.DeepEqual(p.Violation, c.want) {
				t.Errorf("preview %q, %+v", r, p.Violation)
			}
			f.want("the placement", o, want)
			if placed := eventsOf[*core.OrderPlaced](f)[0]; !reflect.DeepEqual(placed.Violation, c.want) {
				t.Errorf("violation %+v, want %+v", placed.Violation, c.want)
			}
			if c.want != nil {
				f.want("the id is used up", o, core.DuplicateClientOrderID)
			}
		})
	}
}

// nextDay applies a clock tick on the next UTC day.
func (f *family) nextDay() {
	f.Helper()
	f.at.Ts = (int64(core.DayOf(f.at.Ts)) + 1) * core.NsPerDay
	f.must(&core.Clock{})
}

// TestCollarReference checks docs/rules/agent-accounts.md#price-collar. Ticks are those of the order's
// own outcome.
func TestCollarReference(t *testing.T) {
	type resting struct {
		user core.UserID
		o    core.Outcome
		tick core.Tick // of a buy
	}
	for _, c := range []struct {
		what string
		book []resting
		side core.Side
		o    core.Outcome
		last core.Tick // the last tick that passes with a collar of 300
	}{
		{"a buy in an empty book", nil, core.Buy, core.Yes, 5300},
		{"a sale in an empty book", nil, core.Sell, core.Yes, 4700},
		{"a buy at the best bid", []resting{{other, core.Yes, 4500}, {friend, core.Yes, 4400}, {other, core.No, 4000}}, core.Buy, core.Yes, 4800},
		{"a buy without a bid and a low ask", []resting{{other, core.No, 6000}}, core.Buy, core.Yes, 4300},
		{"a buy without a bid and a high ask", []resting{{other, core.No, 4000}}, core.Buy, core.Yes, 5300},
		{"a buy of no", []resting{{other, core.No, 4000}}, core.Buy, core.No, 4300},
		{"a sale at the best ask", []resting{{other, core.No, 4000}, {other, core.Yes, 4500}}, core.Sell, core.Yes, 5700},
		{"a sale without an ask and a high bid", []resting{{other, core.Yes, 6000}}, core.Sell, core.Yes, 5700},
		{"a sale without an ask and a low bid", []resting{{other, core.Yes, 4000}}, core.Sell, core.Yes, 4700},
		{"a sale of no", []resting{{other, core.Yes, 4000}}, core.Sell, core.No, 5700},
		{"the agent's own bids do not count", []resting{{agent, core.Yes, 5200}, {agent, core.Yes, 5100}, {other, core.Yes, 4000}}, core.Buy, core.Yes, 4300},
		{"nor do its asks", []resting{{agent, core.No, 6000}}, core.Buy, core.Yes, 5300},
		{"near the end of the range", []resting{{other, core.Yes, 9900}}, core.Buy, core.Yes, 9999},
		{"near its start", []resting{{other, core.No, 9900}}, core.Sell, core.Yes, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := newFamily(t)
			rules := f.v.Rules()
			rules.Grid = core.Full()
			f.must(&core.SetRules{Rules: rules})
			if c.side == core.Sell { // it has contracts of both outcomes
				f.must(f.order(agent, core.Buy, core.Yes, 5000, 9))
				f.must(f.order(other, core.Buy, core.No, 5000, 9))
				f.must(f.order(agent, core.Buy, core.No, 5000, 9))
				f.must(f.order(other, core.Buy, core.Yes, 5000, 9))
			}
			for _, r := range c.book {
				f.must(f.order(r.user, core.Buy, r.o, r.tick, 1))
			}
			f.setMandate(collar(300))
			worse := core.Tick(1)
			if c.side == core.Sell {
				worse = -1
			}
			at := func(tick core.Tick) *core.PlaceOrder {
				o := f.order(agent, c.side, c.o, tick, 1)
				o.Flags = core.PostOnly // so that it does not trade
				return o
			}
			if beyond := at(c.last + worse); beyond.Tick.InDomain() {
				f.want("beyond the collar", beyond, core.MandateViolation)
				if got, want := eventsOf[*core.OrderPlaced](f)[0].Violation, (core.Violation{Rule: core.RulePriceCollar, Rev: 2, Limit: uint64(c.last), Asked: uint64(c.last + worse)}); *got != want {
					t.Errorf("violation %+v, want %+v", got, want)
				}
			}
			unpriced := f.order(agent, c.side, c.o, core.TickMax, 1)
			if unpriced.Type, unpriced.TIF, unpriced.Unpriced = core.Market, core.IOC, true; c.side == core.Buy {
				unpriced.MaxCost = 50_000
			} else {
				unpriced.Tick = core.TickMin
			}
			if p, r := f.v.Preview(unpriced, 0); r != core.OK || p.Tick != c.last {
				t.Errorf("a market order without a price: %q, worst tick %d, want %d", r, p.Tick, c.last)
			}
			f.want("at the collar", at(c.last), core.OK)
			f.must(unpriced)
			if got := eventsOf[*core.OrderPlaced](f)[0].Tick; c.what != "the agent's own bids do not count" && got != c.last {
				t.Errorf("the market order has worst tick %d, want %d", got, c.last)
			}
		})
	}
}

// TestUnpricedWithoutCollar checks that a market order without a price keeps the end of the price
// range where no collar holds.
func TestUnpricedWithoutCollar(t *testing.T) {
	f := newFamily(t)
	f.must(f.order(other, core.Buy, core.No, 400, 2)) // an ask at 9600
	for _, u := range []core.UserID{friend, agent} {
		o := f.order(u, core.Buy, core.Yes, core.TickMax, 1)
		o.Type, o.TIF, o.Unpriced, o.MaxCost = core.Market, core.IOC, true, 20_000
		f.must(o)
		if len(eventsOf[*core.Filled](f)) != 1 {
			t.Errorf("account %d: %v", u, f.last)
		}
	}
}

// TestUnpricedWithinCollar checks that a market order without a price trades up to the last tick that
// the collar allows, and not beyond it.
func TestUnpricedWithinCollar(t *testing.T) {
	for _, c := range []struct {
		what  string
		side  core.Side
		o     core.Outcome
		price core.Tick // the worst of the range, in the order's outcome
	}{{"a buy", core.Buy, core.Yes, core.TickMax}, {"a buy of no", core.Buy, core.No, core.TickMax}, {"a sale", core.Sell, core.Yes, core.TickMin}} {
		t.Run(c.what, func(t *testing.T) {
			f := newFamily(t)
			if c.side == core.Sell {
				f.must(f.order(agent, core.Buy, core.Yes, 5000, 2))
				f.must(f.order(other, core.Buy, core.No, 5000, 2))
			}
			near, far, against := c.o, c.o.Other(), core.Tick(5000)
			if c.side == core.Sell { // its reference is the best ask
				near, far = far, near
			}
			f.must(f.order(other, core.Buy, near, against, 1)) // the reference: the collar ends 300 beyond
			f.must(f.order(other, core.Buy, far, 4800, 1))     // within it
			f.must(f.order(other, core.Buy, far, 4000, 1))     // beyond it
			f.setMandate(collar(300))
			o := f.order(agent, c.side, c.o, c.price, 2)
			if o.Type, o.TIF, o.Unpriced = core.Market, core.IOC, true; c.side == core.Buy {
				o.MaxCost = 50_000
			}
			f.must(o)
			if fills := eventsOf[*core.Filled](f); len(fills) != 1 || fills[0].Qty != 1 {
				t.Errorf("the order within the collar has the events %v, want one fill of 1", f.last)
			}
		})
	}
}

// TestStates checks halt, resume, expiry, suspension and close, with their precedence
// (docs/rules/agent-accounts.md#states). Every step is checked on the venue and on a restored one.
func TestStates(t *testing.T) {
	f := newFamily(t)
	state := func(what string, want core.AgentState) {
		t.Helper()
		again := restored(t, f.v)
		if got := again.State(agent); got != want || f.v.State(agent) != want {
			t.Errorf("%s: %v, restored %v, want %v", what, f.v.State(agent), got, want)
		}
		if f.v.Due() != again.Due() {
			t.Errorf("%s: a tick is due at %d, of the restored venue at %d", what, f.v.Due(), again.Due())
		}
		f.v = again
	}
	canceled := func(what string, why core.Reason) {
		t.Helper()
		if list := eventsOf[*core.OrderClosed](f); len(list) != 1 || list[0].Reason != why || f.v.accounts[agent].resting != 0 {
			t.Errorf("%s: %v, want one order closed for %v and none resting", what, f.last, why)
		}
	}
	changed := func(what string, want ...core.AgentChanged) {
		t.Helper()
		var got []core.AgentChanged
		for _, e := range eventsOf[*core.AgentChanged](f) {
			got = append(got, *e)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	violates := func(what string, rule core.MandateRule, rev uint32) {
		t.Helper()
		f.want(what, f.order(agent, core.Buy, core.Yes, 4000, 1), core.MandateViolation)
		if got := eventsOf[*core.OrderPlaced](f)[0].Violation; *got != (core.Violation{Rule: rule, Rev: rev}) {
			t.Errorf("%s: %+v, want rule %v at rev %d", what, got, rule, rev)
		}
	}
	state("new", core.AgentActive)
	f.must(f.order(agent, core.Buy, core.Yes, 4000, 1))
	f.must(&core.HaltAgent{Owner: owner, Agent: agent})
	canceled("halt", core.Halted)
	changed("halt", core.AgentChanged{User: agent, State: core.AgentHalted, Rev: 1})
	state("halted", core.AgentHalted)
	violates("halted", core.RuleHalted, 1)
	f.must(&core.HaltAgent{Owner: owner, Agent: agent})
	changed("halt again")
	f.want("redeem while halted", &core.Redeem{User: agent, Market: 1, Qty: 1}, core.InsufficientPosition)
	f.want("a transfer while halted", &core.Transfer{Owner: owner, ClientID: "h", From: agent, To: owner, Amount: 1}, core.OK)
	f.must(&core.ResumeAgent{Owner: owner, Agent: agent})
	changed("resume", core.AgentChanged{User: agent, State: core.AgentActive, Rev: 1})
	f.must(&core.ResumeAgent{Owner: owner, Agent: agent})
	changed("resume again")

	f.want("a foreign halt", &core.HaltAgent{Owner: friend, Agent: agent}, core.UnknownAgent)
	f.want("a foreign resume", &core.ResumeAgent{Owner: friend, Agent: agent}, core.UnknownAgent)
	f.want("a foreign close", &core.CloseAgent{Owner: friend, Agent: agent}, core.UnknownAgent)
	f.want("a foreign mandate", &core.SetMandate{Owner: friend, Agent: agent, IfRev: 1}, core.UnknownAgent)
	f.want("a mandate of an owner", &core.SetMandate{Owner: owner, Agent: friend, IfRev: 1}, core.UnknownAgent)
	f.want("a stale mandate", &core.SetMandate{Owner: owner, Agent: agent, IfRev: 2}, core.StaleMandate)
	f.want("a bad and stale mandate", &core.SetMandate{Owner: owner, Agent: agent, IfRev: 2, Mandate: mandate(expires(f.at.Ts + 1))}, core.BadMandate)

	// The mandate expires by the stamp of a placement, and its orders at the next tick.
	at := f.at.Ts + core.NsPerSec
	f.setMandate(expires(at))
	changed("mandate", core.AgentChanged{User: agent, State: core.AgentActive, Rev: 2})
	f.must(f.order(agent, core.Buy, core.Yes, 4000, 1))
	f.at.Ts = at - 1
	if p, r := f.v.Preview(f.order(agent, core.Buy, core.Yes, 4000, 1), at); r != core.MandateViolation || p.Violation.Rule != core.RuleExpires {
		t.Errorf("a preview at the expiry: %q", r)
	}
	violates("at the expiry", core.RuleExpires, 2)
	state("expired", core.AgentExpired)
	if f.v.Due() != at || f.v.accounts[agent].resting != 1 {
		t.Errorf("a tick is due at %d", f.v.Due())
	}
	f.must(&core.Clock{})
	canceled("expiry", core.MandateExpired)
	changed("expiry", core.AgentChanged{User: agent, State: core.AgentExpired, Rev: 2})
	state("swept", core.AgentExpired)
	f.must(&core.Clock{})
	changed("the next tick")
	f.must(&core.HaltAgent{Owner: owner, Agent: agent})
	state("halted and expired", core.AgentHalted)
	violates("halted and expired", core.RuleHalted, 2)
	f.must(&core.ResumeAgent{Owner: owner, Agent: agent})
	state("resume does not end the expiry", core.AgentExpired)
	f.setMandate(expires(f.at.Ts + 3600*core.NsPerSec))
	state("a later expiry", core.AgentActive)

	f.must(f.order(agent, core.Buy, core.Yes, 4000, 1))
	f.must(&core.SuspendUser{User: owner})
	canceled("suspended family", core.Suspended)
	changed("suspended family", core.AgentChanged{User: agent, State: core.AgentSuspended, Rev: 3})
	state("suspended family", core.AgentSuspended)
	f.want("a placement of a suspended family", f.order(agent, core.Buy, core.Yes, 4000, 1), core.UserSuspended)
	f.must(&core.HaltAgent{Owner: owner, Agent: agent})
	state("suspended and halted", core.AgentSuspended)
	f.must(&core.SuspendUser{User: owner, Lift: true})
	changed("lifted", core.AgentChanged{User: agent, State: core.AgentHalted, Rev: 3})
	f.must(&core.ResumeAgent{Owner: owner, Agent: agent})
	f.must(&core.SuspendUser{User: agent})
	state("a suspended agent", core.AgentSuspended)
	f.must(f.order(owner, core.Buy, core.Yes, 4000, 1))
	f.must(&core.SuspendUser{User: agent, Lift: true})

	f.must(f.order(agent, core.Buy, core.Yes, 4000, 1))
	f.must(&core.CreateKey{User: agent, Key: "k"})
	f.must(&core.RevokeKey{User: owner}) // the owner leaves
	canceled("the owner leaves", core.Halted)
	state("the owner left", core.AgentHalted)
	if len(slices.Collect(f.v.KeysOf(agent))) != 0 {
		t.Error("the agent keeps its key")
	}
	f.must(&core.CloseAgent{Owner: owner, Agent: agent})
	state("closed", core.AgentClosed)
	f.must(&core.SuspendUser{User: agent})
	state("closed and suspended", core.AgentClosed)
	f.must(&core.SuspendUser{User: agent, Lift: true})
	f.must(&core.CloseAgent{Owner: owner, Agent: agent})
	changed("closed again")
	f.want("halt of a closed agent", &core.HaltAgent{Owner: owner, Agent: agent}, core.InvalidTransition)
	f.want("resume of a closed agent", &core.ResumeAgent{Owner: owner, Agent: agent}, core.InvalidTransition)
	f.want("a mandate of a closed agent", &core.SetMandate{Owner: owner, Agent: agent, IfRev: 3}, core.InvalidTransition)
}

// TestReplacedMandatesLeaveNoTimers checks that the timers of mandates that were replaced do not stay
// in memory.
func TestReplacedMandatesLeaveNoTimers(t *testing.T) {
	f := newFamily(t)
	for i := range 5_000 {
		at := f.v.now.Ts + int64(10_000-i)*3600*core.NsPerSec // each before those that it replaces
		c := &core.SetMandate{Owner: owner, Agent: agent, IfRev: f.v.accounts[agent].Agent.Rev, Mandate: mandate(expires(at))}
		f.at.Seq++
		f.at.Ts++
		if r := f.v.Apply(f.at, c, &core.Events{}); r != core.OK {
			t.Fatal(r)
		}
		if f.v.Due(); len(f.v.mandateTimers.heap) > 1_100 {
			t.Fatalf("%d timers of one agent", len(f.v.mandateTimers.heap))
		}
	}
}

// TestClosedAgentReturnsCash checks that a closed agent's cash goes to its owner at once, and a later
// payout or deposit in the same command.
func TestClosedAgentReturnsCash(t *testing.T) {
	f := newFamily(t)
	f.must(f.order(other, core.Buy, core.No, 5000, 4))
	f.must(f.order(agent, core.Buy, core.Yes, 5000, 4))
	f.must(f.order(agent, core.Buy, core.Yes, 4000, 9)) // rests
	f.must(&core.CloseAgent{Owner: owner, Agent: agent})
	if cash := f.cash(owner); f.cash(agent) != 0 || cash != 1_000_000-20_250 {
		t.Errorf("after the close the owner has %d, the agent %d", cash, f.cash(agent))
	}
	f.must(&core.Deposit{User: agent, DepositID: "late", Amount: 11})
	if moved := eventsOf[*core.Transferred](f); len(moved) != 1 || moved[0].Amount != 11 || f.cash(agent) != 0 {
		t.Errorf("a deposit: %v", f.last)
	}
	f.must(&core.VoidMarket{Market: 1})
	if moved := eventsOf[*core.Transferred](f); len(moved) != 1 || moved[0].Amount != 20_000 || f.cash(owner) != 1_000_000-250+11 {
		t.Errorf("a payout: %v", f.last)
	}
	if p := f.v.Performance(agent); p.Realized != -250 || p.TransfersNet != -11+250 || p.DepositsNet != 11 {
		t.Errorf("the performance is %+v, want 250 lost, 239 returned net and 11 deposited", p)
	}
	if e := f.v.Equity(agent); e != 0 {
		t.Errorf("equity %d", e)
	}
}

// TestMark checks docs/rules/money.md#mark-price and the equity that follows from it.
func TestMark(t *testing.T) {
	f := newFamily(t)
	mark := func(what string, want core.Tick, ok bool, equity core.Pips) {
		t.Helper()
		if got, found := f.v.Mark(1); got != want || found != ok {
			t.Errorf("%s: mark %d, %t", what, got, found)
		}
		if got := f.v.Equity(agent); got != equity {
			t.Errorf("%s: equity %d, want %d", what, got, equity)
		}
	}
	mark("no trade", 0, false, 500_000)
	f.must(f.order(other, core.Buy, core.Yes, 1000, 1))
	mark("a bid alone", 0, false, 500_000)
	f.must(f.order(friend, core.Buy, core.No, 1000, 1))
	mark("no trade, and a wide market", 5000, true, 500_000)
	f.must(&core.CancelAll{User: other})
	f.must(&core.CancelAll{User: friend})
	f.must(f.order(other, core.Buy, core.No, 5000, 4))
	f.must(f.order(agent, core.Buy, core.Yes, 5000, 4))
	const cash = 500_000 - 20_250
	mark("the last trade", 5000, true, cash+4*5000)
	f.must(f.order(other, core.Buy, core.Yes, 6000, 1))
	mark("a bid above the last trade", 6000, true, cash+4*6000)
	f.must(f.order(friend, core.Buy, core.No, 2900, 1))
	mark("an ask of 7100, too far for the middle", 6000, true, cash+4*6000)
	f.must(f.order(friend, core.Buy, core.No, 3000, 1))
	mark("an ask of 7000, just near enough", 6500, true, cash+4*6500)
	f.v.markets[1].Status, f.v.markets[1].Winner = core.Proposed, core.Yes
	mark("proposed yes", 10_000, true, cash+40_000)
	f.v.markets[1].Winner = core.No
	mark("proposed no", 0, true, cash)
}
