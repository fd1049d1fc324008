package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"duplex/core/journal"
)

var (
	errCaughtUp   = errors.New("caught up")
	errOtherChain = errors.New("it does not continue what this node has: the log of another venue, or of another history")
)

// errNoHelp means that what another member has cannot help this one, and never will.
var errNoHelp = errors.New("no other member can help")

// fromOthers calls f for one other member after the other until it succeeds, and returns the name of that
// member. The error is final if f returned a final one, or if no other member can ever help.
func (c *Cluster) fromOthers(f func(m *member) error) (name string, err error) {
	var errs []error
	never, others := 0, 0
	for _, m := range c.config.Load().Members {
		if m.Node == c.node {
			continue
		}
		others++
		if m.Follow == "" {
			continue
		}
		err := f(&m)
		if err == nil || isFinal(err) {
			return m.Name, err
		}
		errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
		if gone := (*statusError)(nil); errors.Is(err, errOtherChain) || errors.Is(err, errNoHelp) || errors.As(err, &gone) && gone.code == http.StatusGone {
			never++
		}
	}
	if never == others {
		return "", finalError{errors.Join(append(errs, errNoHelp)...)}
	}
	return "", errors.Join(append(errs, errors.New("no other member can help yet"))...)
}

// catchUp gets the groups that etcd does not have any more from the archives of other members. It
// returns a *journal.Damage if no other member can ever give them.
func (c *Cluster) catchUp(ctx context.Context, l *Log) error {
	_, err := c.fromOthers(func(m *member) error {
		err := c.catchUpFrom(ctx, l, m)
		if err != nil && (ctx.Err() != nil || l.archive.Failed() != nil) {
			return finalError{err}
		}
		return err
	})
	if err == nil || ctx.Err() != nil || l.archive.Failed() != nil {
		return err
	}
	next := l.archive.Head() + 1
	if isFinal(err) {
		return &journal.Damage{File: c.archive, Group: next, Err: fmt.Errorf("replace this member: nobody has group %d after what it has: %w", next, err)}
	}
	return fmt.Errorf("no other member gives group %d: %w", next, err)
}

// catchUpFrom takes from the archive of one member the groups that it has when it is asked. It does not
// wait for more: the other member may be waiting for this one.
func (c *Cluster) catchUpFrom(ctx context.Context, l *Log, m *member) error {
	at := l.archive.Last()
	body, head, err := c.toPeers.fetchLog(ctx, m.Follow, at.Number+1)
	if err != nil {
		return err
	}
	defer body.Close()
	if head <= at.Number {
		return fmt.Errorf("its archive ends at group %d", head)
	}
	c.opt.Log.Info("groups are read from the archive of another member", "from", at.Number+1, "to", head, "member", m.Name)
	return readUpTo(body, at, head, l.append)
}

// readUpTo reads the frames of a log up to a group, and verifies every group against the position before
// it.
func readUpTo(r io.Reader, at journal.Position, head uint64, group func(*journal.Group) error) error {
	err := readLog(r, at, func(g journal.Group) error {
		if err := group(&g); err != nil {
			return err
		}
		if g.Number >= head {
			return errCaughtUp
		}
		return nil
	}, func(beat) error { return nil })
	if errors.Is(err, errCaughtUp) {
		return nil
	}
	return err
}

// prepareSnapshot gets the snapshot of another member, if this one has no journal and etcd does not
// have the whole log any more.
func (c *Cluster) prepareSnapshot(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(c.archive, "log")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	complete := false
	err := c.retry(ctx, "etcd does not answer", func(ctx context.Context) error {
		_, err := c.revisionOf(ctx, c.base+1)
		complete = err == nil && c.base == 0
		return nil
	})
	if err != nil || complete {
		return err
	}
	return c.retry(ctx, "no other member gives a snapshot", func(context.Context) error {
		return c.fetchSnapshot(ctx) // a big file takes longer than one attempt
	})
}

// fetchSnapshot gets the snapshot of one of the other members.
func (c *Cluster) fetchSnapshot(ctx context.Context) error {
	_, err := c.fromOthers(func(m *member) error {
		_, err := c.snapshotOf(ctx, m)
		return err
	})
	return err
}

// snapshotOf puts the newest snapshot of another member into the folder of this one's. The other one may
// have none if the venue is so young that its archive is whole: that is read instead. A member that has
// nothing yet, as this one, says nothing about the venue.
func (c *Cluster) snapshotOf(ctx context.Context, m *member) (journal.Snapshot, error) {
	var has Status
	if _, err := c.toPeers.get(ctx, m.Follow, "/v1/status", &has); err != nil {
		return journal.Snapshot{}, err
	}
	return c.toPeers.fetchSnapshot(ctx, m.Follow, c.snapshotDir(), has.First == 1 && has.Number > 0)
}

// fetchSnapshot puts the newest snapshot of a node into dir. If young is set, the node may have none.
// Then the result has no number.
func (p *peerClient) fetchSnapshot(ctx context.Context, address, dir string, young bool) (s journal.Snapshot, err error) {
	body, header, err := p.stream(ctx, address, "/v1/snapshot")
	if missing := (*statusError)(nil); errors.As(err, &missing) && missing.code == http.StatusNotFound && young {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer body.Close()
	if s, err = journal.AdoptSnapshot(dir, header.Get(snapshotName), body); err == nil {
		p.log.Info("snapshot received", "from", address, "seq", s.Seq, "bytes", s.Bytes)
	}
	return s, err
}
