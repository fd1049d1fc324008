package servertest_test

import (
	"context"
	"fmt"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/server/servertest"
)

// A round of 60 s from two orders to the payout. The test posts each second's price and moves
// the clock, so the round takes no time.
func Example() {
	v := servertest.ForExample() // in a test: servertest.New(t)
	defer v.Close()
	ctx := context.Background()
	alice, bob := v.Client("alice"), v.Client("bob")
	buy := func(outcome string, tick schemas.Int) schemas.PlaceOrder {
		return schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: outcome, Tick: &tick, Qty: 10}
	}
	yes, err := alice.PlaceOrder(ctx, buy("yes", 6000))
	if err != nil {
		fmt.Println(err)
		return
	}
	no, err := bob.PlaceOrder(ctx, buy("no", 4000))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("alice:", yes.Status, "bob:", no.Status)

	v.Clock.Freeze()
	for range 60 {
		v.PostPrice(core.BTC, lanetest.StartPrice+1) // above the strike: YES wins
		v.Advance(time.Second)
	}
	v.Advance(10 * time.Second) // past the dispute window
	v.WaitUntil(func(_ *venue.Venue, w *view.View) bool { return w.Round(1).Status == core.Settled })
	balance, err := alice.Balance(ctx)
	fmt.Println("alice has won", int64(balance.Cash)-int64(servertest.InitialCash), "pips", err)
	// Output:
	// alice: resting bob: executed
	// alice has won 40000 pips <nil>
}
