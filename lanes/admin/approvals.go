package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Fees above these need a second operator.
const (
	highRate   = 1000 // in 1/10000
	highShares = 50   // rebate and referral together, in percent of the taker fee
)

// needsApproval reports whether an action needs a second operator
// (docs/rules/operation.md#two-person-approval). amount is the money of a deposit or a withdrawal.
func (l *lane) needsApproval(x *core.ApprovalAction, amount core.Pips) bool {
	switch x.Kind {
	case core.ApproveVoid, core.ApprovePrice:
		return l.FourEyes != nil
	case core.ApproveTick:
		return l.FourEyes != nil && l.Oracle != "manual" // where prices come by hand, a second operator is no control
	case core.ApproveFees:
		return l.FourEyes != nil && (max(x.Fees.Maker, x.Fees.Taker) > highRate || x.Fees.RebatePct+x.Fees.ReferPct > highShares)
	}
	return l.FourEyes != nil && amount > *l.FourEyes
}

// aloneBound returns the bound of what the operator does alone. A funding service is not bounded in sum.
func (l *lane) aloneBound(c *gate.Call) core.AloneBound {
	if l.FourEyes == nil || c.Operator.Role == core.RoleService {
		return core.AloneBound{}
	}
	return core.AloneBound{Set: true, Most: *l.FourEyes}
}

// requestApproval sequences a request for a second operator. done is true if the action has been
// executed already, so that there is nothing to approve.
func (l *lane) requestApproval(ctx context.Context, c *gate.Call, x core.ApprovalAction, reason string) (out schemas.ApprovalPending, done bool, err error) {
	r, err := l.submit(ctx, c, &core.RequestApproval{Action: x, Audit: auditOf(c, reason)}, reason)
	if to, is := x.WithdrawalStep(); is && errors.Is(err, core.InvalidTransition) {
		err = l.refusedStep(x.Withdrawal, to)
	}
	if err != nil {
		return out, false, err
	}
	e, ok := lastEvent[*core.ApprovalChanged](r.Events)
	if !ok {
		return out, true, nil
	}
	a := &e.Approval
	return schemas.ApprovalPending{ApprovalID: schemas.U64(a.ID), Status: a.Status.String(), ExpiresTs: schemas.U64(a.Expires())}, false, nil
}

func (l *lane) depositAction(c *gate.Call, in *schemas.Deposit) (core.ApprovalAction, string, bool) {
	x := core.ApprovalAction{Kind: core.ApproveDeposit, User: core.UserID(in.UserID), DepositID: in.DepositID, Amount: amountOf(in.Amount)}
	return x, in.Reason, l.needsApproval(&x, x.Amount) || l.exceedsAlone(c, core.AloneSum{User: x.User, Sum: x.Amount})
}

// exceedsAlone reports whether the operator would do more alone today than one person may.
func (l *lane) exceedsAlone(c *gate.Call, x core.AloneSum) (exceeds bool) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		exceeds = v.ExceedsAlone(l.aloneBound(c), c.Operator.Name, x, l.Venue.Config.Now())
	})
	return exceeds
}

// withdrawalAction returns the action of a step of a withdrawal. A withdrawal that is unknown now needs a second
// operator too, because it may exist by the time the command is sequenced. One person rejects one that is not
// approved yet, and repeats any step.
func (l *lane) withdrawalAction(kind core.ApprovalKind) func(*gate.Call, *schemas.DecideWithdrawal) (core.ApprovalAction, string, bool) {
	return func(c *gate.Call, in *schemas.DecideWithdrawal) (core.ApprovalAction, string, bool) {
		x := core.ApprovalAction{Kind: kind, Withdrawal: uint64(in.WithdrawalID)}
		w, known := l.withdrawal(x.Withdrawal)
		if !known {
			w.Amount, w.State = core.PipsMax, core.WithdrawalApproved
		}
		to, _ := x.WithdrawalStep()
		if w.State == to || kind == core.ApproveReturn && w.State != core.WithdrawalApproved {
			return x, in.Reason, false
		}
		sum := core.AloneSum{User: w.User, Returned: kind != core.ApprovePayment, Sum: w.Amount}
		return x, in.Reason, l.needsApproval(&x, w.Amount) || l.exceedsAlone(c, sum)
	}
}

func (l *lane) feesAction(_ *gate.Call, in *schemas.SetFees) (core.ApprovalAction, string, bool) {
	x := core.ApprovalAction{Kind: core.ApproveFees, Fees: feesOf(in)}
	return x, in.Reason, l.needsApproval(&x, 0)
}

func (l *lane) voidAction(_ *gate.Call, in *schemas.ActOnMarket) (core.ApprovalAction, string, bool) {
	x := core.ApprovalAction{Kind: core.ApproveVoid, Market: core.MarketID(in.MarketID.MarketID())}
	return x, in.Reason, l.needsApproval(&x, 0)
}

func (l *lane) proposeAction(_ *gate.Call, in *schemas.Propose) (core.ApprovalAction, string, bool) {
	x := core.ApprovalAction{Kind: core.ApprovePrice, Market: core.MarketID(in.MarketID.MarketID()), Price: core.Price(in.SettlePrice)}
	return x, in.Reason, l.needsApproval(&x, 0)
}

func (l *lane) tickAction(_ *gate.Call, in *schemas.Tick) (core.ApprovalAction, string, bool) {
	x := core.ApprovalAction{Kind: core.ApproveTick, Feed: core.Feed(in.Feed), Source: in.Source, Price: core.Price(in.Price)}
	return x, in.Reason, l.needsApproval(&x, 0)
}

// secondedOr returns the handler of an action that may need a second operator: then it requests an
// approval and answers 202, else it is do with its own status. action returns what the request
// asks for and why, and whether a second operator has to approve it. So does do, by self_approval, if
// the operator has done too much alone meanwhile.
func secondedOr[In, Out any](l *lane, status int, action func(*gate.Call, *In) (x core.ApprovalAction, reason string, needed bool), do func(context.Context, *gate.Call, *In) (Out, error)) func(context.Context, *gate.Call, *In) (int, any, error) {
	return func(ctx context.Context, c *gate.Call, in *In) (int, any, error) {
		x, reason, needed := action(c, in)
		for {
			if needed {
				pending, done, err := l.requestApproval(ctx, c, x, reason)
				if !done {
					return http.StatusAccepted, &pending, err
				}
			}
			out, err := do(ctx, c, in)
			if needed || !errors.Is(err, core.SelfApproval) {
				return status, &out, err
			}
			needed = true
		}
	}
}

// listApprovals lists the approvals that have not expired, oldest first.
func (l *lane) listApprovals(_ context.Context, _ *gate.Call, in *schemas.ListApprovals) (out schemas.ApprovalList, err error) {
	now := l.Venue.Config.Now()
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		walk := func(from uint64) iter.Seq2[uint64, core.Approval] {
			return tools.WithPositions(v.Approvals(from, now), func(a core.Approval) uint64 { return a.ID })
		}
		keep := func(a core.Approval) bool { return in.Status == "" || in.Status == a.Status.String() }
		show := func(a core.Approval) schemas.Approval { return approvalOf(v, &a) }
		out.Approvals, out.PageEnd, err = tools.PageOf(v, "admin_approvals", tools.Caller{}, in, walk, keep, show)
	})
	return out, err
}

// approvalOf converts an approval. Amount and destination of a withdrawal are those of the venue.
func approvalOf(v *venue.Venue, a *core.Approval) schemas.Approval {
	x := &a.Action
	out := schemas.Approval{
		ApprovalID: schemas.U64(a.ID), Status: a.Status.String(), Action: x.Kind.String(), RequestedBy: a.By, Reason: a.Why,
		RequestedTs: schemas.U64(a.Created), ExpiresTs: schemas.U64(a.Expires()), DecidedBy: a.DecidedBy,
	}
	if a.Status != core.ApprovalPending {
		out.DecidedTs = schemas.Ptr(schemas.U64(a.DecidedTs))
	}
	switch x.Kind {
	case core.ApproveDeposit:
		out.UserID, out.DepositID, out.Amount = schemas.Ptr(uint32(x.User)), x.DepositID, schemas.Ptr(schemas.U64(x.Amount))
	case core.ApproveWithdrawal, core.ApprovePayment, core.ApproveFailure, core.ApproveReturn:
		w, _ := v.Withdrawal(x.Withdrawal)
		out.UserID, out.WithdrawalID = schemas.Ptr(uint32(w.User)), schemas.Ptr(schemas.U64(w.ID))
		out.Amount, out.Destination = schemas.Ptr(schemas.U64(w.Amount)), w.Destination
	case core.ApproveVoid, core.ApprovePrice:
		out.MarketID, out.RoundNumber = schemas.Ptr(uint32(x.Market)), schemas.Ptr(schemas.U64(a.Round))
		if x.Kind == core.ApprovePrice {
			out.SettlePrice = schemas.Ptr(schemas.U64(x.Price))
		}
	case core.ApproveFees:
		out.Fees = schemas.Ptr(tools.FeeRatesOf(x.Fees))
	default:
		out.Feed, out.Source, out.Price = schemas.Ptr(int(x.Feed)), x.Source, schemas.Ptr(schemas.U64(x.Price))
	}
	return out
}

// decideApproval approves or rejects the request of another operator. The role must allow the action
// itself. Operators take back requests of their own by rejecting them. A request is void once its operator may
// not do the action alone either.
func (l *lane) decideApproval(approve bool) func(context.Context, *gate.Call, *schemas.DecideApproval) (schemas.Approval, error) {
	return func(ctx context.Context, c *gate.Call, in *schemas.DecideApproval) (out schemas.Approval, err error) {
		id := uint64(in.ApprovalID)
		read := func() (a core.Approval, ok bool) {
			l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
				if a, ok = v.Approval(id, l.Venue.Config.Now()); ok {
					out = approvalOf(v, &a)
				}
			})
			return a, ok
		}
		a, ok := read()
		if !ok {
			return out, core.UnknownApproval
		}
		if !mayDo(c.Operator.Role, a.Action.Kind.String()) {
			return out, tools.NewError("missing_scope")
		}
		switch own := a.By == c.Operator.Name; {
		case approve && c.Operator.Created >= a.Created: // not a second person, as far as the requester's word goes
			return out, core.SelfApproval
		case !approve && own && a.Status == core.ApprovalPending:
			r, err := l.submit(ctx, c, &core.DropApproval{Approval: id, Audit: auditOf(c, in.Reason)}, in.Reason)
			out.Status, out.DecidedBy, out.DecidedTs = core.ApprovalRejected.String(), c.Operator.Name, schemas.Ptr(schemas.U64(r.Stamp.Ts))
			return out, err
		case approve && a.Status == core.ApprovalPending && !l.mayStill(&a):
			return out, errors.Join(core.UnknownApproval, l.drop(ctx, c, id, in.Reason))
		}
		_, err = l.submit(ctx, c, &core.DecideApproval{Approval: id, Approve: approve, Action: a.Action, Audit: auditOf(c, in.Reason)}, in.Reason)
		if err != nil {
			return out, err
		}
		a, _ = read()
		if approve && a.Action.Kind == core.ApproveTick {
			err = l.postApprovedTick(ctx, c, &a, in.Reason)
		}
		l.dropOvertaken(ctx, c, a.Action.Withdrawal, in.Reason)
		return out, err
	}
}

// mayStill reports whether the operator of a request may do the action now: the role may have changed since, and
// the shared token is a viewer once there is a named admin.
func (l *lane) mayStill(a *core.Approval) bool {
	named, shared := l.operators()
	if a.By == SharedOperator {
		return mayDo(shared.Role, a.Action.Kind.String())
	}
	return slices.ContainsFunc(named, func(o core.Operator) bool {
		return o.Name == a.By && o.Created <= a.Created && mayDo(o.Role, a.Action.Kind.String())
	})
}

// drop drops a pending request, so that the audit has a row for it. One that was decided since is left.
func (l *lane) drop(ctx context.Context, c *gate.Call, id uint64, reason string) error {
	_, err := l.sequence(ctx, c, &core.DropApproval{Approval: id, Audit: auditOf(c, reason)}, reason)
	if errors.Is(err, core.UnknownApproval) || errors.Is(err, core.InvalidTransition) {
		return nil
	}
	return err
}

// dropAll drops the pending requests of which which is true, one by one.
func (l *lane) dropAll(ctx context.Context, c *gate.Call, reason string, which func(*venue.Venue, *core.Approval) bool) error {
	var ids []uint64
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for a := range v.PendingApprovals(l.Venue.Config.Now()) {
			if which(v, &a) {
				ids = append(ids, a.ID)
			}
		}
	})
	for _, id := range ids {
		if err := l.drop(ctx, c, id, reason); err != nil {
			return err
		}
	}
	return nil
}

// dropOvertaken drops the requests about a withdrawal that no approval could execute any more, because it has
// gone another way. 0 is none.
func (l *lane) dropOvertaken(ctx context.Context, c *gate.Call, withdrawal uint64, reason string) {
	if withdrawal != 0 {
		l.dropAfter(ctx, c, reason, func(v *venue.Venue, a *core.Approval) bool {
			return a.Action.Withdrawal == withdrawal && !v.CanExecute(&a.Action)
		})
	}
}

// dropAfter is dropAll for what follows from an action that is done: an error would say that it was not. What is
// left is void all the same when it is approved, and expires.
func (l *lane) dropAfter(ctx context.Context, c *gate.Call, reason string, which func(*venue.Venue, *core.Approval) bool) {
	if err := l.dropAll(ctx, c, reason, which); err != nil {
		l.Log.Warn("a request that is void is not dropped, and expires", "err", err, "request_id", c.ID)
	}
}

// approvedPostNs is the time after an approval in which a repeat of it still posts the price, in ns.
const approvedPostNs = 60 * core.NsPerSec

// postApprovedTick posts an approved price by hand, once. The post is a command of its own, so it can be
// missing if it failed or if the venue ended before it; the audit tells. After approvedPostNs it is not
// posted any more, because the price was approved for another time.
func (l *lane) postApprovedTick(ctx context.Context, c *gate.Call, a *core.Approval, reason string) error {
	unlock, err := l.lockPosts(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	mark := fmt.Sprintf("approval %d", a.ID)
	var posted bool
	l.Venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		for x := range w.Actions(0) {
			if x.Seq <= a.ID {
				break
			}
			why, _, _ := strings.Cut(x.Why, ":")
			if posted = x.Name == core.ApproveTick.String() && x.Reject == core.OK && why == mark; posted {
				break
			}
		}
	})
	if posted {
		return nil
	}
	if l.Venue.Config.Now() >= a.DecidedTs+approvedPostNs {
		return core.InvalidTransition
	}
	if reason != "" {
		mark += ": " + reason
	}
	x := &a.Action
	_, err = l.postTickLocked(ctx, c, &schemas.Tick{Feed: schemas.Int(x.Feed), Source: x.Source, Price: schemas.U64(x.Price), AuditReason: schemas.AuditReason{Reason: mark}})
	return err
}
