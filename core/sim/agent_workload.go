package sim

import (
	"cmp"
	"fmt"
	"slices"

	"duplex/core"
	"duplex/core/venue"
)

// agents returns the agents, by id, and seldom the closed ones too.
func (w *workload) agents() (list []core.User) {
	closed := w.r.IntN(20) == 0
	w.look(func(v *venue.Venue) {
		for u := range v.Users() {
			if u.Agent != nil && (closed || !u.Agent.Closed) {
				list = append(list, u)
			}
		}
	})
	return list
}

// agentCommand returns a command about an agent: of an owner, or of an operator for its key.
// Some are for an agent of another owner, a closed one, or none.
func (w *workload) agentCommand() core.Command {
	owner, agent := core.UserID(1+w.r.IntN(users)), core.UserID(1+w.r.IntN(users+3))
	rev := uint32(w.r.IntN(3))
	if list := w.agents(); len(list) > 0 && w.r.IntN(20) > 0 {
		u := list[w.r.IntN(len(list))]
		if agent = u.ID; w.r.IntN(20) > 0 {
			owner = u.Agent.Owner
		}
		if w.r.IntN(10) > 0 {
			rev = u.Agent.Rev
		}
		if u.Agent.Halted && w.r.IntN(3) == 0 {
			return &core.ResumeAgent{Owner: owner, Agent: agent}
		}
		if u.Suspended && w.r.IntN(2) == 0 {
			return &core.SuspendUser{User: agent, Lift: true}
		}
	}
	if w.rules >= core.RevisionAsks && w.r.IntN(5) == 0 {
		return w.decideAsk()
	}
	key := fmt.Sprint("agent key", w.r.IntN(30))
	if w.rules >= core.RevisionGrants && !w.unsigned && w.r.IntN(6) == 0 {
		return w.grantCommand(agent)
	}
	switch n := w.r.IntN(40); {
	case n < 6:
		return &core.CreateAgent{Owner: owner, Name: fmt.Sprint("a", w.r.IntN(3)), Fund: core.Pips(w.r.IntN(4) * 200_000), Mandate: w.mandate()}
	case n < 14:
		c := &core.Transfer{Owner: owner, ClientID: fmt.Sprint("t", w.r.IntN(400)), From: owner, To: agent, Amount: core.Pips(w.r.IntN(10) * 20_000)}
		if w.r.IntN(3) == 0 {
			c.From, c.To = c.To, c.From
		}
		return c
	case n < 21:
		return &core.SetMandate{Owner: owner, Agent: agent, IfRev: rev, Mandate: w.mandate()}
	case n == 21 && (!w.bounded || w.r.IntN(8) == 0):
		return &core.HaltAgent{Owner: owner, Agent: agent}
	case n < 29:
		return &core.ResumeAgent{Owner: owner, Agent: agent}
	case n == 29 && w.r.IntN(4) == 0:
		return &core.CloseAgent{Owner: owner, Agent: agent}
	case n < 32:
		return &core.SuspendUser{User: agent, Lift: w.r.IntN(6) > 0}
	case n < 36 && !w.unsigned:
		return &core.CreateKey{User: agent, Key: key, Scopes: core.Scopes(1 + w.r.IntN(4)), Sealed: []byte{byte(w.r.IntN(3))}}
	case n < 38 && !w.unsigned:
		return &core.RevokeKey{User: agent, Key: key}
	case n == 38 && w.r.IntN(4) == 0:
		return &core.RevokeKey{User: owner}
	default:
		return &core.Deposit{User: agent, DepositID: fmt.Sprint("more ", w.r.IntN(40)), Amount: core.Pips(w.r.IntN(50_000))}
	}
}

// grantCommand returns a new grant of an agent, or a renewal of any: mostly with the newest tokens, seldom
// with those before, with older ones, or with some that were never issued.
func (w *workload) grantCommand(agent core.UserID) core.Command {
	var grants []core.Key
	w.look(func(v *venue.Venue) {
		for k := range v.Keys() {
			if k.Grant != nil {
				grants = append(grants, k)
			}
		}
	})
	slices.SortFunc(grants, func(a, b core.Key) int { return cmp.Compare(a.Number, b.Number) })
	if len(grants) == 0 || w.r.IntN(4) == 0 {
		ns := int64(w.r.IntN(300)-5) * core.NsPerSec
		if w.r.IntN(20) == 0 {
			ns = core.GrantMaxNs + int64(w.r.IntN(3)-1)
		}
		return &core.CreateKey{
			User: agent, Key: fmt.Sprint("grant", w.r.IntN(60)), Scopes: core.Scopes(1 + w.r.IntN(4)), Sealed: []byte{1},
			Grant: core.Grant{Client: fmt.Sprint("client", w.r.IntN(3)), Challenge: [32]byte{byte(w.r.IntN(4))}, Expires: w.now() + ns},
		}
	}
	k := grants[w.r.IntN(len(grants))]
	c := &core.RenewGrant{User: k.User, Key: k.ID, Generation: k.Grant.Generation}
	switch n := w.r.IntN(16); {
	case n < 4 && c.Generation > 0:
		c.Generation--
	case n == 4:
		c.Generation = uint32(w.r.IntN(int(c.Generation) + 2))
	case n == 5:
		c.User = agent
	}
	return c
}

// mandate returns a mandate. Some are wide, some let nothing pass, and some are invalid.
func (w *workload) mandate() (m core.Mandate) {
	if w.rules >= core.RevisionAsks && w.r.IntN(2) == 0 {
		m.Bound(core.RuleAskAbove)
		if m.AskAbove = uint64(w.r.IntN(60_000)); !w.bounded && w.r.IntN(4) > 0 {
			return m // else other bounds would reject most of what could wait
		}
	}
	least := 5
	if w.bounded {
		least = 40
	}
	has := func(r core.MandateRule) bool {
		if w.r.IntN(least) > 0 {
			return false
		}
		m.Bound(r)
		return true
	}
	if has(core.RuleExpires) {
		m.Expires = w.now() + int64(w.r.IntN(40)-1)*core.NsPerSec
	}
	if has(core.RuleCategories) {
		m.Categories = uint16(w.r.IntN(1 << (core.SeriesCount + 1)))
	}
	if w.r.IntN(3) == 0 {
		has(core.RuleReduceOnly)
	}
	if has(core.RuleOrderQty) {
		m.OrderQty = core.Qty(w.r.IntN(60))
	}
	if has(core.RulePriceCollar) {
		m.Collar = []core.Tick{-1, 0, 50, 100, 100, 200, 300, 1000, 5000, 9998, 9999}[w.r.IntN(11)]
	}
	if has(core.RuleOpenOrders) {
		m.OpenOrders = uint32(w.r.IntN(8))
	}
	if has(core.RuleOrdersPerDay) {
		m.OrdersPerDay = uint32(w.r.IntN(60))
	}
	for i, most := range []int{300_000, 500_000, 800_000, 800_000} {
		r, one := core.RuleOrderCost+core.MandateRule(i), 4
		if w.bounded && r < core.RuleOpenCost {
			one = 12
		} else if w.bounded {
			one = 1
		}
		if w.r.IntN(one) == 0 {
			if w.bounded {
				most = 3_000_000
			}
			m.SetCost(r, uint64(w.r.IntN(most)))
		}
	}
	if w.r.IntN(60) == 0 {
		m.OrderQty = core.Qty(w.r.IntN(1_000_002)) // without its bound
	}
	return m
}

// decideAsk returns a decision about what waits for an owner, seldom of another account or about nothing.
func (w *workload) decideAsk() core.Command {
	c := &core.DecideAsk{Owner: w.ownerAccount(), Ask: uint64(w.r.IntN(int(w.seq()) + 2)), Approve: w.r.IntN(3) > 0}
	var waiting []*core.Ask
	w.look(func(v *venue.Venue) {
		for u := range v.Users() {
			waiting = append(waiting, v.Asks(u.ID)...)
		}
		if len(waiting) > 0 && w.r.IntN(15) > 0 {
			x := waiting[w.r.IntN(len(waiting))]
			if c.Ask = x.ID; w.r.IntN(15) > 0 {
				u, _ := v.User(x.Place.User)
				c.Owner = u.Agent.Owner
			}
		}
	})
	return c
}

// sign puts the number of a key into a command of an account: mostly none, else a valid key, a
// revoked one, or one that never was.
func (w *workload) sign(cmd core.Command) core.Command {
	if w.unsigned || w.r.IntN(3) > 0 {
		return cmd
	}
	n := core.KeyNumber(w.r.IntN(20))
	if w.r.IntN(4) > 0 {
		var keys []core.KeyNumber
		w.look(func(v *venue.Venue) {
			for k := range v.Keys() {
				keys = append(keys, k.Number)
			}
		})
		slices.Sort(keys)
		if n = 0; len(keys) > 0 {
			n = keys[w.r.IntN(len(keys))]
		}
	}
	if k := core.KeyField(cmd); k != nil {
		*k = n
	}
	return cmd
}
