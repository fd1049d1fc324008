package sim

import (
	"crypto/sha256"
	"fmt"
	"reflect"

	"duplex/core"
	"duplex/core/sim/model"
)

// The operator's token and its hash, which the venue is configured with.
const operatorToken = "dxo_operator"

var operatorHash = sha256.Sum256([]byte(operatorToken))

// withAudit returns a copy of an operator's command with an audit record, nil if the
// operator's listener has no route for the command.
func withAudit(cmd core.Command, by core.Audit) core.Command {
	switch cmd.(type) {
	case *core.PauseMarket, *core.VoidMarket, *core.ProposePrice, *core.SuspendUser, *core.SetFees, *core.Deposit, *core.DecideWithdrawal:
	default:
		return nil
	}
	out := reflect.New(reflect.TypeOf(cmd).Elem())
	out.Elem().Set(reflect.ValueOf(cmd).Elem())
	out.Elem().FieldByName("Audit").Set(reflect.ValueOf(by))
	switch c := out.Interface().(type) { // the operator's listener of the tests needs no second operator
	case *core.Deposit:
		c.Alone = core.AloneBound{}
	case *core.DecideWithdrawal:
		c.To, c.Complete, c.Alone = c.Step(), false, core.AloneBound{}
		if c.To != core.WithdrawalSent {
			c.Reference = ""
		}
	}
	return out.Interface().(core.Command)
}

// operatorRequest returns a request for an operator's command, nil if there is no route.
func (d *simGate) operatorRequest(cmd core.Command) *request {
	why := ""
	if d.Rand.IntN(3) > 0 {
		why = fmt.Sprint("reason ", d.n)
	}
	if cmd = withAudit(cmd, core.Audit{Who: "operator", Why: why}); cmd == nil {
		return nil
	}
	f := operatorOperation(cmd)
	if why != "" {
		f.body = with(f.body, "reason", why)
	}
	k := &key{id: operatorToken}
	if d.Rand.IntN(20) == 0 {
		k = &key{id: "dxo_unknown", revoked: true}
	}
	d.n++
	q := &request{d: d, n: d.n, cmds: []core.Command{cmd}, operation: f, key: k, byOperator: true}
	var body []byte
	if f.body != nil {
		body = encode(f.body)
	}
	q.bytes(f.method, f.target, []string{"Authorization", "Bearer " + k.id}, body)
	d.stats.Operator++
	return q
}

// operatorOperation returns the request of an operator's command
// (docs/rules/operation.md#actions).
func operatorOperation(cmd core.Command) operation {
	f := operation{method: "POST", status: 200, items: 1}
	act := func(lift bool, do, undo string) string {
		if lift {
			return undo
		}
		return do
	}
	switch c := cmd.(type) {
	case *core.PauseMarket:
		f.tool, f.target = "pause_market", fmt.Sprintf("/admin/markets/%d/%s", c.Market, act(c.Lift, "pause", "resume"))
	case *core.VoidMarket:
		f.tool, f.target = "void_market", fmt.Sprintf("/admin/markets/%d/void", c.Market)
	case *core.ProposePrice:
		f.tool, f.target, f.body = "propose_price", fmt.Sprintf("/admin/markets/%d/propose", c.Market), object{"settle_price": str(uint64(c.Price))}
	case *core.SuspendUser:
		f.tool, f.target = "suspend_user", fmt.Sprintf("/admin/users/%d/%s", c.User, act(c.Lift, "suspend", "resume"))
	case *core.SetFees:
		f.tool, f.method, f.target, f.body = "set_fees", "PUT", "/admin/fees", feesTree(c.Fees)
		if c.Fees.Taker > 10000 || c.Fees.Maker > c.Fees.Taker || int(c.Fees.RebatePct)+int(c.Fees.ReferPct) > 100 {
			f.fault = "schema_violation"
		}
	case *core.Deposit:
		f.tool, f.status, f.target, f.body = "deposit", 201, fmt.Sprintf("/admin/users/%d/deposits", c.User), object{"deposit_id": c.DepositID, "amount": str(c.Amount)}
		if c.Amount == 0 {
			f.fault = "bad_amount"
		}
	case *core.DecideWithdrawal:
		steps := map[core.WithdrawalState]string{core.WithdrawalApproved: "approve", core.WithdrawalSent: "send", core.WithdrawalCompleted: "complete", core.WithdrawalFailed: "fail", core.WithdrawalRejected: "reject"}
		f.tool, f.target = "decide_withdrawal", fmt.Sprintf("/admin/withdrawals/%d/%s", c.Withdrawal, steps[c.To])
		if c.To == core.WithdrawalSent {
			if f.body = (object{"reference": c.Reference}); c.Reference == "" {
				f.fault = "schema_violation"
			}
		}
	}
	f.args = f.body
	return f
}

func feesTree(f core.Fees) object {
	return object{"maker_rate": num(f.Maker), "taker_rate": num(f.Taker), "maker_rebate_pct": num(f.RebatePct), "referral_pct": num(f.ReferPct)}
}

// operatorResult returns the expected answer to an accepted operator's command, nil for other
// commands.
func (l *expectations) operatorResult(at core.Stamp, cmd core.Command, m *model.Venue) object {
	on := func(id core.MarketID) object {
		s, _ := m.Market(id)
		return object{"market_id": num(id), "status": s.Status.String(), "paused": s.Paused, "seq": str(at.Seq)}
	}
	switch c := cmd.(type) {
	case *core.PauseMarket:
		return on(c.Market)
	case *core.VoidMarket:
		return on(c.Market)
	case *core.ProposePrice:
		return on(c.Market)
	case *core.SuspendUser:
		return object{"user_id": num(c.User), "suspended": !c.Lift, "seq": str(at.Seq)}
	case *core.SetFees:
		return with(feesTree(c.Fees), "as_of_seq", str(at.Seq))
	case *core.Deposit:
		return object{"user_id": num(c.User), "deposit_id": c.DepositID, "amount": str(c.Amount), "seq": str(l.depositSeqs[c.DepositID])}
	case *core.DecideWithdrawal:
		return l.byID[c.Withdrawal].tree()
	}
	return nil
}

// isNoOpPause reports whether the command pauses a paused market or resumes one that is not
// paused, and records the command.
func (l *expectations) isNoOpPause(cmd core.Command, m *model.Venue) bool {
	c, ok := cmd.(*core.PauseMarket)
	if !ok {
		return false
	}
	s, _ := m.Market(c.Market)
	of := generationID{c.Market, s.Generation}
	before := l.pausedByOperator[of]
	l.pausedByOperator[of] = !c.Lift
	return before == !c.Lift
}
