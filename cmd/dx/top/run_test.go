package top

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"duplex/client"
	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/lanes/ws"
	"duplex/schemas"
)

// TestAgainstAVenue checks the screen with the stream and the reads of a venue.
func TestAgainstAVenue(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	lane := ws.Mount(h.Routes, h.Gate)
	t.Cleanup(func() { _ = lane.Close(context.Background()) })
	h.Serve()
	k := h.NewKey(1, core.ScopeRead|core.ScopeTrade)
	c := client.Must(client.New(h.URL, k.ID, k.Secret))
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))

	ctx, stop := context.WithCancel(t.Context())
	messages, ended := make(chan tea.Msg), make(chan struct{})
	go func() {
		defer close(ended)
		stream(ctx, c, func(m tea.Msg) {
			select {
			case messages <- m:
			case <-ctx.Done():
			}
		})
	}()
	s := open(t)
	s.send(readMarkets(ctx, c), readTrades(ctx, c, 1))
	if _, err := c.PlaceOrder(ctx, schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(4700)), Qty: 3}); err != nil {
		t.Fatal(err)
	}
	h.PostIndex(6_500_100_000_000)
	wanted := []string{"> BTC 60s ", "BOOK of market 1", "65,000.00  65,001.00 ▲", "*bid     47¢         3", "1 buy  yes   47¢       3", "reserved $1.41"}
	missing := func() (out []string) {
		for _, w := range wanted {
			if !strings.Contains(ansi.Strip(s.m.screen()), w) {
				out = append(out, w)
			}
		}
		return out
	}
	fresh := time.NewTicker(2 * time.Second) // a slow machine needs fresh prices, which expire after 5 s
	defer fresh.Stop()
	for late := time.After(3 * time.Minute); len(missing()) > 0; {
		select {
		case <-fresh.C:
			h.PostIndex(6_500_100_000_000)
		case m := <-messages:
			s.send(m)
		case <-late:
			t.Fatal(fmt.Sprintf("%q missing in\n", missing()) + ansi.Strip(s.m.screen()))
		}
	}
	stop()
	<-ended
}

// TestTicketAgainstAVenue previews, places and cancels with a venue.
func TestTicketAgainstAVenue(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	k := h.NewKey(1, core.ScopeRead|core.ScopeTrade)
	c := client.Must(client.New(h.URL, k.ID, k.Secret))
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	var o Options
	connect(t.Context(), c, &o)
	m := readMarkets(t.Context(), c)
	if m.Err != nil || len(m.Rounds) == 0 {
		t.Fatalf("the markets are %+v, want rounds and no error", m)
	}
	order := schemas.PlaceOrder{MarketID: 1, Side: "buy", Outcome: "yes", Tick: schemas.Ptr(schemas.Int(4700)), Qty: 3}
	p := o.Preview(4, order)
	if p.Err != nil || p.Ticket != 4 || p.Order.ClientOrderID == 0 || p.Preview.Status != "resting" {
		t.Errorf("the preview is %+v, want ticket 4 resting, with a client_order_id", p)
	}
	if again := o.Preview(4, p.Order); again.Order.ClientOrderID != p.Order.ClientOrderID {
		t.Errorf("the second preview is %+v, want the client_order_id %d of the first", again, p.Order.ClientOrderID)
	}
	if done := o.Place(4, p.Order); done.Err != nil || done.Ticket != 4 || done.Placed.RestingQty != 3 {
		t.Errorf("the order is %+v, want ticket 4 with 3 resting", done)
	}
	if done := o.CancelAll(5, 1); done.Err != nil || done.Ticket != 5 {
		t.Errorf("the cancel is %+v, want ticket 5 without an error", done)
	}
	// Two trades with another account make a pair.
	k = h.NewKey(2, core.ScopeRead|core.ScopeTrade)
	maker := client.Must(client.New(h.URL, k.ID, k.Secret))
	maker.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	for id, own := range []string{"yes", "no"} {
		for outcome, by := range map[string]*client.Client{own: c, map[string]string{"yes": "no", "no": "yes"}[own]: maker} {
			if _, err := by.PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: schemas.U64(10 + id), MarketID: 1, Side: "buy", Outcome: outcome, Tick: schemas.Ptr(schemas.Int(5000)), Qty: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if done := o.Redeem(6, 1, 1); done.Err != nil || done.Ticket != 6 {
		t.Errorf("the redemption is %+v, want ticket 6 without an error", done)
	}
	c.SetClock(time.Duration(h.Now()-time.Now().UnixNano()) + 10*time.Millisecond) // in the same millisecond it would be an exact repeat
	if done := o.Redeem(7, 1, 1); done.Err == nil {
		t.Error("a pair was redeemed twice")
	}
	if l, err := c.Orders(t.Context(), schemas.ListOrders{Status: "resting"}); err != nil || len(l.Orders) != 0 {
		t.Errorf("the resting orders are %+v, %v, want none", l, err)
	}
}
