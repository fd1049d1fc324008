package core

import "math/bits"

// KeyNumber names an API key in commands and rows: keys are numbered from 1 in the order of
// their creation, and no number is used twice. 0 is no key: the command came from the venue
// itself, or from a journal in which commands carried no key.
type KeyNumber uint64

// Agent is what makes an account an agent: an account that trades inside a mandate with the
// money of its owner (docs/rules/agent-accounts.md#accounts). An Agent that is shared is
// read-only; a change makes a new one.
type Agent struct {
	Owner   UserID
	Halted  bool `cbor:",omitempty"`
	Closed  bool `cbor:",omitempty"`
	Expired bool `cbor:",omitempty"` // the resting orders were canceled at the mandate's expiry
	Rev     uint32
	Mandate Mandate
	Client  string `cbor:",omitempty"` // of the newest grant
}

// AgentState is the state of an account as readers see it
// (docs/rules/agent-accounts.md#states). An owner is active or suspended.
type AgentState uint8

const (
	AgentActive AgentState = iota
	AgentExpired
	AgentHalted
	AgentSuspended
	AgentClosed
)

func (s AgentState) String() string {
	return [...]string{"active", "expired", "halted", "suspended", "closed"}[s]
}

// State returns the state of the agent at ts, in ns. suspended is true if the agent or its
// owner is suspended.
func (a *Agent) State(suspended bool, ts int64) AgentState {
	switch {
	case a.Closed:
		return AgentClosed
	case suspended:
		return AgentSuspended
	case a.Halted:
		return AgentHalted
	case a.Expired || a.Mandate.ExpiredAt(ts):
		return AgentExpired
	}
	return AgentActive
}

// MandateRule is a rule of a mandate, in the order of its checks
// (docs/rules/agent-accounts.md#mandate). Its number is stored. A new rule is the last one, and is made in
// these files:
//
//	core/agent.go                  the rule, its name and its bound
//	core/venue/mandate.go          its check
//	core/sim/model/agents.go       its check, written a second time
//	core/sim/agent_workload.go     the workload draws it, from its revision on
//	schemas/agents.go              its field
//	tools/fit.go                   the order that passes it, if there is one
//	cmd/dx/agent/mandate.go        its flag, which TestRemoveBound sets too
//	docs/rules/agent-accounts.md   its row
//	agents/mandate.ts, venue/wire.ts its field and words on the screen; npm run build writes lanes/portal/web/dist
//
// One in money is in cmd/dx/cli/output.go, and in shared/errors.ts unless its name has cost or loss; any other
// one in lanes/mcp/mandate_hints.go. One without a limit is in schemas/errors.go. One with headroom is in
// core/venue/performance.go and tools/agents.go, and in core/sim/agree.go if it counts what no other one does.
// A mandate with the rule is BadMandate before a revision (validMandate of core/venue, badMandate of the
// model), which is made as for a command (see the package documentation). Written by commands: codec.txt,
// openapi.json and the records of the Python client.
type MandateRule uint8

const (
	RuleHalted MandateRule = iota // not a field: the agent is halted
	RuleExpires
	RuleCategories
	RuleReduceOnly
	RuleOrderQty
	RulePriceCollar
	RuleOpenOrders
	RuleOrdersPerDay
	RuleOrderCost
	RuleMarketCost
	RuleOpenCost
	RuleDailyLoss
	RuleAskAbove // an order above it waits for the owner

	mandateRules
)

var mandateRuleNames = [mandateRules]string{
	"halted", "expires_ts", "categories", "reduce_only", "max_order_qty", "price_collar", "max_open_orders", "max_orders_per_day",
	"max_order_cost", "max_market_cost", "max_open_cost", "max_daily_loss", "ask_above",
}

// String is the name of the mandate's field, or "halted".
func (r MandateRule) String() string { return mandateRuleNames[r] }

// MandateRules lists the name of every rule in the order of the checks.
func MandateRules() []string { return mandateRuleNames[:] }

// Mandate is the set of bounds of an agent (docs/rules/agent-accounts.md#mandate). A bound
// counts only if its rule is in Set; every field that is not set is zero.
type Mandate struct {
	Set          uint16    `cbor:",omitempty"` // a bit for each MandateRule that bounds; see Has
	Expires      int64     `cbor:",omitempty"` // ns
	Categories   uint16    `cbor:",omitempty"` // a bit for each allowed category
	OrderQty     Qty       `cbor:",omitempty"` // contracts
	Collar       Tick      `cbor:",omitempty"` // pips of price
	OpenOrders   uint32    `cbor:",omitempty"`
	OrdersPerDay uint32    `cbor:",omitempty"`
	Costs        [4]uint64 `cbor:",omitzero"`  // pips; see Cost
	AskAbove     uint64    `cbor:",omitempty"` // pips that may be at stake in one round unasked
}

// Has reports whether the mandate sets the bound of a rule.
func (m *Mandate) Has(r MandateRule) bool { return m.Set&(1<<r) != 0 }

// Bound marks the bound of a rule as set.
func (m *Mandate) Bound(r MandateRule) { m.Set |= 1 << r }

// Cost is the limit of one of the four cost rules, RuleOrderCost to RuleDailyLoss, in pips.
func (m *Mandate) Cost(r MandateRule) uint64 { return m.Costs[r-RuleOrderCost] }

// SetCost sets the limit of one of the four cost rules, in pips.
func (m *Mandate) SetCost(r MandateRule, limit uint64) {
	m.Bound(r)
	m.Costs[r-RuleOrderCost] = limit
}

// ExpiredAt reports whether the mandate has expired at ts, in ns.
func (m *Mandate) ExpiredAt(ts int64) bool { return m.Has(RuleExpires) && ts >= m.Expires }

// CollarMax is the widest price collar, in pips of price.
const CollarMax = TickMax - TickMin

// Categories of a mandate has room for 15.
const _ = uint(15 - SeriesCount)

// Valid reports whether every bound is in its range under a revision of the rules, apart from an expiry in
// the past (docs/rules/agent-accounts.md#mandate).
func (m *Mandate) Valid(r Revision) bool {
	series, _ := SeriesSince(r)
	categories := uint16(1<<series-1) << 1
	for _, x := range [...]struct {
		rule        MandateRule
		zero, legal bool // of the bound's value
	}{
		{RuleExpires, m.Expires == 0, m.Expires >= 0},
		{RuleCategories, m.Categories == 0, m.Categories != 0 && m.Categories&^categories == 0},
		{RuleOrderQty, m.OrderQty == 0, m.OrderQty >= 1 && m.OrderQty <= QtyMax},
		{RulePriceCollar, m.Collar == 0, m.Collar >= 0 && m.Collar <= CollarMax},
		{RuleOpenOrders, m.OpenOrders == 0, true},
		{RuleOrdersPerDay, m.OrdersPerDay == 0, true},
		{RuleOrderCost, m.Cost(RuleOrderCost) == 0, true},
		{RuleMarketCost, m.Cost(RuleMarketCost) == 0, true},
		{RuleOpenCost, m.Cost(RuleOpenCost) == 0, true},
		{RuleDailyLoss, m.Cost(RuleDailyLoss) == 0, true},
		{RuleAskAbove, m.AskAbove == 0, r >= RevisionAsks},
	} {
		if m.Has(x.rule) && !x.legal || !m.Has(x.rule) && !x.zero {
			return false
		}
	}
	return m.Set>>mandateRules == 0 && !m.Has(RuleHalted)
}

// Violation is the bound of a mandate that rejected a placement
// (docs/rules/agent-accounts.md#rejections). Limit, Used and Asked are contracts, orders,
// pips of price or pips of money, as the rule has them; they are 0 for the rules that have
// no limit. It is the error of a command that was rejected with MandateViolation.
type Violation struct {
	Rule               MandateRule
	Rev                uint32
	Limit, Used, Asked uint64
	ResetsTs           int64 // when the day that counts ends, ns; 0 if the rule does not count by day
}

// Headroom is the greatest Asked that passes.
func (v *Violation) Headroom() uint64 { return Headroom(v.Limit, v.Used) }

func (v *Violation) Error() string { return MandateViolation.Error() }

// Headroom is what a limit leaves after used, at least 0.
func Headroom(limit, used uint64) uint64 {
	left, borrow := bits.Sub64(limit, used, 0)
	if borrow != 0 {
		return 0
	}
	return left
}

// Transferred is one transfer of free cash between an owner and one of its agents
// (docs/rules/agent-accounts.md#transfers). ClientID is "" if the venue made the transfer: the
// fund of a new agent, or the cash of a closed one.
type Transferred struct {
	ClientID string
	From, To UserID
	Amount   Pips
	Seq      uint64
	Ts       int64 // ns
}

func (*Transferred) event() {}

// NsPerDay is the length of a UTC day, in ns.
const NsPerDay = 24 * 60 * 60 * NsPerSec

// DayOf is the UTC day of ts (ns), counted from the Unix epoch.
func DayOf(ts int64) int32 { return int32(ts / NsPerDay) }

// Limits of an owner's agents (docs/rules/agent-accounts.md#accounts).
const (
	AgentsOpenMax = 32   // agents of one owner that are not closed
	AgentsMax     = 1000 // agents of one owner, closed ones included
)
