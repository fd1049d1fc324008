package day

import (
	"duplex/core"
)

// refresh is the time between two quotes of the maker in a series, in seconds.
var refresh = map[uint16]int64{1: 3, 2: 6, 3: 15}

const (
	quoteQty = core.Qty(200)
	netMax   = core.Qty(2000) // contracts that the maker holds of one outcome, net of the other
	lastCall = 3              // seconds before the close at which the maker cancels its quotes
)

// order returns a limit order.
func (d *day) order(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, t core.Tick, qty core.Qty, tif core.TIF) *core.PlaceOrder {
	d.next++
	return &core.PlaceOrder{User: u, ClientID: d.next, Market: m, Side: s, Outcome: o, Tick: t, Qty: qty, TIF: tif}
}

// quote returns the maker's new quotes: bids for YES and NO below their values.
func (d *day) quote(s int64) (cmds []core.Command) {
	for i := range d.live {
		r := &d.live[i]
		if r.fair == 0 {
			continue
		}
		if s%refresh[r.Category] != 0 && r.left != lastCall {
			continue
		}
		cmds = append(cmds, &core.CancelAll{User: maker, Market: r.Market})
		p := d.state.Venue.Position(maker, r.Market)
		if pairs := min(p.Yes, p.No); pairs >= quoteQty {
			cmds = append(cmds, &core.Redeem{User: maker, Market: r.Market, Qty: pairs})
		}
		if r.left <= lastCall {
			continue
		}
		net := core.Tick(min(max(p.Yes-p.No, -netMax), netMax))
		tilt := 2 * r.spread * net / core.Tick(netMax)
		for _, q := range []struct {
			outcome core.Outcome
			price   core.Tick
			full    bool
		}{{core.Yes, r.fair - tilt - r.spread, net >= core.Tick(netMax)}, {core.No, 10_000 - r.fair + tilt - r.spread, -net >= core.Tick(netMax)}} {
			if tick, _ := d.state.Venue.Rules().Grid.Nearest(q.price); tick > 0 && !q.full {
				o := d.order(maker, r.Market, core.Buy, q.outcome, tick, quoteQty, core.GTC)
				o.Flags = core.PostOnly
				cmds = append(cmds, o)
			}
		}
	}
	return cmds
}

// ask returns the price at which an outcome can be bought now; 0 if it cannot.
func (r *liveRound) ask(o core.Outcome) core.Tick {
	best, ok := r.Book.BestTick(o == core.No)
	if !ok {
		return 0
	}
	if o == core.No {
		return best.Opposite()
	}
	return best
}

// value returns the value of an outcome.
func (r *liveRound) value(o core.Outcome) core.Tick {
	if o == core.No {
		return r.fair.Opposite()
	}
	return r.fair
}

// trade returns the orders of the traders in this second.
func (d *day) trade() (cmds []core.Command) {
	for i := range d.live {
		r := &d.live[i]
		if r.fair == 0 || d.now >= r.CloseTs {
			continue
		}
		if r.left == forecastLeft[r.Category] {
			cmds = append(cmds, d.forecasts(r)...)
		}
		o := core.Outcome(d.r.IntN(2))
		ask, buy := r.ask(o), func(u core.UserID, at core.Tick, qty int) {
			cmds = append(cmds, d.order(u, r.Market, core.Buy, o, at, core.Qty(qty), core.IOC))
		}
		if ask == 0 {
			continue
		}
		if r.value(o) >= ask+3*cents && d.r.IntN(3) == 0 {
			buy(ann, ask, 5+d.r.IntN(10))
		}
		if d.r.IntN(40) == 0 {
			buy(ben, ask, 1+d.r.IntN(20))
		}
		if ask <= 15*cents && d.r.IntN(25) == 0 {
			buy(cy, ask, 10+d.r.IntN(40))
		}
		if d.r.IntN(30) == 0 {
			cmds = append(cmds, d.tradeDee(r, o, ask)...)
		}
	}
	return cmds
}

// forecastLeft is the number of seconds to the close at which ann and cy submit a forecast.
var forecastLeft = map[uint16]int64{1: 30, 2: 120, 3: 300}

// forecasts returns what ann and cy expect of a round: ann its value, and cy, who buys long shots, the
// same moved towards one half.
func (d *day) forecasts(r *liveRound) (cmds []core.Command) {
	for _, f := range []struct {
		user core.UserID
		p    core.Tick
	}{{ann, r.fair}, {cy, (r.fair + 5000) / 2}} {
		cmds = append(cmds, &core.SubmitForecast{User: f.user, Market: r.Market, Generation: r.Generation, P: core.Probability(f.p)})
	}
	return cmds
}

// tradeDee returns the orders of dee: it sells what it has, or bids one cent below the lowest ask.
func (d *day) tradeDee(r *liveRound, o core.Outcome, ask core.Tick) (cmds []core.Command) {
	p := d.state.Venue.Position(dee, r.Market)
	have := []core.Qty{p.Yes - p.YesReserved, p.No - p.NoReserved}
	for out, qty := range have {
		if bid := r.ask(core.Outcome(out).Other()); qty > 0 && bid > 0 {
			return append(cmds, d.order(dee, r.Market, core.Sell, core.Outcome(out), bid.Opposite(), qty, core.IOC))
		}
	}
	cmds = append(cmds, &core.CancelAll{User: dee, Market: r.Market})
	if tick, _ := d.state.Venue.Rules().Grid.Nearest(ask - cents); tick > 0 {
		cmds = append(cmds, d.order(dee, r.Market, core.Buy, o, tick, core.Qty(5+d.r.IntN(20)), core.GTC))
	}
	return cmds
}
