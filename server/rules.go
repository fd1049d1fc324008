package server

import (
	"errors"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// applyRules puts the newest revision of the rules in force, and then the rules that follow
// from the options, each if it differs from what is in force.
func (v *Venue) applyRules() error {
	if err := v.activateRevision(); err != nil {
		return err
	}
	if err := v.auditSettings(); err != nil {
		return err
	}
	rules := v.wantedRules()
	var now core.Rules
	v.engine.Read(func(s *venue.Venue, _ *view.View) { now = s.Rules() })
	if sameOptions(&now, &rules) {
		return nil
	}
	if v.cluster != nil {
		if err := v.checkInitialRules(&rules, &now); err != nil {
			return &OptionError{"Cluster", err}
		}
	}
	return v.submitOwn(&core.SetRules{Rules: rules, Audit: ownAudit})
}

// sameOptions reports whether two rules agree in what follows from the options.
func sameOptions(a, b *core.Rules) bool {
	return a.DisputeNs == b.DisputeNs && a.Grid.Name == b.Grid.Name && a.MinSources == b.MinSources
}

// OpeningCommands returns the commands with which Open begins the empty journal of a venue with a virtual
// clock, in their order. It opens nothing. An invalid option is an *OptionError.
func OpeningCommands(o Options) ([]core.Command, error) {
	v := &Venue{options: o}
	switch err := v.options.complete(); {
	case err != nil:
		return nil, err
	case o.Virtual == nil:
		return nil, &OptionError{"Virtual", errors.New("other venues also record their master key")}
	}
	cmds := []core.Command{v.activation()}
	initial, rules := core.DefaultRules(), v.wantedRules()
	if !sameOptions(&initial, &rules) {
		cmds = append(cmds, &core.SetRules{Rules: rules, Audit: ownAudit})
	}
	return cmds, nil
}

// activation returns the command that puts the newest revision of the rules in force.
func (v *Venue) activation() *core.ActivateRules {
	return &core.ActivateRules{Revision: core.RevisionNewest, Environment: core.EnvironmentOf(v.options.Environment), Settings: v.recordedSettings(), Audit: ownAudit}
}

// wantedRules are the rules that follow from the options.
func (v *Venue) wantedRules() core.Rules {
	rules := core.DefaultRules()
	rules.DisputeNs, rules.MinSources = int64(v.options.DisputeWindow), minSourcesRule(v.options.Limits)
	return rules
}

// checkInitialRules returns an error unless the rules in force are those that this member wants, or those of a
// new cluster: there its settings replace the default. Later only commands change rules.
func (v *Venue) checkInitialRules(want, now *core.Rules) error {
	initial := core.DefaultRules()
	if v.cluster.Founds(cluster.SettingDispute) && v.cluster.Founds(cluster.SettingMinSources) && cluster.CheckRules(&initial, now) == nil {
		return nil
	}
	return cluster.CheckRules(want, now)
}

// activateRevision puts the newest revision of the rules in force
// (docs/rules/operation.md#revision), and records the environment of a venue that has none. The log has a
// line if the journal is an older one, because an older program cannot read it from then on.
func (v *Venue) activateRevision() error {
	var at core.Stamp
	var now core.Rules
	v.engine.Read(func(s *venue.Venue, _ *view.View) { at, now = s.Now(), s.Rules() })
	if now.Revision >= core.RevisionNewest && now.Environment != core.EnvironmentNone {
		return nil
	}
	if v.cluster != nil && at.Seq > 0 && !v.everyMemberKnowsTheRules() {
		return nil // runDuties activates it
	}
	if err := v.submitOwn(v.activation()); err != nil {
		return err
	}
	if at.Seq > 0 {
		v.options.Log.Info("the journal is brought to the newest revision; older versions of dx no longer read it", "revision", core.RevisionNewest, "before", now.Revision, "seq", at.Seq)
	}
	return nil
}
