package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// smallCaps are so small that even a short history overwrites entries in every ring.
var smallCaps = view.RetentionCaps{Tape: 5, Terminal: 6, Rejects: 3, Fills: 8, Settlements: 2, Events: 90, Rounds: 4, Actions: 10, Routine: 3, Forecasts: 3}

// TestSnapshotKeepsWhatReadersSee checks that a restored snapshot shows readers the same as
// the venue that wrote it.
func TestSnapshotKeepsWhatReadersSee(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	o.Caps = smallCaps
	e := mustOpen(t, o)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	submitVaried(t, e, c)
	submitAgents(t, e, c)
	submitSteps(t, e)
	submitAsks(t, e, c)
	want := contents(e)
	mustClose(t, e)
	again := mustOpen(t, o)
	defer mustClose(t, again)
	if got := contents(again); got != want {
		t.Errorf("before\n%s\nafterwards\n%s", want, got)
	}
}

// submitVaried submits at least one command of every kind that changes the view.
func submitVaried(t *testing.T, e *Engine, c *clock) {
	t.Helper()
	setUp(t, e, c)
	price := func() {
		do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second(), Price: core.Price(6_500_000_000_000 + c.second()%7), Count: 3}})
	}
	by := core.Audit{Who: "operator", Why: "a test"}
	id := uint64(0)
	place := func(p core.PlaceOrder) core.OrderID {
		id++
		p.ClientID = id << (id % 50)
		return core.OrderID(do(t, e, &p).Stamp.Seq)
	}
	for round := range 4 {
		markets := trading(e)
		buy := func(u core.UserID, o core.Outcome, tick core.Tick, qty core.Qty) core.PlaceOrder {
			return core.PlaceOrder{User: u, Market: markets[0], Side: core.Buy, Outcome: o, Tick: tick, Qty: qty}
		}
		for i := range core.Qty(6) {
			place(buy(1, core.Yes, 5000, 2+i))
			place(buy(2, core.No, 5000, 1+i))
			place(buy(2, core.No, 5100, 3))
			place(buy(1, core.Yes, 7777, 3)) // off the grid
		}
		rest := place(core.PlaceOrder{User: 1, Market: markets[1], Side: core.Buy, Outcome: core.No, Tick: 3000, Qty: 10, Group: 7, Flags: core.PostOnly, TIF: core.GTT, Expiry: c.now() + int64(time.Hour)})
		do(t, e, &core.DecreaseOrder{User: 1, Order: rest, Amount: 4})
		old := place(core.PlaceOrder{User: 1, Market: markets[1], Side: core.Buy, Outcome: core.No, Tick: 2500, Qty: 10})
		id++
		do(t, e, &core.ReplaceOrder{Old: old, Seen: 12, PlaceOrder: core.PlaceOrder{User: 1, ClientID: id << 50, Market: markets[1], Side: core.Buy, Outcome: core.No, Tick: 2600, Qty: 10}})
		gone := place(buy(2, core.Yes, 400, 5))
		do(t, e, &core.CancelOrder{User: 2, Order: gone})
		place(core.PlaceOrder{User: 2, Market: markets[2], Side: core.Buy, Outcome: core.Yes, Type: core.Market, TIF: core.IOC, Tick: 6000, Qty: 5, MaxCost: 100_000})
		do(t, e, &core.ArmDeadman{User: 1, TimeoutMs: 600_000})
		do(t, e, &core.RequestWithdrawal{User: 2, ClientID: fmt.Sprint("w", round), Amount: 10 + core.Pips(round), Destination: "bank"})
		do(t, e, &core.DecideWithdrawal{Withdrawal: uint64(1 + round), Complete: round%2 == 0, Audit: by})
		do(t, e, &core.CreateKey{User: 1, Key: fmt.Sprint("dxk", round), Scopes: core.ScopeRead, Sealed: []byte("sealed"), Audit: by})
		do(t, e, &core.RevokeKey{User: 1, Key: fmt.Sprint("dxk", round), Audit: by})
		do(t, e, &core.PauseMarket{Market: markets[2], Lift: round%2 == 1, Audit: by})
		do(t, e, &core.Redeem{User: 1, Market: markets[0], Qty: 1})
		for i, m := range markets[:2] {
			do(t, e, &core.SubmitForecast{User: core.UserID(1 + i), Market: m, Generation: generation(e, m), P: core.Probability(1000 * (round + i))})
		}
		for range 70 { // the minute ends, and its dispute window
			c.step(time.Second)
			price()
		}
		waitUntil(t, e, func(_ *venue.Venue, w *view.View) bool {
			for r := range w.Rounds(0) {
				if r.Status == core.Settled {
					return true
				}
			}
			return false
		})
	}
	for u := core.UserID(1); u <= 2; u++ {
		do(t, e, &core.Deposit{User: u, DepositID: fmt.Sprint("more", u), Amount: 77, Audit: by})
	}
	do(t, e, &core.DisarmDeadman{User: 1})
	do(t, e, &core.SuspendUser{User: 2, Audit: by})
}

// generation returns the present life of a slot.
func generation(e *Engine, m core.MarketID) (g uint32) {
	e.Read(func(v *venue.Venue, _ *view.View) {
		s, _ := v.Market(m)
		g = s.Generation
	})
	return g
}

// trading returns the markets that trade, ordered by their close.
func trading(e *Engine) (out []core.MarketID) {
	e.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok && s.Status == core.Trading {
				out = append(out, m)
			}
		}
		slices.SortFunc(out, func(a, b core.MarketID) int {
			x, _ := v.Market(a)
			y, _ := v.Market(b)
			return cmp.Compare(x.CloseTs, y.CloseTs)
		})
	})
	return out
}

// contents prints all that readers can see of a view, one line for each entry.
func contents(e *Engine) string {
	var b strings.Builder
	line := func(what string, n uint64, x any) {
		text, err := json.Marshal(x)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "%s %d %T %s\n", what, n, x, text)
	}
	e.Read(func(v *venue.Venue, w *view.View) {
		for u := range v.Users() {
			line("user", uint64(u.ID), w.Volume30(u.ID, v.Now().Ts))
			line("changes", w.Changes(u.ID), "")
			for o := range w.Orders(u.ID, 0) {
				line("order", o.CreatedSeq, o)
			}
			for n, f := range w.Fills(u.ID, 0) {
				line("fill", n, f)
			}
			for n, s := range w.Settlements(u.ID, 0) {
				line("settlement", n, s)
			}
			if x := w.LedgerBalance(u.ID); x != 0 {
				line("balance", uint64(x), "")
			}
			for n, x := range w.Ledger(u.ID, 0) {
				line("ledger", n, x)
			}
			for n, x := range w.AccountRounds(u.ID, 0) {
				line("account round", n, x)
			}
			for n, x := range w.Deposits(u.ID, 0) {
				line("deposit", n, x)
			}
			for n, x := range w.Forecasts(u.ID, 0) {
				line("forecast", n, x)
			}
			for _, x := range w.Withdrawals(u.ID) {
				line("withdrawal", x.ID, x)
			}
			for n, x := range w.Activity(u.ID, 0) {
				key := "of a forgotten key"
				if id := w.KeyID(u.ID, x.Key); id != nil {
					key = *id
				}
				line("activity "+key, n, x)
			}
			for x := range w.Asks(u.ID) {
				line("ask "+x.Status.String()+" "+x.Why(), x.Seq, x)
			}
			list, whole := w.EventsAfter(u.ID, 0)
			line("events", uint64(len(list)), whole)
			for _, x := range list {
				line("event", x.Seq, x.What)
			}
		}
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			for n, x := range w.Trades(m, 0) {
				line("trade", n, x)
			}
		}
		for r := range w.Rounds(0) {
			line("round", r.Number, r)
		}
		for a := range w.Actions(0) {
			line("action", a.Seq, a)
		}
	})
	return b.String()
}

// submitAgents submits at least one command of every kind about agents. submitVaried comes first.
func submitAgents(t *testing.T, e *Engine, c *clock) {
	t.Helper()
	by := core.Audit{Who: "account", Why: "a test"}
	var m core.Mandate
	m.SetCost(core.RuleDailyLoss, 200_000)
	m.Bound(core.RulePriceCollar)
	m.Collar = 500
	m.Bound(core.RuleExpires)
	m.Expires = c.now() + int64(time.Minute)
	do(t, e, &core.SuspendUser{User: 2, Lift: true, Audit: by})
	do(t, e, &core.CreateAgent{Owner: 1, Name: "scout", Fund: 500_000, Mandate: m, Audit: by})
	do(t, e, &core.CreateAgent{Owner: 1, Name: "scout", Audit: by})
	do(t, e, &core.CreateAgent{Owner: 1, Name: "quoter", Audit: by})
	const scout, quoter = 3, 4
	do(t, e, &core.CreateKey{User: scout, Key: "dxkscout", Scopes: core.ScopeTrade, Sealed: []byte("sealed"), Audit: by})
	key := e.Key("dxkscout").Number
	do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second(), Price: 6_500_000_000_000, Count: 3}})
	market := trading(e)[1]
	buy := func(id uint64, tick core.Tick) *core.PlaceOrder {
		return &core.PlaceOrder{User: scout, Key: key, ClientID: id, Market: market, Tick: tick, Qty: 5}
	}
	do(t, e, buy(1, 5000))
	do(t, e, buy(2, 9000)) // beyond the collar
	order := core.OrderID(do(t, e, buy(3, 4900)).Stamp.Seq)
	do(t, e, &core.DecreaseOrder{User: scout, Key: key, Order: order, Amount: 1})
	do(t, e, &core.CancelOrder{User: scout, Key: key, Order: order})
	do(t, e, &core.PlaceOrder{User: 2, ClientID: 1 << 60, Market: market, Outcome: core.No, Tick: 5000, Qty: 3})
	do(t, e, &core.PlaceOrder{User: scout, Key: key, ClientID: 4, Market: market, Type: core.Market, TIF: core.IOC, Tick: core.TickMax, Unpriced: true, Qty: 1, MaxCost: 9_000})
	do(t, e, &core.ArmDeadman{User: scout, Key: key, TimeoutMs: 600_000})
	do(t, e, &core.DisarmDeadman{User: scout, Key: key})
	do(t, e, &core.CancelAll{User: scout, Key: key, Market: market})
	do(t, e, &core.Redeem{User: scout, Key: key, Market: market, Qty: 1})
	do(t, e, &core.SubmitForecast{User: scout, Key: key, Market: market, Generation: generation(e, market), P: 7500})
	do(t, e, &core.Transfer{Owner: 1, ClientID: "t1", From: 1, To: quoter, Amount: 7_000, Audit: by})
	do(t, e, &core.Transfer{Owner: 1, ClientID: "t1", From: 1, To: quoter, Amount: 7_000, Audit: by})
	do(t, e, &core.SetMandate{Owner: 1, Agent: quoter, IfRev: 1, Mandate: core.Mandate{Set: 1 << core.RuleReduceOnly}, Audit: by})
	do(t, e, &core.HaltAgent{Owner: 1, Agent: scout, Audit: by})
	do(t, e, buy(5, 4900))
	do(t, e, &core.ResumeAgent{Owner: 1, Agent: scout, Audit: by})
	do(t, e, buy(6, 4900))
	for _, id := range []string{"dxkhost", "dxkthief"} {
		do(t, e, &core.CreateKey{User: scout, Key: id, Scopes: core.ScopeTrade, Sealed: []byte("sealed"), Grant: core.Grant{
			Client: "https://host.example/client", Redirect: "https://host.example/back", Challenge: [32]byte{7}, Expires: c.now() + int64(time.Hour),
		}, Audit: by})
		do(t, e, &core.RenewGrant{User: scout, Key: id})
	}
	do(t, e, &core.RenewGrant{User: scout, Key: "dxkhost", Generation: 1})
	do(t, e, &core.RenewGrant{User: scout, Key: "dxkthief"}) // ends it
	do(t, e, &core.RevokeKey{User: scout, Key: "dxkscout", Audit: by})
	if _, err := e.Submit(context.Background(), buy(7, 4900)); !errors.Is(err, ErrRevoked) {
		t.Fatalf("an order of a revoked key: %v", err)
	}
	do(t, e, &core.CloseAgent{Owner: 1, Agent: quoter, Audit: by})
	do(t, e, &core.Deposit{User: quoter, DepositID: "late", Amount: 11, Audit: by})
	c.step(61 * time.Second)
	do(t, e, &core.Clock{}) // the mandate expires
}

// submitSteps submits what operators do in steps and alone. submitVaried comes first.
func submitSteps(t *testing.T, e *Engine) {
	t.Helper()
	by := core.Audit{Who: "ann", Why: "a test"}
	alone := core.AloneBound{Set: true, Most: 1000}
	do(t, e, &core.AddOperator{Name: "ann", Role: core.RoleService, TokenHash: [32]byte{9}, Audit: by})
	do(t, e, &core.Deposit{User: 1, DepositID: "alone", Amount: 900, Alone: alone, Audit: by})
	for i, last := range []core.WithdrawalState{core.WithdrawalCompleted, core.WithdrawalFailed, core.WithdrawalRejected, core.WithdrawalSent} {
		w := do(t, e, &core.RequestWithdrawal{User: 1, ClientID: fmt.Sprint("steps ", i), Amount: core.Pips(20 + i), Destination: "bank"}).Stamp.Seq
		steps := []core.WithdrawalState{core.WithdrawalApproved, core.WithdrawalSent, last}
		if last == core.WithdrawalRejected {
			steps = []core.WithdrawalState{core.WithdrawalApproved, last}
		}
		for _, to := range steps {
			do(t, e, &core.DecideWithdrawal{Withdrawal: w, To: to, Reference: "payment", Alone: alone, Audit: by})
		}
	}
	for i := range 2 {
		id := do(t, e, &core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveDeposit, User: 1, DepositID: fmt.Sprint("asked ", i), Amount: 5000}, Audit: by}).Stamp.Seq
		if i == 0 {
			do(t, e, &core.DropApproval{Approval: id, Audit: by})
		}
	}
	do(t, e, &core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveFees, Fees: core.Fees{Maker: 10, Taker: 2000}}, Audit: core.Audit{Who: "joe"}})
	do(t, e, &core.RevokeOperator{Name: "ann", Audit: by})
	do(t, e, &core.ChangeSetting{Name: "signup", Value: "closed", Audit: core.Audit{Who: "dx"}})
	do(t, e, &core.ChangeSetting{Name: "signup", Before: "closed", Value: "open", Audit: core.Audit{Who: "dx"}})
}

// submitAsks submits orders that wait, with each way in which one ends by a command, and one that still waits. Then it
// submits what makers send. submitAgents comes first.
func submitAsks(t *testing.T, e *Engine, c *clock) {
	t.Helper()
	created := do(t, e, &core.CreateAgent{Owner: 1, Name: "asker", Fund: 400_000, Mandate: core.Mandate{Set: 1 << core.RuleAskAbove, AskAbove: 10_000}})
	asker := created.Events[0].(*core.UserChanged).User.ID
	do(t, e, &core.CreateKey{User: asker, Key: "dxkasker", Scopes: core.ScopeTrade, Sealed: []byte("sealed")})
	do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second() + 1, Price: 6_500_000_000_000, Count: 3}})
	open := trading(e)
	market := open[len(open)-1]
	var asked []uint64
	for i, key := range []core.KeyNumber{0, 0, 0, 0, e.Key("dxkasker").Number, 0} {
		p := &core.PlaceOrder{User: asker, Key: key, ClientID: uint64(1 + i), Market: market, Tick: 4000, Qty: 5, Group: 1, NotAfter: 1 << 62, MaxCost: 90_000}
		if i == 5 {
			p.Type, p.TIF, p.Tick, p.Group = core.Market, core.IOC, 7000, 2
		}
		asked = append(asked, do(t, e, p).Stamp.Seq)
	}
	do(t, e, &core.DecideAsk{Owner: 1, Ask: asked[0], Approve: true})
	do(t, e, &core.SetFees{Fees: core.Fees{Taker: 9000}})
	do(t, e, &core.DecideAsk{Owner: 1, Ask: asked[1], Approve: true}) // costs more now
	do(t, e, &core.DecideAsk{Owner: 1, Ask: asked[2]})
	do(t, e, &core.CancelOrder{User: asker, Order: core.OrderID(asked[3])})
	do(t, e, &core.RevokeKey{User: asker, Key: "dxkasker"})
	ends := map[core.AskStatus]int{}
	e.Read(func(_ *venue.Venue, w *view.View) {
		for x := range w.Asks(asker) {
			ends[x.Status]++
		}
	})
	if ends[core.AskPlaced] != 1 || ends[core.AskRefused] != 1 || ends[core.AskRejected] != 1 || ends[core.AskCanceled] != 2 || ends[core.AskWaiting] != 1 {
		t.Fatalf("asks by status: %v", ends)
	}
	do(t, e, &core.SetGroup{User: 1, Group: 5, FillLimit: 100, WindowMs: 5000})
	quote := core.PlaceOrder{User: 1, ClientID: 1 << 61, Market: market, Generation: generation(e, market), Tick: 3000, Qty: 2, Group: 5, Flags: core.QuoteFlags}
	do(t, e, &core.QuoteSide{PlaceOrder: quote})
	quote.ClientID, quote.Side, quote.Tick = 1<<61+1, core.Sell, 8000
	do(t, e, &core.QuoteSide{PlaceOrder: quote})
	do(t, e, &core.BindOrders{User: 1, Group: 5, Line: core.Line{Session: 7, Conn: 1}})
}
