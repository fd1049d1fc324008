package edits

import "testing"

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"order", "order", 0}, {"ordr", "order", 1}, {"place_ordr", "place_order", 1}, {"kitten", "sitting", 3}, {"abc", "", 3},
	} {
		if got, back := Between(c.a, c.b), Between(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d, and %d the other way, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
