package venue

import "duplex/core"

// setRules puts settings in force. It keeps the revision of the rules and the environment.
func (v *Venue) setRules(r core.Rules) core.Reject {
	r.Revision, r.Environment = v.rules.Revision, v.rules.Environment
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

// activateRules raises the revision of the rules, and sets environment and settings of a venue that has
// none. A revision that is not above the one in force, and any later environment, is a no-op.
func (v *Venue) activateRules(c *core.ActivateRules) core.Reject {
	if v.rules.Environment == core.EnvironmentNone {
		v.rules.Environment = c.Environment
	}
	v.rules.Revision = max(v.rules.Revision, c.Revision)
	if len(v.settings) == 0 && v.rules.Revision >= core.RevisionSteps {
		for _, s := range c.Settings {
			v.setSetting(s)
		}
	}
	return core.OK
}
