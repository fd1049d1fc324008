package venue

import "duplex/core"

// setRules puts settings in force. It keeps the revision of the rules, unless an older journal
// raises it (docs/rules/operation.md#revision).
func (v *Venue) setRules(r core.Rules) core.Reject {
	to := min(r.Revision, core.RevisionStrict)
	if v.rules.Revision < core.RevisionAgents { // a journal of before ActivateRules
		v.activate(to)
		r.Revision = to
	} else {
		r.Revision = v.rules.Revision
	}
	r.Environment = v.rules.Environment
	v.putRules(r)
	return core.OK
}

// putRules stores rules and what derives from them.
func (v *Venue) putRules(r core.Rules) {
	v.rules = r
	// The ticks on the grid are part of what a book shows, so every slot's book counts as changed.
	for m := range v.markets {
		v.markets[m].bookSeq = v.now.Seq
	}
	for t := range v.legal {
		v.legal[t] = r.Grid.Legal(core.Tick(t))
	}
}

// activateRules raises the revision of the rules, and sets the environment of a venue that has none. A
// revision that is not above the one in force, and any later environment, is a no-op.
func (v *Venue) activateRules(c *core.ActivateRules) core.Reject {
	if v.rules.Environment == core.EnvironmentNone {
		v.rules.Environment = c.Environment
	}
	if c.Revision > v.rules.Revision {
		was := v.rules.Revision
		v.activate(c.Revision)
		v.rules.Revision = c.Revision
		e := &core.RulesActivated{Revision: c.Revision}
		if was < core.RevisionLedger && c.Revision >= core.RevisionLedger {
			e.Balances = v.balances()
		}
		v.ev.Add(e)
	}
	return core.OK
}

// activate makes the changes of state that come with each revision up to r.
func (v *Venue) activate(r core.Revision) {
	if v.rules.Revision < core.RevisionStrict && r >= core.RevisionStrict {
		v.removeRevokedKeys()
	}
	if v.rules.Revision < core.RevisionAgents && r >= core.RevisionAgents {
		v.numberKeys()
		v.ledger.StartPerformance()
	}
}

// balances returns the cash and reservations of each account, by user id.
func (v *Venue) balances() []core.Pips {
	all := make([]core.Pips, len(v.accounts))
	for u := 1; u < len(all); u++ {
		cash, reserved := v.ledger.Balance(core.UserID(u))
		all[u] = cash + reserved
	}
	return all
}

// hasAgents reports whether the revision in force has agents, key numbers, and profit and loss.
func (v *Venue) hasAgents() bool { return v.rules.Revision >= core.RevisionAgents }
