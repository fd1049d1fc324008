package model

import (
	"math"
	"math/big"
	"slices"
	"time"

	"duplex/core"
)

// agent is what an owner's agent has beside its account.
type agent struct {
	owner          core.UserID
	name           string
	halted, closed bool
	expired        bool // its orders were canceled when the mandate expired
	rev            uint32
	mandate        core.Mandate
	client         string // of its newest grant
}

// transferID names a transfer for good: the owner and its own id.
type transferID struct {
	owner  core.UserID
	client string
}

// transfer is a transfer that was made, without its audit.
type transfer struct {
	core.Transfer
	seq uint64
}

// owner returns the account to whose family u belongs.
func (v *Venue) owner(u core.UserID) core.UserID {
	if a := v.users[u].agent; a != nil {
		return a.owner
	}
	return u
}

func (v *Venue) family(a, b core.UserID) bool { return v.owner(a) == v.owner(b) }

// suspended reports whether an account or its owner is suspended.
func (v *Venue) suspended(u core.UserID) bool {
	return v.users[u].suspended || v.users[v.owner(u)].suspended
}

// Agents returns the agents of an owner, by id.
func (v *Venue) Agents(owner core.UserID) (list []core.UserID) {
	for u := range v.users {
		if a := v.users[u].agent; a != nil && a.owner == owner {
			list = append(list, core.UserID(u))
		}
	}
	return list
}

// agentOf returns an agent of the owner, or nil.
func (v *Venue) agentOf(owner, u core.UserID) *agent {
	if !v.userExists(u) || v.users[u].agent == nil || v.users[u].agent.owner != owner {
		return nil
	}
	return v.users[u].agent
}

// badMandate reports whether a bound is out of its range or the expiry is not in the future.
func (v *Venue) badMandate(m core.Mandate) bool {
	return !m.Valid(v.rules.Revision) || m.Has(core.RuleExpires) && m.Expires <= v.now.Ts
}

func (v *Venue) createAgent(c *core.CreateAgent) core.Reject {
	if !v.userExists(c.Owner) || v.users[c.Owner].agent != nil {
		return core.UnknownUser
	}
	all, open := v.Agents(c.Owner), 0
	for _, u := range all {
		if !v.users[u].agent.closed {
			open++
		}
	}
	used := slices.ContainsFunc(all, func(u core.UserID) bool { return v.users[u].agent.name == c.Name })
	fund := integer(int64(c.Fund))
	switch {
	case v.badMandate(c.Mandate):
		return core.BadMandate
	case used:
		return core.DuplicateAgentName
	case open >= 32 || len(all) >= 1000:
		return core.AgentLimit
	case c.Fund < 0:
		return core.BadAmount
	case v.suspended(c.Owner):
		return core.UserSuspended
	case less(v.users[c.Owner].cash, fund):
		return core.InsufficientBalance
	}
	v.addUser(v.users[c.Owner].referrer)
	u := core.UserID(len(v.users) - 1)
	v.users[u].agent = &agent{owner: c.Owner, name: c.Name, rev: 1, mandate: c.Mandate}
	v.move("", c.Owner, u, fund)
	return core.OK
}

// move moves free cash between accounts of a family. An amount of 0 is no transfer.
func (v *Venue) move(client string, from, to core.UserID, n *big.Int) {
	if n.Sign() == 0 {
		return
	}
	v.pay(from, new(big.Int).Neg(n))
	v.pay(to, n)
	v.enter(from, "transfer", new(big.Int).Neg(n), Row{Ref: client})
	v.enter(to, "transfer", n, Row{Ref: client})
	v.users[from].transfersNet = minus(v.users[from].transfersNet, n)
	v.users[to].transfersNet = plus(v.users[to].transfersNet, n)
	t := Transfer{client, from, to, v.now.Seq}
	v.out.Transfers[t] += core.Pips(n.Int64())
}

func (v *Venue) transfer(c core.Transfer) core.Reject {
	other := c.To
	if c.From != c.Owner {
		other = c.From
	}
	a := v.agentOf(c.Owner, other)
	c.Audit = core.Audit{}
	was, again := v.transfers[transferID{c.Owner, c.ClientID}]
	switch {
	case a == nil || c.From != c.Owner && c.To != c.Owner:
		return core.UnknownAgent
	case again && was.Transfer == c:
		v.out.Transfers[Transfer{c.ClientID, c.From, c.To, was.seq}] = c.Amount // the first answer again
		return core.OK
	case again:
		return core.DuplicateTransferID
	case a.closed:
		return core.InvalidTransition
	case v.suspended(other):
		return core.UserSuspended
	case c.Amount <= 0:
		return core.BadAmount
	case less(v.users[c.From].cash, integer(int64(c.Amount))):
		return core.InsufficientBalance
	}
	v.transfers[transferID{c.Owner, c.ClientID}] = transfer{c, v.now.Seq}
	v.move(c.ClientID, c.From, c.To, integer(int64(c.Amount)))
	return core.OK
}

func (v *Venue) setMandate(c *core.SetMandate) core.Reject {
	a := v.agentOf(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case v.badMandate(c.Mandate):
		return core.BadMandate
	case a.closed:
		return core.InvalidTransition
	case a.rev != c.IfRev:
		return core.StaleMandate
	}
	a.mandate, a.expired = c.Mandate, false
	a.rev++
	return core.OK
}

func (v *Venue) haltAgent(c *core.HaltAgent) core.Reject {
	a := v.agentOf(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case a.closed:
		return core.InvalidTransition
	}
	v.halt(c.Agent)
	return core.OK
}

func (v *Venue) halt(u core.UserID) {
	v.users[u].agent.halted = true
	v.sweep(core.Halted, func(o order) bool { return o.User == u })
}

func (v *Venue) resumeAgent(c *core.ResumeAgent) core.Reject {
	a := v.agentOf(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case a.closed:
		return core.InvalidTransition
	}
	a.halted = false
	return core.OK
}

func (v *Venue) closeAgent(c *core.CloseAgent) core.Reject {
	a := v.agentOf(c.Owner, c.Agent)
	if a == nil {
		return core.UnknownAgent
	}
	v.halt(c.Agent)
	v.revokeAll(c.Agent)
	a.closed = true // sweepClosed moves the cash
	return core.OK
}

// sweepClosed moves the cash of closed agents to their owners.
func (v *Venue) sweepClosed() {
	for u := range v.users {
		if a := v.users[u].agent; a != nil && a.closed {
			v.move("", core.UserID(u), a.owner, v.users[u].cash)
		}
	}
}

// expireMandates cancels the orders of agents whose mandate has expired.
func (v *Venue) expireMandates() {
	for u := range v.users {
		a := v.users[u].agent
		if a == nil || a.closed || a.expired || !a.mandate.Has(core.RuleExpires) || v.now.Ts < a.mandate.Expires {
			continue
		}
		a.expired = true
		v.sweep(core.MandateExpired, func(o order) bool { return o.User == core.UserID(u) })
	}
}

// checkMandate returns the bound of the taker's mandate that a placement breaks, or nil. It sets the
// tick of a market order without worst_tick to the last one that the price collar passes.
func (v *Venue) checkMandate(c *core.PlaceOrder) *core.Violation {
	a := v.users[c.User].agent
	if a == nil {
		return nil
	}
	m, market := a.mandate, v.markets[c.Market]
	broken := func(rule core.MandateRule, limit, used, asked *big.Int) *core.Violation {
		x := &core.Violation{Rule: rule, Rev: a.rev, Limit: limit.Uint64(), Used: used.Uint64(), Asked: asked.Uint64()}
		if rule == core.RuleOrdersPerDay || rule == core.RuleDailyLoss {
			x.ResetsTs = int64(v.today()+1) * day
		}
		return x
	}
	zero, one := integer(0), integer(1)
	switch {
	case a.halted:
		return broken(core.RuleHalted, zero, zero, zero)
	case m.Has(core.RuleExpires) && v.now.Ts >= m.Expires:
		return broken(core.RuleExpires, zero, zero, zero)
	case m.Has(core.RuleCategories) && m.Categories>>market.Category&1 == 0:
		return broken(core.RuleCategories, zero, zero, zero)
	case m.Has(core.RuleReduceOnly) && c.Side == core.Buy && !c.Flags.Has(core.ReduceOnly):
		return broken(core.RuleReduceOnly, zero, zero, zero)
	case m.Has(core.RuleOrderQty) && c.Qty > m.OrderQty:
		return broken(core.RuleOrderQty, integer(int64(m.OrderQty)), zero, integer(int64(c.Qty)))
	}
	if m.Has(core.RulePriceCollar) {
		last, beyond := v.lastTick(c, m.Collar), false
		if c.Type == core.Market && c.Unpriced {
			c.Tick = last
		}
		if beyond = c.Tick > last; c.Side == core.Sell {
			beyond = c.Tick < last
		}
		if beyond {
			return broken(core.RulePriceCollar, integer(int64(last)), zero, integer(int64(c.Tick)))
		}
	}
	resting := integer(int64(len(v.resting(func(o order) bool { return o.User == c.User }))))
	placed := integer(int64(v.users[c.User].ordersOn[v.today()]))
	full := func(rule core.MandateRule, limit, used, asked *big.Int) bool {
		headroom := minus(limit, used)
		if headroom.Sign() < 0 {
			headroom = zero // a buy with max_cost 0 passes a bound that is broken already
		}
		return m.Has(rule) && less(headroom, asked)
	}
	rests := c.Type == core.Limit && (c.TIF == core.GTC || c.TIF == core.GTT)
	if limit := integer(int64(m.OpenOrders)); rests && full(core.RuleOpenOrders, limit, resting, one) {
		return broken(core.RuleOpenOrders, limit, resting, one)
	}
	if limit := integer(int64(m.OrdersPerDay)); full(core.RuleOrdersPerDay, limit, placed, one) {
		return broken(core.RuleOrdersPerDay, limit, placed, one)
	}
	if c.Side == core.Sell {
		return nil
	}
	needs, open := v.admissionCost(c), v.openCost(c.User, func(core.MarketID) bool { return true })
	for _, x := range []struct {
		rule core.MandateRule
		used *big.Int
	}{
		{core.RuleOrderCost, zero},
		{core.RuleMarketCost, v.openCost(c.User, func(id core.MarketID) bool { return id == c.Market })},
		{core.RuleOpenCost, open},
		{core.RuleDailyLoss, plus(v.LossToday(c.User), open)},
	} {
		if limit := new(big.Int).SetUint64(m.Cost(x.rule)); full(x.rule, limit, x.used, needs) {
			return broken(x.rule, limit, x.used, needs)
		}
	}
	return nil
}

// lastTick returns the last tick of the order's own outcome that a price collar passes.
func (v *Venue) lastTick(c *core.PlaceOrder, collar core.Tick) core.Tick {
	bid, ask := v.quote(c, true), v.quote(c, false)
	if c.Side == core.Buy {
		reference := min(5000, ask)
		if bid > 0 {
			reference = bid
		}
		return min(9999, reference+collar)
	}
	reference := max(5000, bid)
	if ask < 10000 {
		reference = ask
	}
	return max(1, reference-collar)
}

// quote returns the best bid or ask of other accounts, in the ticks of the order's own outcome:
// 0 if there is no bid, 10000 if there is no ask.
func (v *Venue) quote(c *core.PlaceOrder, bid bool) core.Tick {
	best := core.Tick(10000)
	if bid {
		best = 0
	}
	for _, o := range v.orders {
		if o.Market != c.Market || o.User == c.User {
			continue
		}
		// An order of the other outcome is on the other side of this outcome's book.
		t, isBid := o.Tick, o.Side == core.Buy
		if o.Outcome != c.Outcome {
			t, isBid = 10000-o.Tick, !isBid
		}
		switch {
		case isBid && bid:
			best = max(best, t)
		case !isBid && !bid:
			best = min(best, t)
		}
	}
	return best
}

// revokeAll revokes every key of an account.
func (v *Venue) revokeAll(u core.UserID) {
	for id, k := range v.keys {
		if k.user == u {
			v.revoke(id)
		}
	}
}

// Authorized reports whether the key of a command is valid, or whether it has none.
func (v *Venue) Authorized(cmd core.Command) bool {
	n := core.KeyOf(cmd)
	for _, k := range v.keys {
		if k.number == n {
			return true
		}
	}
	return n == 0
}

// mark is the mark of a command, and the stamp of the command.
type mark struct {
	mark     core.Mark
	signedAt int64 // in ms
}

// Judge returns why a command that would get the stamp ts takes no seq: "" if it does take one,
// "unauthorized", "late" or "repeated".
func (v *Venue) Judge(cmd core.Command, ts int64) string {
	if !v.Authorized(cmd) {
		return "unauthorized"
	}
	c, ok := cmd.(*core.Marked)
	if !ok {
		return ""
	}
	signed, now := time.UnixMilli(c.SignedAt), time.Unix(0, ts).Truncate(time.Millisecond)
	if now.Sub(signed) > 15*time.Second || signed.Sub(now) > 5250*time.Millisecond {
		return "late"
	}
	if slices.ContainsFunc(v.Marks(ts), func(m core.Mark) bool { return m == c.Mark }) {
		return "repeated"
	}
	return ""
}

// Marks returns the marks that are kept at ts, the oldest first: all from the first one that is not late.
func (v *Venue) Marks(ts int64) (list []core.Mark) {
	for _, m := range v.keptMarks(ts) {
		list = append(list, m.mark)
	}
	return list
}

func (v *Venue) keptMarks(ts int64) []mark {
	first := slices.IndexFunc(v.marks, func(m mark) bool { return m.signedAt+15_000 >= ts/int64(time.Millisecond) })
	if first < 0 {
		return nil
	}
	return v.marks[first:]
}

// Agent is what readers see of an agent.
type Agent struct {
	core.Agent
	State core.AgentState
}

// Agent returns an agent, or false if the account is an owner.
func (v *Venue) Agent(u core.UserID) (Agent, bool) {
	a := v.users[u].agent
	if a == nil {
		return Agent{}, false
	}
	return Agent{
		core.Agent{Owner: a.owner, Halted: a.halted, Closed: a.closed, Expired: a.expired, Rev: a.rev, Mandate: a.mandate, Client: a.client},
		v.State(u),
	}, true
}

// State returns the first state that applies to an account.
func (v *Venue) State(u core.UserID) core.AgentState {
	a := v.users[u].agent
	switch {
	case a != nil && a.closed:
		return core.AgentClosed
	case v.suspended(u):
		return core.AgentSuspended
	case a != nil && a.halted:
		return core.AgentHalted
	case a != nil && a.mandate.Has(core.RuleExpires) && v.now.Ts >= a.mandate.Expires:
		return core.AgentExpired
	}
	return core.AgentActive
}

// OpenOrders returns the number of an account's resting orders.
func (v *Venue) OpenOrders(u core.UserID) uint32 {
	return uint32(len(v.resting(func(o order) bool { return o.User == u })))
}

// shownAgent is what readers learn of an agent from events.
type shownAgent struct {
	AgentChange
	expired bool
}

func (v *Venue) shown() map[core.UserID]shownAgent {
	all := map[core.UserID]shownAgent{}
	for u := range v.users {
		if a := v.users[u].agent; a != nil {
			all[core.UserID(u)] = shownAgent{AgentChange{v.State(core.UserID(u)), a.rev}, a.expired && v.now.Ts >= a.mandate.Expires}
		}
	}
	return all
}

// NextExpiry returns when the next mandate of an agent with resting orders expires, in ns, or
// the greatest time if none does.
func (v *Venue) NextExpiry() int64 {
	next := int64(math.MaxInt64)
	for _, o := range v.orders {
		if a := v.users[o.User].agent; a != nil && a.mandate.Has(core.RuleExpires) {
			next = min(next, a.mandate.Expires)
		}
	}
	for _, k := range v.keys {
		if k.grant != nil {
			next = min(next, k.grant.end())
		}
	}
	return next
}
