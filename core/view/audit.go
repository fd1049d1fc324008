package view

import (
	"iter"
	"maps"
	"strconv"
	"strings"

	"duplex/core"
)

// Action is a command of an operator, or of an account about itself: its author, the reason
// given and the outcome (docs/rules/operation.md#actions). Ts is in ns.
type Action struct {
	Seq      uint64
	Ts       int64
	Who, Why string
	Name     string // as the operator's listener names it, such as suspend_user
	User     core.UserID
	Market   core.MarketID
	Detail   map[string]string // further parameters; never a secret or the hash of one
	Reject   core.Reject
}

// auditTrail keeps the newest actions. Manual prices, resealed keys and transfers come in large
// numbers, so they have a ring of their own and never evict other actions.
type auditTrail struct{ actions, routine ring[Action] }

func newAuditTrail(c RetentionCaps) auditTrail {
	return auditTrail{actions: newRing[Action](c.Actions), routine: newRing[Action](c.Routine)}
}

// Withdrawals is the venue, as far as Record needs it.
type Withdrawals interface {
	Withdrawal(id uint64) (core.Withdrawal, bool)
}

// Record records the command with stamp st: as an action if it has an author, and in the activity
// of the agent that it is about. rej is its outcome, events are the events it emitted, v is the venue
// after it.
func (w *View) Record(st core.Stamp, cmd core.Command, rej core.Reject, events []core.Event, v Withdrawals) {
	w.recordActivity(st, cmd, rej, events)
	a, by, ok := actionOf(cmd)
	if !ok {
		return
	}
	a.Seq, a.Ts, a.Who, a.Why, a.Reject = st.Seq, st.Ts, by.Who, by.Why, rej
	a.ofWithdrawal(v, withdrawalOf(cmd))
	switch cmd.(type) {
	case *core.CreateUser, *core.CreateAgent:
		a.User = createdUser(events)
	case *core.DropApproval, *core.RevokeOperator:
		dropped(&a, events, v)
	case *core.Deposit, *core.DecideWithdrawal, *core.RequestApproval, *core.DecideApproval:
		if rej == core.OK && repeats(st, events) {
			a.set("no_change", "true")
		}
	}
	if w.sink != nil {
		row := a // a itself would escape, and every command would allocate without a sink too
		w.sink.Action(&row)
	}
	switch cmd.(type) {
	case *core.PostIndex, *core.ResealKey, *core.Transfer:
		w.auditTrail.routine.add(a)
	default:
		w.auditTrail.actions.add(a)
	}
}

// actionOf returns the action that a command is, and its author. ok is false for commands of
// traders, index ticks of the feeds, and commands of the clock.
func actionOf(cmd core.Command) (a Action, by core.Audit, ok bool) {
	switch c := cmd.(type) {
	case *core.SetRules:
		return Action{Name: "set_rules"}, c.Audit, true
	case *core.ActivateRules:
		return Action{Name: "activate_rules", Detail: map[string]string{"revision": decimal(c.Revision)}}, c.Audit, true
	case *core.CreateAgent:
		return Action{Name: "create_agent", Detail: map[string]string{"owner_id": decimal(int64(c.Owner)), "name": c.Name, "fund": decimal(c.Fund)}}, c.Audit, true
	case *core.Transfer:
		return Action{Name: "transfer", User: c.Owner, Detail: map[string]string{
			"client_transfer_id": c.ClientID, "from": decimal(int64(c.From)), "to": decimal(int64(c.To)), "amount": decimal(c.Amount),
		}}, c.Audit, true
	case *core.SetMandate:
		return Action{Name: "set_mandate", User: c.Agent, Detail: map[string]string{"if_rev": decimal(int64(c.IfRev))}}, c.Audit, true
	case *core.HaltAgent:
		return Action{Name: "halt_agent", User: c.Agent}, c.Audit, true
	case *core.ResumeAgent:
		return Action{Name: "resume_agent", User: c.Agent}, c.Audit, true
	case *core.CloseAgent:
		return Action{Name: "close_agent", User: c.Agent}, c.Audit, true
	case *core.SetFees:
		return Action{Name: "set_fees", Detail: feeDetail(c.Fees)}, c.Audit, true
	case *core.SetSchedule:
		return Action{Name: "set_schedule", Detail: map[string]string{"windows": strconv.Itoa(len(c.Windows))}}, c.Audit, true
	case *core.CreateUser:
		return Action{Name: "create_user", Detail: map[string]string{"name": c.Name}}, c.Audit, true
	case *core.CreateKey:
		return Action{Name: "create_key", User: c.User, Detail: map[string]string{"api_key": c.Key, "scopes": c.Scopes.String()}}, c.Audit, true
	case *core.RevokeKey:
		if c.Key == "" {
			return Action{Name: "close_account", User: c.User}, c.Audit, true
		}
		return Action{Name: "revoke_key", User: c.User, Detail: map[string]string{"api_key": c.Key}}, c.Audit, true
	case *core.ResealKey:
		return Action{Name: "reseal_key", Detail: map[string]string{"api_key": c.Key}}, c.Audit, true
	case *core.SuspendUser:
		return Action{Name: pick(c.Lift, "resume_user", "suspend_user"), User: c.User}, c.Audit, true
	case *core.Deposit:
		return Action{Name: "deposit", User: c.User, Detail: map[string]string{"deposit_id": c.DepositID, "amount": decimal(c.Amount)}}, c.Audit, true
	case *core.DecideWithdrawal:
		a = Action{Name: withdrawalActions[c.Step()], Detail: map[string]string{"withdrawal_id": decimal(c.Withdrawal)}}
		if c.Reference != "" {
			a.Detail["reference"] = c.Reference
		}
		return a, c.Audit, true
	case *core.AddOperator:
		return Action{Name: "add_operator", Detail: map[string]string{"name": c.Name, "role": c.Role.String()}}, c.Audit, true
	case *core.RevokeOperator:
		return Action{Name: "revoke_operator", Detail: map[string]string{"name": c.Name}}, c.Audit, true
	case *core.RequestApproval:
		return approvalAction("request_approval", &c.Action), c.Audit, true
	case *core.DecideApproval:
		a = approvalAction(pick(c.Approve, "approve", "reject"), &c.Action)
		a.Detail["approval_id"] = decimal(c.Approval)
		return a, c.Audit, true
	case *core.DropApproval:
		return Action{Name: "drop_approval", Detail: map[string]string{"approval_id": decimal(c.Approval)}}, c.Audit, true
	case *core.ChangeSetting:
		if c.Name == core.SettingMasterKey {
			return Action{Name: "rotate_master_key", Detail: map[string]string{"before": c.Before, "after": c.Value}}, c.Audit, true
		}
		return Action{Name: "setting", Detail: map[string]string{"setting": c.Name, "before": c.Before, "after": c.Value}}, c.Audit, true
	case *core.ResetToken:
		return Action{Name: "reset_token", User: c.User}, c.Audit, true
	case *core.CancelUserOrders:
		return Action{Name: "cancel_orders", User: c.User}, c.Audit, true
	case *core.PauseMarket:
		return Action{Name: pick(c.Lift, "resume_market", "pause_market"), Market: c.Market}, c.Audit, true
	case *core.VoidMarket:
		return Action{Name: "void_market", Market: c.Market}, c.Audit, true
	case *core.ProposePrice:
		return Action{Name: "propose_price", Market: c.Market, Detail: map[string]string{"settle_price": decimal(c.Price)}}, c.Audit, true
	case *core.PostIndex:
		if c.Audit == (core.Audit{}) { // a tick of a feed, not a manual one
			return a, by, false
		}
		return Action{Name: "post_tick", Detail: map[string]string{"feed": decimal(c.Tick.Feed), "price": decimal(c.Tick.Price)}}, c.Audit, true
	}
	return a, by, false
}

// ActionOf returns the action that a command is; false if it is none. It has no outcome, and nothing that is
// only known once the command is executed.
func ActionOf(cmd core.Command, v Withdrawals) (Action, bool) {
	a, _, ok := actionOf(cmd)
	a.ofWithdrawal(v, withdrawalOf(cmd))
	return a, ok
}

// withdrawalOf returns the id of the withdrawal that a command is about; 0 if it is about none.
func withdrawalOf(cmd core.Command) uint64 {
	switch c := cmd.(type) {
	case *core.DecideWithdrawal:
		return c.Withdrawal
	case *core.RequestApproval:
		return c.Action.Withdrawal
	case *core.DecideApproval:
		return c.Action.Withdrawal
	}
	return 0
}

// ofWithdrawal adds the account and the amount of the withdrawal that an action is about, if there is one.
func (a *Action) ofWithdrawal(v Withdrawals, id uint64) {
	if id == 0 {
		return
	}
	if w, ok := v.Withdrawal(id); ok {
		a.User = w.User
		a.set("amount", decimal(w.Amount))
	}
}

func (a *Action) set(name, value string) {
	if a.Detail == nil {
		a.Detail = map[string]string{}
	}
	a.Detail[name] = value
}

// repeats reports whether an action about money changed nothing: it emitted nothing, or what an earlier one did.
func repeats(st core.Stamp, events []core.Event) bool {
	for _, e := range events {
		switch e := e.(type) {
		case *core.WithdrawalChanged:
			if e.Withdrawal.Seq == st.Seq {
				return false
			}
		case *core.ApprovalChanged:
			if e.Dropped || e.Approval.ID == st.Seq || e.Approval.Status != core.ApprovalPending {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// approvalAction returns an action about an approval, with the fields of what it approves.
func approvalAction(name string, x *core.ApprovalAction) Action {
	a := Action{Name: name, User: x.User, Market: x.Market, Detail: map[string]string{"action": x.Kind.String()}}
	switch x.Kind {
	case core.ApproveDeposit:
		a.Detail["deposit_id"], a.Detail["amount"] = x.DepositID, decimal(x.Amount)
	case core.ApproveWithdrawal, core.ApprovePayment, core.ApproveFailure, core.ApproveReturn:
		a.Detail["withdrawal_id"] = decimal(x.Withdrawal)
	case core.ApproveFees:
		maps.Copy(a.Detail, feeDetail(x.Fees))
	case core.ApprovePrice:
		a.Detail["settle_price"] = decimal(x.Price)
	case core.ApproveTick:
		a.Detail["feed"], a.Detail["price"] = decimal(x.Feed), decimal(x.Price)
	}
	return a
}

// withdrawalActions are the actions that take a withdrawal to a state.
var withdrawalActions = map[core.WithdrawalState]string{
	core.WithdrawalApproved: "approve_withdrawal", core.WithdrawalSent: "send_withdrawal", core.WithdrawalCompleted: "complete_withdrawal",
	core.WithdrawalFailed: "fail_withdrawal", core.WithdrawalRejected: "reject_withdrawal",
}

func feeDetail(f core.Fees) map[string]string {
	return map[string]string{
		"maker_rate": decimal(f.Maker), "taker_rate": decimal(f.Taker), "maker_rebate_pct": decimal(f.RebatePct), "referral_pct": decimal(f.ReferPct),
	}
}

// dropped says in an action which approvals it dropped, and who had requested them.
func dropped(a *Action, events []core.Event, v Withdrawals) {
	var ids []string
	for _, e := range events {
		e, ok := e.(*core.ApprovalChanged)
		if !ok {
			continue
		}
		ids = append(ids, decimal(e.Approval.ID))
		if a.Name == "drop_approval" {
			x := approvalAction(a.Name, &e.Approval.Action)
			a.User, a.Market = x.User, x.Market
			maps.Copy(a.Detail, x.Detail)
			a.ofWithdrawal(v, e.Approval.Action.Withdrawal)
			a.Detail["requested_by"] = e.Approval.By
		}
	}
	if a.Name != "drop_approval" && ids != nil {
		a.Detail["dropped_approvals"] = strings.Join(ids, " ")
	}
}

// createdUser returns the account that the events create, or 0.
func createdUser(events []core.Event) core.UserID {
	for _, e := range events {
		if e, ok := e.(*core.UserChanged); ok {
			return e.User.ID
		}
	}
	return 0
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func decimal[N ~int64 | ~uint8 | ~uint16 | ~uint64](n N) string {
	return strconv.FormatUint(uint64(n), 10)
}

// Actions iterates over the actions kept with a seq below from (0: all), newest first.
func (w *View) Actions(from uint64) iter.Seq[*Action] {
	return func(yield func(*Action) bool) {
		a, b := w.auditTrail.actions.next-1, w.auditTrail.routine.next-1 // numbers of the newest actions not yet returned
		for {
			x, y := w.auditTrail.actions.get(a), w.auditTrail.routine.get(b)
			if x == nil && y == nil {
				return
			}
			if y == nil || x != nil && x.Seq > y.Seq {
				a--
			} else {
				x, b = y, b-1
			}
			if (from == 0 || x.Seq < from) && !yield(x) {
				return
			}
		}
	}
}

// ActionCount returns the number of actions since the venue's first command, including those
// no longer kept.
func (w *View) ActionCount() uint64 { return w.auditTrail.actions.next + w.auditTrail.routine.next - 2 }
