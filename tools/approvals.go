package tools

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ListApprovals = &Op[schemas.ListAgentApprovals, schemas.AgentApprovalList]{
	Spec: Spec{
		Name: "list_approvals", Title: "Approvals", Method: "GET", Path: "/v1/portfolio/approvals", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "sequencing_timeout"},
		Doc: "Your orders that wait for your owner, or waited.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.ListAgentApprovals) (schemas.AgentApprovalList, error) {
		return approvalsOf(v, caller, in, func(*venue.Venue) []core.UserID { return []core.UserID{caller.User} })
	},
}

// ApprovalsOfOwner returns a page of what the agents of an owner have asked, the newest first.
func ApprovalsOfOwner(v *Venue, owner core.UserID, in *schemas.ListAgentApprovals) (schemas.AgentApprovalList, error) {
	return approvalsOf(v, Caller{User: owner}, in, func(m *venue.Venue) []core.UserID { return m.Agents(owner) })
}

func approvalsOf(v *Venue, caller Caller, in *schemas.ListAgentApprovals, accounts func(*venue.Venue) []core.UserID) (out schemas.AgentApprovalList, err error) {
	v.Engine.Read(func(m *venue.Venue, w *view.View) {
		var list []*view.Ask
		for _, u := range accounts(m) {
			for x := range w.Asks(u) {
				if !matchesFilter(in.Status, x.Status.String()) {
					if in.Status == core.AskWaiting.String() {
						break // those that wait come first
					}
					continue
				}
				list = append(list, x)
			}
		}
		slices.SortFunc(list, func(a, b *view.Ask) int { return cmp.Compare(b.Ask.ID, a.Ask.ID) })
		walk := func(from uint64) iter.Seq2[uint64, *view.Ask] {
			return func(yield func(uint64, *view.Ask) bool) {
				for _, x := range list {
					if (from == 0 || x.Ask.ID < from) && !yield(x.Ask.ID, x) {
						return
					}
				}
			}
		}
		out.Approvals, out.PageEnd, err = PageOf(m, "approvals", caller, in, walk, KeepAll, func(x *view.Ask) schemas.AgentApproval { return ApprovalOf(&x.AskChanged) })
	})
	return out, err
}

// WaitingApprovals returns what waits of an account, or of an owner's agents, the newest first.
func WaitingApprovals(m *venue.Venue, w *view.View, u core.UserID) []schemas.AgentApproval {
	out := []schemas.AgentApproval{}
	for _, u := range append([]core.UserID{u}, m.Agents(u)...) {
		for x := range w.Asks(u) {
			if x.Status != core.AskWaiting {
				break
			}
			out = append(out, ApprovalOf(&x.AskChanged))
		}
	}
	slices.SortFunc(out, func(a, b schemas.AgentApproval) int { return cmp.Compare(b.ApprovalID, a.ApprovalID) })
	return out
}

// ApprovalOf converts what an agent asks.
func ApprovalOf(e *core.AskChanged) schemas.AgentApproval {
	a, p := &e.Ask, &e.Ask.Place
	out := schemas.AgentApproval{
		ApprovalID: schemas.U64(a.ID), UserID: uint32(p.User), Agent: e.Agent, Status: e.Status.String(), Reason: e.Why(),
		ClientOrderID: schemas.U64(p.ClientID), MarketID: uint32(p.Market), Generation: p.Generation, RoundNumber: schemas.U64(a.Number), Category: a.Category,
		Side: p.Side.String(), Outcome: p.Outcome.String(), Type: p.Type.String(), Tick: int64(p.Tick), Qty: int64(p.Qty), TIF: p.TIF.String(),
		MaxCost: schemas.U64(p.MaxCost), GroupID: p.Group, Flags: uint8(p.Flags), Cost: pips(a.Cost), OpenCost: pips(a.OpenCost),
		CreatedTs: ns(a.Created), ExpiresTs: ns(a.Expires), DecidedTs: ns(e.Decided),
	}
	if e.Order != 0 {
		out.OrderID = schemas.Ptr(schemas.U64(e.Order))
	}
	return out
}

// FindApproval returns what an agent of an owner asked. It is UnknownApproval if the owner has no such agent.
func FindApproval(v *Venue, owner core.UserID, id uint64) (out schemas.AgentApprovalRead, err error) {
	err = core.UnknownApproval
	v.Engine.Read(func(m *venue.Venue, w *view.View) {
		for _, u := range m.Agents(owner) {
			for x := range w.Asks(u) {
				if x.Ask.ID == id {
					out, err = schemas.AgentApprovalRead{AgentApproval: ApprovalOf(&x.AskChanged), AsOf: asOf(m)}, nil
					return
				}
			}
		}
	})
	return out, err
}

// DecideApproval approves or rejects what an agent of an owner asks. The same decision again changes nothing and has
// the approval as it is; any other one about what has ended is InvalidTransition.
func DecideApproval(ctx context.Context, v *Venue, owner core.UserID, id uint64, approve bool) (out schemas.AgentApprovalDecided, err error) {
	r, err := v.Engine.Submit(ctx, &core.DecideAsk{Owner: owner, Ask: id, Approve: approve})
	if err != nil {
		return out, err
	}
	out.Seq = schemas.U64(r.Stamp.Seq)
	if r.Reject == core.UnknownApproval { // the venue forgets what has ended
		x, err := FindApproval(v, owner, id)
		if err != nil {
			return out, err
		}
		approved := x.Status == core.AskPlaced.String() || x.Status == core.AskRefused.String()
		if approved != approve || !approved && x.Status != core.AskRejected.String() {
			return out, core.InvalidTransition
		}
		out.Approval = x.AgentApproval
		return out, nil
	}
	if r.Reject != core.OK {
		return out, r.Reject
	}
	for _, e := range r.Events {
		e, ok := e.(*core.AskChanged)
		if !ok || e.Ask.ID != id {
			continue
		}
		out.Approval = ApprovalOf(e)
		if e.Status == core.AskPlaced {
			order, err := outcome(&schemas.PlaceOrder{ClientOrderID: schemas.U64(e.Ask.Place.ClientID)}, r)
			if err != nil {
				return out, err
			}
			out.Order = &order
		}
	}
	return out, nil
}

// placed returns the result of a placement.
func (v *Venue) placed(in *schemas.PlaceOrder, r engine.Receipt) (out schemas.Placed, err error) {
	for _, e := range r.Events {
		if e, ok := e.(*core.AskChanged); ok && e.Status == core.AskWaiting {
			id := schemas.U64(e.Ask.ID)
			out.Await(&schemas.Waiting{
				Status: e.Status.String(), ApprovalID: id, ClientOrderID: in.ClientOrderID, Cost: pips(e.Ask.Cost), ExpiresTs: ns(e.Ask.Expires),
				ApproveURL: v.Portal + "/#/approvals/" + id.String(), Seq: schemas.U64(r.Stamp.Seq),
			})
			return out, nil
		}
	}
	out.Outcome, err = outcome(in, r)
	return out, err
}
