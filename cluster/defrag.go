package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"duplex/schemas"
)

// etcd's database does not shrink when etcd forgets groups; it must be written anew, during which the
// member applies nothing. The leader has that done when a database has more than defragBytes, one
// member after the other and itself last. Beyond etcdQuota etcd takes no writes until Defrag.

const (
	defragBytes   = 1 << 30
	defragPause   = 10 * time.Minute // between two defragmentations of the leader's own accord
	defragTimeout = 5 * time.Minute  // of one member
	removedPoll   = 10 * time.Millisecond

	defragPath      = "/v1/defrag" // POST, on the follow port, for members only
	defragForgotten = "forgotten"  // query: the revision before which etcd agreed to forget
)

// Defrag makes etcd forget what every archive has, writes the database of every member that is up
// anew, one at a time and the leader's last, and then lets etcd take writes again if it had stopped at
// its quota.
func (c *Cluster) Defrag(ctx context.Context) (done []schemas.Defragmented, err error) {
	within, cancel := context.WithTimeout(ctx, changeTimeout)
	err = c.compactTo(within, 0)
	cancel()
	if err != nil {
		return nil, err
	}
	if done, err = c.defragOver(ctx, 0); err != nil {
		return done, err
	}
	within, cancel = context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err = c.client.AlarmDisarm(within, &clientv3.AlarmMember{}) // all alarms
	return done, err
}

// defragOver defragments the database of each member that is up, if it has more than limit bytes: first those of
// the other members, then that of this one, and last that of the leader, which writes nothing meanwhile.
func (c *Cluster) defragOver(ctx context.Context, limit int64) (done []schemas.Defragmented, err error) {
	leader := c.view.Load().leader
	members := append(c.peers.statuses(), heard{Status: c.Status()})
	slices.SortStableFunc(members, func(a, b heard) int {
		switch {
		case a.Node == leader && b.Node != leader:
			return 1
		case b.Node == leader && a.Node != leader:
			return -1
		}
		return 0
	})
	cfg, forgotten := c.config.Load(), max(0, c.etcd.Server.KV().FirstRev()) // −1: it never forgot anything
	for _, h := range members {
		m := cfg.find(h.Name)
		if m == nil || h.EtcdBytes <= limit {
			continue
		}
		var d schemas.Defragmented
		within, cancel := context.WithTimeout(ctx, defragTimeout)
		if h.Node == c.node {
			d, err = c.defragSelf(within, forgotten)
		} else {
			_, err = c.toPeers.send(within, http.MethodPost, m.Follow, fmt.Sprintf("%s?%s=%d", defragPath, defragForgotten, forgotten), &d)
		}
		cancel()
		if err != nil {
			return done, fmt.Errorf("%s: %w", h.Name, err)
		}
		c.opt.Log.Info("etcd's database was written anew", "member", d.Node, "bytes_before", d.Before, "bytes", d.After)
		done = append(done, d)
	}
	return done, nil
}

// defragSelf writes this member's database anew once it has removed everything before the revision
// forgotten: a member removes later than etcd agrees to forget, and a database that was written anew
// before would keep its size.
func (c *Cluster) defragSelf(ctx context.Context, forgotten int64) (d schemas.Defragmented, err error) {
	c.defragging.Lock()
	defer c.defragging.Unlock()
	if err := c.waitRemoved(ctx, forgotten); err != nil {
		return d, err
	}
	b := c.etcd.Server.Backend()
	d = schemas.Defragmented{Node: c.opt.Name, Before: schemas.U64(b.Size())}
	err = b.Defrag()
	d.After = schemas.U64(b.Size())
	return d, err
}

// waitRemoved waits until this member's database has removed what etcd forgot before a revision. etcd
// sends no signal of that, so the database is read every removedPoll.
func (c *Cluster) waitRemoved(ctx context.Context, revision int64) error {
	poll := time.NewTicker(removedPoll)
	defer poll.Stop()
	for {
		tx := c.etcd.Server.Backend().ReadTx()
		tx.RLock()
		removed, _ := mvcc.UnsafeReadFinishedCompact(tx)
		tx.RUnlock()
		if removed >= revision {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("etcd has removed what is before revision %d, and not yet before %d: %w", removed, revision, ctx.Err())
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-poll.C:
		}
	}
}

// serveDefrag answers defragPath. A member of an older version sends no revision; then there is no
// wait.
func (c *Cluster) serveDefrag(w http.ResponseWriter, r *http.Request) {
	if r.TLS != nil {
		if err := requireRole(*r.TLS, roleMember); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
	}
	var forgotten int64
	if s := r.URL.Query().Get(defragForgotten); s != "" {
		var err error
		if forgotten, err = strconv.ParseInt(s, 10, 64); err != nil || forgotten < 0 {
			http.Error(w, fmt.Sprintf("%s=%q is not a revision", defragForgotten, s), http.StatusBadRequest)
			return
		}
	}
	d, err := c.defragSelf(r.Context(), forgotten)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, d)
}

// defragLarge has the databases that are too large defragmented, unless that was done lately: then
// what they hold is needed. The leader calls it after each compaction.
func (c *Cluster) defragLarge(ctx context.Context, limit int64) error {
	if c.view.Load().leader != c.node || time.Since(c.defragged) < defragPause && !c.defragged.IsZero() {
		return nil
	}
	large := c.Status().EtcdBytes > limit || slices.ContainsFunc(c.peers.statuses(), func(h heard) bool { return h.EtcdBytes > limit })
	if !large {
		return nil
	}
	c.defragged = time.Now()
	err := c.compactTo(ctx, 0)
	if err == nil {
		_, err = c.defragOver(ctx, limit)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
