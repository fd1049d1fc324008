package model

import (
	"math/big"

	"duplex/core"
)

// day is the length of a UTC day, ns.
const day = 24 * 60 * minute

func (v *Venue) today() int32 { return int32(v.now.Ts / day) }

// realize adds a profit or a loss of an account in the present round of a market.
func (v *Venue) realize(u core.UserID, m core.MarketID, profit *big.Int) {
	v.out.realized = append(v.out.realized, realized{u, v.markets[m].Number, profit})
	x := &v.users[u]
	x.realized = plus(x.realized, profit)
	was := x.realizedOn[v.today()]
	if was == nil {
		was = integer(0)
	}
	x.realizedOn[v.today()] = plus(was, profit)
}

// activate puts a revision of the rules in force.
func (v *Venue) activate(r core.Revision) { v.rules.Revision = max(v.rules.Revision, r) }

// setRules keeps the revision and the environment.
func (v *Venue) setRules(r core.Rules) {
	r.Revision, r.Environment = v.rules.Revision, v.rules.Environment
	v.rules = r
}

// wealth returns cash, reservations and the cost of all positions.
func (v *Venue) wealth(u core.UserID) *big.Int {
	return plus(v.users[u].cash, v.openCost(u, func(core.MarketID) bool { return true }))
}

// openCost returns what an account has reserved and paid for what it holds, in some markets.
func (v *Venue) openCost(u core.UserID, in func(core.MarketID) bool) *big.Int {
	sum := integer(0)
	for _, o := range v.orders {
		if o.User == u && o.Side == core.Buy && in(o.Market) {
			sum = plus(sum, v.reserve(o, o.left))
		}
	}
	for l, p := range v.users[u].held {
		if in(l.market) {
			sum = plus(sum, p.cost)
		}
	}
	return sum
}

// depositsNet returns an account's deposits less its withdrawals that were not rejected.
func (v *Venue) depositsNet(u core.UserID) *big.Int {
	sum := integer(0)
	for _, d := range v.depositsByID {
		if d.User == u {
			sum = plus(sum, integer(int64(d.Amount)))
		}
	}
	for _, w := range v.withdrawalsByID {
		if w.User == u && w.State != core.WithdrawalRejected && w.State != core.WithdrawalFailed {
			sum = minus(sum, integer(int64(w.Amount)))
		}
	}
	return sum
}

func (v *Venue) realizedToday(u core.UserID) *big.Int {
	if x := v.users[u].realizedOn[v.today()]; x != nil {
		return x
	}
	return integer(0)
}

// LossToday returns the loss of the UTC day, at least 0.
func (v *Venue) LossToday(u core.UserID) *big.Int {
	x := v.realizedToday(u)
	if x.Sign() > 0 {
		return integer(0)
	}
	return new(big.Int).Neg(x)
}

// Performance is an account's profit and loss, in pips, and its placements of the UTC day that
// were not rejected.
type Performance struct {
	Realized, RealizedToday, Fees, Rebates, DepositsNet, TransfersNet, Cost core.Pips
	OrdersToday                                                             uint32
}

// Performance returns the profit and loss of an account.
func (v *Venue) Performance(u core.UserID) Performance {
	x := &v.users[u]
	p := func(n *big.Int) core.Pips { return core.Pips(n.Int64()) }
	_, reserved := v.Balance(u)
	return Performance{
		p(x.realized), p(v.realizedToday(u)), p(x.fees), p(x.rebates), p(v.depositsNet(u)), p(x.transfersNet),
		p(v.OpenCost(u)) - reserved, x.ordersOn[v.today()],
	}
}

// OpenCost returns an account's reservations and the cost of its positions.
func (v *Venue) OpenCost(u core.UserID) *big.Int {
	return v.openCost(u, func(core.MarketID) bool { return true })
}

// mark returns the mark price of an outcome, or false if there is none.
func (v *Venue) mark(l contract) (int64, bool) {
	m := v.markets[l.market]
	bids, asks := v.bookSide(l.market, true), v.bookSide(l.market, false)
	var yes core.Tick
	switch {
	case m.Status == core.Proposed && m.Winner == core.Yes:
		yes = 10000
	case m.Status == core.Proposed:
		yes = 0
	case len(bids) > 0 && len(asks) > 0 && (asks[0].tickYes() <= bids[0].tickYes()+1000 || m.lastTick == 0):
		yes = (bids[0].tickYes() + asks[0].tickYes()) / 2
	case m.lastTick == 0:
		return 0, false
	default:
		yes = m.lastTick
		if len(asks) > 0 {
			yes = min(yes, asks[0].tickYes())
		}
		if len(bids) > 0 {
			yes = max(yes, bids[0].tickYes())
		}
	}
	if l.outcome == core.No {
		yes = 10000 - yes
	}
	return int64(yes), true
}

// Mark returns the mark price of YES, or false if there is none.
func (v *Venue) Mark(m core.MarketID) (core.Tick, bool) {
	t, ok := v.mark(contract{m, core.Yes})
	return core.Tick(t), ok
}

// Equity returns an account's cash, reservations and positions at their mark price, and the
// part of it that is not realized.
func (v *Venue) Equity(u core.UserID) (equity, unrealized *big.Int) {
	unrealized = integer(0)
	for l, p := range v.users[u].held {
		if at, ok := v.mark(l); ok {
			unrealized = plus(unrealized, minus(times(int64(p.n), at), p.cost))
		}
	}
	return plus(v.wealth(u), unrealized), unrealized
}

// performanceAddsUp reports whether an account's equity is what it was given, earned and has
// not realized yet.
func (v *Venue) performanceAddsUp(u core.UserID) bool {
	x := &v.users[u]
	equity, unrealized := v.Equity(u)
	sum := plus(plus(v.depositsNet(u), x.transfersNet), plus(plus(x.realized, unrealized), x.rebates))
	return equity.Cmp(sum) == 0
}
