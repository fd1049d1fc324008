package tools

import (
	"context"
	"iter"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var GetAccount = &Op[schemas.GetAccount, schemas.Account]{
	Spec: Spec{
		Name: "get_account", Title: "Your account", Method: "GET", Path: "/v1/account", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"},
		Doc: "Your state, cash and equity; as an agent, your mandate and what it still allows (headroom). Read it before trading and after mandate_violation.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, _ *schemas.GetAccount) (out schemas.Account, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out = AccountOf(m, caller.User) })
		return out, nil
	},
}

// AccountOf returns an account with its usage and equity, and the mandate of an agent.
func AccountOf(m *venue.Venue, u core.UserID) schemas.Account {
	x, _ := m.User(u)
	usage := m.Usage(u)
	cash, reserved := m.Balance(u)
	equity := pips(m.Equity(u))
	out := schemas.Account{
		UserID: uint32(u), Name: x.Name, Kind: "owner", State: m.State(u).String(), Usage: UsageOf(&usage),
		Cash: pips(cash), Reserved: pips(reserved), Equity: equity, EquityUSD: schemas.USD(equity), AsOf: asOf(m),
	}
	if a := x.Agent; a != nil {
		out.Kind, out.OwnerID, out.Rev = "agent", schemas.Ptr(uint32(a.Owner)), schemas.Ptr(a.Rev)
		out.Mandate = schemas.Ptr(schemas.MandateOf(&a.Mandate))
		out.Headroom = schemas.Ptr(HeadroomOf(&a.Mandate, &usage))
	}
	return out
}

// UsageOf converts an account's usage.
func UsageOf(u *venue.Usage) schemas.Usage {
	return schemas.Usage{OpenCost: pips(u.OpenCost), LossToday: pips(u.LossToday), OrdersDay: u.OrdersToday, OpenOrders: u.OpenOrders}
}

// HeadroomOf returns what the bounds of a mandate that depend on the account leave.
func HeadroomOf(m *core.Mandate, u *venue.Usage) (out schemas.Headroom) {
	return schemas.Headroom{
		MaxOpenOrders: headroomOf[uint32](m, u, core.RuleOpenOrders), MaxOrdersPerDay: headroomOf[uint32](m, u, core.RuleOrdersPerDay),
		MaxOpenCost: headroomOf[schemas.U64](m, u, core.RuleOpenCost), MaxDailyLoss: headroomOf[schemas.U64](m, u, core.RuleDailyLoss),
	}
}

func headroomOf[T ~uint32 | ~uint64](m *core.Mandate, u *venue.Usage, r core.MandateRule) *T {
	if !m.Has(r) {
		return nil
	}
	return schemas.Ptr(T(u.Headroom(m, r)))
}

// AgentOf returns an agent as its owner's list shows it.
func AgentOf(m *venue.Venue, u core.UserID) schemas.Agent {
	x, _ := m.User(u)
	usage := m.Usage(u)
	return schemas.Agent{
		UserID: uint32(u), Name: x.Name, State: m.State(u).String(), Rev: x.Agent.Rev, Usage: UsageOf(&usage), Headroom: HeadroomOf(&x.Agent.Mandate, &usage),
		Equity: pips(m.Equity(u)), RealizedToday: schemas.Signed(m.Performance(u).RealizedToday), Client: x.Agent.Client,
	}
}

// KeyOf converts a key.
func KeyOf(k *core.Key) schemas.Key {
	out := schemas.Key{APIKey: k.ID, Label: k.Label, Scopes: k.Scopes.Names(), CreatedTs: ns(k.Created), Kind: "hmac"}
	if g := k.Grant; g != nil {
		out.Kind, out.Client, out.ExpiresTs = "oauth", g.Client, ns(g.Ends(k.Created))
	}
	return out
}

// TransferOf converts a transfer.
func TransferOf(t *core.Transferred) schemas.Transferred {
	return schemas.Transferred{
		ClientTransferID: t.ClientID, From: uint32(t.From), To: uint32(t.To), Amount: pips(t.Amount), Seq: schemas.U64(t.Seq), Ts: ns(t.Ts),
	}
}

// ActivityOf converts a command of an agent.
func ActivityOf(a *view.Activity, key *string) schemas.Activity {
	out := schemas.Activity{Ts: ns(a.Ts), Seq: schemas.U64(a.Seq), Operation: a.Operation.String(), Code: a.Reject.String(), APIKey: key}
	if a.ClientID != 0 {
		out.ClientOrderID = schemas.Ptr(schemas.U64(a.ClientID))
	}
	switch {
	case a.Ask():
		out.ApprovalID = schemas.Ptr(schemas.U64(a.Order))
	case a.Order != 0:
		out.OrderID = schemas.Ptr(schemas.U64(a.Order))
	}
	if a.Reject == core.MandateViolation {
		out.Rule = a.Rule.String()
	}
	return out
}

// AgentsOf returns a page of an owner's agents, newest first.
func AgentsOf(v *Venue, owner core.UserID, in *schemas.ListAgents) (out schemas.AgentList, err error) {
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		list := m.Agents(owner)
		walk := func(from uint64) iter.Seq2[uint64, core.UserID] {
			return func(yield func(uint64, core.UserID) bool) {
				for _, u := range slices.Backward(list) {
					if (from == 0 || uint64(u) < from) && !yield(uint64(u), u) {
						return
					}
				}
			}
		}
		out.Agents, out.PageEnd, err = PageOf(m, "agents", Caller{User: owner}, in, walk, KeepAll, func(u core.UserID) schemas.Agent { return AgentOf(m, u) })
	})
	return out, err
}
