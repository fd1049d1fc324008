package sim

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"duplex/core"
	"duplex/core/sim/model"
	"duplex/core/venue"
)

// describeOutcome converts a command's rejection and events to the model's Outcome.
func describeOutcome(rej core.Reject, events []core.Event) model.Outcome {
	out := model.Outcome{Reject: rej, Ended: map[core.OrderID]model.End{}}
	for _, e := range events {
		switch e := e.(type) {
		case *core.Filled:
			out.Fills = append(out.Fills, model.Fill{
				Maker: e.Maker, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path, TakerFee: e.TakerFee, MakerFee: e.MakerFee, Rebate: e.Rebate, Referral: e.Referral,
			})
			if e.MakerReason != core.NoReason {
				out.Ended[e.Maker] = model.End{Status: core.Canceled, Reason: e.MakerReason, Left: e.MakerLeft}
			}
		case *core.OrderClosed:
			out.Ended[e.Order] = model.End{Status: e.Status, Reason: e.Reason, Left: e.Left}
		}
	}
	return out
}

// sameOutcome compares what a command did with the model.
func sameOutcome(got, want model.Outcome) error {
	switch {
	case got.Reject != want.Reject:
		return fmt.Errorf("rejected with %q, the model says %q", got.Reject, want.Reject)
	case !slices.Equal(got.Fills, want.Fills):
		return fmt.Errorf("fills %+v, the model says %+v", got.Fills, want.Fills)
	case !maps.Equal(got.Ended, want.Ended):
		return fmt.Errorf("ended orders %+v, the model says %+v", got.Ended, want.Ended)
	}
	return nil
}

// sameState compares everything that readers of a venue can see with the model.
func sameState(v *venue.Venue, m *model.Venue) error {
	for u := core.UserID(1); int(u) <= m.Users(); u++ {
		if err := sameAccount(v, m, u); err != nil {
			return fmt.Errorf("user %d: %w", u, err)
		}
	}
	if got, want := v.Windows(), m.Windows(); !slices.Equal(got, want) {
		return fmt.Errorf("schedule %v, the model has %v", got, want)
	}
	keys := map[string]model.Key{}
	for k := range v.Keys() {
		if !k.Revoked {
			keys[k.ID] = model.Key{User: k.User, Sealed: string(k.Sealed)}
		}
	}
	if want := m.Keys(); !maps.Equal(keys, want) {
		return fmt.Errorf("keys %v, the model has %v", keys, want)
	}
	resting := map[core.OrderID]core.Qty{}
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if err := sameMarket(v, m, id, resting); err != nil {
			return fmt.Errorf("market %d: %w", id, err)
		}
	}
	if want := m.Resting(); !maps.Equal(resting, want) {
		return fmt.Errorf("resting orders %v, the model has %v", resting, want)
	}
	s := v.Sums()
	got, want := [3]core.Pips{s.Fees, s.Deposits, s.Withdrawals}, [3]core.Pips{m.Fees(), m.Deposits(), m.Withdrawals()}
	if got != want {
		return fmt.Errorf("fees, deposits and withdrawals %v, the model has %v", got, want)
	}
	if !m.InvariantHolds() {
		return fmt.Errorf("the invariant does not hold in the model")
	}
	return nil
}

// sameAccount compares an account with the model.
func sameAccount(v *venue.Venue, m *model.Venue, u core.UserID) error {
	cash, reserved := v.Balance(u)
	if c, r := m.Balance(u); c != cash || r != reserved {
		return fmt.Errorf("cash %d and reserved %d, the model has %d and %d", cash, reserved, c, r)
	}
	ms, at := v.Deadman(u)
	if x, y := m.Deadman(u); x != ms || y != at {
		return fmt.Errorf("dead-man switch of %d ms at %d, the model has %d at %d", ms, at, x, y)
	}
	for id := core.MarketID(1); id <= venue.Slots; id++ {
		if _, opened := m.Market(id); !opened {
			continue
		}
		if got, want := v.Position(u, id), m.Position(u, id); got != want {
			return fmt.Errorf("position %+v, the model has %+v", got, want)
		}
	}
	return nil
}

// sameMarket compares a market with the model, and adds its resting orders to resting.
func sameMarket(v *venue.Venue, m *model.Venue, id core.MarketID, resting map[core.OrderID]core.Qty) error {
	got, opened := v.Market(id)
	want, should := m.Market(id)
	if opened != should {
		return fmt.Errorf("opened: %t, the model says %t", opened, should)
	}
	if !opened {
		return nil
	}
	if seen := (model.Market{Round: got.Round, LastTick: got.LastTick, Volume: got.Volume, Open: got.Open}); !reflect.DeepEqual(seen, want) {
		return fmt.Errorf("%+v, the model has %+v", seen, want)
	}
	for _, bid := range []bool{true, false} {
		var levels []model.Level
		for r := range got.Book.Orders(bid) {
			o := got.Book.At(r)
			resting[o.ID] = core.Qty(o.Left)
			if n := len(levels); n == 0 || levels[n-1].Tick != o.TickYes() {
				levels = append(levels, model.Level{Tick: o.TickYes()})
			}
			levels[len(levels)-1].Qty += core.Qty(o.Left)
		}
		if want := m.Depth(id, bid); !slices.Equal(levels, want) {
			return fmt.Errorf("a side of the book is %v, the model has %v", levels, want)
		}
	}
	return nil
}
