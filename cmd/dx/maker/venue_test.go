package maker

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

// wire counts refusals for the rate on the way to the venue, and is cut when told.
type wire struct {
	limited atomic.Int64
	cut     atomic.Bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cut.Load() {
		return nil, errors.New("cut")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		w.limited.Add(1)
	}
	return resp, err
}

// bourse is a venue whose nine series all trade.
func bourse(t *testing.T) *lanetest.House {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	for f := core.Feed(1); f < core.Feeds; f++ {
		h.Do(&core.SetSession{Feed: f, Open: true})
		post(h, f, 2_400e8)
	}
	h.Until(func(v *venue.Venue, _ *view.View) bool { return len(live(v)) == 9 })
	return h
}

func post(h *lanetest.House, f core.Feed, p core.Price) {
	tick := core.IndexTick{Feed: f, Second: h.Now() / core.NsPerSec, Price: p, Count: 1, Manual: true}
	_, _ = h.Engine.Submit(context.Background(), &core.PostIndex{Tick: tick}) // the venue may be closing
}

func live(v *venue.Venue) (out []venue.Slot) {
	for m := core.MarketID(1); m <= venue.Slots; m++ {
		if s, ok := v.Slot(m); ok && s.Status == core.Trading {
			out = append(out, s)
		}
	}
	return out
}

// top is the best bid and ask of YES; 0 is none.
func top(s *venue.Slot) (bid, ask core.Tick) {
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

func clientOf(h *lanetest.House, u core.UserID, w *wire) *client.Client {
	k := h.Key(u, core.ScopeRead|core.ScopeTrade)
	c := client.New(h.URL, k.ID, k.Secret, client.HTTP(&http.Client{Transport: w}))
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	return c
}

// run starts the maker on account 1 and gives how to stop it.
func run(t *testing.T, h *lanetest.House, w *wire, o Options) (stop func()) {
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

// Nine markets whose prices move every second stay quoted on both sides within the
// limits of a new account, and never against themselves.
func TestKeepsNineMarketsQuoted(t *testing.T) {
	h, w := bourse(t), &wire{}
	stop := run(t, h, w, Options{Refresh: 500 * time.Millisecond})
	h.Until(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	var sides, missing, moved int
	last := map[core.MarketID]core.Tick{}
	begun := time.Now()
	for i := 0; time.Since(begun) < 4*time.Second; i++ {
		if i%50 == 0 { // 0.01 % a second, up and down: ordinary life
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
	if missing*20 > sides {
		t.Errorf("%d of %d sides were not quoted", missing, sides)
	}
	if n := w.limited.Load(); n > 2 {
		t.Errorf("it was limited %d times", n)
	}
	if moved < 18 {
		t.Errorf("it moved %d quotes in nine markets", moved)
	}
	h.Engine.Read(func(v *venue.Venue, vw *view.View) {
		if v.Resting() != 0 {
			t.Errorf("%d orders are left", v.Resting())
		}
		for range vw.Fills(1, 0) {
			t.Error("it traded with itself")
		}
	})
}

// What is taken is put back, and pairs become cash again.
func TestRequotesAndRedeems(t *testing.T) {
	h := bourse(t)
	stop := run(t, h, &wire{}, Options{Refresh: 100 * time.Millisecond})
	h.Until(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	bob := clientOf(h, 2, &wire{})
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
		h.Until(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	}
	h.Until(func(v *venue.Venue, _ *view.View) bool {
		p := v.Position(1, core.MarketID(market))
		return p.Yes == 0 && p.No == 0
	})
	stop()
}

// A venue that is away for a while finds its maker again, and the switch armed.
func TestComesBack(t *testing.T) {
	h, w := bourse(t), &wire{}
	stop := run(t, h, w, Options{Refresh: 100 * time.Millisecond})
	h.Until(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	w.cut.Store(true)
	h.Do(&core.CancelAll{User: 1}) // as the switch would
	time.Sleep(300 * time.Millisecond)
	w.cut.Store(false)
	h.Until(func(v *venue.Venue, _ *view.View) bool { return quoted(v) })
	d, err := clientOf(h, 1, &wire{}).Deadman(t.Context())
	if err != nil || !d.Armed || d.TimeoutMs != deadmanMs {
		t.Errorf("%+v, %v", d, err)
	}
	stop()
	if d, err = clientOf(h, 1, &wire{}).Deadman(t.Context()); err != nil || d.Armed {
		t.Errorf("%+v, %v", d, err)
	}
}
