package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/backoff"
)

// FollowerLog is the log of a follower: the archive of what it copies. Nothing can be proposed.
type FollowerLog struct {
	*journal.File
	stop    context.CancelFunc
	workers sync.WaitGroup
}

var _ journal.Log = (*FollowerLog)(nil)

// OpenLog opens the archive and begins to copy. o.Start is the position of the newest snapshot.
func (f *Follower) OpenLog(o journal.Options) (*FollowerLog, error) {
	o.Archive, o.Base = true, o.Start
	archive, err := journal.Open(f.archive, o)
	if err != nil {
		return nil, err
	}
	l := &FollowerLog{File: archive}
	ctx, cancel := context.WithCancel(f.ctx)
	l.stop = cancel
	f.known.Store(archive.Head())
	f.log.Store(l)
	full := make(chan struct{}, 1)
	l.workers.Go(func() { f.copyLog(ctx, l, full) })
	l.workers.Go(func() { syncArchive(ctx, full, f.opt.Log, archive.Sync) })
	return l, nil
}

// Propose implements journal.Log: a follower proposes nothing.
func (l *FollowerLog) Propose(context.Context, journal.Group) error { return engine.ErrReadOnly }

// Close implements journal.Log.
func (l *FollowerLog) Close() error {
	l.stop()
	l.workers.Wait()
	return l.File.Close()
}

// copyLog copies the log from one source after the other until ctx ends or the archive fails. The archive
// fails if the log cannot go on: what this node lacks is in no archive that it reaches. Its next start
// begins again with a snapshot.
func (f *Follower) copyLog(ctx context.Context, l *FollowerLog, full chan<- struct{}) {
	pause, streams, lost := retryMin, uint64(0), error(nil)
	for i := 0; ctx.Err() == nil; i++ {
		from, begun := f.opt.From[i%len(f.opt.From)], time.Now()
		err := f.copyFrom(ctx, l, from, full)
		if ctx.Err() != nil || l.Failed() != nil {
			return
		}
		if errors.Is(err, errNotContinued) {
			lost = fmt.Errorf("%s: %w; the next start begins again with a snapshot", from, err)
		}
		if errors.Is(err, errOtherChain) {
			f.rejected.Add(1)
			f.opt.Log.Error("the log of another node is rejected", "from", from, "err", err)
		} else {
			f.opt.Log.Warn("the log of another node ends; the next one is tried", "from", from, "err", err)
		}
		if time.Since(begun) > retryMax {
			pause = retryMin
		}
		if i%len(f.opt.From) == len(f.opt.From)-1 { // each source was tried
			if lost != nil && f.attempts.Load() == streams {
				l.Fail(lost)
				return
			}
			streams, lost = f.attempts.Load(), nil
			backoff.Sleep(ctx, pause)
			pause = min(2*pause, retryMax)
		}
	}
}

// stream is one stream of the log from a source.
type stream struct {
	f        *Follower
	l        *FollowerLog
	from     string
	verified bool        // the source has the group that this node had last
	watchdog *time.Timer // ends the stream when it is silent
	asked    atomic.Pointer[asked]
	unsynced int
	full     chan<- struct{}
}

// asked pairs the clock of the source with the one of this node: the source had the time clock after
// this node had the time at. So what the source says at its time clock+d is as of at+d at the latest
// or later, by this node's clock. It is repeated, because clocks drift.
type asked struct {
	clock int64
	at    time.Time
}

// copyFrom copies the log from one source until it ends, is silent, or knows the venue less well than
// another source might.
func (f *Follower) copyFrom(ctx context.Context, l *FollowerLog, from string, full chan<- struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stream{f: f, l: l, from: from, full: full}
	if err := s.ask(ctx); err != nil {
		return err
	}
	last := l.Last()
	first := max(last.Number, 1) // the group that this node had last, so that it can be compared
	if source := f.source.Load(); first < source.First {
		if first = last.Number + 1; first < source.First {
			return errNotContinued
		}
	}
	f.attempts.Add(1)
	s.verified = first == last.Number+1
	s.watchdog = time.AfterFunc(f.opt.noBeat, func() { cancel(errSilent) })
	defer s.watchdog.Stop()
	body, err := f.peers.fetch(ctx, from, "/v1/log?from="+strconv.FormatUint(first, 10)+"&follower="+url.QueryEscape(f.opt.Name))
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	defer body.Close()
	f.opt.Log.Info("the log is read from another node", "from", from, "group", last.Number+1)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel(nil)
	asking.Go(func() { s.keepAsking(ctx, cancel) })
	err = readFrames(body, s.group, s.beat)
	return errors.Join(context.Cause(ctx), err)
}

var (
	errSilent = fmt.Errorf("it was silent for %v", noBeatFor)
	errStale  = errors.New("it does not know the present state of the venue")
)

// ask asks the source for its status and its clock.
func (s *stream) ask(ctx context.Context) error {
	status, at, err := s.f.ask(ctx, s.from)
	if err != nil {
		return err
	}
	if err := s.f.checkCluster(&status); err != nil {
		return err
	}
	if err := s.f.adoptMasterKey(&status); err != nil {
		return err
	}
	s.asked.Store(&asked{status.Clock, at})
	s.f.source.Store(&status)
	return nil
}

// keepAsking asks the source for its status now and then. A source that does not answer is left by
// the watchdog.
func (s *stream) keepAsking(ctx context.Context, cancel context.CancelCauseFunc) {
	for backoff.Sleep(ctx, askAgain) {
		wrong := (*SettingError)(nil)
		if err := s.ask(ctx); errors.As(err, &wrong) {
			cancel(err)
		}
	}
}

// group takes a group from the source.
func (s *stream) group(g journal.Group) error {
	s.watchdog.Reset(s.f.opt.noBeat)
	last := s.l.Last()
	if !s.verified {
		if g.Number != last.Number || g.Chain != last.Chain {
			return fmt.Errorf("group %d: %w", g.Number, errOtherChain)
		}
		s.verified = true
		return nil
	}
	if !g.Follows(last) {
		return fmt.Errorf("group %d: %w", g.Number, errOtherChain)
	}
	if err := s.l.Append(g); err != nil {
		return err
	}
	storeMaxU64(&s.f.known, g.Number)
	if s.unsynced += len(g.Body); s.unsynced >= syncBytes {
		s.unsynced = 0
		select {
		case s.full <- struct{}{}:
		default:
		}
	}
	return nil
}

// beat takes a beat: it counts from when the source sent it, however long it was on its way, less its
// age. A source that knows less about the present than noBeatFor is left, if there is another.
func (s *stream) beat(b beat) error {
	s.watchdog.Reset(s.f.opt.noBeat)
	if !s.verified {
		return nil
	}
	storeMaxU64(&s.f.known, b.head)
	a := s.asked.Load()
	at := a.at.Add(time.Duration(b.clock - a.clock))
	if now := time.Now(); at.After(now) { // the clock of the source has drifted or was set
		at = now
	}
	if b.age < 0 || b.age > time.Hour { // the source knows nothing
		b.age = time.Hour
	}
	at = at.Add(-b.age)
	if ns := int64(at.Sub(s.f.began)); b.age < time.Hour && ns > s.f.contact.Load() {
		s.f.contact.Store(ns)
	}
	if len(s.f.opt.From) > 1 && time.Since(at) > s.f.opt.noBeat {
		return errStale
	}
	return nil
}

func storeMaxU64(at *atomic.Uint64, n uint64) {
	for was := at.Load(); n > was && !at.CompareAndSwap(was, n); was = at.Load() {
	}
}
