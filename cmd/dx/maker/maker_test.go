package maker

import (
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
)

// TestQuotesEveryMarket checks that the maker quotes both sides of every live market around
// the fair value, does not trade with itself, and cancels all orders at the end.
func TestQuotesEveryMarket(t *testing.T) { synctest.Test(t, testQuotesEveryMarket) }

func testQuotesEveryMarket(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.ServeInMemory()
	stop := run(t, h, &wire{transport: h.Transport}, Options{Refresh: 20 * time.Millisecond})
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool {
		quoted := 0
		for m := core.MarketID(1); m <= 3; m++ {
			s, _ := v.Market(m)
			if bid, ask := top(&s); bid > 0 && ask > 0 {
				quoted++
				if bid >= 5000 || ask <= 5000 || ask-bid > 400 {
					t.Errorf("market %d: bid %d, ask %d with the price at the strike", m, bid, ask)
				}
			}
		}
		return quoted == 3
	})
	stop()
	h.Engine.Read(func(v *venue.Venue, w *view.View) {
		if v.Resting() != 0 {
			t.Errorf("%d orders are left", v.Resting())
		}
		for range w.Fills(1, 0) {
			t.Error("the maker traded with itself")
		}
	})
}
