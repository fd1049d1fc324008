package schemas

import "testing"

// TestAllocs bounds the allocations of encoding and decoding the most frequent messages.
// A bound may fall; a higher one is a regression.
func TestAllocs(t *testing.T) {
	body := []byte(`{"client_order_id":"77","market_id":3,"side":"buy","outcome":"yes","tick":4700,"qty":10}`)
	buf := make([]byte, 0, 1<<16)
	list := &OrderList{Orders: make([]Order, 100)}
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"decode a placement": {2, func() {
			if f := Decode(body, new(PlaceOrder)); f != nil {
				t.Error(f)
			}
		}},
		"encode an outcome":       {0, func() { buf = sample.Append(buf[:0]) }},
		"encode a page of orders": {0, func() { buf = list.Append(buf[:0]) }},
	} {
		if n := testing.AllocsPerRun(200, c.do); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
		}
	}
}
