package server

import (
	"errors"
	"fmt"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// auditedSettings are the settings by which a restart can weaken the venue
// (docs/rules/operation.md#settings-that-weaken), by name.
func (o *Options) auditedSettings() []core.Setting {
	rate, _ := o.accountRate()
	return []core.Setting{
		{Name: "account_keys", Value: fmt.Sprint(o.accountKeys())},
		{Name: "account_rate", Value: fmt.Sprint(rate)},
		{Name: "four_eyes", Value: fourEyesSetting(o.FourEyes)},
		{Name: "replay_guard", Value: fmt.Sprint(o.ReplayGuard)},
		{Name: "signup", Value: string(o.SignUp)},
	}
}

// recordedSettings are those of a new record: the audited ones, and the master key, which changes otherwise.
// An arena has a new key in each run, and the same journal.
func (v *Venue) recordedSettings() []core.Setting {
	all := v.options.auditedSettings()
	if v.options.Virtual == nil {
		all = append(all, core.Setting{Name: core.SettingMasterKey, Value: fingerprint(v.keys.current)})
	}
	return all
}

// auditSettings records the settings that differ from those of the last start, and logs them. A venue that
// has no record gets one with its rules.
func (v *Venue) auditSettings() error {
	var revision core.Revision
	recorded := map[string]string{}
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		revision = s.Rules().Revision
		for _, x := range s.Settings() {
			recorded[x.Name] = x.Value
		}
	})
	if revision < core.RevisionSteps {
		return nil // activateRevision records them
	}
	by := ownAudit
	if v.options.Cluster != nil { // members may differ, so the row names the one
		by.Why = "the start of " + v.options.Cluster.Name
	}
	for _, s := range v.options.auditedSettings() {
		before := recorded[s.Name]
		if before == s.Value {
			continue
		}
		err := v.submitOwn(&core.ChangeSetting{Name: s.Name, Before: before, Value: s.Value, Audit: by})
		if err != nil && !errors.Is(err, core.InvalidTransition) { // another member may have recorded it since
			return err
		}
		v.options.Log.Warn("a setting differs from that of the last start", "setting", s.Name, "before", before, "after", s.Value)
	}
	return nil
}
