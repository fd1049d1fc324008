package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// PrefetchMax is the largest group that Prefetch handles.
const PrefetchMax = 32

// Prefetch reads the memory that the next commands will touch. It changes no state, and a wrong guess
// costs only time. Without it each command waits for about six dependent loads from memory, one after
// the other. Prefetch makes the same loads for the whole group, step by step, so that they overlap. It
// does nothing for groups of fewer than 2 or more than PrefetchMax commands.
func (v *Venue) Prefetch(cmds []core.Command) {
	if len(cmds) < 2 || len(cmds) > PrefetchMax {
		return
	}
	var orders [PrefetchMax]book.Ref // the order that each cancels or replaces, or the first that it can fill
	n := v.prefetched
	for i := 0; i < len(cmds); i += book.CellsPerCacheLine {
		n += v.pool.PrefetchIndexCell(core.OrderID(v.now.Seq+1) + core.OrderID(i)) // for the orders that rest
	}
	for i, cmd := range cmds {
		orders[i] = book.None
		switch c := cmd.(type) {
		case *core.CancelOrder:
			n += v.pool.PrefetchIndexCell(c.Order)
		case *core.PlaceOrder:
			m := v.market(c.Market)
			if m == nil || !v.userExists(c.User) || !c.Tick.InDomain() {
				continue
			}
			n += v.ledger.Prefetch(c.User, c.Market)
			n += v.accounts[c.User].ids.prefetch()
			bid, yes := core.IsBid(c.Side, c.Outcome), core.InYes(c.Outcome, c.Tick)
			if c.TIF.Rests() {
				n += m.book.PrefetchQueueTails(bid, yes, &v.accounts[c.User].orders)
			} else {
				orders[i] = m.book.Best(!bid)
			}
		case *core.ReplaceOrder:
			n += v.pool.PrefetchIndexCell(c.Old)
			if v.userExists(c.User) {
				n += v.accounts[c.User].ids.prefetch()
			}
		}
	}
	for i, cmd := range cmds {
		switch c := cmd.(type) {
		case *core.CancelOrder:
			orders[i] = v.pool.ProbeIndex(c.Order)
		case *core.ReplaceOrder:
			orders[i] = v.pool.ProbeIndex(c.Old)
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
		n += v.ledger.Prefetch(o.User, o.Market()) + v.markets[o.Market()].book.PrefetchQueuePositions(o)
		n += v.pool.PrefetchIndexCell(o.ID)
	}
	v.prefetched = n
}
