package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"duplex/core/engine"
	"duplex/core/journal"
)

// Changes of the data of a node that is stopped. Each of them verifies the journal as dx verify does
// before it changes what the node is, and may be repeated after a crash. Detach and Recover append to
// the journal before that.
//
//	Init      a single machine's data becomes that of the first member
//	Detach    a member's data becomes that of a single machine
//	Recover   a member's data becomes that of the first member of a new cluster, after the loss of
//	          the majority

// ErrNotMember means that a data folder is not that of a member.
var ErrNotMember = errors.New("not the data of a member of a cluster")

// errNotCopied means that etcd's data may be whole, but that there is no room for a copy or no right to make one.
var errNotCopied = errors.New("etcd's data cannot be copied")

// MemberOf returns the name of the member whose data a folder is, "" if it is that of a single machine
// or of none.
func MemberOf(dir string) (name string, err error) {
	id, err := readIdentity(dir)
	if id != nil {
		name = id.Name
	}
	return name, err
}

// Init makes the data of a single machine, which is stopped, the beginning of a cluster: the member
// of this name starts with it, and the others with empty folders and Options.Join. It returns what it
// has verified. Errors: journal.ErrLocked, an *engine.Failure, a *journal.Damage, or one of the disk.
func Init(dir, name string) (engine.Proof, error) {
	o, err := openOffline(dir)
	if err != nil {
		return engine.Proof{}, err
	}
	if o.identity != nil {
		return engine.Proof{}, errors.Join(fmt.Errorf("%s is the data of member %s already", dir, o.identity.Name), o.close())
	}
	if !engine.HasJournal(o.journal) {
		return engine.Proof{}, errors.Join(fmt.Errorf("%s has no journal: a new cluster needs no init", dir), o.close())
	}
	return o.end(func(at journal.Position, p *engine.Proof) error {
		return o.begin(name, at, p)
	})
}

// Detach makes the data of a member, which is stopped, that of a single machine. What etcd has and
// the archive lacks is appended to the archive first. Errors: ErrNotMember, and those of Init.
func Detach(ctx context.Context, dir string) (Recovered, error) {
	o, err := openOffline(dir)
	if err != nil {
		return Recovered{}, err
	}
	r := Recovered{}
	err = o.isMember()
	if err == nil && !o.identity.Leaving { // else it is complete
		r, err = o.complete(ctx, []*offline{o})
	}
	if err != nil {
		return r, errors.Join(err, o.close())
	}
	if len(r.Unusable) > 0 {
		return r, errors.Join(fmt.Errorf("the archive may lack groups: %w", errors.Join(r.Unusable...)), o.close())
	}
	r.Proof, err = o.end(func(at journal.Position, _ *engine.Proof) error {
		r.Archive, r.Number = max(r.Archive, at.Number), at.Number
		// Without CLUSTER the folder is that of a single machine, so that is removed last. What is left
		// of etcd's data when this is interrupted is never started, and a repetition does not need it.
		id := *o.identity
		id.Leaving = true
		if err := id.write(dir); err != nil {
			return err
		}
		for _, name := range []string{"etcd", peerPairName} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		return os.Remove(filepath.Join(dir, identityName))
	})
	return r, err
}

// Recovered says what Recover and Detach hold, and what they cannot know.
type Recovered struct {
	Proof       engine.Proof
	Archive     uint64  // number of the last group of the archives
	Number      uint64  // of the last group now
	From        string  // the folder whose etcd had the groups after Archive; "" if there were none
	Unconfirmed uint64  // at most so many of them were not confirmed by a majority, as far as the folder knows
	Unusable    []error // why etcd's data of a folder could not be read
	Kept        string  // where etcd's data of the folder are kept, if some data are Unusable; "" if there were none
	Damaged     []error // where the archive of another folder is damaged; what comes before is in the log
}

// Recover makes dir, the data of a member that is stopped, the beginning of a new cluster. also are
// data folders of other members of the same cluster. The new log continues the longest of their
// archives with what etcd has beyond it. If some of what etcd has cannot be read, etcd's folder of
// dir is kept under the name etcd.unread. Errors: ErrNotMember, that of ctx, and those of Init.
func Recover(ctx context.Context, dir string, also []string) (r Recovered, err error) {
	var all []*offline
	defer func() {
		for _, o := range all {
			err = errors.Join(err, o.close())
		}
	}()
	for _, d := range append([]string{dir}, also...) {
		o, err := openOffline(d)
		if err != nil {
			return r, err
		}
		all = append(all, o)
		if err := o.isMember(); err != nil {
			return r, err
		}
		if o.identity.ClusterID != all[0].identity.ClusterID {
			return r, fmt.Errorf("%s is of cluster %s, and %s of %s", d, o.identity.ClusterID, dir, all[0].identity.ClusterID)
		}
	}
	if r, err = all[0].complete(ctx, all); err != nil {
		return r, err
	}
	r.Proof, err = all[0].end(func(at journal.Position, p *engine.Proof) error {
		etcd := filepath.Join(dir, "etcd")
		if len(r.Unusable) > 0 { // they may have what no archive has
			r.Kept = etcd + ".unread"
			err = os.Rename(etcd, r.Kept)
		} else {
			err = os.RemoveAll(etcd)
		}
		if errors.Is(err, fs.ErrNotExist) {
			r.Kept, err = "", nil
		}
		if err != nil {
			return err
		}
		return all[0].begin(all[0].identity.Name, at, p)
	})
	return r, err
}

// offline is a data folder whose venue is stopped. It holds its lock.
type offline struct {
	dir, journal string
	lock         *journal.FileLock
	identity     *identity // nil: of a single machine
	nextNode     uint32    // a number that no node of the cluster had
}

func openOffline(dir string) (*offline, error) {
	o := &offline{dir: dir, journal: filepath.Join(dir, "journal")}
	var err error
	if _, err = os.Stat(dir); err != nil {
		return nil, err
	}
	if o.lock, err = journal.Lock(filepath.Join(dir, lockName)); err != nil {
		return nil, err
	}
	if o.identity, err = readIdentity(dir); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *offline) close() (err error) {
	if o.lock != nil {
		err = o.lock.Close()
		o.lock = nil
	}
	return err
}

func (o *offline) isMember() error {
	switch {
	case o.identity == nil:
		return fmt.Errorf("%s: %w", o.dir, ErrNotMember)
	case o.identity.Forming:
		return fmt.Errorf("%s has not been a member since its dx cluster init or recover: nothing is lost, start it with dx serve --node %s", o.dir, o.identity.Name)
	}
	return nil
}

// begin makes the folder the beginning of a cluster. Its nodes get numbers that no node had which has
// written to the journal, in a cluster before this one: the numbers of their proposals are used.
func (o *offline) begin(name string, at journal.Position, p *engine.Proof) error {
	first := max(o.nextNode, p.Node+1)
	return (&identity{Format: configFormat, Name: name, Node: first, Base: positionOf(at), Forming: true, Settings: RuleSettings(&p.Rules)}).write(o.dir)
}

// end verifies the journal, calls change with its end and what was verified, and gives the lock back.
func (o *offline) end(change func(at journal.Position, p *engine.Proof) error) (p engine.Proof, err error) {
	defer func() { err = errors.Join(err, o.close()) }()
	archive, err := o.openArchive()
	if err != nil {
		return p, err
	}
	at := archive.Last()
	if err := archive.Close(); err != nil {
		return p, err
	}
	if p, err = engine.Verify(o.journal, nil); err != nil {
		return p, err
	}
	return p, change(at, &p)
}

// openArchive opens the journal. The end of a member's archive that is not synced may be damaged,
// and is cut; that of a single machine may not.
func (o *offline) openArchive() (*journal.File, error) {
	start, err := newestSnapshot(filepath.Join(o.journal, journal.SnapshotDir))
	if err != nil {
		return nil, err
	}
	return journal.Open(o.journal, journal.Options{Start: start, Base: start, Archive: o.identity != nil})
}

// newestSnapshot verifies the newest snapshot in dir and returns its position, which is zero if there
// is none.
func newestSnapshot(dir string) (at journal.Position, err error) {
	path, err := journal.LatestSnapshot(dir)
	if errors.Is(err, journal.ErrNoSnapshot) {
		return at, nil
	}
	if err != nil {
		return at, err
	}
	s, err := journal.ProveSnapshot(path)
	return s.Position, err
}

// complete appends to the archive of o what the archives of all have and then what the longest of
// their logs in etcd has.
func (o *offline) complete(ctx context.Context, all []*offline) (r Recovered, err error) {
	archive, err := o.openArchive()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	for _, other := range all {
		if other == o {
			continue
		}
		damage := (*journal.Damage)(nil)
		if err := appendFrom(ctx, archive, other); errors.As(err, &damage) {
			r.Damaged = append(r.Damaged, err)
		} else if err != nil {
			return r, err
		}
	}
	r.Archive = archive.Head()
	var logs []*etcdCopy
	for _, from := range all {
		l, err := copyEtcd(from)
		if errors.Is(err, errNotCopied) {
			return r, err
		}
		if err != nil {
			r.Unusable = append(r.Unusable, fmt.Errorf("etcd's data in %s: %w", from.dir, err))
			continue
		}
		defer l.remove()
		logs = append(logs, l)
	}
	// The log with the newest entry has everything that was confirmed, as in an election.
	slices.SortFunc(logs, func(a, b *etcdCopy) int {
		return -cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.index, b.index))
	})
	for _, l := range logs {
		had := archive.Head()
		if err := l.drain(ctx, archive); err != nil {
			r.Unusable = append(r.Unusable, fmt.Errorf("etcd's data in %s: %w", l.of.dir, err))
		}
		if archive.Head() > had {
			r.From, r.Unconfirmed = l.of.dir, min(l.unconfirmed, archive.Head()-had)
		}
		o.nextNode = max(o.nextNode, l.nextNode)
		if len(r.Unusable) == 0 {
			break
		}
	}
	if err := ctx.Err(); err != nil { // then what is missing may be whole
		return r, err
	}
	r.Number = archive.Head()
	for _, other := range all {
		o.nextNode = max(o.nextNode, other.identity.Node+1) // in case that etcd's count is lost
	}
	return r, archive.Sync()
}

// appendFrom appends what the archive of another member has and this one lacks. Errors: a *journal.Damage, if the
// archive has not all that its mark says; what comes before the damage is appended.
func appendFrom(ctx context.Context, archive *journal.File, other *offline) error {
	take := func() error {
		reader, err := journal.NewReader(other.journal)
		if reader.Last().Number <= archive.Head() {
			return err
		}
		for g, err := range reader.Tail(ctx, archive.Last()) {
			if err == nil {
				err = archive.Append(g)
			}
			if err != nil {
				return err
			}
		}
		return ctx.Err() // which ends a Tail without an error
	}
	damage, torn := (*journal.Damage)(nil), (*journal.Torn)(nil)
	if err := take(); err != nil && !errors.As(err, &damage) && !errors.Is(err, journal.ErrNoLog) {
		return fmt.Errorf("%s: %w", other.dir, err)
	}
	for _, err := range journal.Scan(other.journal, math.MaxUint64) { // yields how the log ends
		if !errors.As(err, &torn) {
			return fmt.Errorf("%s: %w", other.dir, err)
		}
	}
	return nil
}

// etcdCopy is a copy of etcd's data of a stopped member, so that reading it changes nothing.
type etcdCopy struct {
	of          *offline
	dir         string // of the copy; etcd's data are in dir/etcd
	term, index uint64 // of the last entry
	unconfirmed uint64 // entries that this member did not know to be confirmed
	nextNode    uint32 // of the configuration, after drain
}

// copyEtcd copies etcd's data, and makes every entry of the copy a confirmed one. A member learns
// only with the next entry, or the next heartbeat, that an entry is confirmed. So the last ones may
// have been answered although this member does not know that.
func copyEtcd(o *offline) (*etcdCopy, error) {
	l := &etcdCopy{of: o, dir: filepath.Join(o.dir, "etcd.copy")}
	if err := l.make(filepath.Join(o.dir, "etcd", "member")); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *etcdCopy) make(from string) error {
	to := filepath.Join(l.dir, "etcd", "member")
	err := errors.Join(os.RemoveAll(l.dir), os.MkdirAll(filepath.Dir(to), 0o700))
	if err == nil {
		err = os.CopyFS(to, os.DirFS(from))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) { // the data are lost, or on a bad disk
		return err
	}
	if err == nil {
		if err = l.confirmAll(filepath.Join(to, "wal"), filepath.Join(to, "snap")); !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errNotCopied, err)
}

func (l *etcdCopy) confirmAll(walDir, snapDir string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcd cannot read its WAL: %v", p)
		}
	}()
	log := zap.NewNop().WithOptions(zap.WithFatalHook(zapcore.WriteThenPanic)) // etcd ends the process otherwise
	known, err := wal.ValidSnapshotEntries(log, walDir)
	if err != nil {
		return err
	}
	start := &walpb.Snapshot{}
	newest, err := snap.New(log, snapDir).LoadNewestAvailable(known)
	switch {
	case err == nil:
		index, term := newest.GetMetadata().GetIndex(), newest.GetMetadata().GetTerm()
		start.Index, start.Term = &index, &term
		l.term, l.index = term, index
	case !errors.Is(err, snap.ErrNoSnapshot):
		return err
	}
	if !wal.Repair(log, walDir) { // cuts an entry that was not written to its end
		return errors.New("its WAL is damaged")
	}
	w, err := wal.Open(log, walDir, start)
	if err != nil {
		return err
	}
	_, state, entries, err := w.ReadAll()
	if err == nil && len(entries) > 0 {
		last := entries[len(entries)-1]
		l.term, l.index = last.GetTerm(), last.GetIndex()
		if commit := state.GetCommit(); l.index > commit {
			l.unconfirmed = l.index - commit
			term, vote := state.GetTerm(), state.GetVote()
			err = w.Save(&raftpb.HardState{Term: &term, Vote: &vote, Commit: &l.index}, nil)
		}
	}
	return errors.Join(err, w.Close())
}

// drain appends what etcd's data in the copy have and the archive lacks. Another process reads them,
// because etcd ends the one in which it meets damage.
func (l *etcdCopy) drain(ctx context.Context, archive *journal.File) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	at := archive.Last()
	sent, err := json.Marshal(&readerTask{Dir: l.dir, Name: l.of.identity.Name, ClusterID: l.of.identity.ClusterID, Base: l.of.identity.Base.Number, After: positionOf(at)})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	said := &bytes.Buffer{}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env, cmd.Stderr = append(os.Environ(), readerVariable+"="+string(sent)), said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := false
	err = readFrames(out, func(g journal.Group) error {
		if !g.Follows(archive.Last()) {
			return fmt.Errorf("group %d: %w", g.Number, errOtherChain)
		}
		return archive.Append(g)
	}, func(b beat) error { // the last frame; its head is the next number of a node
		l.nextNode, ended = uint32(b.head), true
		return nil
	})
	if ended || errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		cancel()
	}
	if waited := cmd.Wait(); err == nil && (waited != nil || !ended) {
		return fmt.Errorf("etcd cannot read them: %s", readerSaid(said.String(), waited))
	}
	return err
}

func (l *etcdCopy) remove() { _ = os.RemoveAll(l.dir) } // what is left is replaced by the next copy
