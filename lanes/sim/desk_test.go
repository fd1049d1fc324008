package sim

import (
	"crypto/sha256"
	"fmt"

	"duplex/core"
	"duplex/core/sim/model"
)

// The operator's token, and the hash that the venue knows it by.
const operator = "dxo_operator"

var operatorHash = sha256.Sum256([]byte(operator))

// noted is an operator's command with who gives it and why; nil where the operator's
// listener has no route for it.
func noted(cmd core.Command, by core.Audit) core.Command {
	switch c := cmd.(type) {
	case *core.PauseMarket:
		out := *c
		out.Audit = by
		return &out
	case *core.VoidMarket:
		out := *c
		out.Audit = by
		return &out
	case *core.ProposePrice:
		out := *c
		out.Audit = by
		return &out
	case *core.SuspendUser:
		out := *c
		out.Audit = by
		return &out
	case *core.SetFees:
		out := *c
		out.Audit = by
		return &out
	case *core.Deposit:
		out := *c
		out.Audit = by
		return &out
	case *core.DecideWithdrawal:
		out := *c
		out.Audit = by
		return &out
	}
	return nil
}

// ordered makes a request of an operator's command; nil where there is no route.
func (d *door) ordered(cmd core.Command) *request {
	why := ""
	if d.Rand.IntN(3) > 0 {
		why = fmt.Sprint("reason ", d.n)
	}
	if cmd = noted(cmd, core.Audit{Who: "operator", Why: why}); cmd == nil {
		return nil
	}
	f := deskForm(cmd)
	if why != "" {
		f.body = with(f.body, "reason", why)
	}
	k := &key{id: operator}
	if d.Rand.IntN(20) == 0 {
		k = &key{id: "dxo_nobody", revoked: true}
	}
	d.n++
	q := &request{d: d, n: d.n, cmds: []core.Command{cmd}, form: f, key: k, desk: true}
	var body []byte
	if f.body != nil {
		body = encode(f.body)
	}
	q.bytes(f.method, f.target, []string{"Authorization", "Bearer " + k.id}, body)
	d.stats.Desk++
	return q
}

// deskForm writes an operator's command (contract operator, Admin).
func deskForm(cmd core.Command) form {
	f := form{method: "POST", status: 200, items: 1}
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
		f.tool, f.target, f.body = "propose_price", fmt.Sprintf("/admin/markets/%d/propose", c.Market), obj{"settle_price": str(uint64(c.Price))}
	case *core.SuspendUser:
		f.tool, f.target = "suspend_user", fmt.Sprintf("/admin/users/%d/%s", c.User, act(c.Lift, "suspend", "resume"))
	case *core.SetFees:
		f.tool, f.method, f.target, f.body = "set_fees", "PUT", "/admin/fees", feesTree(c.Fees)
		if c.Fees.Taker > 10000 || c.Fees.Maker > c.Fees.Taker || int(c.Fees.RebatePct)+int(c.Fees.ReferPct) > 100 {
			f.fault = "schema_violation"
		}
	case *core.Deposit:
		f.tool, f.status, f.target, f.body = "deposit", 201, fmt.Sprintf("/admin/users/%d/deposits", c.User), obj{"deposit_id": c.DepositID, "amount": str(c.Amount)}
		if c.Amount == 0 {
			f.fault = "bad_amount"
		}
	case *core.DecideWithdrawal:
		f.tool, f.target = "decide_withdrawal", fmt.Sprintf("/admin/withdrawals/%d/%s", c.Withdrawal, act(c.Complete, "reject", "complete"))
	}
	f.args = f.body
	return f
}

func feesTree(f core.Fees) obj {
	return obj{"maker_rate": num(f.Maker), "taker_rate": num(f.Taker), "maker_rebate_pct": num(f.RebatePct), "referral_pct": num(f.ReferPct)}
}

// told is what an operator is told of a command that was accepted; nil for others.
func (l *ledger) told(at core.Stamp, cmd core.Command, m *model.Venue) obj {
	on := func(id core.MarketID) obj {
		s, _ := m.Market(id)
		return obj{"market_id": num(id), "status": s.Status.String(), "paused": s.Paused, "seq": str(at.Seq)}
	}
	switch c := cmd.(type) {
	case *core.PauseMarket:
		return on(c.Market)
	case *core.VoidMarket:
		return on(c.Market)
	case *core.ProposePrice:
		return on(c.Market)
	case *core.SuspendUser:
		return obj{"user_id": num(c.User), "suspended": !c.Lift, "seq": str(at.Seq)}
	case *core.SetFees:
		return with(feesTree(c.Fees), "as_of_seq", str(at.Seq))
	case *core.Deposit:
		return obj{"user_id": num(c.User), "deposit_id": c.DepositID, "amount": str(c.Amount), "seq": str(l.banked[c.DepositID])}
	case *core.DecideWithdrawal:
		return l.byID[c.Withdrawal].tree()
	}
	return nil
}

// same tells whether a market was paused or resumed that was so already.
func (l *ledger) same(cmd core.Command, m *model.Venue) bool {
	c, ok := cmd.(*core.PauseMarket)
	if !ok {
		return false
	}
	s, _ := m.Market(c.Market)
	of := life{c.Market, s.Generation}
	was := l.halted[of]
	l.halted[of] = !c.Lift
	return was == !c.Lift
}
