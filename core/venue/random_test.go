package venue

import (
	"bytes"
	"math/bits"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
)

// script draws random commands, most of them valid: few users and markets, prices near each other, and
// steps of time from nothing to half a minute.
type script struct {
	t    *rapid.T
	at   core.Stamp
	ids  []core.OrderID
	next uint64

	placed []placedOrder // the newest 20
}

type placedOrder struct {
	core.PlaceOrder
	id core.OrderID
}

// note remembers an order for later commands.
func (s *script) note(c *core.PlaceOrder, id core.OrderID) {
	s.ids = append(s.ids, id)
	s.placed = append(s.placed[max(0, len(s.placed)-19):], placedOrder{*c, id})
}

const origin = 1_800_000_000_000_000_000 / (900 * core.NsPerSec) * (900 * core.NsPerSec)

func (s *script) stamp() core.Stamp {
	s.at.Seq++
	s.at.Ts += 1 + pick(s, "step", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, core.NsPerMs, core.NsPerMs, core.NsPerSec, core.NsPerSec, 4*core.NsPerSec, 31*core.NsPerSec)
	return s.at
}

// fair draws a number below n, each with equal probability; rapid prefers small numbers.
func (s *script) fair(n uint64, what string) int {
	i, _ := bits.Mul64(rapid.Uint64().Draw(s.t, what)*0x9E3779B97F4A7C15, n)
	return int(i)
}

func pick[T any](s *script, what string, of ...T) T { return of[s.fair(uint64(len(of)), what)] }

func (s *script) user() core.UserID { return core.UserID(1 + s.fair(4, "user")) }
func (s *script) market() core.MarketID {
	return pick[core.MarketID](s, "market", 1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 9)
}
func (s *script) qty() core.Qty { return core.Qty(1 + s.fair(30, "qty")) }

// replace returns a replace of an order that was placed, or nil if there is none.
func (s *script) replace() *core.ReplaceOrder {
	if len(s.placed) == 0 {
		return nil
	}
	old := pick(s, "replaced", s.placed...)
	c := &core.ReplaceOrder{Old: old.id, PlaceOrder: *s.place()}
	c.User, c.Market, c.Side, c.Outcome = old.User, old.Market, old.Side, old.Outcome
	c.Seen = core.Qty(s.fair(30, "seen"))
	return c
}

func (s *script) order() core.OrderID {
	if len(s.ids) == 0 {
		return 1
	}
	return pick(s, "order", s.ids...)
}

func (s *script) place() *core.PlaceOrder {
	s.next++
	c := &core.PlaceOrder{
		User: s.user(), ClientID: s.next, Market: s.market(), Side: core.Side(s.fair(2, "side")),
		Outcome: core.Outcome(s.fair(2, "outcome")), Qty: s.qty(),
		Tick: pick[core.Tick](s, "tick", 4700, 4800, 4900, 5000, 5100, 5200, 5300, 390, 9610, 4750),
		TIF:  pick(s, "tif", core.GTC, core.GTC, core.GTC, core.GTT, core.IOC, core.FOK), Flags: pick(s, "flags", 0, 0, 0, 0, core.Flags(s.fair(16, "flag"))),
		Group: uint32(s.fair(3, "group")),
	}
	if !c.TIF.Rests() {
		c.Flags &^= core.PostOnly
	}
	if c.TIF == core.GTT {
		c.Expiry = s.at.Ts + rapid.Int64Range(0, 40*core.NsPerSec).Draw(s.t, "expiry")
	}
	if s.fair(6, "market order") == 0 {
		c.Type, c.TIF, c.Expiry, c.Flags = core.Market, core.IOC, 0, c.Flags&^core.PostOnly
		c.Tick = core.Tick(rapid.IntRange(1, 9999).Draw(s.t, "worst"))
	}
	if c.Side == core.Buy && (c.Type == core.Market || rapid.Bool().Draw(s.t, "capped")) {
		c.MaxCost = uint64(1 + s.fair(200_000, "max cost"))
	}
	return c
}

// groupCommand returns a command about the bound of a group that orders name.
func (s *script) groupCommand() core.Command {
	u, id := s.user(), uint32(s.fair(3, "group"))
	line := core.Line{Node: uint32(s.fair(2, "node")), Session: uint64(1 + s.fair(2, "session")), Conn: uint64(s.fair(2, "connection"))}
	switch s.fair(12, "of a group") {
	case 2:
		return &core.ArmDeadman{User: u, Group: id, TimeoutMs: uint32(rapid.IntRange(1000, 5000).Draw(s.t, "ms"))}
	case 3:
		return &core.DisarmDeadman{User: u, Group: id}
	case 4, 5:
		return &core.BindOrders{User: u, Group: id, Line: line}
	case 6:
		return &core.BindOrders{User: u, Group: id, Release: true}
	case 7:
		return &core.EndConnection{User: u, Line: line}
	case 8:
		return &core.Beat{Node: line.Node, Session: line.Session}
	case 0:
		return &core.ResetGroup{User: u, Group: id}
	case 1:
		return &core.DeleteGroup{User: u, Group: id}
	}
	return &core.SetGroup{User: u, Group: id, FillLimit: core.Qty(1 + s.fair(20, "fill limit")), WindowMs: uint32(100 + s.fair(5000, "window"))}
}

// quote returns a quote of one side, mostly with an order that can rest.
func (s *script) quote() core.Command {
	c := s.place()
	q := &core.QuoteSide{Cancel: s.fair(6, "of no order") == 0}
	q.User, q.Key, q.ClientID, q.Market, q.Side, q.Tick, q.Qty, q.Flags = c.User, c.Key, c.ClientID, c.Market, c.Side, c.Tick, c.Qty, core.QuoteFlags
	q.Group = uint32(1 + s.fair(2, "quoted group"))
	return q
}

func (s *script) command() core.Command {
	switch n := s.fair(60, "kind") - 20; {
	case n < 14:
		return s.place()
	case n < 18:
		return s.quote()
	case n < 21:
		return &core.CancelOrder{User: s.user(), Order: s.order()}
	case n < 23:
		return &core.DecreaseOrder{User: s.user(), Order: s.order(), To: rapid.Bool().Draw(s.t, "to"), Amount: s.qty() / 3}
	case n == 23:
		if c := s.replace(); c != nil && rapid.Bool().Draw(s.t, "replace") {
			return c
		}
		return &core.CancelAll{User: s.user(), Market: core.MarketID(s.fair(3, "of")), Group: uint32(s.fair(3, "group"))}
	case n == 24 && rapid.Bool().Draw(s.t, "group"):
		return s.groupCommand()
	case n == 24:
		return &core.ArmDeadman{User: s.user(), TimeoutMs: uint32(rapid.IntRange(1000, 5000).Draw(s.t, "ms"))}
	case n == 25:
		if rapid.Bool().Draw(s.t, "forecast") {
			return &core.SubmitForecast{User: s.user(), Market: s.market(), Generation: uint32(s.fair(3, "life")), P: core.Probability(s.fair(10_001, "p"))}
		}
		return &core.DisarmDeadman{User: s.user()}
	case n == 26:
		return &core.Redeem{User: s.user(), Market: s.market(), Qty: s.qty() / 4}
	case n == 27:
		return &core.RequestWithdrawal{User: s.user(), ClientID: rapid.SampledFrom([]string{"a", "b"}).Draw(s.t, "wid"), Amount: core.Pips(s.qty()) * 100, Destination: "d"}
	case n == 28:
		return &core.DecideWithdrawal{Withdrawal: uint64(s.order()), Complete: rapid.Bool().Draw(s.t, "complete")}
	case n == 29:
		f := core.Fees{Maker: core.Rate(rapid.IntRange(0, 100).Draw(s.t, "maker")), Taker: core.Rate(rapid.IntRange(100, 10000).Draw(s.t, "taker"))}
		f.RebatePct, f.ReferPct = uint8(rapid.IntRange(0, 60).Draw(s.t, "rebate")), uint8(rapid.IntRange(0, 40).Draw(s.t, "refer"))
		return &core.SetFees{Fees: f}
	case n == 30:
		return &core.PauseMarket{Market: s.market(), Lift: rapid.Bool().Draw(s.t, "lift")}
	case n == 31:
		return &core.VoidMarket{Market: s.market()}
	case n == 32:
		return &core.ProposePrice{Market: s.market(), Price: core.Price(rapid.IntRange(90, 110).Draw(s.t, "price"))}
	case n == 33:
		return &core.SuspendUser{User: s.user(), Lift: rapid.IntRange(0, 3).Draw(s.t, "suspend") > 0}
	case n == 34:
		return &core.Deposit{User: s.user(), DepositID: rapid.SampledFrom([]string{"x", "y"}).Draw(s.t, "did"), Amount: 5000}
	case n < 38:
		return &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: s.at.Ts / core.NsPerSec, Price: core.Price(rapid.IntRange(90, 110).Draw(s.t, "index")), Count: 3}}
	default:
		return &core.Clock{}
	}
}

// opening returns the commands that most tests start with, under the newest rules.
func opening() []core.Command { return openingUnder(core.RevisionNewest) }

// openingUnder returns commands that put a revision of the rules in force and make users with money
// and three markets.
func openingUnder(r core.Revision) (cmds []core.Command) {
	cmds = append(rulesOf(r), &core.CreateUser{Name: "1"})
	for range 3 {
		cmds = append(cmds, &core.CreateUser{Name: "n", Referrer: 1})
	}
	for u := core.UserID(1); u <= 4; u++ {
		cmds = append(cmds, &core.Deposit{User: u, DepositID: string(rune('0' + u)), Amount: 1_000_000})
	}
	return append(cmds, &core.SetSession{Feed: core.BTC, Open: true},
		&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: origin / core.NsPerSec, Price: 100, Count: 3}}, &core.Clock{})
}

// otherCommands returns commands that fill the parts of the state that script leaves empty.
func otherCommands() []core.Command {
	rules := core.DefaultRules()
	rules.Grid, rules.OpenOrders, rules.DisputeNs = core.Full(), 9, 3*core.NsPerSec
	return []core.Command{
		&core.SetRules{Rules: rules},
		&core.SetFees{Fees: core.Fees{Maker: 10, Taker: 300}},
		&core.SetSchedule{Windows: []core.Window{{Kind: "maintenance", Start: 1, End: 2}}},
		&core.CreateKey{User: 2, Key: "k2", Scopes: core.ScopeRead, Label: "second", Sealed: []byte{1, 2}},
		&core.CreateKey{User: 1, Key: "k1", Scopes: core.ScopeTrade, Label: "first", Sealed: []byte{3}},
		&core.CreateKey{User: 1, Key: "k3", Scopes: core.ScopeRead},
		&core.RevokeKey{User: 2, Key: "k2"},
		&core.SetSession{Feed: core.Gold, Open: true, Until: origin + 7200*core.NsPerSec},
		&core.PostIndex{Tick: core.IndexTick{Feed: core.Gold, Second: origin / core.NsPerSec, Price: 7, Count: 1}},
		&core.AddOperator{Name: "zoe", Role: core.RoleAdmin, TokenHash: [32]byte{1}},
		&core.AddOperator{Name: "ann", Role: core.RoleSupport, TokenHash: [32]byte{2}},
		&core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveVoid, Market: 1}, Audit: core.Audit{Who: "zoe", Why: "stuck"}},
		&core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveDeposit, User: 1, DepositID: "big", Amount: 7}, Audit: core.Audit{Who: "ann"}},
	}
}

func begin(t *rapid.T) (*Venue, *script, *eventChecker) {
	v, s, w := New(), &script{t: t, at: core.Stamp{Ts: origin + core.NsPerSec/2}}, newEventChecker(t.Fatalf)
	for _, c := range opening() {
		s.at.Seq++
		s.at.Ts++
		ev := &core.Events{}
		if r := v.Apply(s.at, c, ev); r != core.OK {
			t.Fatalf("%T is rejected: %v", c, r)
		}
		w.check(v, s.at, v.Fees(), c, core.OK, ev)
	}
	return v, s, w
}

func bytesOf(t rapid.TB, v *Venue) []byte {
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// restored returns a venue made from v's state.
func restored(t rapid.TB, v *Venue) *Venue {
	again, err := Restore(bytesOf(t, v))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestRandomCommandsKeepTheInvariant applies random commands, each as applied does.
func TestRandomCommandsKeepTheInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, w := begin(t)
		ev := &core.Events{}
		for range 1 + s.fair(100, "commands") {
			ev.Reset()
			cmd := s.command()
			st := s.stamp()
			r := applied(t, v, w, st, cmd, ev)
			if c := core.PlacementOf(cmd); c != nil && r == core.OK {
				s.note(c, core.OrderID(st.Seq))
			}
			if _, ok := cmd.(*core.RequestWithdrawal); ok && r == core.OK {
				s.ids = append(s.ids, core.OrderID(st.Seq))
			}
		}
	})
}

// applied applies a command and returns its result. It checks that all sums are exact, that the events
// agree with the state, and that a preview of a placement changes nothing and predicts the result.
func applied(t rapid.TB, v *Venue, w *eventChecker, st core.Stamp, cmd core.Command, ev *core.Events) core.Reject {
	var previewed Preview
	var refused core.Reject
	c, places := cmd.(*core.PlaceOrder)
	if places {
		before := bytesOf(t, v)
		if previewed, refused = v.Preview(c, st.Ts); !bytes.Equal(before, bytesOf(t, v)) {
			t.Fatalf("a preview of %+v changed the state", c)
		}
	}
	fees := v.Fees()
	r := v.Apply(st, cmd, ev)
	v.Audit()
	w.check(v, st, fees, cmd, r, ev)
	if places {
		if r != refused {
			t.Fatalf("previewed %v, got %v for %+v", refused, r, cmd)
		}
		compare(t, v, &previewed, c, st, r, ev)
	}
	return r
}

// compare checks a preview against the events of the placement. A rejected preview contains at most the
// violation of a mandate.
func compare(t rapid.TB, v *Venue, p *Preview, c *core.PlaceOrder, st core.Stamp, r core.Reject, ev *core.Events) {
	if r != core.OK {
		if !reflect.DeepEqual(*p, Preview{Violation: p.Violation}) {
			t.Fatalf("previewed %+v, got %v for %+v", *p, r, c)
		}
		return
	}
	var fills []PreviewFill
	left, level, closed := c.Qty, core.Qty(0), core.NoReason
	for _, e := range ev.List {
		switch e := e.(type) {
		case *core.Filled:
			fills = append(fills, PreviewFill{Maker: e.Maker, TickYes: e.TickYes, Qty: e.Qty, Fee: e.TakerFee, Path: e.Path, user: e.MakerUser, side: e.MakerSide, outcome: e.MakerOutcome})
			left -= e.Qty
		case *core.OrderClosed:
			if e.Order == core.OrderID(st.Seq) {
				closed = e.Reason
			}
		case *core.LevelChanged: // the newest is of the order if it rests
			level = e.Qty
		}
	}
	if !reflect.DeepEqual(fills, p.Fills) && len(fills)+len(p.Fills) > 0 {
		t.Fatalf("previewed fills %+v, got %+v", p.Fills, fills)
	}
	want := Preview{Fills: p.Fills, Tick: c.Tick, Reason: closed, Filled: c.Qty - left, Cash: p.Cash}
	for _, g := range fills {
		price := core.Pips(g.Qty) * core.Pips(core.InYes(c.Outcome, g.TickYes))
		want.Fee += g.Fee
		if c.Side == core.Buy {
			want.Spent += price
		} else {
			want.Earned += price
		}
	}
	switch {
	case left == 0:
		want.Status = core.Executed
	case closed != core.NoReason:
		want.Status = core.Canceled
	default:
		want.Status, want.Resting, want.Ahead = core.Resting, left, level-left
		if want.Filled > 0 {
			want.Status = core.PartiallyFilled
		}
		if c.Side == core.Buy {
			want.Reserved = core.Pips(left) * core.ReservationPerContract(v.Fees().Maker, c.Tick)
		}
	}
	if !reflect.DeepEqual(*p, want) {
		t.Fatalf("previewed %+v, got %+v", *p, want)
	}
	if c.TIF == core.FOK && len(fills) > 0 && left > 0 {
		t.Fatalf("a fok order filled in part: %+v", c)
	}
	if cash, _ := v.Balance(c.User); cash != p.Cash {
		t.Fatalf("previewed cash %d, got %d for %+v", p.Cash, cash, c)
	}
}

// TestRestoredVenueGoesOnAlike checks that a venue and its restored copy give the same events and
// states for the same commands.
func TestRestoredVenueGoesOnAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		for _, c := range otherCommands() {
			if r := v.Apply(s.stamp(), c, &core.Events{}); r != core.OK {
				t.Fatalf("%T is rejected: %v", c, r)
			}
		}
		run := func(vs []*Venue, n int) {
			for range n {
				cmd, st := s.command(), s.stamp()
				var first []core.Event
				for i, x := range vs {
					ev := &core.Events{}
					r := x.Apply(st, cmd, ev)
					if i == 0 {
						first = ev.List
						if c := core.PlacementOf(cmd); c != nil && r == core.OK {
							s.note(c, core.OrderID(st.Seq))
						}
					} else if !reflect.DeepEqual(first, ev.List) {
						t.Fatalf("%+v: %+v and %+v", cmd, first, ev.List)
					}
				}
			}
		}
		run([]*Venue{v}, s.fair(80, "before"))
		again := restored(t, v)
		if !bytes.Equal(bytesOf(t, v), bytesOf(t, again)) {
			t.Fatal("the restored state differs")
		}
		run([]*Venue{v, again}, s.fair(40, "after"))
		if !bytes.Equal(bytesOf(t, v), bytesOf(t, again)) || v.Due() != again.Due() {
			t.Fatal("the states differ after more commands")
		}
	})
}

// TestDueIsWhenSomethingHappens checks that a clock tick changes something at Due and nothing before.
func TestDueIsWhenSomethingHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		for range 1 + s.fair(6, "times") {
			for range s.fair(12, "commands") {
				cmd, st := s.command(), s.stamp()
				if r := v.Apply(st, cmd, &core.Events{}); r == core.OK {
					s.ids = append(s.ids, core.OrderID(st.Seq))
				}
			}
			due, now := v.Due(), v.Now()
			if due == never { // every series waits for an index
				if ticked(t, v, now.Ts+3600*core.NsPerSec) {
					t.Fatal("a tick changes something although nothing is due")
				}
				continue
			}
			if due > now.Ts+1 && ticked(t, v, due-1) {
				t.Fatalf("a tick changes something before %d ns, when it is due", due-now.Ts)
			}
			if !ticked(t, v, max(due, now.Ts+1)) {
				t.Fatalf("a tick changes nothing after %d ns, when it is due", due-now.Ts)
			}
		}
	})
}

// ticked reports whether a clock tick at ts changes a copy of v.
func ticked(t *rapid.T, v *Venue, ts int64) bool {
	again := restored(t, v)
	ev := &core.Events{}
	again.Apply(core.Stamp{Seq: v.now.Seq + 1, Ts: ts}, &core.Clock{}, ev)
	again.now = v.now
	return len(ev.List) > 0 || !bytes.Equal(bytesOf(t, v), bytesOf(t, again))
}
