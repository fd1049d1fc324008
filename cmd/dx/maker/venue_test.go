package maker

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/marketsim"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

// wire is a transport that counts responses of status 429 and fails while cut is set.
type wire struct {
	transport http.RoundTripper
	limited   atomic.Int64
	cut       atomic.Bool
	after     func() // called after each response; nil is not called
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cut.Load() {
		return nil, errors.New("cut")
	}
	resp, err := w.transport.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		w.limited.Add(1)
	}
	if err == nil && w.after != nil {
		w.after()
	}
	return resp, err
}

// newVenue starts a venue on an in-memory network and waits until every series trades. Its
// tests run in synctest bubbles, so that they do not depend on the speed of the machine.
func newVenue(t *testing.T) *lanetest.Server {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.ServeInMemory()
	for f := core.Feed(1); f < core.Feeds; f++ {
		h.Submit(&core.SetSession{Feed: f, Open: true})
		post(h, f, 2_400e8)
	}
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return len(live(v)) == core.SeriesCount })
	return h
}

func post(h *lanetest.Server, f core.Feed, p core.Price) {
	tick := core.IndexTick{Feed: f, Second: h.Now() / core.NsPerSec, Price: p, Count: 1, Manual: true}
	_, _ = h.Engine.Submit(context.Background(), &core.PostIndex{Tick: tick}) // fails while the venue closes
}

func live(v *venue.Venue) (out []venue.MarketState) {
	for m := core.MarketID(1); m <= venue.Slots; m++ {
		if s, ok := v.Market(m); ok && s.Status == core.Trading {
			out = append(out, s)
		}
	}
	return out
}

// top returns the best bid and ask of YES; 0 for none.
func top(s *venue.MarketState) (bid, ask core.Tick) {
	for l := range s.Book.Levels(true) {
		bid = l.Tick
		break
	}
	for l := range s.Book.Levels(false) {
		ask = l.Tick
		break
	}
	return bid, ask
}

func quoted(v *venue.Venue) bool {
	for _, s := range live(v) {
		if bid, ask := top(&s); bid == 0 || ask == 0 {
			return false
		}
	}
	return true
}

func clientOf(h *lanetest.Server, u core.UserID, w http.RoundTripper) *client.Client {
	k := h.NewKey(u, core.ScopeRead|core.ScopeTrade)
	c := client.Must(client.New(h.URL, k.ID, k.Secret, client.WithHTTPClient(&http.Client{Transport: w})))
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	return c
}

// run starts the maker on account 1 until stop is called.
func run(t *testing.T, h *lanetest.Server, w http.RoundTripper, o Options) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- Run(ctx, clientOf(h, 1, w), slog.New(slog.DiscardHandler), o) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestKeepsNineMarketsQuoted checks that nine markets are quoted around the fair value, and stay quoted on
// both sides while their prices move every second, within the limits of a new account and without trades
// of the maker with itself; and that no order is left.
func TestKeepsNineMarketsQuoted(t *testing.T) { synctest.Test(t, testKeepsNineMarketsQuoted) }

func testKeepsNineMarketsQuoted(t *testing.T) {
	h := newVenue(t)
	w := &wire{transport: h.Transport}
	stop := run(t, h, w, Options{Refresh: 500 * time.Millisecond})
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	h.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for _, s := range live(v) {
			if bid, ask := top(&s); bid >= 5000 || ask <= 5000 || ask-bid > 400 {
				t.Errorf("market %d: bid %d, ask %d with the price at the strike", s.Market, bid, ask)
			}
		}
	})
	var sides, missing, moved int
	last := map[core.MarketID]core.Tick{}
	started := time.Now()
	time.Sleep(7 * time.Millisecond) // sample between passes; during a pass quotes are being replaced
	for i := 0; time.Since(started) < 20*time.Second; i++ {
		if i%50 == 0 { // move prices by 0.01 % a second, up and down
			for f := core.Feed(0); f < core.Feeds; f++ {
				post(h, f, []core.Price{6_500_000_000_000, 240_000_000_000, 240_000_000_000}[f]/10_000*core.Price(10_000+i/50%2))
			}
		}
		h.Engine.Read(func(v *venue.Venue, _ *view.View) {
			for _, s := range live(v) {
				bid, ask := top(&s)
				if bid != 0 && ask != 0 && bid >= ask {
					t.Errorf("market %d is crossed: %d, %d", s.Market, bid, ask)
				}
				if bid != 0 && bid != last[s.Market] {
					moved, last[s.Market] = moved+1, bid
				}
				for _, side := range []core.Tick{bid, ask} {
					if sides++; side == 0 {
						missing++
					}
				}
			}
		})
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	t.Logf("%d of %d sides missing, %d moves, limited %d times", missing, sides, moved, w.limited.Load())
	if missing*20 > sides {
		t.Errorf("%d of %d sides were not quoted", missing, sides)
	}
	if n := w.limited.Load(); n > 2 {
		t.Errorf("the maker was rate limited %d times", n)
	}
	if moved < 90 {
		t.Errorf("the maker moved %d quotes in nine markets, want at least 90", moved)
	}
	h.Engine.Read(func(v *venue.Venue, vw *view.View) {
		if v.Resting() != 0 {
			t.Errorf("%d orders are left", v.Resting())
		}
		for range vw.Fills(1, 0) {
			t.Error("the maker traded with itself")
		}
	})
}

// TestMovesLeaveNoGap checks that no request of the maker empties a side of a book when the price moves so
// far that every quote is replaced.
func TestMovesLeaveNoGap(t *testing.T) { synctest.Test(t, testMovesLeaveNoGap) }

func testMovesLeaveNoGap(t *testing.T) {
	h := newVenue(t)
	w := &wire{transport: h.Transport}
	complete := map[core.MarketID]bool{}
	var moved, emptied atomic.Int64
	last := map[core.MarketID]core.Tick{}
	w.after = func() {
		h.Engine.Read(func(v *venue.Venue, _ *view.View) {
			for _, s := range live(v) {
				if s.Feed != core.BTC {
					continue // its feed is silent
				}
				bid, ask := top(&s)
				if bid != 0 && bid != last[s.Market] {
					moved.Add(1)
					last[s.Market] = bid
				}
				if complete[s.Market] && (bid == 0 || ask == 0) {
					emptied.Add(1)
				}
				complete[s.Market] = bid != 0 && ask != 0
			}
		})
	}
	// Two levels of three markets: the tokens of a new account suffice for moving all of them.
	stop := run(t, h, w, Options{Refresh: time.Second, Quotes: marketsim.Maker{Levels: 2, Qty: 100, Inventory: 5000}})
	for i := range core.Price(40) { // ends before the first round closes
		post(h, core.BTC, 6_500_000_000_000/10_000*(10_000+i%2*10))
		time.Sleep(time.Second)
	}
	if n := emptied.Load(); n > 0 {
		t.Errorf("%d requests of the maker emptied a side of a book", n)
	}
	if n := moved.Load(); n < 20 {
		t.Errorf("the best bids of three markets moved %d times, want at least 20", n)
	}
	stop()
}

// TestRequotesAndRedeems checks that filled quotes are placed again and that pairs are
// redeemed.
func TestRequotesAndRedeems(t *testing.T) { synctest.Test(t, testRequotesAndRedeems) }

func testRequotesAndRedeems(t *testing.T) {
	h := newVenue(t)
	stop := run(t, h, &wire{transport: h.Transport}, Options{Refresh: 100 * time.Millisecond})
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	bob := clientOf(h, 2, &wire{transport: h.Transport})
	ms, err := bob.Markets(t.Context(), schemas.ListMarkets{Status: "trading"})
	if err != nil {
		t.Fatal(err)
	}
	market := schemas.Int(ms.Markets[len(ms.Markets)-1].MarketID)
	for i, outcome := range []string{"yes", "no"} {
		o, err := bob.PlaceOrder(t.Context(), schemas.PlaceOrder{
			ClientOrderID: schemas.U64(i + 1), MarketID: market, Side: "buy", Outcome: outcome, Type: "market", Qty: 100, MaxCost: 1_000_000,
		})
		if err != nil || o.FilledQty != 100 {
			t.Fatalf("%+v, %v", o, err)
		}
		h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	}
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool {
		p := v.Position(1, core.MarketID(market))
		return p.Yes == 0 && p.No == 0
	})
	stop()
}

// TestRecoversAfterAnOutage checks that the maker quotes again after an outage of the
// network, with the dead-man switch armed.
func TestRecoversAfterAnOutage(t *testing.T) { synctest.Test(t, testRecoversAfterAnOutage) }

func testRecoversAfterAnOutage(t *testing.T) {
	h := newVenue(t)
	w := &wire{transport: h.Transport}
	stop := run(t, h, w, Options{Refresh: 100 * time.Millisecond})
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	w.cut.Store(true)
	h.Submit(&core.CancelAll{User: 1}) // as the switch does
	time.Sleep(300 * time.Millisecond)
	w.cut.Store(false)
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	d, err := clientOf(h, 1, &wire{transport: h.Transport}).Deadman(t.Context())
	if err != nil || !d.Armed || d.TimeoutMs != deadmanMs {
		t.Errorf("%+v, %v", d, err)
	}
	stop()
	if d, err = clientOf(h, 1, &wire{transport: h.Transport}).Deadman(t.Context()); err != nil || d.Armed {
		t.Errorf("%+v, %v", d, err)
	}
}
