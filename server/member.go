package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/view"
	"duplex/internal/backoff"
)

// openCluster starts this member or follower of a cluster, and gives the engine its log. A member
// waits until a majority of the members is there.
func (v *Venue) openCluster(ctx context.Context, e *engine.Options) (err error) {
	if v.options.Follow != nil {
		return v.openFollower(ctx, e)
	}
	o := v.options.Cluster
	if o == nil {
		name, err := cluster.MemberOf(v.options.Data)
		err = finalIfDamage(err)
		if err == nil && name != "" {
			err = &OptionError{"Data", fmt.Errorf("%s is the data of member %s of a cluster: give --node and --cluster, or see dx cluster detach", v.options.Data, name)}
		}
		return err
	}
	c := *o
	c.Dir, c.Version, c.Log = v.options.Data, v.options.Version, v.options.Log
	c.MasterKeys = append(c.MasterKeys, v.options.MasterKey)
	if v.options.OldMasterKey != nil {
		c.MasterKeys = append(c.MasterKeys, v.options.OldMasterKey)
	}
	c.Settings = v.clusterSettings(e.Caps)
	v.awaitsMajority.Store(true)
	v.cluster, err = cluster.Open(ctx, c)
	v.awaitsMajority.Store(false)
	if wrong := (*cluster.SettingError)(nil); errors.As(err, &wrong) {
		return &OptionError{"Cluster", namedForUsers(wrong)}
	}
	if wrong := (*cluster.OptionError)(nil); errors.As(err, &wrong) {
		return &OptionError{"Cluster", err}
	}
	if err != nil {
		return finalIfDamage(err)
	}
	e.Node, e.Members, e.Resign = v.cluster.Node(), v.cluster.Members, v.cluster.Resign
	e.MaxClockOffset, e.StaleAfter = v.options.MaxClockOffset, v.options.StaleAfter
	e.OpenLog = func(j journal.Options) (engine.Log, error) {
		l, err := v.cluster.OpenLog(ctx, j)
		if err != nil {
			return nil, err // not l: a Log that holds a nil *cluster.Log is not nil
		}
		return l, nil
	}
	return nil
}

// openEngine opens the engine. What is damaged in the journal of a member is replaced from another member
// and opened again, each file once.
func (v *Venue) openEngine(ctx context.Context, o engine.Options) (*engine.Engine, error) {
	repaired := map[string]bool{}
	for {
		e, err := engine.OpenContext(ctx, o)
		damage := (*journal.Damage)(nil)
		if err == nil || v.cluster == nil || !errors.As(err, &damage) || repaired[damage.File] {
			return e, err
		}
		repaired[damage.File] = true
		again, rerr := v.cluster.Repair(ctx, damage)
		switch {
		case rerr != nil:
			return nil, finalIfDamage(rerr)
		case !again:
			return nil, err
		}
	}
}

// finalIfDamage marks damage of what makes a node one of a cluster as an error after which it must not
// be restarted.
func finalIfDamage(err error) error {
	if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
		return fmt.Errorf("%w: %w", engine.ErrDamaged, err)
	}
	return err
}

// clusterSettings are the settings that every member must have alike, because the members decide
// together, or because a caller may be served by any of them.
func (v *Venue) clusterSettings(caps view.RetentionCaps) map[string]string {
	o := &v.options
	rules := v.wantedRules()
	settings := map[string]string{
		settingOracle:      o.Oracle,
		settingReadRate:    fmt.Sprint(o.ReadRate),
		settingWriteFloor:  fmt.Sprint(o.WriteFloor),
		settingAccountRate: o.accountRateSetting(),
		settingEnvironment: o.Environment,
		settingCaps:        capsSetting(caps),
		settingFourEyes:    fourEyesSetting(o.FourEyes),
	}
	maps.Copy(settings, cluster.RuleSettings(&rules))
	return settings
}

// Cluster returns this member of a cluster; nil on a single machine.
func (v *Venue) Cluster() *cluster.Cluster { return v.cluster }

// leaveLead gives the lead to another member, before this one stops taking commands.
func (v *Venue) leaveLead(ctx context.Context) {
	if v.cluster == nil {
		return
	}
	if err := v.cluster.MoveLeader(ctx, ""); err != nil {
		v.options.Log.Warn("the lead was not given away before the stop", "err", err)
	}
}

// leaderlessFor is how long a member that stops waits for a leader, without which none of the commands
// that are under way can be decided.
const leaderlessFor = 2 * time.Second

var errNoMajority = errors.New("the members that are left are no majority")

// drainContext returns ctx, which ends with errNoMajority as its cause when the cluster has no leader for
// leaderlessFor: the last members of a cluster that stops do not wait for those that have left.
func (v *Venue) drainContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if v.cluster != nil {
		go func() {
			const looks = 20
			for leaderless := 1; backoff.Sleep(ctx, leaderlessFor/looks); leaderless++ {
				if v.cluster.Led() {
					leaderless = 0
				}
				if leaderless == looks {
					cancel(errNoMajority)
				}
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}

// closeEngine completes the commands under way and writes a snapshot. Without a majority of the members
// what is under way stays undecided, and its callers have no answer: no error of this member.
func (v *Venue) closeEngine(ctx context.Context) error {
	drain, cancel := v.drainContext(ctx)
	defer cancel()
	err := v.engine.Close(drain)
	if err != nil && errors.Is(context.Cause(drain), errNoMajority) {
		v.options.Log.Warn("commands under way are not decided at the stop", "reason", errNoMajority)
		return nil
	}
	return err
}

// closeCluster stops etcd, or what this follower copies, after the engine has closed the log.
func (v *Venue) closeCluster() error {
	if v.follower != nil {
		return v.follower.Close()
	}
	if v.cluster == nil {
		return nil
	}
	return v.cluster.Close()
}

// dutyEvery is how often a member looks whether it can go on with what all members must agree to.
const dutyEvery = 500 * time.Millisecond

// runDuties activates a newer revision of the rules once every member knows it, and replaces the
// master key once every member has the new one, until the venue stops.
func (v *Venue) runDuties() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tick := time.NewTicker(dutyEvery)
	defer tick.Stop()
	for {
		select {
		case <-v.engine.Stopped():
			return
		case <-v.stopping:
			return
		case <-tick.C:
		}
		if v.everyMemberKnowsTheRules() {
			if err := v.activateRevision(); err != nil {
				v.options.Log.Warn("the newest revision of the rules is not active yet", "err", err)
			}
		}
		if v.keys.old != nil {
			if err := v.stepMasterKey(ctx); err != nil {
				v.options.Log.Warn("the replacement of the master key does not go on", "err", err)
			}
		}
	}
}

// everyMemberKnowsTheRules reports whether the newest revision may be activated: every member is up
// and knows it.
func (v *Venue) everyMemberKnowsTheRules() bool {
	return v.cluster.EveryMember(func(s cluster.Status) bool { return s.Revision >= uint32(core.RevisionNewest) })
}

// stepMasterKey goes on with the replacement of the master key.
func (v *Venue) stepMasterKey(ctx context.Context) error {
	sealNew, reseal, err := v.cluster.StepMasterKey(ctx)
	if err != nil || !sealNew {
		return err
	}
	if !v.sealsNew {
		if err := v.gate.AddMasterKey(v.keys.current); err != nil {
			return err
		}
		v.sealsNew = true
		v.cluster.SealsUnderNew()
	}
	if !reseal { // a member that starts may seal under the old one for a moment
		v.resealed = false
		return nil
	}
	if v.resealed {
		return nil
	}
	by := core.Audit{Who: "dx", Why: "master key rotation"}
	n, err := v.gate.ResealSecrets(ctx, by)
	if err == nil {
		err = v.auditMasterKey(ctx, v.keys.current, by)
	}
	if err != nil {
		return err
	}
	v.resealed = true
	v.options.Log.Info("every secret is sealed under the new master key: start the members without the old one from now on", "resealed", n)
	return nil
}
