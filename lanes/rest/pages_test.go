package rest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"duplex/schemas"
)

// A page of orders that is kept, because it was asked for again, is what it would be if
// it were read anew, whatever happened in between and to whom. Pages of more than a
// hundred are never kept, so they tell.
func TestKeptPagesAreTrue(t *testing.T) {
	h, alice, bob := house(t)
	h.Venue.Terms.WriteFloor, h.Venue.Terms.ReadRate = 1_000_000, 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	var ids []string
	next := 0
	change := func() {
		id := "1"
		if len(ids) > 0 {
			id = ids[r.IntN(len(ids))]
		}
		switch n := r.IntN(10); {
		case n < 2: // nothing
		case n < 4:
			h.Call(alice, "DELETE", "/v1/portfolio/orders/"+id, "")
		case n < 5:
			h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_by":1}`)
		default:
			next++
			k, outcome := alice, "yes"
			if r.IntN(3) == 0 {
				k, outcome = bob, "no" // meets her orders
			}
			tick := []int{0, 5000, 5000, 5100}[r.IntN(4)] // 0 is refused
			_, body := h.Call(k, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":%q,"tick":%d,"qty":%d}`, next, 1+r.IntN(3), outcome, tick, 1+r.IntN(3)))
			if a, _ := field(t, body).(map[string]any); a["order_id"] != nil {
				ids = append(ids, a["order_id"].(string))
			}
		}
	}
	ask := func(limit int, filter string) (l schemas.OrderList) {
		status, body := h.Call(alice, "GET", fmt.Sprintf("/v1/portfolio/orders?limit=%d%s", limit, filter), "")
		if err := json.Unmarshal([]byte(body), &l); status != 200 || err != nil {
			t.Fatal(status, body, err)
		}
		return l
	}
	most := 0
	for range 150 {
		filter := []string{"", "", "", "&status=resting", "&market_id=2", "&client_order_id=3", "&status=executed,canceled&market_id=1"}[r.IntN(7)]
		for range 3 {
			ask(100, filter)
		}
		change()
		for range 1 + r.IntN(3) {
			was := h.Venue.Engine.Seq()
			now := ask(100, filter)
			if uint64(now.AsOfSeq) < was {
				t.Fatalf("as of %d, and %d was before", now.AsOfSeq, was)
			}
			if now.Cursor == "" {
				most = max(most, len(now.Orders))
				if truth := ask(200, filter); !reflect.DeepEqual(now.Orders, truth.Orders) {
					t.Fatalf("after %d placements, %q:\n%+v\n%+v", next, filter, now, truth)
				}
			}
		}
	}
	if most < 20 {
		t.Errorf("no page had more than %d orders", most)
	}
}
