package main

import (
	"math"

	"duplex/schemas"
)

const (
	edge          = 200.0 // distance of a bid below the fair value, in pips
	inventorySkew = 300.0 // shift of the fair value at the maximum position, in pips
	moveThreshold = 100.0 // distance at which a quote is replaced, in pips
)

// priceModel tracks a price, with one tick per second, and the variance of its logarithm per
// second, as a moving average with weight 0.97 for the past.
type priceModel struct{ price, variance float64 }

func (w *priceModel) observe(price float64) {
	if w.price == 0 {
		w.price, w.variance = price, 1e-8
	}
	r := math.Log(price / w.price)
	w.price, w.variance = price, 0.97*w.variance+0.03*r*r
}

// fair returns the probability that the mean price of the last window seconds is above the
// strike, left seconds before the end. left must be at least window. The mean of a random
// walk over w seconds has the variance of the walk after w/3 seconds.
func (w *priceModel) fair(strike, left, window float64) float64 {
	deviation := math.Sqrt(max(w.variance, 1e-10) * (left - window*2/3))
	return 0.5 * math.Erfc(-math.Log(w.price/strike)/deviation/math.Sqrt2)
}

// matches reports whether a resting order is close enough to a wanted quote.
func matches(o *schemas.Order, w *schemas.PlaceOrder) bool {
	return o.MarketID == uint32(w.MarketID) && o.Outcome == w.Outcome && math.Abs(float64(o.Tick-int64(*w.Tick))) <= moveThreshold
}

// quotes returns the bids for a market, given the net position (YES minus NO). A bid for NO
// at 4000 is an offer of YES at 6000, so the two bids make a two-sided market.
func quotes(fair float64, net int64, grid schemas.TickSize) (out []schemas.PlaceOrder) {
	yes := 10_000*fair - inventorySkew*float64(net)/maxPosition
	for outcome, value := range map[string]float64{"yes": yes, "no": 10_000 - yes} {
		full := outcome == "yes" && net >= maxPosition || outcome == "no" && -net >= maxPosition
		if tick, ok := tickAtOrBelow(grid, value-edge); ok && !full {
			out = append(out, schemas.PlaceOrder{Side: "buy", Outcome: outcome, Tick: schemas.Ptr(schemas.Int(tick)), Qty: qty, PostOnly: true, CancelOnPause: true})
		}
	}
	return out
}

// tickAtOrBelow returns the highest legal tick at or below a price; false if there is none.
func tickAtOrBelow(grid schemas.TickSize, price float64) (tick int64, ok bool) {
	p := int64(math.Floor(price))
	for _, b := range grid.Bands {
		if p >= b.From {
			tick, ok = b.From+(min(p, b.To)-b.From)/b.Step*b.Step, true
		}
	}
	return tick, ok
}
