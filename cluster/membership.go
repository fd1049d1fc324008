package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"

	"duplex/core/engine"
	"duplex/internal/backoff"
	"duplex/schemas"
)

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", engine.ErrRefused, fmt.Sprintf(format, args...))
}

// changeTimeout bounds one change of the members.
const changeTimeout = 10 * time.Second

// Add makes a node a member without a vote, so that it may start with --join. It gets a number that
// no node ever had.
func (c *Cluster) Add(ctx context.Context, name, peer string) error {
	list, err := ParseAddresses(name + "=" + peer)
	if err != nil || len(list) != 1 {
		return errors.Join(engine.ErrAddress, err)
	}
	return c.add(ctx, list[0])
}

func (c *Cluster) add(ctx context.Context, a Address) error {
	c.lookNow()
	if err := c.mayChange(change{}); err != nil {
		return err
	}
	cfg, listed := c.config.Load(), false
	if i := slices.IndexFunc(cfg.Members, func(m member) bool { return m.Name == a.Name || m.Peer == a.Peer }); i >= 0 {
		is := &cfg.Members[i]
		_, inEtcd := c.etcdID(is)
		if listed = !inEtcd && is.Name == a.Name && is.Peer == a.Peer; !listed {
			return refused("%s at %s is a member already", is.Name, is.Peer)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if !listed { // else an earlier add did not reach etcd
		err := untilMade(ctx, func() bool { return c.config.Load().find(a.Name) != nil }, func(ctx context.Context) error {
			return c.changeConfig(ctx, func(cfg *config) error {
				if cfg.find(a.Name) != nil {
					return nil // by an attempt that was not answered
				}
				cfg.Members = append(cfg.Members, member{Node: cfg.NextNode, Name: a.Name, Peer: a.Peer})
				cfg.NextNode++
				slices.SortFunc(cfg.Members, func(a, b member) int { return strings.Compare(a.Name, b.Name) })
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	now := time.Now()
	scheme := "http"
	if c.opt.Cert != "" {
		scheme = "https"
	}
	m := membership.NewMemberAsLearner("", types.URLs([]url.URL{{Scheme: scheme, Host: a.Peer}}), "duplex", &now)
	err := untilMade(ctx, func() bool { _, ok := c.etcdID(&member{Peer: a.Peer}); return ok }, func(ctx context.Context) error {
		_, err := c.etcd.Server.AddMember(ctx, *m)
		return err
	})
	if errors.Is(err, engine.ErrRefused) {
		return errors.Join(err, c.forget(ctx, a.Name, false))
	}
	return err
}

// forget removes a name from the configuration. former says that it was a member.
func (c *Cluster) forget(ctx context.Context, name string, former bool) error {
	return untilMade(ctx, func() bool { return c.config.Load().find(name) == nil }, func(ctx context.Context) error {
		return c.changeConfig(ctx, func(cfg *config) error {
			if m := cfg.find(name); m != nil && former {
				cfg.Former = append(cfg.Former, *m)
			}
			cfg.Members = slices.DeleteFunc(cfg.Members, func(m member) bool { return m.Name == name })
			return nil
		})
	})
}

// attemptTimeout bounds an attempt of a change. What was proposed to a leader that is gone is lost, and etcd waits for
// it as long as it may.
const attemptTimeout = 2 * time.Second

// untilMade repeats a change until it is made or refused, or ctx ends: while the leader changes, nobody knows
// whether it was made.
func untilMade(ctx context.Context, made func() bool, change func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := change(attempt)
		cancel()
		if err == nil || made() {
			return nil
		}
		if err = refusedByEtcd(err); !errors.Is(err, engine.ErrPending) || !backoff.Sleep(ctx, retryAfter) {
			return err
		}
	}
}

// Remove removes a member for good. The leader removes itself last: it gives the lead away first. One that
// may know more of the history than every other member is refused unless loseHistory is set.
func (c *Cluster) Remove(ctx context.Context, name string, loseHistory bool) error {
	m := c.config.Load().find(name)
	if m == nil {
		return refused("%s is not a member", name)
	}
	if m.Node == c.node {
		return refused("ask another member to remove %s", name)
	}
	c.lookNow()
	if err := c.mayChange(change{leaves: m.Node}); err != nil {
		return err
	}
	if !loseHistory {
		if err := c.loses(m, c.Status().History); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if id, ok := c.etcdID(m); ok {
		err := untilMade(ctx, func() bool { _, ok := c.etcdID(m); return !ok }, func(ctx context.Context) error {
			_, err := c.etcd.Server.RemoveMember(ctx, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return c.forget(ctx, name, true)
}

// Promote gives a member its vote.
func (c *Cluster) Promote(ctx context.Context, name string) error {
	c.lookNow()
	return c.promote(ctx, name)
}

// promote is Promote by the statuses of the last poll.
func (c *Cluster) promote(ctx context.Context, name string) error {
	m := c.config.Load().find(name)
	if m == nil {
		return refused("%s is not a member", name)
	}
	id, ok := c.etcdID(m)
	if !ok || !slices.ContainsFunc(c.etcd.Server.Cluster().Members(), func(e *membership.Member) bool { return uint64(e.ID) == id && e.IsLearner }) {
		return refused("%s has a vote already", name)
	}
	if !c.peers.isUp(m.Node) {
		return refused("%s is not up", name)
	}
	if err := c.lags(m.Node); err != nil {
		return err
	}
	if err := c.mayChange(change{votes: m.Node}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := c.etcd.Server.PromoteMember(ctx, id)
	return refusedByEtcd(err)
}

// refusedByEtcd is engine.ErrRefused for an error with which etcd refuses a change, such as that a learner is not
// ready, and engine.ErrPending for one after which the change may still be made.
func refusedByEtcd(err error) error {
	if err = pendingIfUnknown(err); err == nil || errors.Is(err, engine.ErrPending) || errors.Is(err, engine.ErrRefused) {
		return err
	}
	return refused("%v", err)
}

// pendingIfUnknown is engine.ErrPending for an error after which nobody knows yet whether a change was made: time
// ran out, or the leader went away.
func pendingIfUnknown(err error) error {
	for _, unknown := range []error{
		context.DeadlineExceeded, context.Canceled, etcderrors.ErrTimeout, etcderrors.ErrTimeoutDueToLeaderFail, etcderrors.ErrTimeoutDueToConnectionLost,
		etcderrors.ErrTimeoutLeaderTransfer, etcderrors.ErrLeaderChanged, etcderrors.ErrNoLeader, etcderrors.ErrStopped,
		rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrLeaderChanged, rpctypes.ErrNoLeader,
	} {
		if errors.Is(err, unknown) {
			return fmt.Errorf("%w: %w", engine.ErrPending, err)
		}
	}
	return err
}

// etcdID is the id of a member in etcd.
func (c *Cluster) etcdID(m *member) (uint64, bool) {
	for _, e := range c.etcd.Server.Cluster().Members() {
		if hasPeer(e, m.Peer) {
			return uint64(e.ID), true
		}
	}
	return 0, false
}

// hasPeer reports whether a member of etcd has the peer port host:port.
func hasPeer(m *membership.Member, peer string) bool {
	return slices.ContainsFunc(m.PeerURLs, func(u string) bool { return strings.HasSuffix(u, "//"+peer) })
}

// lagMax is how far a running member may be behind when the members change.
const lagMax = 1000

// lookNow asks every member, so that a change rests on what they say now.
func (c *Cluster) lookNow() {
	c.pollOnce()
	c.refreshView()
}

// change is a change of the members. The zero value adds one without a vote.
type change struct {
	leaves uint32 // the node that is removed; 0: none
	votes  uint32 // the node that gets a vote; 0: none
}

// mayChange refuses a change while a running voter lags, or if fewer than a majority would be up
// afterwards. A voter counts as running for upFor after its last answer, and as up only if it has
// answered the last poll: each errs towards the refusal.
func (c *Cluster) mayChange(ch change) error {
	if err := c.votersLag(ch.leaves); err != nil {
		return err
	}
	v := c.view.Load()
	voters, up := 0, 0
	for _, n := range v.voters {
		if n == ch.leaves {
			continue
		}
		voters++
		if h, _ := c.peers.of(n); slices.Contains(v.up, n) && !h.missed {
			up++
		}
	}
	if ch.votes != 0 { // Promote has checked that it is up
		voters, up = voters+1, up+1
	}
	if up < voters/2+1 {
		return refused("only %d of %d voters would be up", up, voters)
	}
	if v.learners > 0 && ch == (change{}) {
		return refused("a member that was added has no vote yet: one change at a time")
	}
	return nil
}

// votersLag refuses if a running voter is too far behind, other than one that leaves; 0: none does.
func (c *Cluster) votersLag(leaves uint32) error {
	for _, n := range c.view.Load().up {
		if n == c.node || n == leaves {
			continue
		}
		if err := c.lags(n); err != nil {
			return err
		}
	}
	return nil
}

// lags refuses if a node is too far behind.
func (c *Cluster) lags(node uint32) error {
	l := c.log.Load()
	for _, h := range c.peers.statuses() {
		if h.Node == node && l != nil && h.Number+lagMax < l.archive.Head() {
			return refused("%s is %d groups behind", h.Name, l.archive.Head()-h.Number)
		}
	}
	return nil
}

// promoteReady gives a vote to each member that was added and has caught up, if no voter is down.
// The leader does so after each poll.
func (c *Cluster) promoteReady() {
	v := c.view.Load()
	if v.leader != c.node || v.learners == 0 {
		return
	}
	for _, n := range v.voters {
		if h, _ := c.peers.of(n); !slices.Contains(v.up, n) || h.missed {
			return
		}
	}
	cfg := c.config.Load()
	for _, h := range c.peers.statuses() {
		m := cfg.find(h.Name)
		if h.Role != roleLearner || m == nil || h.AppliedGroup == 0 && h.Number == 0 || c.lags(h.Node) != nil {
			continue
		}
		if err := c.promote(c.ctx, h.Name); err != nil {
			c.opt.Log.Info("a member that was added gets no vote yet", "member", h.Name, "err", err)
			continue
		}
		c.opt.Log.Info("a member that was added has a vote now", "member", h.Name)
	}
}

// StateDown is the state of a member that does not answer.
const StateDown = "down"

// Overview asks every member, and returns the members as this one sees them.
func (c *Cluster) Overview() schemas.ClusterStatus {
	c.pollOnce()
	cfg, v := c.config.Load(), c.view.Load()
	out := schemas.ClusterStatus{ClusterID: c.id.String(), Leader: cfg.name(v.leader)}
	heard := map[uint32]heard{}
	for _, h := range c.peers.statuses() {
		heard[h.Node] = h
	}
	for _, m := range cfg.Members {
		o := schemas.ClusterMember{Node: m.Name, Role: roleLearner, State: StateDown, Peer: m.Peer, Follow: m.Follow}
		if slices.Contains(v.voters, m.Node) {
			o.Role = roleVoter
		}
		s, up := heard[m.Node].Status, heard[m.Node].Node != 0 && !heard[m.Node].missed
		if m.Node == c.node {
			s, up = c.Status(), true
		}
		if up {
			o.State, o.Number, o.Seq, o.AttestedSeq, o.StateHash = s.State, schemas.U64(s.Number), schemas.U64(s.Seq), schemas.U64(s.AttestedSeq), s.StateHash
			o.CertEndTs = schemas.U64(s.CertEnd)
			if end := schemas.U64(s.CAEnd); end > 0 && (out.CAEndTs == 0 || end < out.CAEndTs) {
				out.CAEndTs = end
			}
			o.Version, o.DiskFree, o.ClockOffsetMs = s.Version, schemas.U64(s.DiskFree), float64(heard[m.Node].offset.Microseconds())/1000
			if s.History.known() {
				o.HistorySinceSeq = schemas.Ptr(schemas.U64(s.History.Since))
			}
		}
		if m.Node == v.leader {
			o.Role = roleLeader
		}
		out.Members = append(out.Members, o)
	}
	lead := slices.IndexFunc(out.Members, func(m schemas.ClusterMember) bool { return m.Role == roleLeader && m.State != StateDown })
	for i := range out.Members {
		if m := &out.Members[i]; lead >= 0 && m.State != StateDown {
			m.Behind = schemas.Ptr(max(out.Members[lead].Number, m.Number) - m.Number)
		}
	}
	return out
}
