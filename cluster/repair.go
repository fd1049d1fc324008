package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"duplex/core/journal"
)

// A member whose archive or snapshot is damaged gets it from another member, over the follow port: every
// archive has the same groups, and etcd has what was confirmed. It never takes what it could not verify:
// a snapshot is verified as a file, and a group continues the running hash of a snapshot of this member
// or of the start of the log.

// repairedName is the folder, beside the log, in which a new log is made.
const repairedName = "repaired"

// repairTimeout bounds the wait until another member serves its archive. The copy may take longer.
const repairTimeout = time.Minute

// Repair replaces what is damaged in the journal of this member with what another member has, so that it
// can be opened again. The log must not be open. It returns false, and changes nothing, if the damage is
// not one of the journal. Errors: the damage itself with the reason why no other member can help, one of the
// disk, or that no other member has helped within repairTimeout, which may pass.
func (c *Cluster) Repair(ctx context.Context, damage *journal.Damage) (bool, error) {
	inside, err := filepath.Rel(c.archive, damage.File)
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return false, nil
	}
	repair := c.repairLog
	if strings.HasPrefix(inside, journal.SnapshotDir+string(filepath.Separator)) {
		repair = func(ctx context.Context) (string, error) { return c.repairSnapshot(ctx, damage.File) }
	}
	wait, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	c.opt.Log.Warn("a file of this member is damaged; it is replaced from another member", "file", damage.File, "err", damage)
	from, why := "", error(nil)
	err = c.retry(wait, "no other member serves its archive", func(context.Context) error {
		from, why = repair(ctx) // the attempts of retry are too short for an archive
		return why
	})
	if isFinal(err) && errors.Is(err, errNoHelp) {
		return false, &journal.Damage{File: damage.File, Offset: damage.Offset, Group: damage.Group, Err: errors.Join(damage.Err, err)}
	}
	if err != nil {
		return false, fmt.Errorf("%s is damaged, and it is not replaced yet: %w", damage.File, errors.Join(err, why))
	}
	c.opt.Log.Warn("what was damaged has been replaced from another member", "file", damage.File, "member", from)
	return true, nil
}

// repairSnapshot gets the newest snapshot of another member, and removes the damaged one. A venue that
// is so young that the others have no snapshot needs none.
func (c *Cluster) repairSnapshot(ctx context.Context, damaged string) (string, error) {
	return c.fromOthers(func(m *member) error {
		s, err := c.snapshotOf(ctx, m)
		if err != nil {
			return err
		}
		if n, _ := journal.SnapshotNumber(damaged); n == s.Number && s.Number > 0 {
			return nil // it was replaced
		}
		if err := os.Remove(damaged); err != nil && !errors.Is(err, os.ErrNotExist) {
			return finalError{err}
		}
		return nil
	})
}

// repairLog makes the log anew from the archive of another member: from the start if that has it, else
// from the oldest snapshot of this member that it continues.
func (c *Cluster) repairLog(ctx context.Context) (string, error) {
	whole, err := c.wholeSnapshots()
	if err != nil {
		return "", finalError{err}
	}
	return c.fromOthers(func(m *member) error {
		s := Status{}
		if _, err := c.toPeers.get(ctx, m.Follow, "/v1/status", &s); err != nil {
			return err
		}
		if s.First == 0 {
			return errors.New("it starts")
		}
		base, upto, ok := journal.Position{}, uint64(0), s.First == 1
		for _, at := range whole { // the newest first
			upto = max(upto, at.Number)
			if s.First > 1 && at.Number+1 >= s.First {
				base, ok = at, true
			}
		}
		if !ok {
			return fmt.Errorf("%w: its archive begins at group %d, after every snapshot of this member", errNoHelp, s.First)
		}
		return c.copyLog(ctx, m, base, upto)
	})
}

// wholeSnapshots returns the positions of the snapshots that are not damaged, the newest first.
func (c *Cluster) wholeSnapshots() (list []journal.Position, err error) {
	paths, err := journal.Snapshots(c.snapshotDir())
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		s, err := journal.ProveSnapshot(path)
		if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s.Position)
	}
	return list, nil
}

// copyLog replaces the log by a copy of that of another member after a position, which has at least the
// group upto, the newest snapshot.
func (c *Cluster) copyLog(ctx context.Context, m *member, base journal.Position, upto uint64) (err error) {
	dir := filepath.Join(c.archive, repairedName)
	if err := os.RemoveAll(dir); err != nil {
		return finalError{err}
	}
	archive, err := journal.Open(dir, journal.Options{Archive: true, Start: base, Base: base})
	if err != nil {
		return finalError{err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, archive.Close(), os.RemoveAll(dir))
		}
	}()
	body, head, err := c.toPeers.fetchLog(ctx, m.Follow, base.Number+1)
	if err != nil {
		return err
	}
	defer body.Close()
	if head < upto {
		return fmt.Errorf("its archive ends at group %d, and a snapshot of this member at group %d", head, upto)
	}
	if head > base.Number {
		err := readUpTo(body, base, head, func(g *journal.Group) error {
			if err := archive.Append(*g); err != nil {
				return finalError{err}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := archive.Sync(); err != nil {
		return finalError{err}
	}
	if err := archive.Close(); err != nil {
		return finalError{err}
	}
	if err := journal.Replace(c.archive, dir); err != nil {
		return finalError{err}
	}
	return nil
}
