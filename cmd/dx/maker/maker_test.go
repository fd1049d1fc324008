package maker

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
)

// It quotes both sides of every live market around the fair value, never against
// itself, and takes everything back when it ends.
func TestQuotesEveryMarket(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	k := h.Key(1, core.ScopeRead|core.ScopeTrade)
	c := client.New(h.URL, k.ID, k.Secret)
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- Run(ctx, c, slog.New(slog.DiscardHandler), Options{Refresh: 20 * time.Millisecond}) }()
	h.Until(func(v *venue.Venue, _ *view.View) bool {
		quoted := 0
		for m := core.MarketID(1); m <= 3; m++ {
			s, _ := v.Slot(m)
			var bid, ask core.Tick
			for l := range s.Book.Levels(true) {
				bid = l.Tick
				break
			}
			for l := range s.Book.Levels(false) {
				ask = l.Tick
				break
			}
			if bid > 0 && ask > 0 {
				quoted++
				if bid >= 5000 || ask <= 5000 || ask-bid > 400 {
					t.Errorf("market %d: %d to %d at even odds", m, bid, ask)
				}
			}
		}
		return quoted == 3
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	h.Engine.Read(func(v *venue.Venue, w *view.View) {
		if v.Resting() != 0 {
			t.Errorf("%d orders are left", v.Resting())
		}
		for range w.Fills(1, 0) {
			t.Error("it traded with itself")
		}
	})
}

func TestFairValue(t *testing.T) {
	tr := trend{}
	now := time.Unix(0, 0)
	tr.see(100, now)
	at := func(strike float64, left time.Duration) float64 { return tr.fair(strike, left, 10*time.Second) }
	if p := at(100, time.Minute); math.Abs(p-0.5) > 1e-9 {
		t.Errorf("at the strike: %v", p)
	}
	if up, down := at(99.9, time.Minute), at(100.1, time.Minute); up <= 0.5 || down >= 0.5 || math.Abs(up+down-1) > 0.01 {
		t.Errorf("around the strike: %v and %v", up, down)
	}
	if long, short := at(99.95, 15*time.Minute), at(99.95, 30*time.Second); short <= long {
		t.Errorf("less time, less doubt: %v in 15 minutes, %v in 30 seconds", long, short)
	}
	calm := tr.vol2
	for i := range 60 {
		tr.see(100*(1+0.001*float64(i%2)), now.Add(time.Duration(i+1)*time.Second))
	}
	if tr.vol2 <= calm {
		t.Error("it does not learn that the price moves")
	}
	tr.see(0, now) // no price is no news
}
