package sim

import (
	"fmt"
	"testing"

	"duplex/core"
	"duplex/core/sim/model"
	"duplex/core/venue"
	"duplex/core/view"
)

// venueAndModel is a venue with its view, and a model.
type venueAndModel struct {
	t  *testing.T
	v  *venue.Venue
	w  *view.View
	m  *model.Venue
	at core.Stamp
}

// try applies a command to venue and model, which must agree, and returns the result.
func (p *venueAndModel) try(cmd core.Command) core.Reject {
	p.t.Helper()
	p.at.Seq++
	p.at.Ts++
	ev := &core.Events{}
	rej := p.v.Apply(p.at, cmd, ev)
	p.w.Fold(p.at, ev.List)
	if err := sameOutcome(describeOutcome(rej, ev.List), p.m.Apply(p.at, cmd)); err != nil {
		p.t.Fatalf("%s: %v", describe(cmd), err)
	}
	return rej
}

// do applies a command that both must accept. It returns the id that the command has if it places
// an order.
func (p *venueAndModel) do(cmd core.Command) core.OrderID {
	p.t.Helper()
	if rej := p.try(cmd); rej != core.OK {
		p.t.Fatalf("%s: %v", describe(cmd), rej)
	}
	return core.OrderID(p.at.Seq)
}

// newClipped returns a venue in which user 1 has a reduce_only bid for 10 NO and holds 6 YES,
// and the id of the bid.
func newClipped(t *testing.T) (*venueAndModel, core.OrderID) {
	p := &venueAndModel{t: t, v: venue.New(), w: view.New(view.DefaultRetentionCaps()), m: model.New(), at: core.Stamp{Ts: origin}}
	p.do(&core.ActivateRules{Revision: core.RevisionNewest})
	for u := core.UserID(1); u <= 3; u++ {
		p.do(&core.CreateUser{})
		p.do(&core.Deposit{User: u, DepositID: fmt.Sprint(u), Amount: 1_000_000})
	}
	p.do(&core.SetSession{Feed: core.BTC, Open: true})
	p.do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: origin / core.NsPerSec, Price: 100, Count: 3}})
	p.do(&core.Clock{})
	p.do(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 5000, Qty: 10})
	p.do(&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Outcome: core.No, Tick: 5000, Qty: 10})
	id := p.do(&core.PlaceOrder{User: 1, ClientID: 2, Market: 1, Outcome: core.No, Tick: 5000, Qty: 10, Flags: core.ReduceOnly})
	p.do(&core.PlaceOrder{User: 1, ClientID: 3, Market: 1, Side: core.Sell, Tick: 4900, Qty: 4})
	p.do(&core.PlaceOrder{User: 3, ClientID: 1, Market: 1, Tick: 4900, Qty: 4})
	return p, id
}

// take has user 3 buy n YES from the best order.
func (p *venueAndModel) take(n core.Qty) {
	p.t.Helper()
	p.do(&core.PlaceOrder{User: 3, ClientID: 100 + p.at.Seq, Market: 1, Tick: 5000, Qty: n, TIF: core.IOC})
}

// row returns the row of an order and the last event of it in the account's stream. It fails
// if the states of venue and model differ.
func (p *venueAndModel) row(u core.UserID, id core.OrderID) (row, event view.Order) {
	p.t.Helper()
	if err := sameState(p.v, p.m); err != nil {
		p.t.Fatal(err)
	}
	row = *p.w.Order(u, id)
	events, _ := p.w.EventsAfter(u, 0)
	for _, e := range events {
		if o, ok := e.What.(*view.Order); ok && o.ID == id {
			event = *o
		}
	}
	return row, event
}

// However takers split their quantity, a reduce_only order that is clipped from 10 to 6
// contracts fills 6 and is canceled with the reason reduce_only, in its row and in its event.
func TestClippedOrderIsCanceled(t *testing.T) {
	const wanted, held = 10, 6
	for split := range 1 << (wanted - 1) { // bit i: a taker's order ends after contract i+1
		p, id := newClipped(t)
		n := core.Qty(0)
		for i := range wanted {
			if n++; i == wanted-1 || split>>i&1 == 1 {
				p.take(n)
				n = 0
			}
		}
		row, event := p.row(1, id)
		if row.Status != core.Canceled || row.Reason != core.ReduceOnlyExceeded || row.Filled != held || row.Qty != wanted || row.Left != 0 {
			t.Fatalf("takers split %b: the row is %+v", split, row)
		}
		if event != row {
			t.Fatalf("takers split %b: the row is %+v, the event has %+v", split, row, event)
		}
	}
}

// However the remainder of a clipped order ends, its reason is reduce_only.
func TestClippedOrderHasOneReason(t *testing.T) {
	id := core.OrderID(0)
	ends := map[string]func() []core.Command{
		"cancel":           func() []core.Command { return []core.Command{&core.CancelOrder{User: 1, Order: id}} },
		"mass cancel":      func() []core.Command { return []core.Command{&core.CancelAll{User: 1}} },
		"decrease to zero": func() []core.Command { return []core.Command{&core.DecreaseOrder{User: 1, Order: id, To: true}} },
		"decrease, fill": func() []core.Command {
			return []core.Command{
				&core.DecreaseOrder{User: 1, Order: id, Amount: 3},
				&core.PlaceOrder{User: 3, ClientID: 9, Market: 1, Tick: 5000, Qty: 1},
			}
		},
		"suspension": func() []core.Command { return []core.Command{&core.SuspendUser{User: 1}} },
		"void":       func() []core.Command { return []core.Command{&core.VoidMarket{Market: 1}} },
		"own order": func() []core.Command {
			return []core.Command{&core.PlaceOrder{User: 1, ClientID: 9, Market: 1, Tick: 5000, Qty: 1, Flags: core.StpMaker}}
		},
	}
	for name, end := range ends {
		var p *venueAndModel
		p, id = newClipped(t)
		p.take(2)
		if row, _ := p.row(1, id); row.Status != core.PartiallyFilled || row.Reason != core.NoReason || row.Left != 4 {
			t.Fatalf("clipped and still resting: %+v", row)
		}
		for _, cmd := range end() {
			p.do(cmd)
		}
		if row, event := p.row(1, id); row.Status != core.Canceled || row.Reason != core.ReduceOnlyExceeded || event != row {
			t.Errorf("%s: the row is %+v, the event has %+v", name, row, event)
		}
	}
}

// An order from which reduce_only took nothing ends like any other.
func TestUnclippedOrderEnds(t *testing.T) {
	p, id := newClipped(t)
	p.do(&core.DecreaseOrder{User: 1, Order: id, To: true, Amount: 6})
	p.take(2)
	p.take(4)
	if row, _ := p.row(1, id); row.Status != core.Executed || row.Reason != core.NoReason {
		t.Errorf("the row is %+v", row)
	}
}
