package core

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func bigFee(rate Rate, qty Qty, p Tick) *big.Int {
	x := big.NewInt(int64(rate))
	x.Mul(x, big.NewInt(int64(qty)))
	x.Mul(x, big.NewInt(int64(p)))
	x.Mul(x, big.NewInt(10000-int64(p)))
	x.Add(x, big.NewInt(99_999_999))
	return x.Div(x, big.NewInt(100_000_000))
}

// TestFee compares Fee with the formula in big integers (docs/rules/money.md#fees).
func TestFee(t *testing.T) {
	if got := Fee(250, 1, 5000); got != 63 {
		t.Errorf("Fee(250, 1, 5000) = %d, want 63", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		rate, qty, p := Rate(rapid.IntRange(0, 10000).Draw(t, "rate")), Qty(rapid.Int64Range(1, int64(QtyMax)).Draw(t, "qty")), Tick(rapid.IntRange(1, 9999).Draw(t, "tick"))
		if got := Fee(rate, qty, p); got != Pips(bigFee(rate, qty, p).Int64()) {
			t.Fatalf("Fee(%d, %d, %d) = %d, want %s", rate, qty, p, got, bigFee(rate, qty, p))
		}
		if Fee(rate, qty, p) != Fee(rate, qty, p.Opposite()) {
			t.Fatal("the fee differs between the outcomes")
		}
		// Per contract, a reservation covers price and fee of a fill at any better price.
		if q := Tick(rapid.IntRange(1, int(p)).Draw(t, "better")); Pips(qty)*ReservationPerContract(rate, p) < Pips(qty)*Pips(q)+Fee(rate, qty, q) {
			t.Fatalf("a reservation at %d does not cover a fill at %d", p, q)
		}
		// The fee of a sale is at most its proceeds.
		if Fee(rate, qty, p) > Pips(qty)*Pips(p) {
			t.Fatal("the fee of a sale exceeds its proceeds")
		}
	})
}

func TestAffordableIsTheLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, p := Rate(rapid.IntRange(0, 10000).Draw(t, "rate")), Tick(rapid.IntRange(1, 9999).Draw(t, "tick"))
		budget := Pips(rapid.Int64Range(0, 10_000*int64(QtyMax)).Draw(t, "budget"))
		n := Affordable(budget, rate, p)
		cost := func(n Qty) *big.Int {
			return new(big.Int).Add(new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(p))), bigFee(rate, n, p))
		}
		if b := big.NewInt(int64(budget)); cost(n).Cmp(b) > 0 || cost(n+1).Cmp(b) <= 0 {
			t.Fatalf("Affordable(%d, %d, %d) = %d, which is not the largest", budget, rate, p, n)
		}
	})
	if n := Affordable(PipsMax, 0, 1); n != Qty(PipsMax) {
		t.Errorf("Affordable(PipsMax, 0, 1) = %d, want %d", n, PipsMax)
	}
}
