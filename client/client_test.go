package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

// venue starts a venue and returns clients of its users 1 and 2, set to its clock.
func venue(t *testing.T) (*lanetest.Server, *Client, *Client) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	of := func(u core.UserID) *Client {
		k := h.NewKey(u, core.ScopeRead|core.ScopeTrade|core.ScopeWithdraw)
		c := Must(New(h.URL, k.ID, k.Secret))
		c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
		return c
	}
	return h, of(1), of(2)
}

func limit(id uint64, outcome string, tick, qty int) schemas.PlaceOrder {
	return schemas.PlaceOrder{ClientOrderID: schemas.U64(id), MarketID: 1, Side: "buy", Outcome: outcome, Tick: schemas.Ptr(schemas.Int(tick)), Qty: schemas.Int(qty)}
}

// TestEveryRoute calls every route once.
func TestEveryRoute(t *testing.T) {
	_, alice, bob := venue(t)
	ctx := t.Context()
	want := func(what string, ok bool, err error) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: as expected %v, error %v", what, ok, err)
		}
	}
	o, err := alice.PlaceOrder(ctx, limit(1, "yes", 5000, 10))
	want("place", o.Status == "resting", err)
	p, err := bob.Preview(ctx, limit(1, "no", 5000, 4))
	want("preview", p.Status == "executed" && p.Fee == 250, err)
	list, err := bob.PlaceOrders(ctx, []schemas.PlaceOrder{limit(1, "no", 5000, 4), limit(1, "no", 5000, 4)})
	want("batch", err == nil && list[0].Placed != nil && list[0].FilledQty == 4 && list[1].Error.Code == "duplicate_client_order_id", err)
	side := func(id, tick int) *schemas.QuoteSide {
		return &schemas.QuoteSide{ClientOrderID: schemas.U64(id), Tick: schemas.Int(tick), Qty: 3}
	}
	quoted, err := alice.PutQuotes(ctx, []schemas.Quote{{MarketID: 2, Generation: 1, GroupID: 7, Bid: side(11, 4600), Ask: side(12, 5000)}, {MarketID: 3, Generation: 9, GroupID: 7, Ask: side(13, 5000)}})
	want("quotes", err == nil && quoted[0].Bid.Outcome.RestingQty == 3 && quoted[0].Ask.Outcome.ClientOrderID == 12 && quoted[1].Bid.Error.Code == "stale_generation", err)
	quoted, err = alice.PutQuotes(ctx, []schemas.Quote{{MarketID: 2, Generation: 1, GroupID: 7, Ask: side(14, 5000)}})
	want("quotes again", err == nil && quoted[0].Bid.Emptied.Canceled == 1 && quoted[0].Ask.Outcome.Kept && quoted[0].Ask.Outcome.ClientOrderID == 12, err)
	_, err = alice.PutQuotes(ctx, []schemas.Quote{{MarketID: 2, Generation: 1, GroupID: 7}})
	want("no quotes", true, err)
	g, err := alice.SetGroup(ctx, schemas.SetGroup{GroupPath: schemas.GroupPath{GroupID: 7}, FillLimit: 100, WindowMs: 5000})
	want("set group", g.FillLimit == 100, err)
	groups, err := alice.Groups(ctx)
	want("groups", len(groups.Groups) == 1 && groups.Groups[0].GroupID == 7, err)
	_, err = alice.ResetGroup(ctx, 7)
	want("reset group", true, err)
	g, err = alice.DeleteGroup(ctx, 7)
	want("delete group", g.FillLimit == 0, err)
	d, err := alice.Decrease(ctx, schemas.DecreaseOrder{OrderID: o.OrderID, ReduceTo: schemas.Ptr(schemas.Int(5))})
	want("decrease", d.RemainingQty == 5, err)
	row, err := alice.Order(ctx, o.OrderID)
	want("order", row.FilledQty == 4 && row.RemainingQty == 5, err)
	fills, err := alice.Fills(ctx, schemas.ListFills{OrderID: &o.OrderID})
	want("fills", len(fills.Fills) == 1, err)
	b, err := alice.Balance(ctx)
	want("balance", b.Reserved == 25000, err)
	pos, err := alice.Positions(ctx, schemas.ListPositions{})
	want("positions", len(pos.Positions) == 1 && pos.Positions[0].YesQty == 4, err)
	ms, err := alice.Markets(ctx, schemas.ListMarkets{Status: "trading"})
	want("markets", len(ms.Markets) == 3, err)
	m, err := alice.Market(ctx, 1)
	want("market", m.YesBid == 5000, err)
	book, err := alice.Orderbook(ctx, schemas.GetOrderbook{MarketID: 1})
	want("orderbook", len(book.Yes) == 1 && book.Yes[0] == schemas.Level{5000, 5}, err)
	trades, err := alice.Trades(ctx, schemas.ListTrades{MarketID: 1})
	want("trades", len(trades.Trades) == 1, err)
	rs, err := alice.Rounds(ctx, schemas.ListRounds{Category: schemas.Ptr(schemas.Int(1))})
	want("rounds", len(rs.Rounds) == 1, err)
	r, err := alice.Round(ctx, 1)
	want("round", r.Category == 1, err)
	price, err := alice.OraclePrice(ctx, 0)
	want("oracle", price.Price > 0, err)
	l, err := alice.Limits(ctx)
	want("limits", l.BatchCap == 20, err)
	now, err := alice.Time(ctx)
	want("time", now.ServerTime > 0, err)
	st, err := alice.Status(ctx)
	want("status", st.ExchangeActive, err)
	ret, err := alice.Retention(ctx)
	want("retention", ret.FillCap == 2000, err)
	_, err = alice.Schedule(ctx)
	want("schedule", true, err)
	fees, err := alice.Fees(ctx)
	want("fees", fees.TakerRate == 250, err)
	armed, err := alice.ArmDeadman(ctx, 60_000)
	want("arm", armed.Armed, err)
	dead, err := alice.Deadman(ctx)
	want("deadman", dead.Armed, err)
	armed, err = alice.ArmGroupDeadman(ctx, 7, 60_000)
	want("arm a group", armed.Armed && armed.GroupID == 7, err)
	groups, err = alice.Groups(ctx)
	want("armed groups", len(groups.Groups) == 1 && groups.Groups[0].DeadlineTs > 0, err)
	off, err := alice.DisarmGroupDeadman(ctx, 7)
	want("disarm a group", !off.Armed && off.GroupID == 7, err)
	off, err = alice.DisarmDeadman(ctx)
	want("disarm", !off.Armed, err)
	w, err := alice.Withdraw(ctx, schemas.RequestWithdrawal{ClientWithdrawalID: "w", Amount: 5, Destination: "bank"})
	want("withdraw", w.Status == "pending", err)
	ws, err := alice.Withdrawals(ctx, schemas.ListWithdrawals{})
	want("withdrawals", len(ws.Withdrawals) == 1, err)
	one, err := alice.Withdrawal(ctx, w.WithdrawalID)
	want("withdrawal", one.Amount == 5, err)
	addr, err := alice.DepositAddress(ctx)
	want("address", addr.Asset == "USD", err)
	_, err = alice.Settlements(ctx, schemas.ListSettlements{})
	want("settlements", true, err)
	pnl, err := alice.PnL(ctx)
	want("pnl", len(pnl.Positions) == 1 && pnl.Positions[0].Qty == 4 && pnl.OpenCost == pnl.Positions[0].Cost+25000, err)
	ledger, err := alice.Ledger(ctx, schemas.ListLedger{Kind: "fill,withdrawal"})
	want("ledger", len(ledger.Ledger) == 2 && ledger.Ledger[0].Amount == -5 && ledger.Ledger[1].FillN != nil && *ledger.Ledger[1].FillN == fills.Fills[0].N, err)
	played, err := alice.PortfolioRounds(ctx, schemas.ListPortfolioRounds{})
	want("portfolio rounds", len(played.Rounds) == 1 && played.Rounds[0].BoughtYes == 4 && played.Rounds[0].Profit == nil, err)
	deposits, err := alice.Deposits(ctx, schemas.ListDeposits{})
	want("deposits", len(deposits.Deposits) == 1 && deposits.Deposits[0].DepositID == "first-1", err)
	c, err := alice.Cancel(ctx, o.OrderID)
	want("cancel", c.CanceledQty == 5, err)
	_, err = alice.CancelByClientOrderID(ctx, o.ClientOrderID)
	want("cancel by client_order_id", codeOf(err) == "unknown_order", nil)
	many, err := alice.CancelMany(ctx, []schemas.U64{o.OrderID})
	want("cancel many", len(many.Results) == 1 && many.Results[0].Error.Code == "unknown_order", err)
	seq, err := alice.CancelAll(ctx, schemas.CancelAll{MarketID: 1})
	want("cancel all", seq.Seq > 0, err)
	n := 0
	for _, err := range alice.AllOrders(ctx, schemas.ListOrders{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(1))}}) {
		want("all orders", true, err)
		n++
	}
	for range alice.AllLedger(ctx, schemas.ListLedger{}) {
		n++
	}
	for range alice.AllPortfolioRounds(ctx, schemas.ListPortfolioRounds{}) {
		n++
	}
	for range alice.AllDeposits(ctx, schemas.ListDeposits{}) {
		n++
	}
	want("all of them", n == 9, nil)
	if _, err = alice.Redeem(ctx, schemas.Redeem{MarketID: 1, Qty: 1}); err == nil {
		t.Error("redeemed a pair that the account does not hold")
	}
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != "insufficient_position" || refused.Status != 403 || *refused.Wire.Num != 258 {
		t.Errorf("redeem without a pair: %v", err)
	}
}

// inBubble runs a test for which time passes only while it sleeps.
func inBubble(t *testing.T, test func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(2 * 366 * 24 * time.Hour) // from 2000, when Unix milliseconds have 12 digits; a signature needs 13
		test(t)
	})
}

// handled answers requests with f, without a network.
func handled(f http.HandlerFunc) Option {
	return WithHTTPClient(&http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		w, r := httptest.NewRecorder(), r.Clone(r.Context())
		r.RequestURI = r.URL.RequestURI() // as a server sets it
		f(w, r)
		return w.Result(), nil
	})})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestClockIsCorrected tests that a client with a wrong clock takes the time from the
// Date header, once.
func TestClockIsCorrected(t *testing.T) { inBubble(t, clockIsCorrected) }

func clockIsCorrected(t *testing.T) {
	secret := make([]byte, schemas.SecretLen)
	const ahead = time.Hour
	var calls atomic.Int64
	s := handled(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		now := time.Now().Add(ahead)
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		ts := r.Header.Get(schemas.HeaderTimestamp)
		ms, _ := strconv.ParseInt(ts, 10, 64)
		off := now.UnixMilli() - ms
		if !schemas.Verify(secret, ts, r.Method, r.RequestURI, nil, r.Header.Get(schemas.HeaderSignature)) || off > schemas.ReplayWindowMs || off < -schemas.ReplayWindowMs {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"server_time":"1"}`))
	})
	c := Must(New("http://venue.test", "k", secret, s))
	if _, err := c.Time(context.Background()); err != nil || calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	if _, err := c.Time(context.Background()); err != nil || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	bad := Must(New("http://venue.test", "k", append(make([]byte, 31), 1), s))
	if _, err := bad.Time(context.Background()); err == nil || calls.Load() != 5 {
		t.Errorf("a wrong secret: %v after %d calls", err, calls.Load())
	}
}

// TestLateRequestIsSignedAgain tests that a request which reached the venue with a signature that was too old
// is signed and sent once more.
func TestLateRequestIsSignedAgain(t *testing.T) { inBubble(t, lateRequestIsSignedAgain) }

func lateRequestIsSignedAgain(t *testing.T) {
	secret, calls, late := make([]byte, schemas.SecretLen), 0, 1
	c := Must(New("http://venue.test", "k", secret, handled(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls <= late {
			time.Sleep(schemas.ReplayWindowMs*time.Millisecond + time.Millisecond)
		}
		ms, _ := strconv.ParseInt(r.Header.Get(schemas.HeaderTimestamp), 10, 64)
		if time.Now().UnixMilli()-ms > schemas.ReplayWindowMs {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"server_time":"1","seq":"1","order_id":"1","client_order_id":"1","status":"resting","fills":[],"fee":"0","fee_usd":"0"}`))
	})))

	if _, err := c.Time(t.Context()); err != nil || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
	calls = 0
	if _, err := c.PlaceOrder(t.Context(), limit(1, "yes", 5000, 1)); err != nil || calls != 2 {
		t.Errorf("an order: %v after %d calls", err, calls)
	}
	calls, late = 0, 9
	var e *Error
	if _, err := c.Time(t.Context()); !errors.As(err, &e) || e.Status != 401 || calls != 2 {
		t.Errorf("always too late: %v after %d calls", err, calls)
	}
}

// TestReplacedKey tests that a client whose key was replaced reads it once more after a 401, uses it from then
// on, and does not ask again for a request whose key has not changed.
func TestReplacedKey(t *testing.T) { inBubble(t, replacedKey) }

func replacedKey(t *testing.T) {
	var calls, reloads atomic.Int64
	current := make([]byte, schemas.SecretLen)
	s := handled(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		ts := r.Header.Get(schemas.HeaderTimestamp)
		if body, _ := io.ReadAll(r.Body); r.Header.Get(schemas.HeaderKey) != "new" || !schemas.Verify(current, ts, r.Method, r.RequestURI, body, r.Header.Get(schemas.HeaderSignature)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"server_time":"1","seq":"1","order_id":"1","client_order_id":"1","status":"resting","fills":[],"fee":"0","fee_usd":"0"}`))
	})
	key := "old"
	c := Must(New("http://venue.test", "old", current, s, Reload(func() (string, []byte, bool) { reloads.Add(1); return key, current, true })))
	if _, err := c.Time(t.Context()); err == nil || calls.Load() != 1 || reloads.Load() != 1 {
		t.Errorf("the same key: %v after %d calls and %d reloads", err, calls.Load(), reloads.Load())
	}
	key = "new"
	if _, err := c.PlaceOrder(t.Context(), limit(1, "yes", 5000, 1)); err != nil || calls.Load() != 3 || reloads.Load() != 2 {
		t.Errorf("another key: %v after %d calls and %d reloads", err, calls.Load(), reloads.Load())
	}
	if _, err := c.Time(t.Context()); err != nil || calls.Load() != 4 || reloads.Load() != 2 {
		t.Errorf("afterwards: %v after %d calls and %d reloads", err, calls.Load(), reloads.Load())
	}
}
