package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/backoff"
)

// errForgotten is the damage of a member that has lost what it has confirmed to the others. With its
// vote it could elect a member that lacks groups which a majority, counting this one, has confirmed.
var errForgotten = errors.New("etcd's data of this member is lost, so it must not vote: " + replaceMember)

// startEtcd starts etcd. A member without data that was added joins, with or without --join, so that a member
// which has lost its disk returns with the options that it always had. With --join it waits at its first start
// until another member answers that it has been added. It has no vote then. If it has one, the cluster forms
// with it, after a member that had a journal already.
func (c *Cluster) startEtcd(ctx context.Context) (err error) {
	if wal.Exist(filepath.Join(c.opt.Dir, "etcd", "member", "wal")) {
		if err := checkEtcdData(c.opt.Dir, c.id); err != nil {
			return err
		}
		c.etcd, err = startEtcd(&c.opt)
		return err
	}
	if c.identity != nil && !c.identity.Forming {
		return &journal.Damage{File: filepath.Join(c.opt.Dir, "etcd"), Err: errForgotten}
	}
	if !c.opt.Join {
		is, err := c.awaitStanding(ctx)
		if err != nil {
			return err
		}
		if is == standingFounder {
			c.etcd, err = startEtcd(&c.opt)
			if err != nil && strings.Contains(err.Error(), "already been bootstrapped") { // etcd has no value for it
				return errTookPart(c.opt.Name)
			}
			return err
		}
		c.opt.Join = true
	}
	for stale := 0; ; {
		learner, members, err := c.askMembership(ctx)
		if err == nil {
			o := c.opt
			if o.Join = learner; learner {
				o.initial = members // --cluster may name members that have left since
			}
			c.etcd, err = startEtcd(&o)
			if stale++; !isStaleMembers(err) || stale == staleMost {
				return err
			}
		}
		if isFinal(err) {
			return err
		}
		c.opt.Log.Info("this member waits: it is not a member yet", "err", err)
		if !backoff.Sleep(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// staleMost is how often a member that joins starts although another member gives it an old list.
const staleMost = 10

// isStaleMembers reports whether etcd did not start because the list of the members that another member
// gave it differs from --cluster. It asks any of them, and one that has just started may not have read
// yet that this one was added.
func isStaleMembers(err error) bool {
	return err != nil && strings.Contains(err.Error(), "error validating peerURLs") // etcd has no value for it
}

// errTookPart refuses an empty data folder for a member that had another one.
func errTookPart(name string) error {
	return &OptionError{"data", fmt.Errorf("%s has taken part in this cluster with other data. If that is lost: dx cluster remove %s, then dx cluster add with the same name and address", name, name)}
}

// errOtherCluster refuses a member that would form another cluster than the one that answers.
var errOtherCluster = &SettingError{Setting: "the master key or --cluster"}

var errUnknownMember = errors.New("does not know")

// askMembership asks the peer ports of the other members whether this member has no vote, and who the members
// are. A final error means that it has taken part in the cluster before, or that the cluster formed with another
// master key or list.
func (c *Cluster) askMembership(ctx context.Context) (learner bool, members []Address, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var errs []error
	for _, a := range c.opt.Members {
		if a.Name == c.opt.Name {
			continue
		}
		learner, members, err := c.askMember(ctx, a)
		if err == nil || isFinal(err) {
			return learner, members, err
		}
		errs = append(errs, err)
	}
	return false, nil, errors.Join(errs...)
}

// askMember asks the peer port of one other member. Of a learner the master key is compared when it has
// the configuration: the id of a cluster does not follow its list of members.
func (c *Cluster) askMember(ctx context.Context, a Address) (learner bool, members []Address, err error) {
	self := slices.IndexFunc(c.opt.Members, func(a Address) bool { return a.Name == c.opt.Name })
	var list []membership.Member
	header, err := c.toPeers.get(ctx, a.Peer, "/members", &list)
	if err != nil {
		return false, nil, err
	}
	for _, m := range list {
		if !hasPeer(&m, c.opt.Members[self].Peer) {
			continue
		}
		if len(m.ClientURLs) > 0 { // a member publishes them when it has a leader
			return false, nil, finalError{errTookPart(c.opt.Name)}
		}
		if !m.IsLearner && header.Get(clusterHeader) != c.forming {
			return false, nil, finalError{errOtherCluster}
		}
		return m.IsLearner, c.addressesOf(list), nil
	}
	return false, nil, fmt.Errorf("%s %w %s: see dx cluster add", a.Name, errUnknownMember, c.opt.Name)
}

// addressesOf returns the addresses of etcd's members. One that has not started yet has no name there.
func (c *Cluster) addressesOf(list []membership.Member) (of []Address) {
	for _, m := range list {
		for _, u := range m.PeerURLs {
			_, peer, _ := strings.Cut(u, "//")
			name := cmp.Or(m.Name, m.ID.String())
			if i := slices.IndexFunc(c.opt.Members, func(a Address) bool { return a.Name == c.opt.Name && a.Peer == peer }); i >= 0 {
				name = c.opt.Name
			}
			of = append(of, Address{name, peer})
		}
	}
	return of
}

// KeepDiverged records that this member has stopped because a majority attests another state, so that no later
// start serves it again: some supervisors restart whatever ends, whatever its exit code.
func (c *Cluster) KeepDiverged(why error) error {
	c.lifeMu.Lock()
	defer c.lifeMu.Unlock()
	c.identity.Diverged = why.Error()
	return c.identity.write(c.opt.Dir)
}

// checkIdentity compares the file CLUSTER with the options.
func (c *Cluster) checkIdentity() error {
	id := c.identity
	if id == nil {
		if !c.opt.Join && !MayForm(len(c.opt.Members)) {
			return &OptionError{"cluster", ErrSize}
		}
		if _, err := os.Stat(filepath.Join(c.opt.Dir, "etcd")); err == nil {
			return nil // a start that ended before the cluster had formed
		}
		if _, err := os.Stat(filepath.Join(c.archive, "log")); err == nil {
			return &OptionError{"data", fmt.Errorf("%s is the data of a single machine: see dx cluster init", c.opt.Dir)}
		}
		return nil
	}
	if id.Name != c.opt.Name {
		return &SettingError{"--node", c.opt.Name, id.Name}
	}
	if id.Diverged != "" {
		return fmt.Errorf("%w before, and is not started again (%s). Keep its data, find out why, and %s", engine.ErrDiverged, id.Diverged, replaceMember)
	}
	if id.Leaving {
		return &OptionError{"data", fmt.Errorf("dx cluster detach of %s was interrupted: run it again", c.opt.Dir)}
	}
	if err := checkSettings(c.opt.Settings, id.Settings); err != nil {
		return err
	}
	if id.Forming {
		if !MayForm(len(c.opt.Members)) {
			return &OptionError{"cluster", ErrSize}
		}
		if c.opt.Join {
			return &OptionError{"join", fmt.Errorf("%s has the journal with which the cluster begins; the other members join", c.opt.Dir)}
		}
		if len(c.opt.Members) == 1 {
			c.opt.token = id.Base.Chain // so that the lost members are of another cluster for etcd too
		}
		return nil
	}
	c.id, c.node = id.ClusterID, id.Node
	c.opt.Join = c.opt.Join || id.Joined
	return checkMasterKey(c.opt.MasterKeys, id.ClusterID, id.MasterKey)
}

// join reads the configuration of the cluster, or writes it if the cluster forms, and compares it
// with the options.
func (c *Cluster) join(ctx context.Context) error {
	if err := c.retry(ctx, "no majority of the members is there yet", c.loadConfig); err != nil {
		return err
	}
	cfg := c.config.Load()
	if err := checkMasterKey(c.opt.MasterKeys, cfg.ClusterID, cfg.MasterKey); err != nil {
		return err
	}
	if err := checkSettings(c.opt.Settings, cfg.Settings); err != nil {
		return err
	}
	missing, err := cfg.checkMembers(c.opt.Members)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		c.opt.Log.Warn("--cluster lacks members that were added since", "members", strings.Join(missing, ", "))
	}
	self := cfg.find(c.opt.Name)
	switch {
	case c.identity == nil:
	case c.identity.Forming:
		if c.identity.Base != cfg.Base {
			return fmt.Errorf("%s has the journal up to group %d, and the members began a cluster after group %d: start them with --join and empty data directories", c.opt.Dir, c.identity.Base.Number, cfg.Base.Number)
		}
	case c.identity.ClusterID != cfg.ClusterID || c.identity.Node != self.Node:
		return fmt.Errorf("%s is node %d of cluster %s, and the members are of cluster %s", c.opt.Dir, c.identity.Node, c.identity.ClusterID, cfg.ClusterID)
	}
	c.id, c.node = cfg.ClusterID, self.Node
	c.base = cfg.Base.Number
	if c.identity == nil || c.identity.Forming {
		c.identity = &identity{Format: configFormat, ClusterID: c.id, Name: c.opt.Name, Node: c.node, Base: cfg.Base, MasterKey: cfg.MasterKey, Joined: c.opt.Join}
	}
	if c.identity.Settings == nil {
		c.identity.Settings = cfg.Settings
		if err := c.identity.write(c.opt.Dir); err != nil {
			return err
		}
	}
	if self.Follow == c.opt.FollowAdvertise {
		return nil
	}
	return c.retry(ctx, "the follow port is not published yet", func(ctx context.Context) error {
		return c.changeConfig(ctx, func(cfg *config) error {
			cfg.find(c.opt.Name).Follow = c.opt.FollowAdvertise
			return nil
		})
	})
}
