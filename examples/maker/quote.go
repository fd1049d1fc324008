package main

import (
	"math"

	"duplex/schemas"
)

const (
	edge  = 200.0 // pips below its fair value at which an outcome is bid for
	lean  = 300.0 // pips the fair value is shifted at the full inventory
	slack = 100.0 // pips a quote may be off before it is moved
)

// walk follows a price, a tick a second, and how much it moves: the variance of the
// log price a second, the past weighing 0.97 at each new one.
type walk struct{ price, variance float64 }

func (w *walk) see(price float64) {
	if w.price == 0 {
		w.price, w.variance = price, 1e-8
	}
	r := math.Log(price / w.price)
	w.price, w.variance = price, 0.97*w.variance+0.03*r*r
}

// fair is the probability that the mean price of the last `window` seconds is above
// the strike, `left` seconds before the end; left is not below window. The mean of a
// random walk over w seconds varies as the walk does after w/3.
func (w *walk) fair(strike, left, window float64) float64 {
	deviation := math.Sqrt(max(w.variance, 1e-10) * (left - window*2/3))
	return 0.5 * math.Erfc(-math.Log(w.price/strike)/deviation/math.Sqrt2)
}

// serves tells whether an order that rests is what is wanted, near enough.
func serves(o *schemas.Order, w *schemas.PlaceOrder) bool {
	return o.MarketID == uint32(w.MarketID) && o.Outcome == w.Outcome && math.Abs(float64(o.Tick-int64(*w.Tick))) <= slack
}

// quotes are the bids for a market of which `net` is held, YES less NO. Whoever bids
// for NO at 4000 offers YES at 6000, so both make one two-sided market.
func quotes(fair float64, net int64, grid schemas.TickSize) (out []schemas.PlaceOrder) {
	yes := 10_000*fair - lean*float64(net)/most
	for outcome, value := range map[string]float64{"yes": yes, "no": 10_000 - yes} {
		full := outcome == "yes" && net >= most || outcome == "no" && -net >= most
		if tick, ok := below(grid, value-edge); ok && !full {
			out = append(out, schemas.PlaceOrder{Side: "buy", Outcome: outcome, Tick: schemas.Of(schemas.Int(tick)), Qty: qty, PostOnly: true, CancelOnPause: true})
		}
	}
	return out
}

// below is the dearest legal tick that is not over a price; false if there is none.
func below(grid schemas.TickSize, price float64) (tick int64, ok bool) {
	p := int64(math.Floor(price))
	for _, b := range grid.Bands {
		if p >= b.From {
			tick, ok = b.From+(min(p, b.To)-b.From)/b.Step*b.Step, true
		}
	}
	return tick, ok
}
