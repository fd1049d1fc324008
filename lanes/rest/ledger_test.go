package rest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// money is a venue on which account 1, the owner of agent 4 and the referrer of account 3, has
// traded: every kind of ledger row is there. Its clock stands still.
type money struct {
	*lanetest.Server
	alice lanetest.Key
	ids   int
}

func newMoney(t *testing.T) *money {
	h := &money{}
	h.Server, _, _ = newServer(t)
	h.Venue.Config.ReadRate, h.Venue.Config.WriteFloor, h.Venue.Config.WriteCap = 1_000_000, 10_000, 10_000
	bob := h.NewKey(2, readTrade)
	h.alice = h.NewKey(1, allScopes)
	h.FreezeClock()
	h.Submit(&core.SetFees{Fees: core.Fees{Maker: 100, Taker: 250, RebatePct: 20, ReferPct: 10}})
	h.Submit(&core.CreateUser{Name: "carol", TokenHash: [32]byte{9}, Referrer: 1})
	h.Submit(&core.Deposit{User: 3, DepositID: "first-3", Amount: lanetest.InitialCash})
	h.Submit(&core.CreateAgent{Owner: 1, Name: "scout", Fund: 500_000})
	carol := h.NewKey(3, readTrade)

	h.place(h.alice, 1, "buy", "yes", 5200, 100)
	h.place(carol, 1, "buy", "no", 4800, 60) // alice makes, and refers the taker
	h.place(bob, 1, "buy", "no", 5000, 40)   // alice makes
	h.place(bob, 1, "buy", "no", 4500, 30)
	h.place(h.alice, 1, "buy", "yes", 5500, 30) // alice takes
	h.place(bob, 1, "buy", "yes", 5600, 25)
	h.place(h.alice, 1, "sell", "yes", 5600, 25)
	h.place(bob, 1, "buy", "yes", 5100, 10)
	h.place(h.alice, 1, "buy", "no", 4900, 10)
	h.write("POST", "/v1/portfolio/redeem", `{"market_id":1,"qty":4}`)
	h.place(bob, 2, "buy", "no", 6000, 12)
	h.place(h.alice, 2, "buy", "yes", 4000, 12)
	h.place(bob, 3, "buy", "no", 3000, 7)
	h.place(h.alice, 3, "buy", "yes", 7000, 7)
	h.place(h.alice, 3, "buy", "yes", 2000, 9) // rests
	h.write("POST", "/v1/withdrawals", `{"client_withdrawal_id":"w1","amount":"70000","destination":"bank"}`)
	h.write("POST", "/v1/withdrawals", `{"client_withdrawal_id":"w2","amount":"30000","destination":"bank"}`)
	h.decide("w1", true)
	h.decide("w2", false)
	h.Submit(&core.Transfer{Owner: 1, ClientID: "t-1", From: 1, To: 4, Amount: 11_000})
	h.Submit(&core.Transfer{Owner: 1, ClientID: "t-2", From: 4, To: 1, Amount: 1_000})
	h.Submit(&core.Deposit{User: 1, DepositID: "second-1", Amount: 5_000})
	h.Submit(&core.VoidMarket{Market: 2})
	h.settle(1)
	return h
}

func (h *money) place(k lanetest.Key, market int, side, outcome string, tick, qty int) {
	h.T.Helper()
	h.ids++
	body := fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":%q,"outcome":%q,"tick":%d,"qty":%d}`, h.ids, market, side, outcome, tick, qty)
	if status, got := h.Call(k, "POST", "/v1/portfolio/orders", body); status != 201 || code(got) != "" {
		h.T.Fatalf("the order %s: %d %s, want 201", body, status, got)
	}
}

func (h *money) write(method, target, body string) {
	h.T.Helper()
	if status, got := h.Call(h.alice, method, target, body); status >= 300 {
		h.T.Fatalf("%s %s: %d %s, want success", target, body, status, got)
	}
}

// decide completes or rejects a withdrawal of account 1.
func (h *money) decide(clientID string, complete bool) {
	h.T.Helper()
	var l schemas.WithdrawalList
	h.get("/v1/withdrawals", &l)
	for _, w := range l.Withdrawals {
		if w.ClientWithdrawalID == clientID {
			h.Submit(&core.DecideWithdrawal{Withdrawal: uint64(w.WithdrawalID), Complete: complete})
		}
	}
}

// settle runs the round of a market to its end, with a price every second.
func (h *money) settle(m core.MarketID) {
	h.T.Helper()
	for range 200 {
		var status core.RoundStatus
		h.Engine.Read(func(v *venue.Venue, _ *view.View) {
			s, _ := v.Market(m)
			status = s.Status
		})
		if status.Final() {
			return
		}
		h.AdvanceClock(time.Second)
		h.PostIndex(lanetest.StartPrice + 100_000_000)
		h.Submit(&core.Clock{})
	}
	h.T.Fatalf("market %d is not final", m)
}

func (h *money) get(target string, into any) {
	h.T.Helper()
	get(h.Server, h.alice, target, into)
}

// ledger reads the ledger to its end, in pages of a size, newest first.
func (h *money) ledger(filter string, limit int) (all []schemas.LedgerRow) {
	h.T.Helper()
	for cursor := ""; ; {
		var page schemas.LedgerList
		h.get(fmt.Sprintf("/v1/portfolio/ledger?limit=%d&cursor=%s%s", limit, cursor, filter), &page)
		all = append(all, page.Ledger...)
		if cursor = page.Cursor; cursor == "" {
			return all
		}
	}
}

// TestLedgerExplainsTheBalance tests that each row's balance is the one before plus its amount,
// that the newest is the balance, and that the identity of get_pnl holds.
func TestLedgerExplainsTheBalance(t *testing.T) {
	t.Parallel()
	h := newMoney(t)
	all := h.ledger("", 1000)
	kinds := map[string]int{}
	before := int64(0)
	for i, r := range slices.Backward(all) {
		kinds[r.Kind]++
		if n := uint64(len(all) - i); uint64(r.N) != n || r.Amount == 0 || int64(r.BalanceAfter) != before+int64(r.Amount) || int64(r.AmountUSD) != int64(r.Amount) {
			t.Errorf("row %d after a balance of %d: %+v", n, before, r)
		}
		before = int64(r.BalanceAfter)
		inRound := !slices.Contains([]string{"deposit", "withdrawal", "withdrawal_returned", "transfer"}, r.Kind)
		if (r.MarketID != nil) != inRound || (r.Generation != nil) != inRound || (r.RoundNumber != nil) != inRound || (r.Category != nil) != inRound {
			t.Errorf("of the ids of a round a %s row has some that it should not, or lacks some: %+v", r.Kind, r)
		}
		if byVenue := inRound || r.Amount == -500_000; (r.Ref == "") != byVenue { // the new agent's funds have no client id
			t.Errorf("a row that the venue made itself has no ref, each other row one: %+v", r)
		}
		if byOrder := r.Kind == "fill" || r.Kind == "fee"; (r.OrderID != nil) != byOrder || (r.FillN != nil) != byOrder {
			t.Errorf("fills and fees have an order_id and a fill_n, other rows neither: %+v", r)
		}
	}
	if want := view.LedgerKinds(); len(kinds) != len(want) {
		t.Errorf("%v of %v", slices.Sorted(maps.Keys(kinds)), want)
	}
	var balance schemas.Balance
	var pnl schemas.PnL
	h.get("/v1/portfolio/balance", &balance)
	h.get("/v1/portfolio/pnl", &pnl)
	if all[0].BalanceAfter != balance.Cash+balance.Reserved || balance.Reserved == 0 {
		t.Errorf("%+v, balance %+v", all[0], balance)
	}
	if sum := int64(pnl.DepositsNet) + int64(pnl.TransfersNet) + int64(pnl.Realized) + int64(pnl.Unrealized) + int64(pnl.Rebates); sum != int64(pnl.Equity) {
		t.Errorf("equity %d, the sums make %d", pnl.Equity, sum)
	}
	sums := map[string]int64{}
	for _, r := range all {
		sums[r.Kind] += int64(r.Amount)
	}
	if int64(pnl.Fees) != -sums["fee"] || int64(pnl.Rebates) != sums["rebate"]+sums["referral"] || int64(pnl.TransfersNet) != sums["transfer"] ||
		int64(pnl.DepositsNet) != sums["deposit"]+sums["withdrawal"]+sums["withdrawal_returned"] {
		t.Errorf("%+v by the ledger %v", pnl, sums)
	}
	if len(pnl.Positions) != 1 || pnl.Positions[0].MarketID != 3 || pnl.OpenCost != balance.Reserved+pnl.Positions[0].Cost {
		t.Errorf("get_pnl: %+v, want a position in market 3 alone, and open_cost %d plus its cost", pnl, balance.Reserved)
	}
	h.checkFills(all)
	h.checkRounds(all, &pnl)
	h.checkFunding(all)
}

// checkFills tests that the ledger has the price and the fee of each fill.
func (h *money) checkFills(ledger []schemas.LedgerRow) {
	h.T.Helper()
	var fills schemas.FillList
	h.get("/v1/portfolio/fills?limit=1000", &fills)
	if len(fills.Fills) < 7 {
		h.T.Errorf("%d fills", len(fills.Fills))
	}
	for i, f := range fills.Fills {
		tick := f.TickYes
		if f.Outcome == "no" {
			tick = 10_000 - tick
		}
		amount := f.Qty * tick
		if f.Side == "buy" {
			amount = -amount
		}
		if int(f.N) != len(fills.Fills)-i || f.APIKey == nil || *f.APIKey != h.alice.ID {
			h.T.Errorf("fill: %+v, want n %d and the key %v", f, len(fills.Fills)-i, h.alice.ID)
		}
		if f.Generation != 1 || f.RoundNumber == 0 || f.Category == 0 {
			h.T.Errorf("fill: %+v, want generation 1, a round and a category", f)
		}
		at := slices.IndexFunc(ledger, func(r schemas.LedgerRow) bool { return r.Kind == "fill" && *r.FillN == f.N })
		if at < 0 {
			h.T.Errorf("no ledger row of %+v", f)
			continue
		}
		r := ledger[at]
		if int64(r.Amount) != amount {
			h.T.Errorf("the amount of %+v, want %d for %+v", r, amount, f)
		}
		type ids struct{ order, market, round, category, seq, ts any }
		if got, want := (ids{*r.OrderID, *r.MarketID, *r.RoundNumber, *r.Category, r.Seq, r.Ts}), (ids{f.OrderID, f.MarketID, f.RoundNumber, f.Category, f.Seq, f.Ts}); got != want {
			h.T.Errorf("the ledger row of fill %d has %+v, want %+v", f.N, got, want)
		}
		fee := slices.IndexFunc(ledger, func(r schemas.LedgerRow) bool { return r.Kind == "fee" && *r.FillN == f.N })
		if f.Fee != 0 && (fee != at-1 || int64(ledger[fee].Amount) != -int64(f.Fee)) {
			h.T.Errorf("no fee behind %+v", r)
		}
	}
}

// checkRounds tests that the results by round agree with the ledger and with the settlements.
func (h *money) checkRounds(ledger []schemas.LedgerRow, pnl *schemas.PnL) {
	h.T.Helper()
	var rounds schemas.AccountRoundList
	h.get("/v1/portfolio/rounds", &rounds)
	var settlements schemas.SettlementList
	h.get("/v1/portfolio/settlements", &settlements)
	profit := int64(0)
	for i, x := range rounds.Rounds {
		if i > 0 && rounds.Rounds[i-1].RoundNumber <= x.RoundNumber {
			h.T.Errorf("%d before %d", rounds.Rounds[i-1].RoundNumber, x.RoundNumber)
		}
		sums := map[string]int64{}
		for _, r := range ledger {
			if r.RoundNumber != nil && *r.RoundNumber == x.RoundNumber {
				sums[r.Kind] += int64(r.Amount)
			}
		}
		made := int64(x.Received) + int64(x.Payout) + 10_000*x.Redeemed - int64(x.Paid) - int64(x.Fees)
		if sums["fill"] != int64(x.Received)-int64(x.Paid) || sums["fee"] != -int64(x.Fees) || sums["redeem"] != 10_000*x.Redeemed || sums["settlement"]+sums["void"] != int64(x.Payout) {
			h.T.Errorf("%+v by the ledger %v", x, sums)
		}
		final := x.Status == "settled" || x.Status == "void"
		if (x.Profit != nil) != final || (x.ProfitUSD != nil) != final {
			h.T.Errorf("the %s round %d has profit %v and %v dollars, want them only once it is final", x.Status, x.RoundNumber, x.Profit, x.ProfitUSD)
		} else if final && (int64(*x.Profit) != made || int64(*x.ProfitUSD) != made) {
			h.T.Errorf("round %d made %d pips, its profit is %d and %d", x.RoundNumber, made, *x.Profit, *x.ProfitUSD)
		}
		if final {
			profit += made
		}
	}
	if statuses := []string{rounds.Rounds[0].Status, rounds.Rounds[1].Status, rounds.Rounds[2].Status}; len(rounds.Rounds) != 3 || !slices.Equal(statuses, []string{"trading", "void", "settled"}) {
		h.T.Errorf("the rounds are %v, want trading, void, settled", statuses)
	}
	if int64(pnl.Realized) != profit { // nothing of the live round was sold
		h.T.Errorf("realized %d, the rounds made %d", pnl.Realized, profit)
	}
	if w := rounds.Rounds[2].Winner; w == nil || *w != "yes" || rounds.Rounds[1].Winner != nil || rounds.Rounds[0].Winner != nil {
		h.T.Errorf("the rounds are %+v, want yes as winner of the settled one and no other winner", rounds.Rounds)
	}
	for _, s := range settlements.Settlements {
		var round schemas.RoundList
		h.get("/v1/rounds?market_id="+strconv.Itoa(int(s.MarketID)), &round)
		at := slices.IndexFunc(round.Rounds, func(r schemas.Round) bool { return r.RoundNumber == s.RoundNumber })
		if r := round.Rounds[at]; s.Category != r.Category || s.Strike != r.Strike || s.SettlePrice != r.SettlePrice {
			h.T.Errorf("%+v of %+v", s, r)
		}
		if s.Cost == nil || s.Profit == nil || int64(*s.Profit) != int64(s.Payout)-int64(*s.Cost) || *s.Cost == 0 {
			h.T.Errorf("settlement: %+v, want a cost, and payout minus cost as profit", s)
		}
	}
	if len(settlements.Settlements) != 2 {
		h.T.Errorf("settlements: %+v, want two", settlements)
	}
	category := rounds.Rounds[2].Category
	h.get(fmt.Sprintf("/v1/portfolio/rounds?category=%d", category), &rounds)
	if len(rounds.Rounds) != 1 || rounds.Rounds[0].Category != category {
		h.T.Errorf("category %d: %+v", category, rounds)
	}
}

// checkFunding tests the deposits, and that rows refer to deposits, withdrawals and transfers.
func (h *money) checkFunding(ledger []schemas.LedgerRow) {
	h.T.Helper()
	var deposits schemas.DepositList
	h.get("/v1/deposits", &deposits)
	d := deposits.Deposits
	if len(d) != 2 || deposits.Cursor != "" {
		h.T.Fatalf("deposits: %+v, want two and no cursor", deposits)
	}
	if d[0].DepositID != "second-1" || d[0].Amount != 5_000 {
		h.T.Errorf("the newest deposit is %+v, want second-1 of 5000 pips", d[0])
	}
	if d[1].DepositID != "first-1" || d[1].Ts == 0 {
		h.T.Errorf("the oldest deposit is %+v, want first-1 with a time", d[1])
	}
	if d[0].Seq <= d[1].Seq {
		h.T.Errorf("the deposits have seq %d, then %d, want the newest first", d[0].Seq, d[1].Seq)
	}
	var withdrawals schemas.WithdrawalList
	h.get("/v1/withdrawals", &withdrawals)
	var refs []string
	for _, r := range ledger {
		if r.Ref != "" {
			refs = append(refs, r.Kind+" "+r.Ref+" "+strconv.FormatInt(int64(r.Amount), 10))
		}
	}
	w1, w2 := withdrawals.Withdrawals[1].WithdrawalID, withdrawals.Withdrawals[0].WithdrawalID
	want := []string{
		"deposit second-1 5000", "transfer t-2 1000", "transfer t-1 -11000", fmt.Sprintf("withdrawal_returned %d 30000", w2), fmt.Sprintf("withdrawal %d -30000", w2),
		fmt.Sprintf("withdrawal %d -70000", w1), "deposit first-1 100000000",
	}
	if !slices.Equal(refs, want) {
		h.T.Errorf("%q, want %q", refs, want)
	}
}

// TestLedgerPages tests that pages of every size and filter are parts of the whole, that cursors
// are bound to route, account and filters, and that wrong queries are rejected.
func TestLedgerPages(t *testing.T) {
	t.Parallel()
	h := newMoney(t)
	all := h.ledger("", 1000)
	for filter, keep := range map[string]func(schemas.LedgerRow) bool{
		"":                       func(schemas.LedgerRow) bool { return true },
		"&kind=fee":              func(r schemas.LedgerRow) bool { return r.Kind == "fee" },
		"&kind=deposit,transfer": func(r schemas.LedgerRow) bool { return r.Kind == "deposit" || r.Kind == "transfer" },
		"&market_id=1":           func(r schemas.LedgerRow) bool { return r.MarketID != nil && *r.MarketID == 1 },
		"&market_id=2&kind=void": func(r schemas.LedgerRow) bool { return r.Kind == "void" },
		"&market_id=9":           func(schemas.LedgerRow) bool { return false },
		"&kind=" + strings.Join(view.LedgerKinds(), ","): func(schemas.LedgerRow) bool { return true },
	} {
		var want []schemas.U64
		for _, r := range all {
			if keep(r) {
				want = append(want, r.N)
			}
		}
		for _, limit := range []int{1, 3, 7, 1000} {
			var got []schemas.U64
			for _, r := range h.ledger(filter, limit) {
				got = append(got, r.N)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q in pages of %d: %v, want %v", filter, limit, got, want)
			}
		}
	}
	cursorOf := func(target string) string {
		t.Helper()
		_, body := h.Call(h.alice, "GET", target, "")
		c, _ := field(t, body, "cursor").(string)
		if c == "" {
			t.Fatalf("%s has one page: %s", target, body)
		}
		return c
	}
	ledger, rounds, deposits := cursorOf("/v1/portfolio/ledger?limit=1"), cursorOf("/v1/portfolio/rounds?limit=1"), cursorOf("/v1/deposits?limit=1")
	other := h.NewKey(3, readTrade)
	const sv, uf, bad = "schema_violation", "unknown_field", "bad_cursor"
	for _, c := range []struct {
		key          lanetest.Key
		target, want string
	}{
		{h.alice, "/v1/portfolio/ledger?limit=9&cursor=" + ledger, ""},
		{h.alice, "/v1/portfolio/rounds?limit=9&cursor=" + rounds, ""},
		{h.alice, "/v1/deposits?limit=9&cursor=" + deposits, ""},
		{h.alice, "/v1/portfolio/ledger?kind=fee&cursor=" + ledger, bad},
		{h.alice, "/v1/portfolio/ledger?market_id=1&cursor=" + ledger, bad},
		{h.alice, "/v1/portfolio/ledger?cursor=" + rounds, bad},
		{h.alice, "/v1/portfolio/rounds?category=1&cursor=" + rounds, bad},
		{h.alice, "/v1/portfolio/rounds?cursor=" + ledger, bad},
		{h.alice, "/v1/deposits?cursor=" + ledger, bad},
		{other, "/v1/portfolio/ledger?cursor=" + ledger, bad},
		{other, "/v1/portfolio/rounds?cursor=" + rounds, bad},
		{other, "/v1/deposits?cursor=" + deposits, bad},
		{h.alice, "/v1/portfolio/ledger?kind=", sv},
		{h.alice, "/v1/portfolio/ledger?kind=fees", sv},
		{h.alice, "/v1/portfolio/ledger?kind=fee,,fill", sv},
		{h.alice, "/v1/portfolio/ledger?kind=Fee", sv},
		{h.alice, "/v1/portfolio/ledger?kind=fee&kind=fill", uf},
		{h.alice, "/v1/portfolio/ledger?category=1", uf},
		{h.alice, "/v1/portfolio/ledger?market_id=x", sv},
		{h.alice, "/v1/portfolio/ledger?limit=0", sv},
		{h.alice, "/v1/portfolio/rounds?category=0", sv},
		{h.alice, "/v1/portfolio/rounds?category=10", sv},
		{h.alice, "/v1/portfolio/rounds?market_id=1", uf},
		{h.alice, "/v1/portfolio/rounds?limit=1001", sv},
		{h.alice, "/v1/deposits?kind=fee", uf},
		{h.alice, "/v1/deposits?limit=-1", sv},
		{h.alice, "/v1/portfolio/pnl?limit=1", uf},
		{h.alice, "/v1/portfolio/pnl?min_seq=x", sv},
	} {
		if _, body := h.Call(c.key, "GET", c.target, ""); code(body) != c.want {
			t.Errorf("%s: %s, want %q", c.target, body, c.want)
		}
	}
}
