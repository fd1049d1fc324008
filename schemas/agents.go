package schemas

import (
	"math"

	"duplex/core"
)

// Mandate is the set of bounds of an agent, in the order of their checks
// (docs/rules/agent-accounts.md#mandate). An absent field sets no bound. Prices are in
// pips of the order's own outcome, costs in pips.
type Mandate struct {
	ExpiresTs       *U64  `json:"expires_ts,omitempty" pattern:"^[0-9]+$" doc:"ns since the Unix epoch, in the future: placements are rejected from then on"`
	Categories      []Int `json:"categories,omitempty" nullable:"false" minItems:"1" maxItems:"9" minimum:"1" maximum:"9" doc:"The series that the agent may trade"`
	ReduceOnly      bool  `json:"reduce_only,omitzero" doc:"Every buy must be reduce_only"`
	MaxOrderQty     *Int  `json:"max_order_qty,omitempty" minimum:"1" maximum:"1000000" doc:"Contracts of one order"`
	PriceCollar     *Int  `json:"price_collar,omitempty" minimum:"0" maximum:"9998" doc:"Pips beyond the best price of other accounts on the own side"`
	MaxOpenOrders   *Int  `json:"max_open_orders,omitempty" minimum:"0" maximum:"4294967295" doc:"Resting orders, over all markets"`
	MaxOrdersPerDay *Int  `json:"max_orders_per_day,omitempty" minimum:"0" maximum:"4294967295" doc:"Placements that were not rejected, per UTC day"`
	MaxOrderCost    *U64  `json:"max_order_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips that one buy may reserve"`
	MaxMarketCost   *U64  `json:"max_market_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips of open cost in one market slot"`
	MaxOpenCost     *U64  `json:"max_open_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips of open cost in all markets"`
	MaxDailyLoss    *U64  `json:"max_daily_loss,omitempty" pattern:"^[0-9]+$" doc:"Pips of loss per UTC day, open cost included"`
}

// Check requires distinct categories and an expiry within the range of a stamp. The venue
// checks that the expiry is in the future.
func (m *Mandate) Check() *Fault {
	seen := map[Int]bool{}
	for _, c := range m.Categories {
		if seen[c] {
			return &Fault{Code: "bad_mandate", Field: "categories", Limit: "distinct categories", Message: "categories: distinct categories"}
		}
		seen[c] = true
	}
	if m.ExpiresTs != nil && *m.ExpiresTs > math.MaxInt64 {
		return &Fault{Code: "bad_mandate", Field: "expires_ts", Limit: "at most 2^63 − 1", Message: "expires_ts: at most 2^63 − 1"}
	}
	return nil
}

// costs returns the four cost bounds in the order of core.Mandate.Costs.
func (m *Mandate) costs() [4]**U64 {
	return [4]**U64{&m.MaxOrderCost, &m.MaxMarketCost, &m.MaxOpenCost, &m.MaxDailyLoss}
}

// Core returns the mandate of a request that was decoded. nil is a mandate without bounds.
func (m *Mandate) Core() (out core.Mandate) {
	if m == nil {
		return out
	}
	if m.ExpiresTs != nil {
		out.Bound(core.RuleExpires)
		out.Expires = m.ExpiresTs.Int64()
	}
	if len(m.Categories) > 0 {
		out.Bound(core.RuleCategories)
		for _, c := range m.Categories {
			out.Categories |= 1 << c
		}
	}
	if m.ReduceOnly {
		out.Bound(core.RuleReduceOnly)
	}
	if m.MaxOrderQty != nil {
		out.Bound(core.RuleOrderQty)
		out.OrderQty = core.Qty(*m.MaxOrderQty)
	}
	if m.PriceCollar != nil {
		out.Bound(core.RulePriceCollar)
		out.Collar = core.Tick(*m.PriceCollar)
	}
	if m.MaxOpenOrders != nil {
		out.Bound(core.RuleOpenOrders)
		out.OpenOrders = uint32(*m.MaxOpenOrders)
	}
	if m.MaxOrdersPerDay != nil {
		out.Bound(core.RuleOrdersPerDay)
		out.OrdersPerDay = uint32(*m.MaxOrdersPerDay)
	}
	for i, limit := range m.costs() {
		if *limit != nil {
			out.SetCost(core.RuleOrderCost+core.MandateRule(i), uint64(**limit))
		}
	}
	return out
}

// MandateOf converts a mandate to its wire form.
func MandateOf(m *core.Mandate) (out Mandate) {
	if m.Has(core.RuleExpires) {
		out.ExpiresTs = Ptr(U64(m.Expires))
	}
	for c := Int(1); m.Has(core.RuleCategories) && int(c) <= core.SeriesCount; c++ {
		if m.Categories>>c&1 != 0 {
			out.Categories = append(out.Categories, c)
		}
	}
	out.ReduceOnly = m.Has(core.RuleReduceOnly)
	if m.Has(core.RuleOrderQty) {
		out.MaxOrderQty = Ptr(Int(m.OrderQty))
	}
	if m.Has(core.RulePriceCollar) {
		out.PriceCollar = Ptr(Int(m.Collar))
	}
	if m.Has(core.RuleOpenOrders) {
		out.MaxOpenOrders = Ptr(Int(m.OpenOrders))
	}
	if m.Has(core.RuleOrdersPerDay) {
		out.MaxOrdersPerDay = Ptr(Int(m.OrdersPerDay))
	}
	for i, limit := range out.costs() {
		if r := core.RuleOrderCost + core.MandateRule(i); m.Has(r) {
			*limit = Ptr(U64(m.Cost(r)))
		}
	}
	return out
}

// Usage is what an account has used of a mandate's bounds
// (docs/rules/agent-accounts.md#usage).
type Usage struct {
	OpenCost    U64    `json:"open_cost" pattern:"^[0-9]+$" doc:"Reserved cash and the cost of all positions, pips"`
	LossToday   U64    `json:"loss_today" pattern:"^[0-9]+$" doc:"Realized loss of this UTC day, pips"`
	OrdersToday uint32 `json:"orders_today" doc:"Placements of this UTC day that were not rejected"`
	OpenOrders  uint32 `json:"open_orders" doc:"Resting orders, over all markets"`
}

// Headroom is what an agent may still use of each bound that depends on the account. A
// bound that the mandate does not set is absent.
type Headroom struct {
	MaxOpenOrders   *uint32 `json:"max_open_orders,omitempty" doc:"Orders"`
	MaxOrdersPerDay *uint32 `json:"max_orders_per_day,omitempty" doc:"Orders"`
	MaxOpenCost     *U64    `json:"max_open_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	MaxDailyLoss    *U64    `json:"max_daily_loss,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
}

// Account is the response of `GET /v1/account`. OwnerID, Mandate, Rev and Headroom are
// absent for an owner.
type Account struct {
	UserID   uint32    `json:"user_id"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind" enum:"owner,agent"`
	State    string    `json:"state" enum:"active,expired,halted,suspended,closed"`
	OwnerID  *uint32   `json:"owner_id,omitempty"`
	Mandate  *Mandate  `json:"mandate,omitzero" doc:"Bounds on placements"`
	Rev      *uint32   `json:"rev,omitempty" doc:"Of the mandate"`
	Usage    Usage     `json:"usage"`
	Headroom *Headroom `json:"headroom,omitzero" doc:"What the mandate leaves"`
	Equity   U64       `json:"equity" pattern:"^[0-9]+$" doc:"Pips"`
	AsOf
}

// The owner's routes (docs/rules/agent-accounts.md#owners-routes).

// CreateAgent is the body of `POST /agents`. An absent or null mandate is {}.
type CreateAgent struct {
	Name    string   `json:"name" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" doc:"Used once for each owner"`
	Fund    U64      `json:"fund,omitzero" pattern:"^[0-9]+$" doc:"Pips to move from the owner"`
	Mandate *Mandate `json:"mandate,omitzero" fault:"bad_mandate"`
}

// AgentCreated is the response of `POST /agents`.
type AgentCreated struct {
	UserID uint32 `json:"user_id"`
	Rev    uint32 `json:"rev"`
	Seq    U64    `json:"seq" pattern:"^[0-9]+$"`
}

// ListAgents is `GET /agents`.
type ListAgents struct{ Page }

// Agent is one row of an owner's agents.
type Agent struct {
	UserID        uint32   `json:"user_id"`
	Name          string   `json:"name"`
	State         string   `json:"state" enum:"active,expired,halted,suspended,closed"`
	Rev           uint32   `json:"rev"`
	Usage         Usage    `json:"usage"`
	Headroom      Headroom `json:"headroom"`
	Equity        U64      `json:"equity" pattern:"^[0-9]+$" doc:"Pips"`
	RealizedToday Signed   `json:"realized_today" pattern:"^-?[0-9]+$" doc:"Pips, signed"`
}

// AgentList is a page of agents, oldest first, closed ones included.
type AgentList struct {
	Agents []Agent `json:"agents" nullable:"false"`
	PageEnd
}

// AgentID names the agent of a route without a body. An id that is not an agent of the
// caller is unknown_agent.
type AgentID struct {
	ID Int `json:"id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_agent"`
}

// AgentMandate is the response of `GET /agents/{id}/mandate`.
type AgentMandate struct {
	Rev     uint32  `json:"rev"`
	Mandate Mandate `json:"mandate"`
}

// SetMandate is `PUT /agents/{id}/mandate`: it replaces the mandate whose revision is IfRev.
type SetMandate struct {
	ID      Int     `json:"id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_agent"`
	IfRev   Int     `json:"if_rev" minimum:"0" maximum:"4294967295" doc:"The revision that the caller has read"`
	Mandate Mandate `json:"mandate" fault:"bad_mandate"`
}

// TransferFunds is `POST /agents/{id}/fund|return`.
type TransferFunds struct {
	ID               Int    `json:"id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_agent"`
	ClientTransferID string `json:"client_transfer_id" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"Idempotency key, unique per owner for good"`
	Amount           U64    `json:"amount" pattern:"^[0-9]+$" nonzero:"true" fault:"bad_amount" doc:"Pips"`
}

// Transfer is one transfer between an owner and one of its agents.
type Transfer struct {
	ClientTransferID string `json:"client_transfer_id" doc:"Empty if the venue made the transfer"`
	From             uint32 `json:"from" doc:"user_id"`
	To               uint32 `json:"to" doc:"user_id"`
	Amount           U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
	Seq              U64    `json:"seq" pattern:"^[0-9]+$"`
	Ts               U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// AgentState is the response of `POST /agents/{id}/halt|resume|close`.
type AgentState struct {
	UserID uint32 `json:"user_id"`
	State  string `json:"state" enum:"active,expired,halted,suspended,closed"`
	Seq    U64    `json:"seq" pattern:"^[0-9]+$"`
}

// CreateAgentKey is `POST /agents/{id}/keys`, whose body is optional as that of CreateKey.
type CreateAgentKey struct {
	ID Int `json:"id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_agent"`
	CreateKey
}

// RevokeAgentKey is `DELETE /agents/{id}/keys/{api_key}`.
type RevokeAgentKey struct {
	ID Int `json:"id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_agent"`
	RevokeKey
}

// ListActivity is `GET /agents/{id}/activity`.
type ListActivity struct {
	ID Int `json:"id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_agent"`
	Page
}

// Activity is one sequenced command of an agent, or of its owner about it
// (docs/rules/agent-accounts.md#activity).
type Activity struct {
	Ts            U64     `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	Seq           U64     `json:"seq" pattern:"^[0-9]+$"`
	APIKey        *string `json:"api_key" doc:"Null for a command of the owner or of the operator"`
	Operation     string  `json:"operation" doc:"The tool's name; of the owner's commands create_agent, transfer, set_mandate, halt_agent, resume_agent, close_agent, create_key or revoke_key"`
	ClientOrderID *U64    `json:"client_order_id,omitempty" pattern:"^[0-9]+$"`
	OrderID       *U64    `json:"order_id,omitempty" pattern:"^[0-9]+$"`
	Code          string  `json:"code" doc:"The error code; empty if the command was accepted"`
	Rule          string  `json:"rule,omitzero" doc:"The rule of the mandate that rejected the command"`
}

// ActivityList is a page of an agent's activity, newest first.
type ActivityList struct {
	Activity []Activity `json:"activity" nullable:"false"`
	PageEnd
}

// ViolationError returns the error of a placement that a mandate rejects, with the bound in
// its details (docs/rules/agent-accounts.md#rejections).
func ViolationError(v *core.Violation) Error {
	e := RejectError(core.MandateViolation)
	d := Details{"rule": v.Rule.String(), "rev": U64(v.Rev).String()}
	switch v.Rule {
	case core.RuleHalted, core.RuleExpires, core.RuleCategories, core.RuleReduceOnly:
	case core.RulePriceCollar:
		d["limit"], d["asked"] = U64(v.Limit).String(), U64(v.Asked).String()
	default:
		d["limit"], d["used"] = U64(v.Limit).String(), U64(v.Used).String()
		d["asked"], d["headroom"] = U64(v.Asked).String(), U64(v.Headroom()).String()
		if v.ResetsTs != 0 {
			d["resets_ts"] = U64(v.ResetsTs).String()
		}
	}
	e.Details = &d
	return e
}
