package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/address"
	"duplex/internal/backoff"
)

// FollowerOptions of OpenFollower.
type FollowerOptions struct {
	Dir        string   // data folder of this node
	Name       string   // of this node, for the logs and metrics of others
	From       []string // addresses of follow ports, tried in turn
	Listen     string   // own follow port; "": nobody follows this node
	Followers  int      // most followers that this node feeds; default 16
	Cert       string   // of this node; Cert, Key and CA are files, or all empty: no TLS, which only loopback allows
	Key, CA    string
	Caps       string   // the view caps of this node, which must be those of the cluster
	MasterKeys [][]byte // one of them must be that of the cluster
	Version    string
	Log        *slog.Logger
	StaleAfter time.Duration // how long reads are served after the last contact; default 3 s

	firstContact time.Duration // for one source; default firstContact
	noBeat       time.Duration // default noBeatFor
}

// FollowerNode is the node number of every follower. No member ever has it.
const FollowerNode = math.MaxUint32

// Follower is a node that copies the log of a cluster from the follow port of another node, and has
// no part in deciding it. It stores what it copies in an archive of its own, from which it starts
// again. Its methods may be called by any number of goroutines.
type Follower struct {
	opt      FollowerOptions
	options  *Options // certificates and log, for the ports
	archive  string
	lock     *journal.FileLock
	identity *identity
	port     *followPort // nil: there is none
	peers    *peerClient
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	workers  sync.WaitGroup
	began    time.Time
	log      atomic.Pointer[FollowerLog]
	report   atomic.Pointer[func() Report]
	source   atomic.Pointer[Status] // of the node that this one follows, or followed last
	contact  atomic.Int64           // ns since began: as of when the state of the venue is known; math.MinInt64: never
	known    atomic.Uint64          // number of the newest group that this node knows of
	attempts atomic.Uint64          // streams that were begun
	rejected atomic.Uint64          // streams with another chain

	adopting sync.Mutex
	adopted  string // fingerprint of the master key, in place of that of identity; "" if it is the same
}

var _ node = (*Follower)(nil)

// Times of a follower.
const (
	askAgain     = 2 * time.Second // between two questions for the status of the source
	noBeatFor    = 2 * time.Second // a source without a beat is left
	retryMin     = 50 * time.Millisecond
	retryMax     = 2 * time.Second
	firstContact = time.Second // for a source to tell its status
)

// OpenFollower prepares a follower: it waits until one of the sources answers, unless this node has
// followed the cluster before, and gets a snapshot if it needs one. Errors: an *OptionError, a
// *SettingError if this node does not fit the cluster, a *journal.Damage, journal.ErrLocked, that of
// ctx, or one of the disk.
func OpenFollower(ctx context.Context, o FollowerOptions) (*Follower, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	f := &Follower{opt: o, options: o.ports(), archive: filepath.Join(o.Dir, "journal"), began: time.Now()}
	f.contact.Store(math.MinInt64)
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if err := f.open(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (o *FollowerOptions) complete() error {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.StaleAfter = cmp.Or(o.StaleAfter, 3*time.Second)
	o.firstContact, o.noBeat = cmp.Or(o.firstContact, firstContact), cmp.Or(o.noBeat, noBeatFor)
	if len(o.From) == 0 {
		return &OptionError{"from", errors.New("the address of the follow port of at least one node")}
	}
	for _, a := range o.From {
		if err := address.CheckDial(a); err != nil {
			return &OptionError{"from", err}
		}
	}
	if len(o.MasterKeys) == 0 {
		return &OptionError{"master-key", errors.New("a follower needs that of the cluster")}
	}
	if o.Cert == "" || o.Key == "" || o.CA == "" {
		if o.Cert+o.Key+o.CA != "" {
			return &OptionError{"cluster-cert", errors.New("--cluster-cert, --cluster-key and --cluster-ca go together")}
		}
		for _, a := range append(slices.Clone(o.From), o.Listen) {
			if a != "" && !isLoopback(a) {
				return &OptionError{"cluster-cert", fmt.Errorf("required, because %s is not on loopback: see dx cluster certs", a)}
			}
		}
	}
	return nil
}

func (o *FollowerOptions) ports() *Options {
	return &Options{Cert: o.Cert, Key: o.Key, CA: o.CA, Followers: o.Followers, Log: o.Log}
}

func (f *Follower) open(ctx context.Context) (err error) {
	if f.lock, err = journal.Lock(filepath.Join(f.opt.Dir, lockName)); err != nil {
		return err
	}
	if f.identity, err = readIdentity(f.opt.Dir); err != nil {
		return err
	}
	if err := f.checkIdentity(); err != nil {
		return err
	}
	if err := f.options.readCerts(nil, roleMember, roleFollower); err != nil {
		return err
	}
	f.workers.Go(func() { f.options.watchCerts(f.ctx) })
	f.peers = f.options.peerClient(roleMember, roleFollower)
	if f.opt.Listen != "" {
		var l net.Listener
		if f.port, l, err = newFollowPort(f.ctx, f, f.opt.Listen, f.options); err != nil {
			return err
		}
		f.workers.Go(func() { f.port.serve(l) })
	}
	return f.prepare(ctx)
}

// checkIdentity compares the data folder with the options.
func (f *Follower) checkIdentity() error {
	id := f.identity
	if id == nil {
		if _, err := os.Stat(filepath.Join(f.archive, "log")); err == nil {
			return &OptionError{"data", fmt.Errorf("%s is the data of a single machine", f.opt.Dir)}
		}
		return nil
	}
	if id.Node != FollowerNode {
		return &OptionError{"data", fmt.Errorf("%s is the data of the member %s", f.opt.Dir, id.Name)}
	}
	if err := checkMasterKey(f.opt.MasterKeys, id.ClusterID, id.MasterKey); err != nil {
		return err
	}
	return f.checkCaps(id.Settings)
}

func (f *Follower) checkCaps(settings map[string]string) error {
	return checkSettings(map[string]string{settingCaps: f.opt.Caps}, map[string]string{settingCaps: settings[settingCaps]})
}

// settingCaps is the setting that a follower must have like the members. It adopts the others.
const settingCaps = "view caps"

// prepare compares this node with the cluster, and gets a snapshot if it has nothing that the
// archives of the others continue.
func (f *Follower) prepare(ctx context.Context) error {
	pause, said := retryMin, time.Now()
	for {
		err := f.prepareOnce(ctx)
		if err == nil || isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.identity != nil && f.hasState() {
			f.opt.Log.Warn("no other node answers; this one begins with what it has", "err", err)
			return nil
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			f.opt.Log.Info("this follower waits for another node", "err", err)
		}
		if !backoff.Sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, retryMax)
	}
}

// hasState reports whether this node has a log or a snapshot to start with.
func (f *Follower) hasState() bool {
	_, err := os.Stat(filepath.Join(f.archive, "log"))
	return err == nil
}

// errNotContinued means that the archive of a source begins after what this node has.
var errNotContinued = errors.New("its archive begins after what this node has")

// prepareOnce asks each source in turn until one serves what this node needs. Only if none continues what
// it has, it begins again with the snapshot of one.
func (f *Follower) prepareOnce(ctx context.Context) error {
	err := f.prepareFrom(ctx, false)
	if errors.Is(err, errNotContinued) {
		err = f.prepareFrom(ctx, true)
	}
	return err
}

func (f *Follower) prepareFrom(ctx context.Context, again bool) error {
	var errs []error
	for _, from := range f.opt.From {
		s, _, err := f.ask(ctx, from)
		if err == nil {
			if err = f.checkCluster(&s); err != nil {
				return finalError{err}
			}
			if err = f.bootstrap(ctx, from, &s, again); err == nil || isFinal(err) {
				return err
			}
		}
		errs = append(errs, fmt.Errorf("%s: %w", from, err))
	}
	return errors.Join(errs...)
}

// ask asks a node for its status. A node that starts is an error.
func (f *Follower) ask(ctx context.Context, from string) (s Status, asked time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.firstContact)
	defer cancel()
	asked = time.Now()
	if _, err := f.peers.get(ctx, from, "/v1/status", &s); err != nil {
		return s, asked, err
	}
	if s.Settings == nil || s.First == 0 {
		return s, asked, errors.New("it starts")
	}
	return s, asked, nil
}

// checkCluster compares this node with the cluster of a source.
func (f *Follower) checkCluster(s *Status) error {
	if id := f.identity; id != nil && id.ClusterID != s.ClusterID {
		return &SettingError{"--from", "of cluster " + s.ClusterID.String(), id.ClusterID.String()}
	}
	if err := checkMasterKey(f.opt.MasterKeys, s.ClusterID, s.MasterKey); err != nil {
		return err
	}
	return f.checkCaps(s.Settings)
}

// bootstrap stores which cluster this node follows, and makes sure that the archive of the source
// continues what this node has. If again is set, what it does not continue is replaced by a snapshot.
func (f *Follower) bootstrap(ctx context.Context, from string, s *Status, again bool) error {
	if f.identity == nil {
		id := &identity{Format: configFormat, ClusterID: s.ClusterID, Name: f.opt.Name, Node: FollowerNode, MasterKey: s.MasterKey, Settings: s.Settings}
		if err := id.write(f.opt.Dir); err != nil {
			return finalError{err}
		}
		f.identity = id
	}
	if err := f.adoptMasterKey(s); err != nil {
		return finalError{err}
	}
	have, err := f.lastGroup(s.First)
	if err != nil {
		return finalError{err}
	}
	if have > 0 && have+1 >= s.First {
		return nil
	}
	if have > 0 && !again {
		return errNotContinued
	}
	if have > 0 {
		f.opt.Log.Warn("no archive continues what this node has: it begins again with a snapshot", "have", have, "first", s.First)
	}
	if err := journal.Discard(f.archive); err != nil { // without a log too: a crash may have left its mark
		return finalError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	snapshot, err := f.peers.fetchSnapshot(ctx, from, f.snapshotDir(), s.First == 1)
	if err == nil && snapshot.Number+1 < s.First {
		err = fmt.Errorf("its newest snapshot ends with group %d, and its archive begins with group %d", snapshot.Number, s.First)
	}
	return err
}

// adoptMasterKey stores the fingerprint of the cluster's master key, which can be replaced while this node
// runs. It is one of this node's.
func (f *Follower) adoptMasterKey(s *Status) error {
	f.adopting.Lock()
	defer f.adopting.Unlock()
	id := *f.identity
	if cmp.Or(f.adopted, id.MasterKey) == s.MasterKey {
		return nil
	}
	id.MasterKey = s.MasterKey
	if err := id.write(f.opt.Dir); err != nil {
		return err
	}
	f.adopted = s.MasterKey
	return nil
}

// lastGroup returns the number of the last group that this node has, 0 for none. It is a lower bound
// if that is enough for an archive that begins at first.
func (f *Follower) lastGroup(first uint64) (uint64, error) {
	if !f.hasState() {
		return 0, nil
	}
	start, err := newestSnapshot(f.snapshotDir())
	if err != nil {
		return 0, err
	}
	if start.Number+1 >= first {
		return max(start.Number, 1), nil
	}
	l, err := journal.Open(f.archive, journal.Options{Archive: true, Start: start, Base: start})
	if err != nil {
		return 0, err
	}
	return l.Head(), l.Close()
}

func (f *Follower) snapshotDir() string { return filepath.Join(f.archive, journal.SnapshotDir) }

// Settings returns the settings of the cluster, which this node adopts. They do not change.
func (f *Follower) Settings() map[string]string { return f.identity.Settings }

// ID returns the id of the cluster.
func (f *Follower) ID() ID { return f.identity.ClusterID }

// MemberURL returns the base URL of the API of a member, "" if this node knows none.
func (f *Follower) MemberURL() string {
	if s := f.source.Load(); s != nil {
		return s.MemberURL
	}
	return ""
}

// SetReport sets the function that tells about the engine.
func (f *Follower) SetReport(r func() Report) { f.report.Store(&r) }

// Status implements node.
func (f *Follower) Status() Status {
	s := Status{ClusterID: f.identityOf(), Node: FollowerNode, Name: f.opt.Name, Role: roleFollows, Clock: f.now()}
	if l := f.log.Load(); l != nil {
		s.First, s.ArchiveNumber, s.Number = l.First(), l.Synced(), l.Head()
		s.Settings, s.MasterKey = f.identity.Settings, f.identity.MasterKey
	}
	if r := f.report.Load(); r != nil {
		s.Report = (*r)()
		if s.AppliedGroup > 0 {
			s.Number = s.AppliedGroup
		}
	} else {
		s.State = engine.Joining.String()
	}
	if from := f.source.Load(); from != nil {
		s.Voters, s.MemberURL, s.MasterKey = from.Voters, from.MemberURL, from.MasterKey
	}
	s.Version = f.opt.Version
	s.CertEnd, s.CAEnd = f.CertificateEnds()
	return s
}

// identityOf is the id of the cluster, zero while that is not known.
func (f *Follower) identityOf() (id ID) {
	if f.log.Load() != nil { // set after identity
		id = f.identity.ClusterID
	}
	return id
}

func (f *Follower) archiveLog() *journal.File {
	if l := f.log.Load(); l != nil {
		return l.File
	}
	return nil
}

// now is the wall clock of the start and the time since, so that it has no steps.
func (f *Follower) now() int64 { return f.began.Add(time.Since(f.began)).UnixNano() }

func (f *Follower) head() (uint64, time.Duration) {
	age := time.Duration(math.MaxInt64)
	if at := f.contact.Load(); at != math.MinInt64 {
		age = time.Since(f.began) - time.Duration(at)
	}
	return f.known.Load(), age
}

// FollowStats returns counts of the own follow port.
func (f *Follower) FollowStats() FollowStats { return f.port.stats() }

// Lag returns how many groups this node knows of and has not received, and how old the last beat is
// that counted; never is true if there was none.
func (f *Follower) Lag() (groups uint64, beat time.Duration, never bool) {
	known, age := f.head()
	if l := f.log.Load(); l != nil {
		groups = max(known, l.Head()) - l.Head()
	}
	return groups, age, age == math.MaxInt64
}

// Members implements engine.Options.Members. It does not block.
func (f *Follower) Members() engine.Members {
	number, _ := f.head()
	m := engine.Members{Head: number}
	if at := f.contact.Load(); at != math.MinInt64 {
		m.Contact = f.began.Add(time.Duration(at))
	}
	if s := f.source.Load(); s != nil {
		m.Voters, m.Up = s.Voters, s.Voters
	}
	return m
}

// Close ends the follower. It must be called after the log was closed. A second Close is a no-op.
func (f *Follower) Close() error {
	f.cancel()
	var err error
	if f.port != nil && f.port.server != nil {
		err = f.port.server.Close()
	}
	f.workers.Wait()
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
		f.lock = nil
	}
	return err
}
