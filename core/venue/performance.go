package venue

import (
	"duplex/core"
	"duplex/core/ledger"
)

// Usage is what an account has used of a mandate's bounds, whether or not it has a mandate
// (docs/rules/agent-accounts.md#usage). Amounts are in pips.
type Usage struct {
	OpenCost    core.Pips // reserved cash and the cost of all positions
	LossToday   core.Pips // realized loss of the UTC day, at least 0
	OrdersToday uint32    // placements of the UTC day that were not rejected
	OpenOrders  uint32    // resting orders of all markets
}

// Headroom returns how much more an account may use of a bound that depends on the account:
// max_open_orders, max_orders_per_day, max_open_cost and max_daily_loss.
func (u *Usage) Headroom(m *core.Mandate, r core.MandateRule) uint64 {
	switch r {
	case core.RuleOpenOrders:
		return core.Headroom(uint64(m.OpenOrders), uint64(u.OpenOrders))
	case core.RuleOrdersPerDay:
		return core.Headroom(uint64(m.OrdersPerDay), uint64(u.OrdersToday))
	case core.RuleDailyLoss:
		return core.Headroom(m.Cost(r), uint64(u.OpenCost)+uint64(u.LossToday))
	default:
		return core.Headroom(m.Cost(r), uint64(u.OpenCost))
	}
}

// Usage returns an account's usage on the UTC day of the last command.
func (v *Venue) Usage(u core.UserID) Usage {
	realized, orders := v.ledger.Today(u)
	return Usage{OpenCost: v.ledger.OpenCost(u), LossToday: max(0, -realized), OrdersToday: orders, OpenOrders: v.accounts[u].resting}
}

// State returns the state of an account: of an owner active or suspended, of an agent any.
func (v *Venue) State(u core.UserID) core.AgentState {
	a := &v.accounts[u]
	switch {
	case a.Agent != nil:
		return a.Agent.State(v.suspended(a), v.now.Ts)
	case a.Suspended:
		return core.AgentSuspended
	}
	return core.AgentActive
}

// Agents returns the agents of an owner, oldest first, closed ones included. The slice is shared
// and read-only.
func (v *Venue) Agents(owner core.UserID) []core.UserID {
	if !v.userExists(owner) {
		return nil
	}
	return v.accounts[owner].agents
}

// Agent returns an owner's agent, or false if the account is not an agent of this owner.
func (v *Venue) Agent(owner, u core.UserID) (core.User, bool) {
	if a := v.agent(owner, u); a != nil {
		return a.User, true
	}
	return core.User{}, false
}

// Performance returns an account's profit and loss (docs/rules/money.md#profit-and-loss).
func (v *Venue) Performance(u core.UserID) ledger.Performance { return v.ledger.Performance(u) }

// MarkWidth is the most between bid and ask whose middle is the mark price, in pips. Beyond it one
// contract offered far from the market would move what everybody holds.
const MarkWidth core.Tick = 1000

// Mark returns the mark price of a slot's YES contracts (docs/rules/money.md#mark-price): of a
// proposed round 10000 or 0 by the winner, else the middle of a best bid and ask at most MarkWidth
// apart, else the price of the last trade kept between bid and ask, else their middle. It returns false
// if the round has none of these.
func (v *Venue) Mark(id core.MarketID) (core.Tick, bool) {
	m := v.market(id)
	if m == nil {
		return 0, false
	}
	if m.Status == core.Proposed {
		if m.Winner == core.Yes {
			return core.TickMax + 1, true
		}
		return 0, true
	}
	bid, bids := m.book.BestTick(true)
	ask, asks := m.book.BestTick(false)
	last := m.lastTick
	switch {
	case bids && asks && (ask-bid <= MarkWidth || last == 0):
		return (bid + ask) / 2, true
	case last == 0:
		return 0, false
	case bids && last < bid:
		return bid, true
	case asks && last > ask:
		return ask, true
	}
	return last, true
}

// Equity returns what an account is worth, in pips: its cash, what its orders reserve, and its
// contracts at the mark price, or at cost in a market without one.
func (v *Venue) Equity(u core.UserID) core.Pips {
	cash, reserved := v.ledger.Balance(u)
	sum := cash + reserved
	for id := core.MarketID(1); id <= Slots; id++ {
		h := v.ledger.HoldingRef(u, id)
		if h.Held == [2]int32{} {
			continue
		}
		yes, ok := v.Mark(id)
		if !ok {
			sum += h.Cost[core.Yes] + h.Cost[core.No]
			continue
		}
		sum += core.Pips(h.Contracts(core.Yes))*core.Pips(yes) + core.Pips(h.Contracts(core.No))*(core.Payout-core.Pips(yes))
	}
	return sum
}
