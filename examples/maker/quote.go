package main

import (
	"maps"
	"math"
	"slices"

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

// quoteFor returns the quote of a market, given the net position (YES minus NO). Prices are in YES: the venue sells
// what is held of it, and otherwise buys NO, which is the same offer.
func quoteFor(fair float64, net int64, grid schemas.TickSize) (q schemas.Quote) {
	yes := 10_000*fair - inventorySkew*float64(net)/maxPosition
	if tick, ok := tickAtOrBelow(grid, yes-edge); ok && net < maxPosition {
		q.Bid = &schemas.QuoteSide{Tick: schemas.Int(tick), Qty: qty}
	}
	if tick, ok := tickAtOrBelow(grid, 10_000-yes-edge); ok && -net < maxPosition {
		q.Ask = &schemas.QuoteSide{Tick: schemas.Int(10_000 - tick), Qty: qty}
	}
	return q
}

// changes returns the quotes to send: of the markets in which a side is not near enough, and nothing for those that are
// not wanted any more. What is near enough is named as it rests, so that it keeps its place in the queue.
func changes(want map[uint32]schemas.Quote, resting map[schemas.U64]schemas.Order) (out []schemas.Quote) {
	rests := map[uint32]schemas.Quote{}
	for _, o := range resting {
		q := rests[o.MarketID]
		q.MarketID, q.Generation = schemas.Int(o.MarketID), schemas.Int(o.Generation)
		side, tick := &q.Bid, o.Tick
		if o.Outcome == "no" {
			tick = 10_000 - tick
		}
		if (o.Side == "buy") != (o.Outcome == "yes") {
			side = &q.Ask
		}
		*side = &schemas.QuoteSide{Tick: schemas.Int(tick), Qty: schemas.Int(o.RemainingQty)}
		rests[o.MarketID] = q
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		q, is := want[id], rests[id]
		delete(rests, id)
		bid, ask := near(is.Bid, q.Bid), near(is.Ask, q.Ask)
		if bid && ask {
			continue
		}
		if bid {
			q.Bid = is.Bid
		}
		if ask {
			q.Ask = is.Ask
		}
		out = append(out, q)
	}
	for _, q := range rests {
		out = append(out, schemas.Quote{MarketID: q.MarketID, Generation: q.Generation})
	}
	return out
}

// near reports whether what rests of a side is near enough to what is wanted.
func near(is, want *schemas.QuoteSide) bool {
	if is == nil || want == nil {
		return is == want
	}
	return math.Abs(float64(is.Tick-want.Tick)) <= moveThreshold && is.Qty >= qty/2
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
