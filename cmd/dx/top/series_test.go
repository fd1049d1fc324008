package top

import (
	"testing"

	"duplex/schemas"
)

// TestPriceText checks that a price and a strike that differ show it, as far as the column is wide.
func TestPriceText(t *testing.T) {
	for p, want := range map[schemas.U64]string{0: "-", 78_00000000: "78.00", 75_12500000: "75.125", 75_12900001: "75.1290000", 65000_12345678: "65,000.123"} {
		if got := priceText(p); got != want {
			t.Errorf("%d: %s, want %s", p, got, want)
		}
	}
}
