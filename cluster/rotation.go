package cluster

import (
	"context"
	"slices"
)

// The master key of a cluster is replaced by restarting one member after the other with the new and
// the old key (docs/rules/operation.md#cluster). In order:
//
//  1. A member with both keys opens secrets under either, and seals under the old one, because the
//     others may not have the new one yet.
//  2. When every member has the new one, the leader makes it the key of the configuration. Every
//     member then seals under it.
//  3. When every member does, no secret is sealed under the old one any more, and the leader seals
//     those that are under the new one.

// StepMasterKey moves a replacement of the master key on, as far as the members are. It returns
// whether this member seals under the new key from now on, and whether it is the one that seals the
// old secrets again. It is called again and again while this member has two keys.
func (c *Cluster) StepMasterKey(ctx context.Context) (sealNew, reseal bool, err error) {
	next := fingerprint(c.opt.MasterKeys[0], c.id)
	leads := c.view.Load().leader == c.node
	if !c.HasNewMasterKey() {
		if leads && c.EveryMember(func(s Status) bool { return slices.Contains(s.MasterKeys, next) }) {
			err = c.changeConfig(ctx, func(cfg *config) error {
				cfg.MasterKey = next
				return nil
			})
		}
		return false, false, err
	}
	if err := c.adoptMasterKey(next); err != nil {
		return false, false, err
	}
	return true, leads && c.EveryMember(func(s Status) bool { return s.SealsUnder == next }), nil
}

// HasNewMasterKey reports whether the cluster's master key is the first one of this member: then every
// member has it.
func (c *Cluster) HasNewMasterKey() bool {
	return c.config.Load().MasterKey == fingerprint(c.opt.MasterKeys[0], c.id)
}

// SealsUnderNew tells the other members that this one seals under its first master key.
func (c *Cluster) SealsUnderNew() { c.sealsNew.Store(true) }

// adoptMasterKey writes the fingerprint of the master key of the configuration into the file CLUSTER.
func (c *Cluster) adoptMasterKey(next string) error {
	c.lifeMu.Lock()
	defer c.lifeMu.Unlock()
	if c.identity.MasterKey == next {
		return nil
	}
	id := *c.identity
	id.MasterKey = next
	if err := id.write(c.opt.Dir); err != nil {
		return err
	}
	c.identity = &id
	return nil
}

// EveryMember reports whether every member is up, this one included, and what it says about itself
// fits.
func (c *Cluster) EveryMember(fits func(Status) bool) bool {
	for _, m := range c.config.Load().Members {
		s := Status{}
		if m.Node == c.node {
			s = c.Status()
		} else {
			h, up := c.peers.of(m.Node)
			if !up || h.missed {
				return false
			}
			s = h.Status
		}
		if !fits(s) {
			return false
		}
	}
	return true
}

// keysOf are the fingerprints of the master keys that this member has, and of the one that it seals
// under.
func (c *Cluster) keysOf() (all []string, seals string) {
	for _, k := range c.opt.MasterKeys {
		all = append(all, fingerprint(k, c.id))
	}
	if seals = all[len(all)-1]; c.sealsNew.Load() {
		seals = all[0]
	}
	return all, seals
}
