package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/view"
)

// openFollower prepares this follower of a cluster, and gives the engine its log. It adopts the
// settings of the cluster by which requests are served.
func (v *Venue) openFollower(ctx context.Context, e *engine.Options) (err error) {
	o := *v.options.Follow
	o.Dir, o.Version, o.Log, o.StaleAfter = v.options.Data, v.options.Version, v.options.Log, v.options.StaleAfter
	o.Caps, o.MasterKeys = capsSetting(e.Caps), v.keys.given()
	v.follower, err = cluster.OpenFollower(ctx, o)
	if wrong := (*cluster.SettingError)(nil); errors.As(err, &wrong) {
		return &OptionError{"Follow", namedForUsers(wrong)}
	}
	if wrong := (*cluster.OptionError)(nil); errors.As(err, &wrong) {
		return &OptionError{"Follow", err}
	}
	if err != nil {
		return finalIfDamage(err)
	}
	if err := v.options.adopt(v.follower.Settings()); err != nil {
		return err
	}
	e.Node, e.Members, e.Follower, e.StaleAfter = cluster.FollowerNode, v.follower.Members, true, o.StaleAfter
	e.OpenLog = func(j journal.Options) (engine.Log, error) {
		l, err := v.follower.OpenLog(j)
		if err != nil {
			return nil, err // not l: a Log that holds a nil *cluster.FollowerLog is not nil
		}
		return l, nil
	}
	return nil
}

// The settings of a cluster that a follower adopts.
const (
	settingOracle      = "--oracle"
	settingReadRate    = "--read-rate"
	settingWriteFloor  = "--write-floor"
	settingAccountRate = "--account-rate"
	settingEnvironment = "environment"
	settingCaps        = "view caps"
	settingFourEyes    = "--four-eyes"
)

// adopt sets the options that a follower has from the cluster.
func (o *Options) adopt(settings map[string]string) (err error) {
	o.Oracle, o.Environment = settings[settingOracle], settings[settingEnvironment]
	o.AccountRate = new(int64) // if it is 0, a key has its own write rate, which the default would leave it too
	for name, value := range map[string]*int64{settingReadRate: &o.ReadRate, settingWriteFloor: &o.WriteFloor, settingAccountRate: o.AccountRate} {
		if *value, err = strconv.ParseInt(settings[name], 10, 64); err != nil {
			return fmt.Errorf("the setting %s of the cluster: %w", name, err)
		}
	}
	return nil
}

// capsSetting is the setting of the view's caps.
func capsSetting(caps view.RetentionCaps) string {
	if caps == (view.RetentionCaps{}) {
		caps = view.DefaultRetentionCaps()
	}
	return fmt.Sprint(caps)
}

// namedForUsers names the option that an operator sets, where the caps of the view follow from it.
func namedForUsers(e *cluster.SettingError) error {
	mirrors := map[string]string{fmt.Sprint(view.DefaultRetentionCaps()): "off", fmt.Sprint(view.MirroredRetentionCaps()): "on"}
	have, want := mirrors[e.Have], mirrors[e.Want]
	if e.Setting != settingCaps || have == "" || want == "" {
		return e
	}
	return &cluster.SettingError{Setting: "--mirror", Have: have, Want: want}
}

// fourEyesSetting is the setting of the limit above which a second operator is needed.
func fourEyesSetting(limit *core.Pips) string {
	if limit == nil {
		return "off"
	}
	return fmt.Sprint(*limit, " pips")
}

// reportToNodes tells the other nodes of the cluster about this one.
func (v *Venue) reportToNodes() {
	report := func() cluster.Report {
		status, _ := v.engine.MemberStatus()
		_, number, _ := v.engine.Members()
		r := cluster.Report{State: status.State.String(), Seq: v.engine.Seq(), DiskFree: v.engine.FreeBytes(), AppliedGroup: number, Revision: uint32(core.RevisionNewest), MemberURL: v.urlForNodes()}
		r.History = v.historyReport()
		if seq, hash, ok := v.engine.Attested(); ok {
			r.AttestedSeq, r.StateHash = seq, hex.EncodeToString(hash[:])
		}
		return r
	}
	switch {
	case v.cluster != nil:
		v.cluster.SetReport(report)
	case v.follower != nil:
		v.follower.SetReport(report)
	}
}

// urlForNodes is the base URL of the API for callers on any machine, "" if it is not known.
func (v *Venue) urlForNodes() string {
	if a, ok := v.api.conns.Addr().(*net.TCPAddr); v.options.PublicURL == "" && ok && a.IP.IsUnspecified() {
		return ""
	}
	return v.PublicURL()
}

// Follower returns this follower of a cluster; nil if it is none.
func (v *Venue) Follower() *cluster.Follower { return v.follower }
