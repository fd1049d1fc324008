package venue

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTimersAgreeWithASortedList checks that timers come by rising time, then key, and that outdated ones
// do not hide the current ones.
func TestTimersAgreeWithASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &script{t: t}
		var h timers
		var plain []timer
		dead := map[timer]bool{}
		current := func(x timer) bool { return !dead[x] }
		first := func() int64 {
			for _, x := range plain {
				if current(x) {
					return x.at
				}
			}
			return math.MaxInt64
		}
		for range s.fair(60, "steps") {
			switch s.fair(4, "kind") {
			case 0, 1:
				x := timer{int64(s.fair(8, "at")), uint64(len(plain)*5%7 + len(dead)*10)}
				h.add(x.at, x.key)
				plain = append(plain, x)
				slices.SortStableFunc(plain, func(a, b timer) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
			case 2:
				ts := int64(s.fair(8, "until"))
				x, ok := h.pop(ts)
				if want := len(plain) > 0 && plain[0].at <= ts; ok != want || ok && x != plain[0] {
					t.Fatalf("%+v %v at %d of %+v", x, ok, ts, plain)
				}
				if ok {
					plain = plain[1:]
				}
			default:
				if len(plain) > 0 {
					dead[plain[s.fair(uint64(len(plain)), "which")]] = true
				}
				if got := h.firstCurrent(current); got != first() {
					t.Fatalf("first at %d, not %d", got, first())
				}
				for len(plain) > 0 && dead[plain[0]] {
					plain = plain[1:]
				}
			}
		}
		if len(plain) == 0 && h.due() != math.MaxInt64 || len(plain) > 0 && h.due() != plain[0].at {
			t.Fatalf("due at %d of %+v", h.due(), plain)
		}
	})
}

// TestPruneTimers checks that outdated timers are removed if there are at least 1024 timers and at most
// half of them can be current.
func TestPruneTimers(t *testing.T) {
	filled := func(n int) *timers {
		h := &timers{}
		for i := range n {
			h.add(int64(n-i), uint64(i))
		}
		return h
	}
	even := func(x timer) bool { return x.key%2 == 0 }
	for _, c := range []struct{ n, live, left int }{
		{1023, 1, 1023}, // few
		{1024, 512, 512},
		{1024, 513, 1024}, // most are current
		{3000, 1500, 1500},
		{2000, 1500, 2000},
	} {
		h := filled(c.n)
		h.prune(c.live, even)
		if len(h.heap) != c.left {
			t.Errorf("%d timers, %d live: %d left", c.n, c.live, len(h.heap))
		}
		last := int64(0)
		for range c.left {
			x, ok := h.pop(never - 1)
			if !ok || x.at < last || c.left < c.n && !even(x) {
				t.Fatalf("%+v after %d", x, last)
			}
			last = x.at
		}
	}
}
