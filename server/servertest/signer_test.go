package servertest_test

import (
	"testing"
	"time"

	"duplex/schemas"
	"duplex/server/servertest"
)

// TestSignsAgain checks that a request succeeds whose signature has left the replay window.
func TestSignsAgain(t *testing.T) {
	v := servertest.New(t)
	v.Clock.Freeze()
	alice, tick := v.Client("alice"), schemas.Int(100)
	alice.SetClock(time.Until(v.Clock.Time()) + time.Minute)
	if _, err := alice.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Tick: &tick, Qty: 1}); err != nil {
		t.Error(err)
	}
	alice.SetClock(time.Until(v.Clock.Time()) - time.Minute)
	if _, err := alice.Balance(t.Context()); err != nil {
		t.Error(err)
	}
}
