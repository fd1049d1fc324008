package schemas

import (
	"math"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
)

// Mandate is the wire form of an agent's bounds (docs/rules/agent-accounts.md#mandate). An absent
// field sets no bound. Amounts are pips, expires_ts is ns, the collar is pips of price.
type Mandate struct {
	ExpiresTs       *U64  `json:"expires_ts,omitempty" pattern:"^[0-9]+$" doc:"ns; placements are rejected from then on"`
	Categories      []Int `json:"categories,omitempty" nullable:"false" table:"category" doc:"Series that it may trade: {names}"`
	ReduceOnly      bool  `json:"reduce_only,omitzero" doc:"Only buys with the flag reduce_only, and sales"`
	MaxOrderQty     *Int  `json:"max_order_qty,omitempty" minimum:"1" maximum:"1000000" doc:"Contracts"`
	PriceCollar     *Int  `json:"price_collar,omitempty" minimum:"0" maximum:"9998" doc:"Pips of price beyond the reference"`
	MaxOpenOrders   *Int  `json:"max_open_orders,omitempty" minimum:"0" maximum:"4294967295"`
	MaxOrdersPerDay *Int  `json:"max_orders_per_day,omitempty" minimum:"0" maximum:"4294967295"`
	MaxOrderCost    *U64  `json:"max_order_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	MaxMarketCost   *U64  `json:"max_market_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	MaxOpenCost     *U64  `json:"max_open_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	MaxDailyLoss    *U64  `json:"max_daily_loss,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	AskAbove        *U64  `json:"ask_above,omitempty" pattern:"^[0-9]+$" doc:"Pips at stake in one round; above it an order waits for the owner"`
}

// Check requires categories that differ and an expiry within the range of a stamp.
func (m *Mandate) Check() *Fault {
	if m.ExpiresTs != nil && *m.ExpiresTs > math.MaxInt64 {
		return schemaViolation("expires_ts", "at most 2^63 − 1")
	}
	for i, c := range m.Categories {
		if slices.Contains(m.Categories[:i], c) {
			return schemaViolation("categories", "each category once")
		}
	}
	return nil
}

// costs are the four cost limits in the order of their rules.
func (m *Mandate) costs() [4]**U64 {
	return [4]**U64{&m.MaxOrderCost, &m.MaxMarketCost, &m.MaxOpenCost, &m.MaxDailyLoss}
}

// DecodeMandate decodes a mandate from its JSON; absent and null are the mandate without bounds.
// A value that is not an object is schema_violation, any other fault is bad_mandate. Whether
// expires_ts lies ahead is the venue's to judge.
func DecodeMandate(v jsontext.Value) (core.Mandate, *Fault) {
	if len(v) == 0 || v.Kind() == 'n' {
		return core.Mandate{}, nil
	}
	if v.Kind() != '{' {
		return core.Mandate{}, schemaViolation("mandate", "an object")
	}
	var m Mandate
	if f := decode(v, &m, inAny); f != nil {
		f.Code = "bad_mandate"
		if f.Field != "" {
			f.Field = "mandate." + f.Field
		}
		return core.Mandate{}, f
	}
	return m.Core(), nil
}

// Core converts a mandate that decoding has checked.
func (m *Mandate) Core() (c core.Mandate) {
	if m.ExpiresTs != nil {
		c.Bound(core.RuleExpires)
		c.Expires = m.ExpiresTs.Int64()
	}
	for _, n := range m.Categories {
		c.Bound(core.RuleCategories)
		c.Categories |= 1 << n
	}
	if m.ReduceOnly {
		c.Bound(core.RuleReduceOnly)
	}
	if m.MaxOrderQty != nil {
		c.Bound(core.RuleOrderQty)
		c.OrderQty = core.Qty(*m.MaxOrderQty)
	}
	if m.PriceCollar != nil {
		c.Bound(core.RulePriceCollar)
		c.Collar = core.Tick(*m.PriceCollar)
	}
	if m.MaxOpenOrders != nil {
		c.Bound(core.RuleOpenOrders)
		c.OpenOrders = uint32(*m.MaxOpenOrders)
	}
	if m.MaxOrdersPerDay != nil {
		c.Bound(core.RuleOrdersPerDay)
		c.OrdersPerDay = uint32(*m.MaxOrdersPerDay)
	}
	for i, limit := range m.costs() {
		if *limit != nil {
			c.SetCost(core.RuleOrderCost+core.MandateRule(i), uint64(**limit))
		}
	}
	if m.AskAbove != nil {
		c.Bound(core.RuleAskAbove)
		c.AskAbove = uint64(*m.AskAbove)
	}
	return c
}

// MandateOf converts a mandate of the core.
func MandateOf(c *core.Mandate) (m Mandate) {
	if c.Has(core.RuleExpires) {
		m.ExpiresTs = Ptr(U64(c.Expires))
	}
	for n := Int(1); n <= Int(core.SeriesCount); n++ {
		if c.Has(core.RuleCategories) && c.Categories>>n&1 != 0 {
			m.Categories = append(m.Categories, n)
		}
	}
	m.ReduceOnly = c.Has(core.RuleReduceOnly)
	if c.Has(core.RuleOrderQty) {
		m.MaxOrderQty = Ptr(Int(c.OrderQty))
	}
	if c.Has(core.RulePriceCollar) {
		m.PriceCollar = Ptr(Int(c.Collar))
	}
	if c.Has(core.RuleOpenOrders) {
		m.MaxOpenOrders = Ptr(Int(c.OpenOrders))
	}
	if c.Has(core.RuleOrdersPerDay) {
		m.MaxOrdersPerDay = Ptr(Int(c.OrdersPerDay))
	}
	for i, limit := range m.costs() {
		if r := core.RuleOrderCost + core.MandateRule(i); c.Has(r) {
			*limit = Ptr(U64(c.Cost(r)))
		}
	}
	if c.Has(core.RuleAskAbove) {
		m.AskAbove = Ptr(U64(c.AskAbove))
	}
	return m
}

// agentName matches the name of an agent, which also becomes the name of a file.
var agentName = regexp.MustCompile(AgentNamePattern)

// AgentNamePattern is the form of an agent's name (docs/rules/agent-accounts.md#accounts).
const AgentNamePattern = `^[a-z0-9][a-z0-9-]{0,31}$`

// IsAgentName reports whether a name has the form of an agent's name.
func IsAgentName(name string) bool { return agentName.MatchString(name) }

// CreateAgent is the body of `POST /agents` (docs/rules/agent-accounts.md#owners-routes).
type CreateAgent struct {
	Name    string         `json:"name" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" doc:"Once per owner"`
	Fund    U64            `json:"fund,omitzero" pattern:"^[0-9]+$" doc:"Pips moved from the owner; 0 moves nothing"`
	Mandate jsontext.Value `json:"mandate,omitempty" doc:"Absent: no bounds"`
}

// AgentCreated is the response of `POST /agents`.
type AgentCreated struct {
	UserID uint32 `json:"user_id"`
	Rev    uint32 `json:"rev"`
	Seq    U64    `json:"seq" pattern:"^[0-9]+$"`
}

// AgentPath names the agent of a route.
type AgentPath struct {
	AgentID Int `json:"agent_id" in:"path" fault:"unknown_agent" minimum:"1" maximum:"4294967295"`
}

// ListAgents is the query of `GET /agents`.
type ListAgents struct {
	Page
}

// Usage is what an account has used of the bounds that a mandate can set
// (docs/rules/agent-accounts.md#usage).
type Usage struct {
	OpenCost   U64    `json:"open_cost" pattern:"^[0-9]+$" doc:"Pips"`
	LossToday  U64    `json:"loss_today" pattern:"^[0-9]+$" doc:"Pips"`
	OrdersDay  uint32 `json:"orders_today"`
	OpenOrders uint32 `json:"open_orders"`
}

// Headroom is what the bounds that depend on the account leave; a bound that is not set is absent.
type Headroom struct {
	MaxOpenOrders   *uint32 `json:"max_open_orders,omitempty"`
	MaxOrdersPerDay *uint32 `json:"max_orders_per_day,omitempty"`
	MaxOpenCost     *U64    `json:"max_open_cost,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	MaxDailyLoss    *U64    `json:"max_daily_loss,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
}

// Agent is one agent of an owner.
type Agent struct {
	UserID        uint32   `json:"user_id"`
	Name          string   `json:"name"`
	State         string   `json:"state" enum:"active,expired,halted,suspended,closed"`
	Rev           uint32   `json:"rev"`
	Usage         Usage    `json:"usage"`
	Headroom      Headroom `json:"headroom"`
	Equity        U64      `json:"equity" pattern:"^[0-9]+$" doc:"Pips"`
	RealizedToday Signed   `json:"realized_today" pattern:"^-?[0-9]+$" doc:"Pips, signed"`
	Client        string   `json:"client,omitzero" doc:"client_id of the newest OAuth client that was allowed to act as the agent"`
}

// AgentList is the response of `GET /agents`, newest first.
type AgentList struct {
	Agents []Agent `json:"agents" nullable:"false"`
	PageEnd
}

// AgentMandate is the response of `GET /agents/{agent_id}/mandate`.
type AgentMandate struct {
	Rev     uint32  `json:"rev"`
	Mandate Mandate `json:"mandate"`
}

// SetMandate is `PUT /agents/{agent_id}/mandate`.
type SetMandate struct {
	AgentPath
	IfRev   Int            `json:"if_rev" minimum:"1" maximum:"4294967295" doc:"The rev of the mandate that is replaced"`
	Mandate jsontext.Value `json:"mandate"`
}

// Transfer is the body of `POST /agents/{agent_id}/fund` and `/return`.
type Transfer struct {
	AgentPath
	ClientTransferID string `json:"client_transfer_id" pattern:"^[A-Za-z0-9_-]{1,64}$" doc:"The owner's own id; a repeat answers the first transfer"`
	Amount           U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
}

// Transferred is a transfer of free cash within a family.
type Transferred struct {
	ClientTransferID string `json:"client_transfer_id" doc:"Empty when the venue made the transfer"`
	From             uint32 `json:"from"`
	To               uint32 `json:"to"`
	Amount           U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
	Seq              U64    `json:"seq" pattern:"^[0-9]+$"`
	Ts               U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// AgentState is the response of halt, resume and close.
type AgentState struct {
	UserID uint32 `json:"user_id"`
	State  string `json:"state" enum:"active,expired,halted,suspended,closed"`
	Seq    U64    `json:"seq" pattern:"^[0-9]+$"`
}

// CreateAgentKey is `POST /agents/{agent_id}/keys`; the body is that of `POST /keys`.
type CreateAgentKey struct {
	AgentPath
	CreateKey
}

// RevokeAgentKey names the key of `DELETE /agents/{agent_id}/keys/{api_key}`.
type RevokeAgentKey struct {
	AgentPath
	RevokeKey
}

// ListActivity is the query of `GET /agents/{agent_id}/activity`.
type ListActivity struct {
	AgentPath
	Page
}

// Activity is one command of an agent, or of its owner about it.
type Activity struct {
	Ts            U64     `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	Seq           U64     `json:"seq" pattern:"^[0-9]+$"`
	APIKey        *string `json:"api_key" doc:"Null for the owner's commands"`
	Operation     string  `json:"operation"`
	ClientOrderID *U64    `json:"client_order_id,omitempty" pattern:"^[0-9]+$"`
	OrderID       *U64    `json:"order_id,omitempty" pattern:"^[0-9]+$"`
	ApprovalID    *U64    `json:"approval_id,omitempty" pattern:"^[0-9]+$" doc:"Asked for or decided"`
	Code          string  `json:"code" doc:"Empty when accepted"`
	Rule          string  `json:"rule,omitzero" doc:"Of mandate_violation"`

	Order  *ActivityOrder `json:"order,omitempty" doc:"That the command placed, asked for or named; absent where memory has it no more"`
	Amount *Signed        `json:"amount,omitempty" pattern:"^-?[0-9]+$" doc:"Of a transfer, pips; above 0 to the agent"`
}

// ActivityOrder is an order as it is now, in an entry of the activity. Status is that of the order, or of the approval if
// nothing was placed; reason is why it was not.
type ActivityOrder struct {
	MarketID   uint32 `json:"market_id"`
	Generation uint32 `json:"generation"`
	Category   uint16 `json:"category,omitzero" doc:"Of the series; absent where memory has the round no more"`
	Side       string `json:"side" enum:"buy,sell"`
	Outcome    string `json:"outcome" enum:"yes,no"`
	Type       string `json:"type" enum:"limit,market"`
	Tick       int64  `json:"tick" doc:"Pips; of a market order the worst price"`
	Qty        int64  `json:"qty"`
	FilledQty  int64  `json:"filled_qty"`
	Status     string `json:"status"`
	Reason     string `json:"reason,omitzero"`
}

// ActivityList is the response of `GET /agents/{agent_id}/activity`, newest first.
type ActivityList struct {
	Activity []Activity `json:"activity" nullable:"false"`
	PageEnd
}

// GetAccount is the query of `GET /v1/account`.
type GetAccount struct {
	MinSeqQuery
}

// Account is the response of `GET /v1/account` (docs/rules/agent-accounts.md#usage). An owner has no
// owner_id, mandate, rev and headroom.
type Account struct {
	UserID    uint32    `json:"user_id"`
	Name      string    `json:"name"`
	Kind      string    `json:"kind" enum:"owner,agent"`
	State     string    `json:"state" enum:"active,expired,halted,suspended,closed"`
	OwnerID   *uint32   `json:"owner_id,omitempty"`
	Mandate   *Mandate  `json:"mandate,omitzero"`
	Rev       *uint32   `json:"rev,omitempty"`
	Usage     Usage     `json:"usage"`
	Headroom  *Headroom `json:"headroom,omitzero"`
	Cash      U64       `json:"cash" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	Reserved  U64       `json:"reserved" pattern:"^[0-9]+$" doc:"Held by resting buys, pips"`
	Equity    U64       `json:"equity" pattern:"^[0-9]+$" doc:"Pips"`
	EquityUSD USD       `json:"equity_usd" doc:"Dollars"`
	AsOf
}

// TransferEvent is a transfer from or to the account.
type TransferEvent struct {
	EventHead
	Transfer Transferred `json:"transfer"`
}

// AccountEvent is a change of the agent's state or mandate.
type AccountEvent struct {
	EventHead
	State string `json:"state" enum:"active,expired,halted,suspended,closed"`
	Rev   uint32 `json:"rev"`
}
