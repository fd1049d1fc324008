package venue

import "duplex/core"

// family returns the owner of an account: of an agent its owner, else the account itself
// (docs/rules/agent-accounts.md#family).
func (v *Venue) family(u core.UserID) core.UserID { return v.owners[u] }

// suspended reports whether an account or its owner is suspended.
func (v *Venue) suspended(a *account) bool {
	return a.Suspended || a.Agent != nil && v.accounts[a.Agent.Owner].Suspended
}

// addAccount adds an account with the next id.
func (v *Venue) addAccount(u core.User) *account {
	u.ID, u.Created = v.ledger.Open(), v.now.Ts
	v.storeAccount(account{User: u})
	return &v.accounts[u.ID]
}

// storeAccount appends an account and enters it in its family.
func (v *Venue) storeAccount(a account) {
	v.accounts = append(v.accounts, a)
	v.owners = append(v.owners, a.Owner())
	if a.Agent != nil {
		v.closedAgents = v.closedAgents || a.Agent.Closed
		owner := &v.accounts[a.Agent.Owner]
		owner.agents = append(owner.agents, a.ID)
	}
}

// createAgent adds an agent account with its mandate and its first money, or changes nothing
// (docs/rules/agent-accounts.md#accounts).
func (v *Venue) createAgent(c *core.CreateAgent) core.Reject {
	if !v.userExists(c.Owner) || v.accounts[c.Owner].Agent != nil {
		return core.UnknownUser
	}
	owner := &v.accounts[c.Owner]
	open, taken := 0, false
	for _, u := range owner.agents {
		a := &v.accounts[u]
		taken = taken || a.Name == c.Name
		if !a.Agent.Closed {
			open++
		}
	}
	switch {
	case !v.validMandate(&c.Mandate):
		return core.BadMandate
	case taken:
		return core.DuplicateAgentName
	case open >= core.AgentsOpenMax || len(owner.agents) >= core.AgentsMax:
		return core.AgentLimit
	case owner.Suspended:
		return core.UserSuspended
	case c.Fund < 0:
		return core.BadAmount
	case c.Fund > v.ledger.Cash(c.Owner):
		return core.InsufficientBalance
	}
	a := v.addAccount(core.User{Name: c.Name, Referrer: owner.Referrer, Agent: &core.Agent{Owner: c.Owner, Rev: 1, Mandate: c.Mandate}})
	v.ev.Add(&core.UserChanged{User: a.User})
	v.armExpiry(a)
	if c.Fund > 0 {
		v.move(core.Transferred{From: c.Owner, To: a.ID, Amount: c.Fund})
	}
	return core.OK
}

// validMandate reports whether every bound is in range and the expiry, if there is one, lies ahead.
func (v *Venue) validMandate(m *core.Mandate) bool {
	return m.Valid(v.rules.Revision) && !m.ExpiredAt(v.now.Ts)
}

// agent returns an owner's agent, or nil if the account is not an agent of this owner.
func (v *Venue) agent(owner, u core.UserID) *account {
	if !v.userExists(u) {
		return nil
	}
	if a := &v.accounts[u]; a.Agent != nil && a.Agent.Owner == owner {
		return a
	}
	return nil
}

// changeAgent replaces the agent's part of the account, which images and events share, and emits
// the change if readers see one.
func (v *Venue) changeAgent(a *account, change func(*core.Agent)) {
	was, next := *a.Agent, *a.Agent
	change(&next)
	a.Agent = &next
	v.ev.Add(&core.UserChanged{User: a.User})
	suspended := v.suspended(a)
	if was.Rev != next.Rev || was.State(suspended, v.now.Ts) != next.State(suspended, v.now.Ts) || next.Expired && !was.Expired {
		v.emitAgent(a)
	}
}

// emitAgent emits the agent's state and the revision of its mandate.
func (v *Venue) emitAgent(a *account) {
	v.ev.Add(&core.AgentChanged{User: a.ID, State: a.Agent.State(v.suspended(a), v.now.Ts), Rev: a.Agent.Rev})
}

// setMandate replaces an agent's mandate. Resting orders are not judged again
// (docs/rules/agent-accounts.md#mandate).
func (v *Venue) setMandate(c *core.SetMandate) core.Reject {
	a := v.agent(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case !v.validMandate(&c.Mandate):
		return core.BadMandate
	case a.Agent.Closed:
		return core.InvalidTransition
	case c.IfRev != a.Agent.Rev:
		return core.StaleMandate
	}
	v.changeAgent(a, func(x *core.Agent) { x.Mandate, x.Rev, x.Expired = c.Mandate, x.Rev+1, false })
	v.armExpiry(a)
	return core.OK
}

// haltAgent cancels the agent's resting orders and rejects its placements from now on
// (docs/rules/agent-accounts.md#states).
func (v *Venue) haltAgent(c *core.HaltAgent) core.Reject {
	a := v.agent(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case a.Agent.Closed:
		return core.InvalidTransition
	}
	v.halt(a)
	return core.OK
}

// halt halts an agent that is not halted.
func (v *Venue) halt(a *account) {
	if a.Agent.Halted {
		return
	}
	v.cancelAccountOrders(a.ID, core.Halted, allOrders)
	v.changeAgent(a, func(x *core.Agent) { x.Halted = true })
}

func (v *Venue) resumeAgent(c *core.ResumeAgent) core.Reject {
	a := v.agent(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case a.Agent.Closed:
		return core.InvalidTransition
	case a.Agent.Halted:
		v.changeAgent(a, func(x *core.Agent) { x.Halted = false })
	}
	return core.OK
}

// closeAgent ends an agent for good: it halts the agent, revokes its keys and returns its free
// cash to the owner. Contracts stay until they settle (docs/rules/agent-accounts.md#closing).
func (v *Venue) closeAgent(c *core.CloseAgent) core.Reject {
	a := v.agent(c.Owner, c.Agent)
	switch {
	case a == nil:
		return core.UnknownAgent
	case a.Agent.Closed:
		return core.OK
	}
	v.cancelAccountOrders(a.ID, core.Halted, allOrders)
	v.revokeAll(a.ID)
	v.changeAgent(a, func(x *core.Agent) { x.Halted, x.Closed = true, true })
	v.closedAgents = true
	v.returnCash(a.ID)
	return core.OK
}

// returnCash moves the free cash of a closed agent to its owner.
func (v *Venue) returnCash(u core.UserID) {
	if n := v.ledger.Cash(u); n > 0 {
		v.move(core.Transferred{From: u, To: v.family(u), Amount: n})
	}
}

// returnClosedCash returns what the command paid to closed agents: a payout or a deposit.
func (v *Venue) returnClosedCash() {
	touched, _ := v.ledger.Touched()
	for i := range touched { // not the owners that the transfers add to the list
		if a := v.accounts[touched[i].User].Agent; a != nil && a.Closed {
			v.returnCash(touched[i].User)
		}
	}
}

// armExpiry sets the timer for the expiry of an agent's mandate.
func (v *Venue) armExpiry(a *account) {
	if m := &a.Agent.Mandate; m.Has(core.RuleExpires) && !a.Agent.Expired && !a.Agent.Closed {
		v.mandateTimers.add(m.Expires, uint64(a.ID))
	}
}

// expireMandates cancels the resting orders of each agent whose mandate has expired at ts.
func (v *Venue) expireMandates(ts int64) {
	for {
		t, ok := v.mandateTimers.pop(ts)
		if !ok {
			return
		}
		if !v.mandateCurrent(t) {
			continue // replaced since
		}
		a := &v.accounts[t.key]
		v.cancelAccountOrders(a.ID, core.MandateExpired, allOrders)
		v.changeAgent(a, func(x *core.Agent) { x.Expired = true })
	}
}

// mandateDue returns the next expiry of a mandate, or never.
func (v *Venue) mandateDue() int64 {
	v.mandateTimers.prune(len(v.accounts), v.mandateCurrent)
	return v.mandateTimers.firstCurrent(v.mandateCurrent)
}

// mandateCurrent reports whether the agent's mandate still expires at the timer's time.
func (v *Venue) mandateCurrent(t timer) bool {
	x := v.accounts[t.key].Agent
	return !x.Closed && !x.Expired && x.Mandate.Has(core.RuleExpires) && x.Mandate.Expires == t.at
}
