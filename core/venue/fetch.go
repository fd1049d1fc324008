package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// Group is how many commands Fetch takes at most.
const Group = 32

// Fetch reads what the next commands will touch, and changes nothing. One after the
// other, each would wait for memory half a dozen times; here the reads of all of them,
// a step at a time, wait together. Whatever it guesses wrong costs time alone.
func (v *Venue) Fetch(cmds []core.Command) {
	if len(cmds) < 2 || len(cmds) > Group {
		return
	}
	var orders [Group]book.Ref // what each is about, or what it will meet
	n := v.fetched
	for i := 0; i < len(cmds); i += book.CellsALine {
		n += v.pool.FetchCell(core.OrderID(v.now.Seq+1) + core.OrderID(i)) // of new orders
	}
	for i, cmd := range cmds {
		orders[i] = book.None
		switch c := cmd.(type) {
		case *core.CancelOrder:
			n += v.pool.FetchCell(c.Order)
		case *core.PlaceOrder:
			m := v.market(c.Market)
			if m == nil || !v.known(c.User) || !c.Tick.InDomain() {
				continue
			}
			n += v.ledger.Fetch(c.User, c.Market)
			if a := &v.accounts[c.User]; a.ids != nil {
				n += a.ids.fetch()
			}
			bid, yes := core.IsBid(c.Side, c.Outcome), core.InYes(c.Outcome, c.Tick)
			if c.TIF.Rests() {
				n += m.book.FetchEnds(bid, yes, &v.accounts[c.User].orders)
			} else {
				orders[i] = m.book.Best(!bid)
			}
		}
	}
	for i, cmd := range cmds {
		if c, ok := cmd.(*core.CancelOrder); ok {
			orders[i] = v.pool.Guess(c.Order)
		}
		if orders[i] != book.None {
			n += v.pool.At(orders[i]).Left
		}
	}
	for i := range cmds {
		if orders[i] == book.None {
			continue
		}
		o := v.pool.At(orders[i])
		n += v.ledger.Fetch(o.User, o.Market()) + v.markets[o.Market()].book.FetchPlaces(o)
		n += v.pool.FetchCell(o.ID)
	}
	v.fetched = n
}
