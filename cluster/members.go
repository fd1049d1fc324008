package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"

	"duplex/core/engine"
	"duplex/internal/backoff"
)

const (
	viewEvery    = 20 * time.Millisecond  // between two looks at the members
	contactEvery = 200 * time.Millisecond // between two confirmations of the leader
	pollEvery    = 2 * time.Second        // between two questions to each other member
	pollFirst    = 100 * time.Millisecond // the same, until the clocks were compared once
	upFor        = 5 * time.Second        // how long a member that has answered counts as up
	compactEvery = 30 * time.Second
	compactKeep  = 10_000 // groups that etcd keeps although every archive has them
)

// Members implements engine.Options.Members. It does not block.
func (c *Cluster) Members() engine.Members {
	v := c.view.Load()
	m := engine.Members{Voters: v.voters, Up: v.up, Leader: v.leader, Changes: v.changes, Contact: c.began.Add(time.Duration(c.contact.Load()))}
	if l := c.log.Load(); l != nil {
		m.Head = l.knownHead()
	}
	if o := c.clock.Load(); o != nil {
		m.Clock = *o
	}
	return m
}

// watchMembers keeps the view of the members fresh.
func (c *Cluster) watchMembers() {
	tick := time.NewTicker(viewEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		case <-c.etcd.Server.LeaderChangedNotify():
		}
		c.refreshView()
	}
}

// refreshView looks at the members now.
func (c *Cluster) refreshView() {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	v := viewOf(c.config.Load(), c.etcd.Server.Cluster().Members(), c.etcd.Server.Lead(), func(node uint32) bool { return node == c.node || c.peers.isUp(node) })
	if was := c.view.Load(); was != nil {
		v.changes = was.changes
		if v.leader != 0 && v.leader != was.leader {
			v.changes++
		}
	}
	c.view.Store(v)
}

// viewOf is the view that follows from the members of etcd and the one that leads.
func viewOf(cfg *config, members []*membership.Member, lead uint64, isUp func(node uint32) bool) *membersView {
	v := &membersView{}
	for _, m := range members {
		i := slices.IndexFunc(cfg.Members, func(o member) bool {
			return o.Name == m.Name || m.Name == "" && hasPeer(m, o.Peer)
		})
		if i < 0 {
			continue
		}
		node := cfg.Members[i].Node
		if uint64(m.ID) == lead {
			v.leader = node
		}
		if m.IsLearner {
			v.learners++
			continue
		}
		v.voters = append(v.voters, node)
		if isUp(node) {
			v.up = append(v.up, node)
		}
	}
	slices.SortFunc(v.voters, func(a, b uint32) int { return strings.Compare(cfg.name(a), cfg.name(b)) })
	return v
}

// name is the name of a node, "" if it is not a member.
func (c *config) name(node uint32) string {
	if i := slices.IndexFunc(c.Members, func(m member) bool { return m.Node == node }); i >= 0 {
		return c.Members[i].Name
	}
	return ""
}

// touchLeader asks etcd, again and again, to confirm with a majority that there is a leader. The
// contact is as old as the question. A leader that merely was there when this process was stopped
// confirms nothing.
func (c *Cluster) touchLeader() {
	tick := time.NewTicker(contactEvery)
	defer tick.Stop()
	for {
		asked := time.Since(c.began)
		ctx, cancel := context.WithTimeout(c.ctx, time.Second)
		err := c.etcd.Server.LinearizableReadNotify(ctx)
		cancel()
		if err == nil {
			c.contact.Store(int64(asked))
		}
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// compact makes etcd forget what every archive has: the leader does, every 30 s, as far as the
// archives of the members that are up are synced, less 10,000 groups.
func (c *Cluster) compact() {
	for backoff.Sleep(c.ctx, compactEvery) {
		if err := c.compactOnce(c.ctx, compactKeep); err != nil && c.ctx.Err() == nil {
			c.opt.Log.Warn("etcd was not compacted", "err", err)
		}
		if err := c.defragLarge(c.ctx, defragBytes); err != nil && c.ctx.Err() == nil {
			c.opt.Log.Warn("etcd's database was not written anew", "err", err)
		}
	}
}

// compactOnce is compactTo on the leader, and nothing on another member.
func (c *Cluster) compactOnce(ctx context.Context, keep uint64) error {
	if c.view.Load().leader != c.node {
		return nil
	}
	return c.compactTo(ctx, keep)
}

// compactTo makes etcd forget what the archives of all members that are up have synced, less the last
// keep groups.
func (c *Cluster) compactTo(ctx context.Context, keep uint64) error {
	number := c.archived()
	if number < keep+c.base+1 {
		return nil
	}
	rev, err := c.revisionOf(ctx, number-keep)
	if errors.Is(err, errCompacted) || errors.Is(err, rpctypes.ErrCompacted) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = c.client.Compact(ctx, rev); errors.Is(err, rpctypes.ErrCompacted) {
		return nil
	}
	if err == nil {
		c.peers.compacted.Store(number - keep)
	}
	return err
}

// archived returns the number of the last group that every open archive has synced, or 0 if fewer than a
// majority of the voters have theirs open. A member that starts does not hold the others up, however long
// that takes: it gets what etcd has forgotten from them.
func (c *Cluster) archived() uint64 {
	l := c.log.Load()
	if l == nil {
		return 0
	}
	voters := c.view.Load().voters
	number, open := l.archive.Synced(), 0
	if slices.Contains(voters, c.node) {
		open++
	}
	for _, s := range c.peers.statuses() {
		if s.First == 0 {
			continue // it starts
		}
		number = min(number, s.ArchiveNumber)
		if slices.Contains(voters, s.Node) {
			open++
		}
	}
	if 2*open <= len(voters) {
		return 0
	}
	return number
}

// Resign implements engine.Options.Resign: it gives the lead to another member, in the background.
func (c *Cluster) Resign() {
	go func() {
		if err := c.MoveLeader(c.ctx, ""); err != nil && c.ctx.Err() == nil {
			c.opt.Log.Warn("this member cannot give the lead away", "err", err)
		}
	}()
}

// Led reports whether this member knows a leader.
func (c *Cluster) Led() bool { return c.etcd.Server.Lead() != 0 }

// MoveLeader gives the lead to a member, unless a running voter lags; "" is any other one that is up, at
// any time. It does nothing if that member has it, and for "" also if this one does not have it.
func (c *Cluster) MoveLeader(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if name != "" {
		c.lookNow()
		if err := c.votersLag(0); err != nil {
			return err
		}
	}
	return c.moveLeader(ctx, name, func(heard) bool { return true })
}

// moveLeader is MoveLeader to a member that fits, if it is another one than this.
func (c *Cluster) moveLeader(ctx context.Context, name string, fits func(heard) bool) error {
	lead := c.etcd.Server.Lead()
	if name == "" && lead != uint64(c.etcd.Server.MemberID()) {
		return nil
	}
	var errs []error
	for _, m := range c.etcd.Server.Cluster().Members() {
		if m.IsLearner || uint64(m.ID) == lead && name == "" || name != "" && m.Name != name {
			continue
		}
		if uint64(m.ID) == lead {
			return nil
		}
		node := c.config.Load().find(m.Name)
		if node == nil {
			continue
		}
		if h, up := c.peers.of(node.Node); node.Node != c.node && (!up || !fits(h)) {
			continue
		}
		// A member that has just died may still count as up. A transfer to one that is there takes
		// one round trip, so after two election timeouts the next one gets its turn.
		attempt, cancel := context.WithTimeout(ctx, 2*c.opt.Election+c.opt.Heartbeat)
		err := c.etcd.Server.MoveLeader(attempt, lead, uint64(m.ID))
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s does not take the lead: %w", m.Name, err))
	}
	switch {
	case len(errs) > 0 && ctx.Err() == nil:
		return refused("%v", errors.Join(errs...)) // it is up and does not take the lead now
	case len(errs) > 0:
		return pendingIfUnknown(errors.Join(errs...))
	case name == "":
		return refused("no other member can take it")
	}
	return refused("%s is not a member that is up and has a vote", name)
}
