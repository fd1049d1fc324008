package schemas

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCursor(t *testing.T) {
	list := ListOrders{Status: "resting", Page: Page{Limit: Ptr(Int(5))}}
	b := BindCursor(1, "/v1/portfolio/orders", 7, list)
	c := EncodeCursor(b, 1<<63, 12)

	list.Limit, list.Cursor, list.MinSeq = Ptr(Int(9)), c, 4 // none of these is a filter
	var x, y uint64
	if f := DecodeCursor(BindCursor(1, "/v1/portfolio/orders", 7, list), c, &x, &y); f != nil || x != 1<<63 || y != 12 {
		t.Fatal(f, x, y)
	}
	other := list
	other.Status = "executed"
	for name, bound := range map[string]CursorBinding{
		"another route":   BindCursor(1, "/v1/portfolio/fills", 7, list),
		"another account": BindCursor(1, "/v1/portfolio/orders", 8, list),
		"another filter":  BindCursor(1, "/v1/portfolio/orders", 7, other),
		"another venue":   BindCursor(2, "/v1/portfolio/orders", 7, list),
		"another market":  BindCursor(1, "/v1/portfolio/orders", 7, ListTrades{MarketID: 1}),
	} {
		if f := DecodeCursor(bound, c, &x, &y); f == nil || f.Code != "bad_cursor" {
			t.Errorf("a cursor used for %s: %v, want bad_cursor", name, f)
		}
	}
	for _, bad := range []string{"", "x", "!!", c + "A", c[1:], c[:len(c)-1], c + "\n", c + "=", EncodeCursor(b, 1), EncodeCursor(b, 1, 2, 3)} {
		if f := DecodeCursor(b, bad, &x, &y); f == nil || f.Code != "bad_cursor" {
			t.Errorf("cursor %q: %v, want bad_cursor", bad, f)
		}
	}
}

func TestCursorAltered(t *testing.T) {
	b := BindCursor(1, "/v1/rounds", 1, ListRounds{})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n")
		c := []byte(EncodeCursor(b, n))
		var back uint64
		if f := DecodeCursor(b, string(c), &back); f != nil || back != n {
			t.Fatal(f, back)
		}
		i := rapid.IntRange(0, len(c)-1).Draw(t, "at")
		c[i] = rapid.Byte().Filter(func(x byte) bool { return x != c[i] }).Draw(t, "to")
		if f := DecodeCursor(b, string(c), &back); f == nil {
			t.Fatalf("%q accepted", c)
		}
	})
}
