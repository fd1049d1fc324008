package engine

import "testing"

func TestHistogram(t *testing.T) {
	var s Histogram
	for _, n := range []uint64{0, 1, 2, 3, 4, 5, 1000, 1 << 39, 1 << 50} {
		s.Add(n)
	}
	count, sum, atMost := s.Read(0, 10)
	if count != 9 || sum != 1015+1<<39+1<<50 || len(atMost) != 11 {
		t.Errorf("%d %d %v", count, sum, atMost)
	}
	for limit, want := range map[uint64]uint64{1: 2, 2: 3, 4: 5, 8: 6, 512: 6, 1024: 7} {
		if atMost[limit] != want {
			t.Errorf("at most %d: %d, not %d", limit, atMost[limit], want)
		}
	}
}
