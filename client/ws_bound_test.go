package client

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"duplex/core"
	machine "duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/ws"
	"duplex/schemas"
)

// TestStreamBindsOrders checks that a stream binds the orders of its groups on each connection, so that they are
// canceled when one breaks and again when the stream ends.
func TestStreamBindsOrders(t *testing.T) {
	h, alice, _ := trading(t)
	lane := ws.Mount(h.Routes, h.Gate)
	t.Cleanup(func() { _ = lane.Close(context.Background()) })
	id := schemas.U64(1000)
	place := func(group schemas.Int) (ok bool) {
		id++
		_, err := alice.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: id, MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(4700)), Qty: 1, GroupID: group})
		return err == nil
	}
	rest := func(n int) {
		t.Helper()
		h.WaitUntil(func(v *machine.Venue, _ *view.View) bool { return v.Resting() == n })
	}
	f := &streamRecorder{t: t, done: make(chan error, 1), bell: make(chan struct{}, 1)}
	f.Stream = alice.as(h.URL, WithHTTPClient(&http.Client{})).Stream(StreamOptions{Channels: []string{"user"}, CancelOnDisconnect: []uint32{7, 8}, OnEvent: f.on, OnDisconnect: f.onDisconnected})
	f.timing = quick
	ctx, stop := context.WithCancel(t.Context())
	go func() { f.done <- f.Run(ctx) }()
	for range 2 {
		f.until("the binding", func() bool { return bound(h.Engine.Read, 2) })
		if !place(7) || !place(8) || !place(9) {
			t.Fatal("an order is rejected")
		}
		rest(3)
		lane.Restart()
		rest(1)
		if _, err := alice.CancelAll(t.Context(), schemas.CancelAll{}); err != nil {
			t.Fatal(err)
		}
	}
	f.until("the last binding", func() bool { return bound(h.Engine.Read, 2) })
	if !place(7) {
		t.Fatal("an order is rejected")
	}
	stop()
	if err := f.ended(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	rest(0)
}

// bound reports whether n groups of account 1 are bound to a connection.
func bound(read func(func(*machine.Venue, *view.View)), n int) (ok bool) {
	read(func(v *machine.Venue, _ *view.View) {
		for g := range v.Groups(core.UserID(1), v.Now().Ts) {
			if g.Bound {
				n--
			}
		}
	})
	return n == 0
}
