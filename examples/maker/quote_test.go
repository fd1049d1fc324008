package main

import (
	"fmt"
	"math"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

var narrow = schemas.TickSizeOf(core.Narrow())

// At the strike the chance is even; with less time left it is closer to certain.
func TestFair(t *testing.T) {
	at := func(price, left float64) float64 {
		w := priceModel{price: price, variance: 1e-8}
		return w.fair(100, left, 10)
	}
	if p := at(100, 40); p != 0.5 {
		t.Errorf("%v at the strike", p)
	}
	far, near := at(100.05, 50), at(100.05, 15)
	if !(0.5 < far && far < near && near < 1) {
		t.Errorf("above the strike %v, then %v", far, near)
	}
	// One standard deviation above: the normal distribution's 84.13 %.
	sigma := math.Sqrt(1e-8 * (50 - 10*2.0/3))
	if p := at(100*math.Exp(sigma), 50); math.Abs(p-0.8413) > 1e-4 {
		t.Errorf("%v a deviation above", p)
	}
}

func show(q schemas.Quote) string {
	side := func(s *schemas.QuoteSide) string {
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%d×%d", s.Tick, s.Qty)
	}
	return side(q.Bid) + " / " + side(q.Ask)
}

func TestQuotes(t *testing.T) {
	for _, c := range []struct {
		name string
		fair float64
		net  int64
		want string
	}{
		{"even", 0.5, 0, "4800×20 / 5200×20"},
		{"prices shift against the position", 0.5, maxPosition / 2, "4600×20 / 5100×20"},
		{"maximum YES position", 0.5, maxPosition, "none / 4900×20"},
		{"maximum NO position", 0.5, -maxPosition, "5100×20 / none"},
		{"on the fine part of the grid", 0.98, 0, "9600×20 / none"},
		{"no bid below the grid", 0.025, 0, "none / 500×20"},
	} {
		if got := show(quoteFor(c.fair, c.net, narrow)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// What is near enough stays as it is, also beside a side that moves; a market that is not wanted loses both.
func TestChanges(t *testing.T) {
	side := func(tick schemas.Int) *schemas.QuoteSide { return &schemas.QuoteSide{Tick: tick, Qty: qty} }
	order := func(side, outcome string, tick, left int64) schemas.Order {
		return schemas.Order{MarketID: 3, Generation: 2, Side: side, Outcome: outcome, Tick: tick, RemainingQty: left}
	}
	want := map[uint32]schemas.Quote{3: {MarketID: 3, Generation: 2, Bid: side(4800), Ask: side(5200)}}
	for _, c := range []struct {
		name   string
		want   map[uint32]schemas.Quote
		orders []schemas.Order
		out    string
	}{
		{"nothing rests", want, nil, "4800×20 / 5200×20"},
		{"both are near", want, []schemas.Order{order("buy", "yes", 4900, 20), order("buy", "no", 4900, 10)}, ""},
		{"the ask sells what is held", want, []schemas.Order{order("sell", "no", 5200, 20), order("sell", "yes", 5300, 20)}, ""},
		{"one is too far", want, []schemas.Order{order("buy", "yes", 4600, 20), order("buy", "no", 4900, 12)}, "4800×20 / 5100×12"},
		{"one has filled", want, []schemas.Order{order("buy", "yes", 4800, 9), order("buy", "no", 4800, 20)}, "4800×20 / 5200×20"},
		{"none is wanted", nil, []schemas.Order{order("buy", "yes", 4800, 20)}, "none / none"},
	} {
		resting := map[schemas.U64]schemas.Order{}
		for i, o := range c.orders {
			resting[schemas.U64(i)] = o
		}
		got := ""
		for _, q := range changes(c.want, resting) {
			if got += show(q); q.MarketID != 3 || q.Generation != 2 {
				t.Errorf("%s: market %d, generation %d", c.name, q.MarketID, q.Generation)
			}
		}
		if got != c.out {
			t.Errorf("%s: %q, want %q", c.name, got, c.out)
		}
	}
}

// A legal tick stays; a price between two ticks becomes the lower one.
func TestBelow(t *testing.T) {
	for price, want := range map[float64]int64{99: 0, 100: 100, 109.9: 100, 399: 390, 400: 400, 4799: 4700, 9605: 9600, 9615: 9610, 12000: 9990} {
		if got, ok := tickAtOrBelow(narrow, price); got != want || ok != (want > 0) {
			t.Errorf("below %v: %d", price, got)
		}
	}
}
