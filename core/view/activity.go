package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// activityCap is the number of commands that an agent's activity keeps.
const activityCap = 1000

// Activity is one command of an agent, or of its owner about it, rejected ones included
// (docs/rules/agent-accounts.md#activity). Ts is in ns.
type Activity struct {
	Seq       uint64
	Ts        int64
	Key       core.KeyNumber // 0: the owner's command
	Operation Operation
	ClientID  uint64       // of a placement
	Order     core.OrderID // placed or named by the command, or the id of an ask, see Ask; 0 if there is none
	Reject    core.Reject
	Rule      core.MandateRule // the rule that rejected, if Reject is MandateViolation
}

// Operation is what a command does, by the name of its tool or route. The numbers are stored.
type Operation uint8

const (
	opPlaceOrder Operation = iota
	opCancelOrder
	opCancelAll
	opDecreaseOrder
	opArmDeadman
	opDisarmDeadman
	opRedeem
	opWithdraw
	opCreateAgent
	opTransfer
	opSetMandate
	opHaltAgent
	opResumeAgent
	opCloseAgent
	opCreateKey
	opRevokeKey
	opReplaceOrder
	opSubmitForecast
	opRenewGrant
	opSetGroup
	opResetGroup
	opDeleteGroup
	opPutQuotes
	opBindOrders
	opAsk // a placement that waits
	opApproveOrder
	opRejectOrder
	opCancelAsk

	operations
)

var operationNames = [operations]string{
	"place_order", "cancel_order", "cancel_all_orders", "decrease_order", "arm_deadman", "disarm_deadman", "redeem_pairs", "request_withdrawal",
	"create_agent", "transfer", "set_mandate", "halt_agent", "resume_agent", "close_agent", "create_key", "revoke_key", "replace_order", "submit_forecast", "renew_grant",
	"set_group", "reset_group", "delete_group", "put_quotes", "cancel_on_disconnect",
	"place_order", "approve_order", "reject_order", "cancel_order",
}

func (o Operation) String() string { return operationNames[o] }

// Ask reports whether Order is the id of an ask, which the command made, decided or canceled.
func (a *Activity) Ask() bool { return a.Operation >= opAsk }

// MovesMoney reports whether the command can move money between the agent and its owner.
func (a *Activity) MovesMoney() bool {
	return a.Operation == opTransfer || a.Operation == opCreateAgent || a.Operation == opCloseAgent
}

// activityOf returns the agent's account and the entry of a command, without stamp and outcome.
// owner is the account that gives the command about the agent, 0 if the agent gives it itself.
func activityOf(cmd core.Command, events []core.Event) (agent, owner core.UserID, a Activity) {
	a.Key = core.KeyOf(cmd)
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		a.Operation, a.ClientID = opPlaceOrder, c.ClientID
		return c.User, 0, a
	case *core.CancelOrder:
		a.Operation, a.Order = opCancelOrder, c.Order
		return c.User, 0, a
	case *core.CancelAll:
		a.Operation = opCancelAll
		return c.User, 0, a
	case *core.DecreaseOrder:
		a.Operation, a.Order = opDecreaseOrder, c.Order
		return c.User, 0, a
	case *core.ReplaceOrder:
		a.Operation, a.Order, a.ClientID = opReplaceOrder, c.Old, c.ClientID
		return c.User, 0, a
	case *core.QuoteSide:
		a.Operation, a.ClientID = opPutQuotes, c.ClientID
		return c.User, 0, a
	case *core.BindOrders:
		a.Operation = opBindOrders
		return c.User, 0, a
	case *core.SubmitForecast:
		a.Operation = opSubmitForecast
		return c.User, 0, a
	case *core.ArmDeadman:
		a.Operation = opArmDeadman
		return c.User, 0, a
	case *core.DisarmDeadman:
		a.Operation = opDisarmDeadman
		return c.User, 0, a
	case *core.Redeem:
		a.Operation = opRedeem
		return c.User, 0, a
	case *core.RequestWithdrawal:
		a.Operation = opWithdraw
		return c.User, 0, a
	case *core.SetGroup:
		a.Operation = opSetGroup
		return c.User, 0, a
	case *core.ResetGroup:
		a.Operation = opResetGroup
		return c.User, 0, a
	case *core.DeleteGroup:
		a.Operation = opDeleteGroup
		return c.User, 0, a
	case *core.CreateAgent:
		a.Operation = opCreateAgent
		return createdUser(events), c.Owner, a
	case *core.Transfer:
		a.Operation = opTransfer
		if c.From == c.Owner {
			return c.To, c.Owner, a
		}
		return c.From, c.Owner, a
	case *core.SetMandate:
		a.Operation = opSetMandate
		return c.Agent, c.Owner, a
	case *core.HaltAgent:
		a.Operation = opHaltAgent
		return c.Agent, c.Owner, a
	case *core.ResumeAgent:
		a.Operation = opResumeAgent
		return c.Agent, c.Owner, a
	case *core.CloseAgent:
		a.Operation = opCloseAgent
		return c.Agent, c.Owner, a
	case *core.DecideAsk:
		if a.Operation, a.Order = opRejectOrder, core.OrderID(c.Ask); c.Approve {
			a.Operation = opApproveOrder
		}
		for _, e := range events { // none if it is rejected
			if e, ok := e.(*core.AskChanged); ok {
				return e.Ask.Place.User, c.Owner, a
			}
		}
	case *core.CreateKey:
		if c.Audit.Who == core.WhoAccount { // and not an operator, whose actions are in the audit
			a.Operation = opCreateKey
			return c.User, 0, a
		}
	case *core.RenewGrant:
		a.Operation = opRenewGrant
		for _, e := range events { // none if the command repeats another one
			if e, ok := e.(*core.KeyChanged); ok {
				a.Key = e.Key.Number
			}
		}
		return c.User, 0, a
	case *core.RevokeKey:
		if c.Audit.Who == core.WhoAccount {
			a.Operation = opRevokeKey
			return c.User, 0, a
		}
	}
	return 0, 0, a
}

// recordActivity records a command of an agent, or of its owner about it.
func (w *View) recordActivity(st core.Stamp, cmd core.Command, rej core.Reject, events []core.Event) {
	if c, ok := cmd.(*core.RevokeKey); ok && c.Key == "" {
		w.recordHalts(st, c, events)
		return
	}
	u, owner, a := activityOf(cmd, events)
	if u == 0 || int(u) >= len(w.accounts) || w.accounts[u].owner == 0 {
		return // not an agent
	}
	if owner != 0 && owner != w.accounts[u].owner {
		return // another owner's command, which the venue rejected
	}
	a.Seq, a.Ts, a.Reject = st.Seq, st.Ts, rej
	asked := rej == core.OK && slices.ContainsFunc(events, func(e core.Event) bool { _, ok := e.(*core.AskChanged); return ok })
	switch {
	case rej == core.OK && a.Operation == opPlaceOrder:
		if a.Order = core.OrderID(st.Seq); asked {
			a.Operation = opAsk
		}
	case asked && a.Operation == opCancelOrder:
		a.Operation = opCancelAsk
	case rej == core.OK && a.Operation == opPutQuotes:
		for _, e := range events {
			if q, ok := e.(*core.Quoted); ok {
				a.Order = q.Order
			}
		}
	case rej == core.MandateViolation: // of a placement or of the placement of a replace
		for _, e := range events {
			if p, ok := e.(*core.OrderPlaced); ok {
				a.Rule = p.Violation.Rule
			}
		}
	}
	w.mutableAccount(u).activity.add(a, &w.scratch)
}

// recordHalts records that an owner closed the account, which halts its agents.
func (w *View) recordHalts(st core.Stamp, c *core.RevokeKey, events []core.Event) {
	for _, e := range events {
		if e, ok := e.(*core.UserChanged); ok && e.User.Agent != nil && c.Audit.Who == core.WhoAccount {
			w.mutableAccount(e.User.ID).activity.add(Activity{Seq: st.Seq, Ts: st.Ts, Operation: opHaltAgent}, &w.scratch)
		}
	}
}

// Activity iterates over the commands of an agent, and of its owner about it, with a number below
// from (0: all), newest first, with their numbers. An owner has none.
func (w *View) Activity(u core.UserID, from uint64) iter.Seq2[uint64, *Activity] {
	if int(u) >= len(w.accounts) {
		return func(func(uint64, *Activity) bool) {}
	}
	return w.accounts[u].activity.newestFirst(u, from)
}

func (a *Activity) code(c *coder) {
	c.header(&a.Seq, &a.Ts)
	octet(c, &a.Operation)
	unsigned(c, &a.Key)
	unsigned(c, &a.ClientID)
	unsigned(c, &a.Order)
	unsigned(c, &a.Reject)
	octet(c, &a.Rule)
	c.check(a.Operation < operations && int(a.Rule) < len(core.MandateRules()))
}
