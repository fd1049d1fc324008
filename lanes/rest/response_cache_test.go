package rest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestCachedPagesAreCurrent checks that a page of orders from the response cache equals a
// fresh one. A page with limit 200 is never cached, so it serves as the reference.
func TestCachedPagesAreCurrent(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.Venue.Config.WriteFloor, h.Venue.Config.ReadRate = 1_000_000, 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	var ids []string
	next := 0
	change := func() {
		id := "1"
		if len(ids) > 0 {
			id = ids[r.IntN(len(ids))]
		}
		switch n := r.IntN(10); {
		case n < 2: // no change
		case n < 4:
			h.Call(alice, "DELETE", "/v1/portfolio/orders/"+id, "")
		case n < 5:
			h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_by":1}`)
		default:
			next++
			k, outcome := alice, "yes"
			if r.IntN(3) == 0 {
				k, outcome = bob, "no" // matches alice's orders
			}
			tick := []int{0, 5000, 5000, 5100}[r.IntN(4)] // 0 is rejected
			_, body := h.Call(k, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":%d}`, next, 1+r.IntN(3), outcome, tick, 1+r.IntN(3)))
			if a, _ := field(t, body).(map[string]any); a["order_id"] != nil {
				ids = append(ids, a["order_id"].(string))
			}
		}
	}
	read := func(limit int, filter string) (l schemas.OrderList) {
		get(h, alice, fmt.Sprintf("/v1/portfolio/orders?limit=%d%s", limit, filter), &l)
		return l
	}
	most := 0
	for range 150 {
		filter := []string{"", "", "", "&status=resting", "&market_id=2", "&client_order_id=3", "&status=executed,canceled&market_id=1", "&side=buy", "&side=sell"}[r.IntN(9)]
		for range 3 {
			read(100, filter)
		}
		change()
		for range 1 + r.IntN(3) {
			was := h.Venue.Engine.Seq()
			now := read(100, filter)
			if uint64(now.AsOfSeq) < was {
				t.Fatalf("as_of_seq %d, but the venue was at %d before", now.AsOfSeq, was)
			}
			if now.Cursor == "" {
				most = max(most, len(now.Orders))
				if truth := read(200, filter); !reflect.DeepEqual(now.Orders, truth.Orders) {
					t.Fatalf("after %d placements, %q:\n%+v\n%+v", next, filter, now, truth)
				}
			}
		}
	}
	if most < 20 {
		t.Errorf("no page had more than %d orders", most)
	}
}

// TestCachedBooksAreCurrent checks that a cached book is current after changes of orders and
// of the grid. A book of another depth is not cached, so it serves as the reference.
func TestCachedBooksAreCurrent(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.Venue.Config.WriteFloor, h.Venue.Config.ReadRate = 1_000_000, 1_000_000
	r := rand.New(rand.NewPCG(3, 4))
	read := func(market, depth int) (b schemas.Orderbook) {
		get(h, alice, fmt.Sprintf("/v1/markets/%d/orderbook?depth=%d", market, depth), &b)
		return b
	}
	compare := func(market int, what string) {
		t.Helper()
		now, truth := read(market, 50), read(market, 60)
		if now.AsOfSeq > truth.AsOfSeq {
			t.Fatalf("as_of_seq %d, then %d", now.AsOfSeq, truth.AsOfSeq)
		}
		if now.AsOfSeq, truth.AsOfSeq = 0, 0; !reflect.DeepEqual(now, truth) {
			t.Fatalf("the cached book after %s:\n%+v\nwant\n%+v", what, now, truth)
		}
	}
	next := 0
	for range 100 {
		market := 1 + r.IntN(2)
		for range 3 {
			read(market, 50)
		}
		next++
		k, outcome := alice, "yes"
		if r.IntN(3) == 0 {
			k, outcome = bob, "no"
		}
		h.Call(k, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":%d}`, next, 1+r.IntN(2), outcome, 4900+100*r.IntN(3), 1+r.IntN(3)))
		compare(market, "an order")
	}
	for range 3 {
		read(1, 50)
	}
	rules := core.DefaultRules()
	rules.Grid = core.Full()
	h.Submit(&core.SetRules{Rules: rules})
	if b := read(1, 50); len(b.TickSize.Bands) != 1 {
		t.Errorf("tick_size after the full grid was set: %+v, want one band", b.TickSize)
	}
	compare(1, "another grid")
	h.Call(alice, "DELETE", "/v1/portfolio/orders", "")
	compare(1, "canceled")
	if b := read(1, 50); len(b.Yes) != 0 {
		t.Errorf("the book after the cancel: %+v, want no bids", b)
	}
}
