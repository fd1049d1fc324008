package tools

import (
	"reflect"
	"testing"

	"duplex/schemas"
)

// TestOrderListKeys checks that each member of a request for orders makes another key of the cache, except
// min_seq, after which the page is read. A member left out would show the page of another filter.
func TestOrderListKeys(t *testing.T) {
	values := map[string]string{
		"status": "resting", "order_id": "0", "client_order_id": "0", "market_id": "0", "side": "buy", "group_id": "7", "from_ts": "5", "to_ts": "0", "limit": "5", "cursor": "x",
	}
	keys := map[orderListKey]string{orderListKeyOf(&schemas.ListOrders{}, 1): "no member", orderListKeyOf(&schemas.ListOrders{}, 2): "another change"}
	for _, m := range schemas.Members(reflect.TypeFor[schemas.ListOrders]()) {
		if m.Name == "min_seq" {
			continue
		}
		var in schemas.ListOrders
		if f := schemas.DecodeQuery(m.Name+"="+values[m.Name], &in); f != nil {
			t.Fatalf("%s=%q: %v", m.Name, values[m.Name], f)
		}
		q := orderListKeyOf(&in, 1)
		if other, there := keys[q]; there {
			t.Errorf("%s has the key of %s", m.Name, other)
		}
		keys[q] = m.Name
	}
}
