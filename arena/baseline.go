package arena

import (
	"context"
	"math/rand/v2"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

const never = int64(1<<63 - 1)

// baselines are the built-in seats, by kind.
var baselines = map[string]func(*builtin){
	"hold":   func(*builtin) {},
	"random": (*builtin).tradeAtRandom,
	"mid":    (*builtin).tradeTowardsMid,
	"fair":   (*builtin).tradeFairValue,
	"maker":  (*builtin).quote,
}

// builtin is a seat whose agent is part of the arena. It acts once a second of venue time, through the
// operations that the lanes offer, with a key of its own.
type builtin struct {
	act    func(*builtin)
	venue  *tools.Venue
	caller tools.Caller
	log    *trajectory
	series core.Series
	r      *rand.Rand
	now    int64 // venue time, ns
	wake   int64
	nextID uint64
	model  model
	round  liveRound // that trades now

	forecasted uint64 // the number of the newest round with a forecast
}

// liveRound is the round of the series that trades.
type liveRound struct {
	core.Round
	bid, ask, last core.Tick // of YES; 0: none
	mark           core.Tick
	yes, no        core.Qty // held
	yesFree        core.Qty
	noFree         core.Qty
}

// run lets the seat act if its time has come.
func (b *builtin) run(now int64) {
	if now < b.wake {
		return
	}
	b.now = now
	if b.look() {
		b.act(b)
	}
	b.wake = now - now%core.NsPerSec + core.NsPerSec
}

// look reads the index and the live round; false if none takes orders.
func (b *builtin) look() (trades bool) {
	b.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if t, ok, _, _ := v.Index(b.series.Feed); ok {
			b.model.observe(t.Second, t.Price)
		}
		trades = findLive(v, b.series.Category, b.caller.User, &b.round)
	})
	return trades && b.now < b.round.CloseTs && b.model.price > 0
}

// findLive finds the round of a series that takes orders.
func findLive(v *venue.Venue, category uint16, u core.UserID, out *liveRound) bool {
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		m, ok := v.Market(id)
		if !ok || m.Status != core.Trading || m.Category != category {
			continue
		}
		*out = liveRound{Round: m.Round, last: m.LastTick}
		out.mark, _ = v.Mark(id)
		if bid, ok := m.Book.BestTick(true); ok {
			out.bid = bid
		}
		if ask, ok := m.Book.BestTick(false); ok {
			out.ask = ask
		}
		p := v.Position(u, id)
		out.yes, out.no, out.yesFree, out.noFree = p.Yes, p.No, p.Yes-p.YesReserved, p.No-p.NoReserved
		return !m.Paused
	}
	return false
}

// askOf returns the price at which an outcome can be bought; 0 if it cannot.
func (r *liveRound) askOf(o core.Outcome) core.Tick {
	switch {
	case o == core.Yes:
		return r.ask
	case r.bid == 0:
		return 0
	}
	return r.bid.Opposite()
}

// place places a limit order at a tick on the grid.
func (b *builtin) place(side string, o core.Outcome, tick core.Tick, qty core.Qty, tif string, postOnly bool) {
	b.nextID++
	in := &schemas.PlaceOrder{
		ClientOrderID: schemas.U64(b.nextID), MarketID: schemas.Int(b.round.Market), Generation: schemas.Int(b.round.Generation),
		Side: side, Outcome: o.String(), Tick: schemas.Ptr(schemas.Int(tick)), Qty: schemas.Int(qty), TIF: tif, PostOnly: postOnly,
	}
	b.call(tools.PlaceOrder, in)
}

func (b *builtin) cancelAll() {
	b.call(tools.CancelAllOrders, &schemas.CancelAll{})
}

// call runs an operation and records it.
func (b *builtin) call(op tools.Operation, in any) {
	spec := op.Describe()
	out, err := op.Call(context.Background(), b.venue, b.caller, in)
	if b.log == nil {
		return
	}
	row := callRow{Ts: b.now, Done: b.now, Method: spec.Method, Target: spec.Path, Tool: spec.Name, Status: spec.Status()}
	row.Body, _ = schemas.Append(nil, in)
	if err != nil {
		e := tools.ErrorOf(err)
		row.Status = e.HTTP()
		row.Answer, _ = schemas.Append(nil, &schemas.ErrorBody{Error: e})
	} else {
		row.Answer, _ = schemas.Append(nil, out)
	}
	b.log.add(&row)
}

// tradeAtRandom buys one or two contracts of a random outcome at the best price, every eight seconds on
// average.
func (b *builtin) tradeAtRandom() {
	if b.r.IntN(8) != 0 {
		return
	}
	o, qty := core.Outcome(b.r.IntN(2)), core.Qty(1+b.r.IntN(2))
	if tick := b.round.askOf(o); tick > 0 && legal(tick) == tick {
		b.place("buy", o, tick, qty, "ioc", false)
	}
}

// tradeTowardsMid bids for both outcomes at the middle of the best prices, which it takes for the value. It
// forecasts the mark price, the market's own estimate.
func (b *builtin) tradeTowardsMid() {
	r := &b.round
	if r.bid == 0 || r.ask == 0 {
		return
	}
	b.forecast(r.mark)
	if b.now/core.NsPerSec%3 != 0 {
		return
	}
	b.cancelAll()
	if r.CloseTs-b.now < 5*core.NsPerSec {
		return
	}
	mid := (r.bid + r.ask) / 2
	for o, value := range []core.Tick{core.Yes: mid, core.No: mid.Opposite()} {
		if held := []core.Qty{core.Yes: r.yes, core.No: r.no}[o]; held >= 6 {
			continue
		}
		if tick := legal(value); tick > 0 && tick < r.askOf(core.Outcome(o)) {
			b.place("buy", core.Outcome(o), tick, 2, "gtc", true)
		}
	}
}

// forecastLeft is the time to the close within which fair and mid forecast, once a round.
const forecastLeft = 30 * core.NsPerSec

// forecast submits the value of YES, once a round.
func (b *builtin) forecast(yes core.Tick) {
	if r := &b.round; r.Number != b.forecasted && r.CloseTs-b.now <= forecastLeft {
		b.forecasted = r.Number
		b.call(tools.SubmitForecast, &schemas.SubmitForecast{MarketID: schemas.Int(r.Market), Generation: schemas.Int(r.Generation), P: schemas.Int(yes)})
	}
}

// tradeFairValue buys an outcome whose best price, with the fee, is below its value by a margin. It
// forecasts the value.
func (b *builtin) tradeFairValue() {
	r := &b.round
	fair, move := b.model.value(&r.Round, b.now)
	b.forecast(fair)
	for o, value := range []core.Tick{core.Yes: fair, core.No: fair.Opposite()} {
		tick := r.askOf(core.Outcome(o))
		if tick == 0 || legal(tick) != tick {
			continue
		}
		if held := []core.Qty{core.Yes: r.yes, core.No: r.no}[o]; held >= 20 {
			continue
		}
		if cost := core.Tick(core.ReservationPerContract(core.DefaultFees().Taker, tick)); value > cost+max(100, move/2) {
			b.place("buy", core.Outcome(o), tick, 5, "ioc", false)
		}
	}
}

// quote bids for both outcomes below their values, like the market maker maker but smaller and closer.
func (b *builtin) quote() {
	r := &b.round
	if b.now/core.NsPerSec%2 != 0 && r.CloseTs-b.now > 4*core.NsPerSec {
		return
	}
	b.cancelAll()
	if r.CloseTs-b.now <= 4*core.NsPerSec {
		return
	}
	fair, move := b.model.value(&r.Round, b.now)
	edge := min(max(move, 200), 900)
	net := min(max(r.yes-r.no, -20), 20)
	tilt := edge * core.Tick(net) / 20
	for o, price := range []core.Tick{core.Yes: fair - tilt - edge, core.No: 10_000 - fair + tilt - edge} {
		if net >= 20 && o == int(core.Yes) || net <= -20 && o == int(core.No) {
			continue
		}
		if tick := legal(price); tick > 0 {
			b.place("buy", core.Outcome(o), tick, 5, "gtc", true)
		}
	}
}

// legal returns the highest tick of the grid that is not above a price; 0 if there is none.
func legal(price core.Tick) core.Tick {
	below, _ := core.Narrow().Nearest(min(max(price, 0), core.TickMax))
	return below
}
