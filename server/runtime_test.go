package server_test

import (
	"testing"

	"duplex/server"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 100 << 20: 400, 256 << 20: 400, 512 << 20: 200, 1 << 30: 100, 3 << 30: 33, 100 << 30: 25} {
		if got := server.GCPercentFor(live); got != want {
			t.Errorf("%d bytes live: %d, not %d", live, got, want)
		}
	}
}
