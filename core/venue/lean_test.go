package venue

import (
	"slices"
	"testing"

	"duplex/core"
	"duplex/core/ledger"
)

// lean is a venue that does only what the stream requires, written by hand over arrays: the checks,
// reservations, fees, positions and their cost, the events of each command (in one flat type), the
// invariant and each account's list of orders. It leaves out what no order of the stream
// has: sells, flags that bind a maker, expiries, max_cost, fee shares. It finds orders in an array as
// long as the stream, and accepts only rising client_order_ids. So it is a lower bound of what a venue
// costs. It must end with the same accounts and holdings as Venue. Its level lists repeat the bare
// book's code for another order type; shared code would be measured with both.
type lean struct {
	books    [streamMarkets + 1][2]bareSide                   // by market; 0 bids, 1 asks
	depth    [streamMarkets + 1][2][core.TickMax + 1]core.Qty // of levels
	markets  [streamMarkets + 1]leanMarket
	orders   []leanOrder
	free     uint32
	at       []uint32 // by order id, bareNone if it does not rest
	accounts []leanAccount
	legal    *[core.TickMax + 1]bool
	hold     *[core.TickMax + 1]core.Pips // per contract, for a taker
	keep     [core.TickMax + 1]core.Pips  // per contract, for a resting order
	rules    core.Rules
	fees     core.Fees
	sums     ledger.Sums
	stale    [core.Feeds]bool
	events   []leanEvent
	seq      uint32
	fills    int
	volume   int64
}

type leanMarket struct {
	status     core.RoundStatus
	halted     bool
	generation uint32
	feed       core.Feed
	held       [2]core.Qty
	pairs      core.Qty
	volume     core.Qty
	last       core.Tick
}

type leanOrder struct {
	next, prev     uint32 // in its level
	younger, older uint32 // of its account
	id, user       uint32
	left           int32
	unit, price    uint16
	market, side   uint8
	_              [6]byte
}

type leanHolding struct {
	held    [2]core.Qty
	cost    [2]core.Pips
	bidding [2]int32
	open    uint32
}

type leanAccount struct {
	cash, reserved core.Pips
	id             uint64 // the last client_order_id
	newest         uint32
	suspended      bool
	holdings       [streamMarkets + 1]leanHolding
}

// leanEvent has the fields of every kind of event.
type leanEvent struct {
	kind, side  uint8
	market      core.MarketID
	user, other uint32
	price       int32
	x, y, z     int64
}

const (
	leanPlaced = iota
	leanClosed
	leanFilled
	leanLevel
	leanBalance
	leanPosition
)

// newLean returns a lean venue in the state of v, which streamVenue made.
func newLean(v *Venue, ids int) *lean {
	x := &lean{
		orders: make([]leanOrder, 1<<18), at: make([]uint32, ids), accounts: make([]leanAccount, len(v.accounts)),
		legal: &v.legal, hold: &v.reservation, rules: v.rules, fees: v.fees, sums: v.ledger.Sums, seq: uint32(v.now.Seq), events: make([]leanEvent, 0, 1<<12),
	}
	for i := range x.orders {
		x.orders[i].next = uint32(i + 1)
	}
	for i := range x.at {
		x.at[i] = bareNone
	}
	for m := range x.books {
		x.markets[m] = leanMarket{status: v.markets[m].Status, generation: v.markets[m].Generation, feed: v.markets[m].Feed}
		for s := range x.books[m] {
			x.books[m][s].clear()
		}
	}
	for t := core.TickMin; t <= core.TickMax; t++ {
		x.keep[t] = core.ReservationPerContract(v.fees.Maker, t)
	}
	for u := range x.accounts {
		x.accounts[u].cash, x.accounts[u].newest = v.ledger.Cash(core.UserID(u)), bareNone
	}
	return x
}

func (x *lean) event(kind uint8) *leanEvent {
	n := len(x.events)
	x.events = x.events[:n+1]
	e := &x.events[n]
	e.kind = kind
	return e
}

func (x *lean) level(m uint8, side uint8, price int32, delta int64) {
	total := &x.depth[m][side][price]
	*total += core.Qty(delta)
	e := x.event(leanLevel)
	e.market, e.side, e.price, e.x, e.y = core.MarketID(m), side, price, delta, int64(*total)
}

func (x *lean) balance(user uint32, a *leanAccount, was core.Pips) {
	if a.cash != was {
		e := x.event(leanBalance)
		e.user, e.x, e.y, e.z = user, int64(a.cash), int64(a.reserved), int64(a.cash-was)
	}
}

func (x *lean) position(m uint8, user uint32, h *leanHolding) {
	if k := &x.markets[m]; k.held[core.Yes] != k.pairs || k.held[core.No] != k.pairs {
		panic("a market's YES, NO and pair counts differ")
	}
	e := x.event(leanPosition)
	e.market, e.user, e.x, e.y, e.z = core.MarketID(m), user, int64(h.held[core.Yes]), int64(h.held[core.No]), int64(h.cost[core.Yes]+h.cost[core.No])
}

// drop removes an order from its level and its account.
func (x *lean) drop(r uint32, o *leanOrder) {
	s := &x.books[o.market][o.side]
	if o.prev == bareNone {
		s.head[o.price] = o.next
	} else {
		x.orders[o.prev].next = o.next
	}
	if o.next == bareNone {
		s.tail[o.price] = o.prev
	} else {
		x.orders[o.next].prev = o.prev
	}
	if s.head[o.price] == bareNone {
		s.unmark(int(o.price))
	}
	if o.younger == bareNone {
		x.accounts[o.user].newest = o.older
	} else {
		x.orders[o.younger].older = o.older
	}
	if o.older != bareNone {
		x.orders[o.older].younger = o.younger
	}
	x.at[o.id] = bareNone
	o.next, x.free = x.free, r
}

func (x *lean) apply(cmd core.Command) core.Reject {
	x.seq++
	var r core.Reject
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		r = x.place(c)
	case *core.CancelOrder:
		r = x.cancel(c)
	}
	if x.sums.Cash+x.sums.Reserved+x.sums.Fees+core.Pips(x.sums.Pairs)*core.Payout != x.sums.Deposits {
		panic("money was created or lost")
	}
	return r
}

func (x *lean) cancel(c *core.CancelOrder) core.Reject {
	r := x.at[c.Order]
	if r == bareNone || x.orders[r].user != uint32(c.User) {
		return core.UnknownOrder
	}
	o := &x.orders[r]
	a := &x.accounts[o.user]
	h, was, back := &a.holdings[o.market], a.cash, core.Pips(o.left)*core.Pips(o.unit)
	e := x.event(leanClosed)
	e.user, e.x, e.y = o.user, int64(o.id), int64(o.left)
	a.cash += back
	a.reserved -= back
	x.sums.Cash += back
	x.sums.Reserved -= back
	h.open--
	h.bidding[o.side] -= o.left
	x.level(o.market, o.side, int32(o.price), -int64(o.left))
	x.balance(o.user, a, was)
	x.drop(r, o)
	return core.OK
}

func (x *lean) place(c *core.PlaceOrder) core.Reject {
	if c.User == 0 || int(c.User) >= len(x.accounts) {
		return core.UnknownUser
	}
	a := &x.accounts[c.User]
	if c.ClientID <= a.id {
		return core.DuplicateClientOrderID
	}
	a.id = c.ClientID
	switch {
	case c.Fault != core.OK:
		return c.Fault
	case c.Market == 0 || c.Market > streamMarkets:
		return core.UnknownMarket
	case c.Generation != 0 && c.Generation != x.markets[c.Market].generation:
		return core.StaleGeneration
	case a.suspended:
		return core.UserSuspended
	case x.markets[c.Market].status != core.Trading:
		return core.MarketNotTrading
	case x.markets[c.Market].halted || x.stale[x.markets[c.Market].feed]:
		return core.MarketPaused
	case !c.Tick.InDomain() || !x.legal[c.Tick]:
		return core.BadPriceTick
	case c.Qty < 1 || c.Qty > core.QtyMax:
		return core.BadQty
	}
	h := &a.holdings[c.Market]
	switch {
	case c.TIF.Rests() && h.open >= x.rules.OpenOrders:
		return core.OpenOrderLimit
	case h.held[c.Outcome]+core.Qty(h.bidding[c.Outcome])+c.Qty > min(x.rules.Contracts, ledger.ContractsMax):
		return core.PerMarketLimit
	case a.cash < core.Pips(c.Qty)*x.hold[c.Tick]:
		return core.InsufficientBalance
	}
	e := x.event(leanPlaced)
	e.user, e.x, e.y = uint32(c.User), int64(x.seq), int64(c.ClientID)
	side, left, price, was := uint8(c.Outcome), int32(c.Qty), int32(core.InYes(c.Outcome, c.Tick)), a.cash
	for other := &x.books[c.Market][1-side]; left > 0; {
		p := int32(other.best(side == 1))
		if p < 0 || side == 0 && p > price || side == 1 && p < price {
			break
		}
		if x.orders[other.head[p]].user == uint32(c.User) {
			panic("the stream has a self-trade")
		}
		left -= x.fill(c, a, h, side, other.head[p], min(left, x.orders[other.head[p]].left))
	}
	switch {
	case left > 0 && c.TIF.Rests():
		x.rest(c, a, h, side, price, left)
	case left > 0:
		e := x.event(leanClosed)
		e.user, e.x, e.y = uint32(c.User), int64(x.seq), int64(left)
	}
	x.balance(uint32(c.User), a, was)
	if left < int32(c.Qty) {
		x.position(uint8(c.Market), uint32(c.User), h)
	}
	return core.OK
}

// fill mints n pairs between the taker and resting order r, and returns n.
func (x *lean) fill(c *core.PlaceOrder, a *leanAccount, h *leanHolding, side uint8, r uint32, n int32) int32 {
	o := &x.orders[r]
	ma := &x.accounts[o.user]
	mh, was := &ma.holdings[o.market], ma.cash
	mp := core.Tick(o.price)
	if side == 0 {
		mp = mp.Opposite()
	}
	fee, makerFee := core.Fee(x.fees.Taker, core.Qty(n), mp.Opposite()), core.Fee(x.fees.Maker, core.Qty(n), mp)
	takes, makes, held := core.Pips(n)*core.Pips(mp.Opposite())+fee, core.Pips(n)*core.Pips(mp)+makerFee, core.Pips(n)*core.Pips(o.unit)
	a.cash -= takes
	h.held[side] += core.Qty(n)
	h.cost[side] += takes
	ma.reserved -= held
	ma.cash += held - makes
	mh.held[1-side] += core.Qty(n)
	mh.cost[1-side] += makes
	mh.bidding[1-side] -= n
	x.sums.Cash += held - makes - takes
	x.sums.Reserved -= held
	x.sums.Fees += fee + makerFee
	x.sums.Pairs += core.Qty(n)
	k := &x.markets[c.Market]
	k.held[core.Yes] += core.Qty(n)
	k.held[core.No] += core.Qty(n)
	k.pairs += core.Qty(n)
	k.volume += core.Qty(n)
	k.last = core.Tick(o.price)
	x.fills++
	x.volume += int64(n)
	e := x.event(leanFilled)
	e.user, e.other, e.price, e.x, e.y, e.z = uint32(c.User), o.user, int32(o.price), int64(o.id), int64(n), int64(fee)
	x.level(o.market, o.side, int32(o.price), -int64(n))
	x.balance(o.user, ma, was)
	x.position(o.market, o.user, mh)
	if o.left -= n; o.left == 0 {
		mh.open--
		x.drop(r, o)
	}
	return n
}

func (x *lean) rest(c *core.PlaceOrder, a *leanAccount, h *leanHolding, side uint8, price, left int32) {
	r := x.free
	o := &x.orders[r]
	x.free = o.next
	s, unit := &x.books[c.Market][side], x.keep[c.Tick]
	last := s.tail[price]
	*o = leanOrder{
		next: bareNone, prev: last, younger: bareNone, older: a.newest, id: x.seq, user: uint32(c.User),
		left: left, unit: uint16(unit), price: uint16(price), market: uint8(c.Market), side: side,
	}
	if last == bareNone {
		s.head[price] = r
		s.mark(int(price))
	} else {
		x.orders[last].next = r
	}
	s.tail[price] = r
	if a.newest != bareNone {
		x.orders[a.newest].younger = r
	}
	a.newest, x.at[x.seq] = r, r
	need := core.Pips(left) * unit
	a.cash -= need
	a.reserved += need
	x.sums.Cash -= need
	x.sums.Reserved += need
	h.open++
	h.bidding[side] += left
	x.level(uint8(c.Market), side, price, int64(left))
}

func (x *lean) through(cmds []streamCmd) {
	f := &commandMaker{}
	for list := range slices.Chunk(cmds, streamGroup) {
		group := f.next(list)
		for _, c := range group {
			if r := x.apply(c); r != core.OK {
				panic(r.String())
			}
			x.events = x.events[:0]
		}
	}
}

// compare checks every account and holding against those of v.
func (x *lean) compare(tb testing.TB, v *Venue) {
	if x.sums != v.ledger.Sums {
		tb.Errorf("the lean venue ends with %+v, ours with %+v", x.sums, v.ledger.Sums)
	}
	for u := range x.accounts {
		a := &x.accounts[u]
		if cash, reserved := v.ledger.Balance(core.UserID(u)); a.cash != cash || a.reserved != reserved {
			tb.Errorf("account %d of the lean venue has %d and %d, ours %d and %d", u, a.cash, a.reserved, cash, reserved)
		}
		for m := range a.holdings {
			l, h := &a.holdings[m], v.ledger.HoldingRef(core.UserID(u), core.MarketID(m))
			if l.held != [2]core.Qty{h.Contracts(core.Yes), h.Contracts(core.No)} || l.cost != h.Cost || l.bidding != h.Bidding || l.open != h.Open {
				tb.Errorf("account %d, market %d: the lean venue has %+v, ours %+v", u, m, *l, *h)
			}
		}
	}
}
