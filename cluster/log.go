package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	mvccpb "go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"duplex/core/journal"
	"duplex/internal/backoff"
)

// Log is the log of this member. It implements journal.Log: Propose puts a group into etcd, the pump
// takes what etcd delivers, verifies it, and appends it to the archive, from which Deliver reads.
//
//	Propose ── put ──> etcd ── watch ──> pump ── Append ──> archive ──> Deliver, Tail
//
// A group is durable when etcd has it: a majority has synced it. So the archive is synced in the
// background, and what it loses in a crash comes from etcd again.
type Log struct {
	c       *Cluster
	now     func() int64
	archive *journal.File
	head    uint64
	stop    context.CancelFunc
	workers sync.WaitGroup

	unsynced unsynced

	mu        sync.Mutex
	proposals map[uint64]*proposal // own ones, by number
	seen      uint64               // number of the newest group that etcd has shown
}

// proposal is an own proposal that is not confirmed, or not delivered. One that was delivered while it
// was not confirmed stays until it is proposed again, or the next one is: it must not be put once more.
type proposal struct {
	record    []byte
	confirmed bool          // it is not proposed again
	delivered chan struct{} // closed when it is delivered
}

func (p *proposal) isDelivered() bool {
	select {
	case <-p.delivered:
		return true
	default:
		return false
	}
}

// unsynced counts what the archive has not synced.
type unsynced struct {
	mu    sync.Mutex
	bytes int64
	since time.Time // at which the first of them arrived, or a later bound; zero if there are none
}

func (u *unsynced) add(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bytes += int64(n); u.since.IsZero() {
		u.since = time.Now()
	}
}

func (u *unsynced) now() (bytes int64, since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes, u.since
}

// synced notes that a sync which began at a time has made so many bytes durable.
func (u *unsynced) synced(bytes int64, began time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes -= bytes
	if u.since = began; u.bytes == 0 {
		u.since = time.Time{}
	}
}

var _ journal.Log = (*Log)(nil)

const (
	// putAgainAfter is how long a proposal waits to be delivered before it is put again.
	putAgainAfter = 2 * time.Second
	// The archive is synced at one of these.
	syncEvery = 200 * time.Millisecond
	syncBytes = 4 << 20
)

// OpenLog opens the archive and begins to take groups from etcd. o.Start is the position of the
// newest snapshot. It waits for a majority of the members, at most until ctx ends.
func (c *Cluster) OpenLog(ctx context.Context, o journal.Options) (*Log, error) {
	o.Archive, o.Base = true, o.Start
	archive, err := journal.Open(c.archive, o)
	if err != nil {
		return nil, err
	}
	if last := archive.Last(); last.Number == c.base && positionOf(last) != c.config.Load().Base {
		damage := &journal.Damage{File: c.archive, Group: last.Number, Err: errors.New("the cluster begins after another group of this number")}
		return nil, errors.Join(damage, archive.Close())
	}
	l := &Log{c: c, now: o.Now, archive: archive, proposals: map[uint64]*proposal{}}
	if l.now == nil {
		l.now = func() int64 { return time.Now().UnixNano() }
	}
	head, err := c.readHead(ctx)
	if err == nil {
		err = l.begin(head)
	}
	if err != nil {
		return nil, errors.Join(err, archive.Close())
	}
	c.log.Store(l)
	return l, nil
}

// begin starts the pump. head is the number of the newest group of the log.
func (l *Log) begin(head uint64) error {
	l.head = max(head, l.archive.Head())
	l.seen = l.head
	if last := l.archive.Head(); last > head {
		return fmt.Errorf("the archive has group %d, and the log of the cluster ends at %d: this is the data of another cluster", last, head)
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(l.c.ctx)
	full := make(chan struct{}, 1)
	l.workers.Go(func() { l.pump(ctx, full) })
	l.workers.Go(func() { syncArchive(ctx, full, l.c.opt.Log, l.Sync) })
	return nil
}

// pump takes the groups from etcd until ctx ends or the log fails.
func (l *Log) pump(ctx context.Context, full chan<- struct{}) {
	unsynced, failures := 0, pumpFailures{log: l.c.opt.Log}
	for ctx.Err() == nil {
		before := l.archive.Head()
		rev, err := l.c.revisionOf(ctx, l.archive.Head()+1)
		if errors.Is(err, rpctypes.ErrCompacted) || errors.Is(err, errCompacted) {
			err = l.c.catchUp(ctx, l)
			if err == nil {
				continue
			}
		}
		if err == nil {
			err = l.watch(ctx, rev, func(n int) {
				if unsynced += n; unsynced >= syncBytes {
					unsynced = 0
					select {
					case full <- struct{}{}:
					default:
					}
				}
			})
		}
		switch damage := (*journal.Damage)(nil); {
		case ctx.Err() != nil:
			return
		case errors.As(err, &damage), errors.Is(err, journal.ErrClosed):
			l.archive.Fail(err)
			return
		case l.c.stopped():
			l.archive.Fail(l.c.stopReason(ctx))
			return
		}
		backoff.Sleep(ctx, failures.pause(err, l.archive.Head() > before))
	}
}

const (
	retryAfter   = 20 * time.Millisecond
	retryAtMost  = 2 * time.Second
	logSameAfter = time.Minute // between two log lines of one error
)

// pumpFailures are the errors of etcd and of other members that may pass.
type pumpFailures struct {
	log    *slog.Logger
	last   string // text of the newest error that was logged
	logged time.Time
	next   time.Duration
}

// pause logs an error, unless it is the one logged last, and returns how long to wait before the next
// attempt: longer each time, until there are groups again.
func (f *pumpFailures) pause(err error, progress bool) time.Duration {
	if progress || f.next == 0 {
		f.next = retryAfter
	}
	if text := fmt.Sprint(err); err != nil && (text != f.last || time.Since(f.logged) >= logSameAfter) {
		f.last, f.logged = text, time.Now()
		f.log.Warn("groups do not arrive at this member; it tries again", "err", err)
	}
	pause := backoff.Jitter(f.next)
	f.next = min(2*f.next, retryAtMost)
	return pause
}

// watch takes the groups from a revision on. appended is called with the size of each.
func (l *Log) watch(ctx context.Context, rev int64, appended func(int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := l.c.client.Watch(ctx, l.c.logKey, clientv3.WithRev(rev), clientv3.WithFragment())
	for {
		var w clientv3.WatchResponse
		var open bool
		select {
		case w, open = <-events:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := w.Err(); err != nil || !open {
			return err
		}
		for _, ev := range w.Events {
			if ev.Type != mvccpb.Event_PUT {
				return l.damage(errors.New("the log was deleted from etcd"))
			}
			if err := l.take(ev.Kv); err != nil {
				return err
			}
			appended(len(ev.Kv.Value))
		}
	}
}

func (l *Log) damage(err error) error {
	return &journal.Damage{File: "etcd", Group: l.archive.Head() + 1, Err: err}
}

// take appends the group of one value of etcd.
func (l *Log) take(kv *mvccpb.KeyValue) error {
	g, err := l.c.groupOf(kv, l.archive.Last())
	if err != nil {
		return l.damage(err)
	}
	if g == nil {
		return nil
	}
	return l.append(g)
}

// groupOf verifies one value of etcd, which is the group after a position; nil: one before it.
func (c *Cluster) groupOf(kv *mvccpb.KeyValue, last journal.Position) (*journal.Group, error) {
	number := c.number(kv.Version)
	if number <= last.Number {
		return nil, nil
	}
	if number != last.Number+1 {
		return nil, fmt.Errorf("etcd has group %d here", number)
	}
	g, err := decodeRecord(c.id, kv.Value)
	if err != nil {
		return nil, err
	}
	g = last.Next(g)
	return &g, nil
}

// append appends the next group to the archive.
func (l *Log) append(g *journal.Group) error {
	if err := l.archive.Append(*g); err != nil {
		return err
	}
	l.unsynced.add(len(g.Body) + recordHead)
	l.arrived(g)
	return nil
}

// arrived wakes the proposer of a delivered group.
func (l *Log) arrived(g *journal.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = max(l.seen, g.Number)
	p := l.proposals[g.Proposal]
	if g.Node != l.c.node || p == nil || p.isDelivered() {
		return
	}
	close(p.delivered)
	if p.record = nil; p.confirmed {
		delete(l.proposals, g.Proposal)
	}
}

// Sync makes durable what was appended to the archive.
func (l *Log) Sync() error {
	began := time.Now()
	bytes, _ := l.unsynced.now()
	if err := l.archive.Sync(); err != nil {
		return err
	}
	l.unsynced.synced(bytes, began)
	return nil
}

// syncArchive syncs the archive of a node until ctx ends.
func syncArchive(ctx context.Context, full <-chan struct{}, log *slog.Logger, sync func() error) {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-full:
		}
		if err := sync(); err != nil && ctx.Err() == nil {
			log.Error("the archive of the log cannot be synced", "err", err)
			return // Sync has stopped the archive
		}
	}
}

// Propose implements journal.Log: it puts the group once. ErrUnconfirmed means that no reply came
// within 2 s, that there is a new leader, or that etcd takes nothing now.
func (l *Log) Propose(ctx context.Context, g journal.Group) error {
	if len(g.Body) > BodyMax {
		return journal.ErrTooBig
	}
	if err := l.archive.Failed(); err != nil {
		return err
	}
	p, record := l.expect(&g)
	if p.isDelivered() {
		l.confirm(g.Proposal, p)
		return nil
	}
	changed := l.c.etcd.Server.LeaderChangedNotify()
	ctx, cancel := context.WithTimeout(ctx, putAgainAfter)
	defer cancel()
	put, key := make(chan error, 1), l.c.logKey // read here: Propose may return before the put does
	go func() {
		_, err := l.c.client.Put(ctx, key, record)
		put <- err
	}()
	why := "no reply"
	select {
	case <-p.delivered:
		l.confirm(g.Proposal, p)
		return nil
	case err := <-put:
		if err == nil { // it will be delivered
			l.confirm(g.Proposal, p)
			return nil
		}
		why = err.Error()
	case <-changed:
		why = "there is a new leader"
	case <-ctx.Done():
	case <-l.c.ctx.Done():
		return journal.ErrClosed
	}
	if err := l.archive.Failed(); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", journal.ErrUnconfirmed, why)
}

// expect returns a proposal and its record, which has the same bytes each time it is put.
func (l *Log) expect(g *journal.Group) (*proposal, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.proposals[g.Proposal]; p != nil {
		return p, string(p.record)
	}
	for number, p := range l.proposals { // there is at most one, unless several are proposed at a time
		if number < g.Proposal && p.isDelivered() {
			delete(l.proposals, number)
		}
	}
	g.Stamp = l.now()
	p := &proposal{record: encodeRecord(l.c.id, g), delivered: make(chan struct{})}
	l.proposals[g.Proposal] = p
	return p, string(p.record)
}

// confirm notes that a proposal is not proposed again.
func (l *Log) confirm(number uint64, p *proposal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.confirmed = true; p.isDelivered() {
		delete(l.proposals, number)
	}
}

// NewLife implements journal.Log.
func (l *Log) NewLife(context.Context) (uint32, error) { return l.c.newLife() }

// Head implements journal.Log: the number of the newest group of the cluster when the log was
// opened, confirmed by a majority.
func (l *Log) Head() uint64 { return l.head }

// Deliver implements journal.Log.
func (l *Log) Deliver(ctx context.Context, from uint64) iter.Seq2[journal.Group, error] {
	return l.archive.Deliver(ctx, from)
}

// Tail is journal.File.Tail of the archive.
func (l *Log) Tail(ctx context.Context, after journal.Position) iter.Seq2[journal.Group, error] {
	return l.archive.Tail(ctx, after)
}

// Last returns the position after the newest delivered group.
func (l *Log) Last() journal.Position { return l.archive.Last() }

// First returns the number of the oldest group that the archive has.
func (l *Log) First() uint64 { return l.archive.First() }

// SegmentBytes is journal.File.SegmentBytes of the archive.
func (l *Log) SegmentBytes(from, below uint64) (int64, error) {
	return l.archive.SegmentBytes(from, below)
}

// Trim implements journal.Log: it trims the archive. What etcd keeps follows from the archives of
// all members.
func (l *Log) Trim(below uint64) error { return l.archive.Trim(below) }

// Close implements journal.Log. It does not stop etcd.
func (l *Log) Close() error {
	l.stop()
	l.workers.Wait()
	return l.archive.Close()
}

// knownHead is the number of the newest group that this member knows to be in the log.
func (l *Log) knownHead() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// heardOf takes the number of a group that another member has.
func (l *Log) heardOf(number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = max(l.seen, number)
}
