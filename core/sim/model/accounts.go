package model

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"duplex/core"
)

func (v *Venue) createUser(c *core.CreateUser) core.Reject {
	if c.Referrer != 0 && (!v.userExists(c.Referrer) || v.users[c.Referrer].agent != nil) {
		return core.UnknownUser
	}
	v.addUser(c.Referrer)
	v.users[len(v.users)-1].token = c.TokenHash
	return core.OK
}

func (v *Venue) addUser(referrer core.UserID) {
	v.users = append(v.users, user{
		cash: integer(0), held: map[contract]position{}, used: map[uint64]bool{}, referrer: referrer,
		book:     book{sums: map[string]*big.Int{}, results: map[uint64]*big.Int{}},
		realized: integer(0), fees: integer(0), rebates: integer(0), transfersNet: integer(0),
		realizedOn: map[int32]*big.Int{}, ordersOn: map[int32]uint32{},
	})
}

func (v *Venue) createKey(c *core.CreateKey) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.keys[c.Key] != (key{}):
		return core.UnknownKey
	}
	if a := v.users[c.User].agent; a != nil {
		switch {
		case a.closed:
			return core.InvalidTransition
		case c.Scopes.Has(core.ScopeWithdraw):
			return core.MissingScope
		}
	}
	if r := v.checkGrant(c); r != core.OK {
		return r
	}
	v.lastKey++
	v.keys[c.Key] = key{user: c.User, sealed: string(c.Sealed), number: v.lastKey, grant: v.grantOf(c)}
	return core.OK
}

// revokeKey revokes one key of the user, or all if the command names none: then it also halts
// the user's agents and revokes their keys. A key of another user is ignored.
func (v *Venue) revokeKey(c *core.RevokeKey) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	if c.Key == "" {
		v.revokeAll(c.User)
		for _, u := range v.Agents(c.User) {
			v.halt(u)
			v.revokeAll(u)
		}
		return core.OK
	}
	if v.keys[c.Key].user == c.User {
		v.revoke(c.Key)
	}
	return core.OK
}

func (v *Venue) resealKey(c *core.ResealKey) core.Reject {
	k, ok := v.keys[c.Key]
	if !ok {
		return core.UnknownKey
	}
	k.sealed = string(c.Sealed)
	v.keys[c.Key] = k
	return core.OK
}

func (v *Venue) suspend(c *core.SuspendUser) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	if !c.Lift && !v.users[c.User].suspended {
		v.sweep(core.Suspended, func(o order) bool { return o.User == c.User || v.owner(o.User) == c.User })
	}
	v.users[c.User].suspended = !c.Lift
	return core.OK
}

func (v *Venue) setFees(f core.Fees) core.Reject {
	if !validFees(f) {
		return core.BadFees
	}
	v.fees = f
	return core.OK
}

func validFees(f core.Fees) bool {
	return f.Maker <= f.Taker && f.Taker <= 10000 && int(f.RebatePct)+int(f.ReferPct) <= 100
}

// billion is the largest deposit from core.RevisionDeposits on, in pips.
const billion = 1_000_000_000 * 10_000

// canDeposit reports whether a new deposit may have this amount (docs/rules/money.md#deposits).
func (v *Venue) canDeposit(p core.Pips) bool {
	if v.rules.Revision >= core.RevisionDeposits && p > billion {
		return false
	}
	return p > 0 && plus(v.deposits, integer(int64(p))).IsInt64()
}

func (v *Venue) deposit(c core.Deposit) core.Reject {
	was, again := v.depositsByID[c.DepositID]
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case again && was.User == c.User && was.Amount == c.Amount:
		return core.OK
	case again:
		return core.DuplicateDepositID
	case !v.canDeposit(c.Amount):
		return core.BadAmount
	}
	if !v.alone(c.Alone, c.Audit.Who, c.User, c.Amount, false) {
		return core.SelfApproval
	}
	v.depositsByID[c.DepositID] = c
	v.deposits = plus(v.deposits, integer(int64(c.Amount)))
	v.pay(c.User, integer(int64(c.Amount)))
	v.enter(c.User, "deposit", integer(int64(c.Amount)), Row{Ref: c.DepositID})
	return core.OK
}

func (v *Venue) withdraw(c *core.RequestWithdrawal) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.users[c.User].agent != nil:
		return core.MissingScope
	}
	for _, w := range v.withdrawalsByID {
		if w.User == c.User && w.ClientID == c.ClientID {
			if w.Amount != c.Amount || w.Destination != c.Destination {
				return core.DuplicateWithdrawalID
			}
			return core.OK
		}
	}
	n := integer(int64(c.Amount))
	switch {
	case v.users[c.User].suspended:
		return core.UserSuspended
	case c.Amount <= 0:
		return core.BadAmount
	case less(v.users[c.User].cash, n):
		return core.InsufficientBalance
	}
	v.withdrawalsByID[v.now.Seq] = core.Withdrawal{ID: v.now.Seq, User: c.User, ClientID: c.ClientID, Amount: c.Amount, Destination: c.Destination}
	v.pay(c.User, new(big.Int).Neg(n))
	v.enter(c.User, "withdrawal", new(big.Int).Neg(n), Row{Ref: fmt.Sprint(v.now.Seq)})
	v.withdrawals = plus(v.withdrawals, n)
	return core.OK
}

// decide takes a withdrawal one step on for one operator.
func (v *Venue) decide(c *core.DecideWithdrawal) core.Reject {
	to := c.To
	if to == core.WithdrawalPending {
		to = map[bool]core.WithdrawalState{true: core.WithdrawalCompleted, false: core.WithdrawalRejected}[c.Complete]
	}
	w := v.withdrawalsByID[c.Withdrawal]
	done, r := v.mayStep(c.Withdrawal, to, c.Reference)
	if done || r != core.OK {
		return r
	}
	if v.rules.Revision >= core.RevisionSteps && to == core.WithdrawalRejected {
		for _, a := range v.approvals {
			if a.open(v.now.Ts) && a.Action.Withdrawal == c.Withdrawal {
				return core.InvalidTransition
			}
		}
	}
	alone := true
	switch [2]core.WithdrawalState{w.State, to} {
	case [2]core.WithdrawalState{core.WithdrawalPending, core.WithdrawalApproved}, [2]core.WithdrawalState{core.WithdrawalPending, core.WithdrawalCompleted}:
		alone = v.alone(c.Alone, c.Audit.Who, w.User, w.Amount, false)
	case [2]core.WithdrawalState{core.WithdrawalApproved, core.WithdrawalRejected}, [2]core.WithdrawalState{core.WithdrawalSent, core.WithdrawalFailed}:
		alone = v.alone(c.Alone, c.Audit.Who, w.User, w.Amount, true)
	}
	switch {
	case !alone && to == core.WithdrawalCompleted:
		return core.InvalidTransition
	case !alone:
		return core.SelfApproval
	}
	v.stepTo(c.Withdrawal, to, c.Reference)
	return core.OK
}

// mayStep reports whether a step has been made before, or why it cannot be made.
func (v *Venue) mayStep(id uint64, to core.WithdrawalState, reference string) (done bool, r core.Reject) {
	w, ok := v.withdrawalsByID[id]
	steps := map[core.WithdrawalState][]core.WithdrawalState{
		core.WithdrawalPending:  {core.WithdrawalApproved, core.WithdrawalCompleted, core.WithdrawalRejected},
		core.WithdrawalApproved: {core.WithdrawalSent, core.WithdrawalRejected},
		core.WithdrawalSent:     {core.WithdrawalCompleted, core.WithdrawalFailed},
	}
	if v.rules.Revision < core.RevisionSteps {
		steps = map[core.WithdrawalState][]core.WithdrawalState{core.WithdrawalPending: {core.WithdrawalCompleted, core.WithdrawalRejected}}
	}
	switch {
	case !ok:
		return false, core.UnknownWithdrawal
	case w.State == to && (to != core.WithdrawalSent || w.Reference == reference):
		return true, core.OK
	case !slices.Contains(steps[w.State], to):
		return false, core.InvalidTransition
	}
	return false, core.OK
}

func (v *Venue) stepTo(id uint64, to core.WithdrawalState, reference string) {
	w := v.withdrawalsByID[id]
	if w.State = to; to == core.WithdrawalSent {
		w.Reference = reference
	}
	v.withdrawalsByID[id] = w
	if to == core.WithdrawalRejected || to == core.WithdrawalFailed {
		v.pay(w.User, integer(int64(w.Amount)))
		v.enter(w.User, "withdrawal_returned", integer(int64(w.Amount)), Row{Ref: fmt.Sprint(w.ID)})
		v.withdrawals = minus(v.withdrawals, integer(int64(w.Amount)))
	}
}

// done is something that an operator did alone.
type done struct {
	day      int64
	who      string
	user     core.UserID
	amount   *big.Int
	returned bool
}

// alone reports whether an operator may do something to an account alone, and notes it if so.
func (v *Venue) alone(bound core.AloneBound, who string, u core.UserID, n core.Pips, returned bool) bool {
	if !bound.Set || v.rules.Revision < core.RevisionSteps {
		return true
	}
	x := done{v.now.Ts / (24 * 60 * minute), who, u, integer(int64(n)), returned}
	ofOperator, ofUser := x.amount, x.amount
	for _, was := range v.doneAlone {
		if was.day != x.day || was.returned != returned {
			continue
		}
		if was.who == who {
			ofOperator = plus(ofOperator, was.amount)
		}
		if was.user == u {
			ofUser = plus(ofUser, was.amount)
		}
	}
	most := integer(int64(bound.Most))
	if less(most, ofOperator) || less(most, ofUser) {
		return false
	}
	v.doneAlone = append(v.doneAlone, x)
	return true
}

// DoneAlone returns the sums of what operators did alone today.
func (v *Venue) DoneAlone() map[core.AloneSum]core.Pips {
	sums := map[core.AloneSum]core.Pips{}
	for _, x := range v.doneAlone {
		if x.day == v.now.Ts/(24*60*minute) {
			sums[core.AloneSum{Operator: x.who, Returned: x.returned}] += core.Pips(x.amount.Int64())
			sums[core.AloneSum{User: x.user, Returned: x.returned}] += core.Pips(x.amount.Int64())
		}
	}
	return sums
}

func (v *Venue) changeSetting(c *core.ChangeSetting) core.Reject {
	if v.rules.Revision < core.RevisionSteps || v.settings[c.Name] != c.Before {
		return core.InvalidTransition
	}
	v.settings[c.Name] = c.Value
	return core.OK
}

// Settings returns the recorded settings of the server by name.
func (v *Venue) Settings() map[string]string { return v.settings }

func (v *Venue) redeem(c *core.Redeem) core.Reject {
	m, opened := v.markets[c.Market]
	yes, no := contract{c.Market, core.Yes}, contract{c.Market, core.No}
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case !opened:
		return core.UnknownMarket
	case m.Status == core.Settled || m.Status == core.Void:
		return core.MarketNotTrading
	case c.Qty < 1:
		return core.BadQty
	case c.Qty > v.unsold(c.User, yes) || c.Qty > v.unsold(c.User, no):
		return core.InsufficientPosition
	}
	removed := plus(v.removeContracts(c.User, yes, c.Qty), v.removeContracts(c.User, no, c.Qty))
	v.pay(c.User, times(int64(c.Qty), 10000))
	v.realize(c.User, c.Market, minus(times(int64(c.Qty), 10000), removed))
	row := v.inRound(c.Market)
	if c.RequestID != 0 && v.rules.Revision >= core.RevisionMakers {
		row.Ref = strconv.FormatUint(c.RequestID, 10)
	}
	v.enter(c.User, "redeem", times(int64(c.Qty), 10000), row)
	return core.OK
}
