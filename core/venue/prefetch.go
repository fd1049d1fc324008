package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// PrefetchMax is the largest group of commands that Prefetch reads ahead.
const PrefetchMax = 32

// Prefetch reads the memory that the next commands will touch. It changes no state, and a wrong guess
// costs only time. Without it each command waits for about six loads from memory, one after the other;
// Prefetch makes those of the whole group, step by step, so that they overlap.
func (v *Venue) Prefetch(cmds []core.Command) {
	cmds = cmds[:min(len(cmds), PrefetchMax)]
	var orders [PrefetchMax]book.Ref // the order that each cancels or replaces, or the first that it can fill
	n := v.prefetched
	for i, cmd := range cmds {
		orders[i] = book.None
		switch c := core.Unmarked(cmd).(type) {
		case *core.CancelOrder:
			orders[i] = v.pool.Find(c.Order)
		case *core.ReplaceOrder:
			orders[i] = v.pool.Find(c.Old)
		case *core.PlaceOrder:
			m := v.market(c.Market)
			if m == nil || !v.userExists(c.User) || !c.Tick.InDomain() {
				continue
			}
			a := &v.accounts[c.User]
			n += uint32(a.ids.last) + v.ledger.HoldingRef(c.User, c.Market).Open
			if bid := core.IsBid(c.Side, c.Outcome); c.TIF.Rests() {
				n += v.pool.ReadIndex(core.OrderID(v.now.Seq + 1 + uint64(i))) // of the order itself, if it rests
				n += m.book.ReadTails(bid, core.InYes(c.Outcome, c.Tick), &a.orders)
			} else {
				orders[i] = m.book.Best(!bid)
			}
		}
	}
	for _, r := range orders[:len(cmds)] {
		if r != book.None {
			o := v.pool.At(r)
			n += v.ledger.HoldingRef(o.User, o.Market()).Open + v.markets[o.Market()].book.ReadPositions(o)
		}
	}
	v.prefetched = n
}
