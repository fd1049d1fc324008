package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// day is the day of one trader at a venue whose other accounts quote both sides.
type day struct {
	t       *testing.T
	v       *venue.Venue
	w       *view.View
	all     *everyRow
	r       *rand.Rand
	now     int64
	seq     uint64
	next    uint64                    // client order id
	balance map[core.UserID]core.Pips // cash and reservations after the last command
	rows    map[core.UserID]int       // of the ledger, checked so far
	ended   map[core.RoundStatus]int
}

// The accounts of the day.
const (
	quoter = core.UserID(1 + iota) // also the trader's referrer
	hitter                         // takes what the trader offers
	trader
)

// do applies a command and checks that the rows it adds to each ledger are the change of the
// account's cash and reservations, and that its equity is what it was given and what it made.
func (d *day) do(cmd core.Command) core.Reject {
	d.t.Helper()
	if _, clock := cmd.(*core.Clock); !clock && d.v.Due() <= d.now {
		d.do(&core.Clock{})
	}
	d.seq++
	d.now++
	at, events := core.Stamp{Seq: d.seq, Ts: d.now}, core.Events{}
	rej := d.v.Apply(at, cmd, &events)
	d.w.Fold(at, events.List)
	for _, e := range events.List {
		if e, ok := e.(*core.RoundChanged); ok {
			d.ended[e.Round.Status]++
		}
	}
	for u := range d.v.Users() {
		cash, reserved := d.v.Balance(u.ID)
		was := d.balance[u.ID]
		for _, r := range d.all.ledger[u.ID][d.rows[u.ID]:] {
			was += r.Amount
			if r.Seq != d.seq || r.BalanceAfter != was {
				d.t.Fatalf("seq %d, %s: account %d: %+v, want a balance of %d", d.seq, describe(cmd), u.ID, r, was)
			}
		}
		if d.rows[u.ID] = len(d.all.ledger[u.ID]); was != cash+reserved || d.w.LedgerBalance(u.ID) != was {
			d.t.Fatalf("seq %d, %s: account %d has %d + %d, its ledger says %d", d.seq, describe(cmd), u.ID, cash, reserved, was)
		}
		d.balance[u.ID] = was
		p, equity := d.v.Performance(u.ID), d.v.Equity(u.ID)
		if unrealized := equity - was - p.Cost; equity != p.DepositsNet+p.TransfersNet+p.Realized+unrealized+p.Rebates {
			d.t.Fatalf("seq %d, %s: account %d: equity %d, unrealized %d, %+v", d.seq, describe(cmd), u.ID, equity, unrealized, p)
		}
	}
	return rej
}

func (d *day) must(cmd core.Command) {
	d.t.Helper()
	if rej := d.do(cmd); rej != core.OK {
		d.t.Fatalf("%s: %v", describe(cmd), rej)
	}
}

// order places an order and reports whether it was accepted.
func (d *day) order(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, t core.Tick, qty core.Qty, tif core.TIF) bool {
	d.next++
	return d.do(&core.PlaceOrder{User: u, ClientID: d.next, Market: m, Side: s, Outcome: o, Tick: t, Qty: qty, TIF: tif}) == core.OK
}

// market returns the slot in which a series trades, or 0.
func (d *day) market(category uint16) core.MarketID {
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if m, ok := d.v.Market(id); ok && m.Status == core.Trading && m.Category == category && d.now < m.CloseTs {
			return id
		}
	}
	return 0
}

// trade quotes a market and places one order of the trader that the venue accepts.
func (d *day) trade(m core.MarketID) {
	at := core.Tick(3000 + 100*d.r.IntN(40))
	d.order(quoter, m, core.Buy, core.Yes, at-100, 30, core.GTC)
	d.order(quoter, m, core.Buy, core.No, 10_000-at-100, 30, core.GTC)
	qty := core.Qty(1 + d.r.IntN(20))
	p, o := d.v.Position(trader, m), core.Outcome(d.r.IntN(2))
	held := []core.Qty{p.Yes - p.YesReserved, p.No - p.NoReserved}
	price := at // in the trader's outcome
	if o == core.No {
		price = 10_000 - at
	}
	placed := false
	switch kind := d.r.IntN(5); {
	case kind == 0 && held[o] > 0: // sells into a quote
		placed = d.order(trader, m, core.Sell, o, price-100, min(qty, held[o]), core.IOC)
	case kind == 1 && held[o] > 0: // offers what it holds
		placed = d.order(trader, m, core.Sell, o, price, min(qty, held[o]), core.GTC)
	case kind == 2: // bids, and is hit
		placed = d.order(trader, m, core.Buy, o, price, qty, core.GTC)
		d.order(hitter, m, core.Buy, o.Other(), 10_000-price, qty/2+1, core.IOC)
	}
	if !placed && !d.order(trader, m, core.Buy, o, price+100, qty, core.IOC) {
		d.t.Fatalf("seq %d: the trader cannot buy", d.seq)
	}
	if p := d.v.Position(trader, m); min(p.Yes-p.YesReserved, p.No-p.NoReserved) > 0 && d.r.IntN(4) == 0 {
		d.must(&core.Redeem{User: trader, Market: m, Qty: 1})
	}
	d.do(&core.CancelAll{User: quoter, Market: m})
}

// TestTradersDay trades 2,000 orders in more than 300 rounds. At every seq the ledgers say what the
// accounts have; in the end the results of all rounds, the shares of fees and the deposits are the
// trader's balance to the pip, and the results are what the venue counts as realized.
func TestTradersDay(t *testing.T) {
	const orders, wantRounds = 2000, 300
	caps := view.DefaultRetentionCaps()
	d := &day{
		t: t, v: venue.New(), w: view.New(caps), all: newEveryRow(), r: rand.New(rand.NewPCG(7, 300)), now: origin,
		balance: map[core.UserID]core.Pips{}, rows: map[core.UserID]int{}, ended: map[core.RoundStatus]int{},
	}
	d.w.SetSink(d.all)
	d.must(&core.ActivateRules{Revision: core.RevisionNewest})
	d.must(&core.SetFees{Fees: core.Fees{Taker: 700, Maker: 130, RebatePct: 20, ReferPct: 10}})
	for u := quoter; u <= trader; u++ {
		d.must(&core.CreateUser{Name: fmt.Sprint("user", u), Referrer: u - 1})
		d.must(&core.Deposit{User: u, DepositID: fmt.Sprint("first", u), Amount: 5_000_000_000})
	}
	d.must(&core.SetSession{Feed: core.BTC, Open: true})
	placed, price := 0, core.Price(6_500_000_000_000)
	for second := int64(0); placed < orders || len(marketsOf(d.v, core.Trading, core.Frozen, core.Proposed)) > 0; second++ {
		d.now = max(d.now, origin+second*core.NsPerSec)
		price += core.Price(d.r.IntN(2001)) - 1000
		if placed == orders { // no further round opens
			d.must(&core.SetSession{Feed: core.BTC})
		}
		d.must(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: d.now / core.NsPerSec, Price: price, Count: 3}})
		if second%60 == 0 || second%9 != 4 || placed == orders {
			continue
		}
		m := d.market(1 + uint16(d.r.IntN(8)/7)) // mostly 60 s, else 5 m
		if m == 0 {
			continue
		}
		d.trade(m)
		switch placed++; {
		case placed%211 == 0:
			d.must(&core.VoidMarket{Market: m})
		case placed%97 == 0:
			d.must(&core.Deposit{User: trader, DepositID: fmt.Sprint("more", placed), Amount: core.Pips(placed)})
			d.must(&core.Deposit{User: trader, DepositID: fmt.Sprint("more", placed), Amount: core.Pips(placed)})
		case placed%89 == 0:
			d.must(&core.RequestWithdrawal{User: trader, ClientID: fmt.Sprint(placed), Amount: core.Pips(3 * placed), Destination: "bank"})
			d.must(&core.DecideWithdrawal{Withdrawal: d.seq, Complete: placed%2 == 0})
		}
	}

	sums := map[view.LedgerKind]core.Pips{}
	for _, r := range d.all.ledger[trader] {
		sums[r.Kind] += r.Amount
	}
	profit, wins := core.Pips(0), 0
	for number, x := range d.all.rounds[trader] {
		made, final := x.Profit()
		if !final {
			t.Errorf("round %d is not final: %+v", number, x)
		}
		if profit += made; made > 0 {
			wins++
		}
	}
	p := d.v.Performance(trader)
	if profit != p.Realized || p.Cost != 0 {
		t.Errorf("the results add up to %d, the venue has %d as realized and a cost of %d", profit, p.Realized, p.Cost)
	}
	shares, moved := sums[view.LedgerRebate]+sums[view.LedgerReferral], sums[view.LedgerDeposit]+sums[view.LedgerWithdrawal]+sums[view.LedgerWithdrawalReturned]
	if shares != p.Rebates || moved != p.DepositsNet || -sums[view.LedgerFee] != p.Fees {
		t.Errorf("shares of fees %d, deposits %d, fees %d; the venue has %+v", shares, moved, -sums[view.LedgerFee], p)
	}
	if cash, reserved := d.v.Balance(trader); cash+reserved != moved+profit+shares {
		t.Errorf("the trader has %d + %d, and was given %d, made %d and got %d", cash, reserved, moved, profit, shares)
	}
	results := d.all.compare(t, d.w, caps)
	n := len(d.all.rounds[trader])
	t.Logf("%d orders in %d rounds, %d of them with a profit, %d rows, %d results of all accounts, profit %d; rounds %v", placed, n, wins, len(d.all.ledger[trader]), results, profit, d.ended)
	if placed != orders || n < wantRounds || len(d.all.ledger[trader]) <= caps.Ledger || d.ended[core.Void] == 0 || wins == 0 || wins == n {
		t.Error("the day lacks cases")
	}
}
