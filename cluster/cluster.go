package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/internal/certificate"
)

// Options of Open.
type Options struct {
	Dir     string    // data folder of this node
	Name    string    // of this node
	Members []Address // all members, this one included, in the order of their names
	Join    bool      // the cluster exists, and this node is new in it

	PeerListen      string // address of etcd's peer port
	FollowListen    string // address of the follow port
	FollowAdvertise string // as other nodes reach it; default the host of this member's peer address with the follow port
	Followers       int    // most followers that this node feeds; default 16
	Cert, Key, CA   string // files, which may be replaced while the node runs; all empty: no TLS, which only loopback allows

	Heartbeat, Election time.Duration // default 50 ms and 300 ms
	Settings            map[string]string
	MasterKeys          [][]byte // the first is the current one; the other one may be that of the cluster
	Version             string
	Log                 *slog.Logger

	// OnDamage is called before etcd ends this process because of a damaged WAL; it may end the process
	// itself. The error is a *journal.Damage. Default: none.
	OnDamage func(error)

	// OnFatal is called when etcd has logged an error with which it ends this process, such as a sync that
	// failed, so that the log can be written before. Default: nothing.
	OnFatal func()

	farTimeout time.Duration            // with a member that seems far away; default defaultFarTimeout
	lookEvery  time.Duration            // at the files of the certificates; default lookEvery
	quota      int64                    // bytes of etcd's database at which it takes no writes; default etcdQuota
	readSyncs  func() (WALSyncs, error) // default ReadWALSyncs

	certs    *certificate.Files // nil: no TLS
	forceNew bool               // a new cluster of this member alone
	initial  []Address          // the members for etcd's start, if they are not Members
	token    string             // part of initialToken: the chain after which a recovered cluster begins
}

// Cluster is this member of a cluster: etcd's server, the configuration that the members agree on,
// and the follow port. Its methods may be called by any number of goroutines.
type Cluster struct {
	opt        Options
	id         ID
	node       uint32
	base       uint64 // number of the group before the first one in etcd
	logKey     string // of the log in etcd
	archive    string // folder of the archive and the snapshots
	forming    string // formingID
	lock       *journal.FileLock
	etcd       *embed.Etcd
	client     *clientv3.Client
	ctx        context.Context // ends with Close
	cancel     context.CancelFunc
	workers    sync.WaitGroup
	config     atomic.Pointer[config]
	log        atomic.Pointer[Log]
	view       atomic.Pointer[membersView]
	refreshing sync.Mutex   // of view
	known      atomic.Bool  // id, node, base and etcd are set, so that the follow port may answer
	contact    atomic.Int64 // ns since began of the last contact with a leader
	began      time.Time
	clock      atomic.Pointer[engine.ClockOffset]
	peers      peers
	follow     *followPort // nil: there is none
	toPeers    *peerClient
	report     atomic.Pointer[func() Report]
	lifeMu     sync.Mutex
	identity   *identity // guarded by lifeMu

	sealsNew   atomic.Bool // this member seals under its first master key
	defragging sync.Mutex
	defragged  time.Time // last time the leader did so of its own accord; of compact

	guarding sync.Mutex
	syncs    syncWindow  // guarded by guarding
	slow     atomic.Bool // the syncs of etcd's WAL are slow
}

// membersView is what changes about the members, as of a few milliseconds ago.
type membersView struct {
	voters, up []uint32 // up: the voters that are
	learners   int
	leader     uint32
	changes    uint64
}

// ErrSize means that a cluster cannot form with so many members.
var ErrSize = errors.New("three or five members form a cluster; two or four survive the loss of no more machines than one or three, and more make every command slower")

// MayForm reports whether n members may form a cluster: three or five, or one to which the operator
// then adds others.
func MayForm(n int) bool { return n == 1 || n == 3 || n == 5 }

// OptionError is an invalid option.
type OptionError struct {
	Option string
	Err    error
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// Open starts this member. It waits until a majority of the members is there, however long that
// takes, or until ctx ends. Errors: an *OptionError, a *SettingError if this node does not fit the
// cluster, a *journal.Damage, journal.ErrLocked, or one of etcd or the disk.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &Cluster{opt: o, began: time.Now(), logKey: logKey, archive: filepath.Join(o.Dir, "journal")}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (o *Options) complete() error {
	o.Heartbeat, o.Election = cmp.Or(o.Heartbeat, 50*time.Millisecond), cmp.Or(o.Election, 300*time.Millisecond)
	if o.readSyncs == nil {
		o.readSyncs = ReadWALSyncs
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	self := slices.IndexFunc(o.Members, func(a Address) bool { return a.Name == o.Name })
	if self < 0 {
		return &OptionError{"node", fmt.Errorf("%q is not in the list of the members", o.Name)}
	}
	if o.Heartbeat < time.Millisecond {
		return &OptionError{"heartbeat", fmt.Errorf("%v is less than 1 ms", o.Heartbeat)}
	}
	if o.Election < 5*o.Heartbeat {
		return &OptionError{"election", fmt.Errorf("%v is less than 5 heartbeats of %v", o.Election, o.Heartbeat)}
	}
	if o.Election > 50*time.Second {
		return &OptionError{"election", fmt.Errorf("%v is more than 50 s", o.Election)}
	}
	if len(o.MasterKeys) == 0 {
		return &OptionError{"master-key", errors.New("every member needs the same one")}
	}
	if o.Cert == "" || o.Key == "" || o.CA == "" {
		if o.Cert+o.Key+o.CA != "" {
			return &OptionError{"cluster-cert", errors.New("--cluster-cert, --cluster-key and --cluster-ca go together")}
		}
		for _, a := range o.Members {
			if !isLoopback(a.Peer) {
				return errNeedsCert(a.Peer)
			}
		}
		for _, listen := range []*string{&o.PeerListen, &o.FollowListen} {
			if err := keepOnLoopback(listen, o.Members[self].Peer); err != nil {
				return err
			}
		}
		if o.FollowAdvertise != "" && !isLoopback(o.FollowAdvertise) {
			return errNeedsCert(o.FollowAdvertise)
		}
	}
	o.PeerListen = cmp.Or(o.PeerListen, o.Members[self].Peer)
	o.FollowAdvertise = cmp.Or(o.FollowAdvertise, withPortOf(o.Members[self].Peer, o.FollowListen))
	return nil
}

func errNeedsCert(address string) error {
	return &OptionError{"cluster-cert", fmt.Errorf("required, because %s is not on loopback: see dx cluster certs", address)}
}

// keepOnLoopback gives an address to listen on that has no host the one of this member's peer
// address, which is on loopback, and refuses one that other machines reach: without certificates
// anyone who reaches these ports is a member.
func keepOnLoopback(listen *string, peer string) error {
	if *listen == "" {
		return nil
	}
	if host, _, err := net.SplitHostPort(*listen); err == nil && host == "" {
		*listen = withPortOf(peer, *listen)
	}
	if !isLoopback(*listen) {
		return errNeedsCert(*listen)
	}
	return nil
}

func (c *Cluster) open(ctx context.Context) (err error) {
	if c.lock, err = journal.Lock(filepath.Join(c.opt.Dir, lockName)); err != nil {
		return err
	}
	if err := c.opt.readMemberCerts(); err != nil {
		return err
	}
	c.workers.Go(func() { c.opt.watchCerts(c.ctx) })
	if c.identity, err = readIdentity(c.opt.Dir); err != nil {
		return err
	}
	if err := c.checkIdentity(); err != nil {
		return err
	}
	if c.forming, err = c.opt.formingID(); err != nil {
		return err
	}
	c.toPeers = c.opt.peerClient(roleMember)
	if err := c.listenFollow(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	c.client = v3client.New(c.etcd.Server)
	if err := c.join(ctx); err != nil {
		return err
	}
	c.refreshView()
	c.known.Store(true)
	if err := c.checkDistances(); err != nil {
		return err
	}
	c.workers.Go(c.watchMembers)
	c.workers.Go(c.touchLeader)
	c.workers.Go(c.watchConfig)
	c.workers.Go(c.pollPeers)
	c.workers.Go(c.compact)
	return c.prepareSnapshot(ctx)
}

// retry calls f until it returns no error, or until ctx ends or etcd stops. It says every 5 s why it
// waits.
func (c *Cluster) retry(ctx context.Context, why string, f func(context.Context) error) error {
	said := time.Now()
	for {
		err := errNoLeader
		if c.etcd.Server.Lead() != 0 {
			attempt, cancel := context.WithTimeout(ctx, time.Second)
			err = f(attempt)
			cancel()
		}
		if err == nil || isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			c.opt.Log.Info("this member waits: "+why, "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.etcd.Server.StopNotify():
			return c.stopReason(ctx)
		case <-time.After(retryAfter):
		}
	}
}

// stopReason says why etcd has stopped by itself: the other members do not know this one any more, or it has logged
// why.
func (c *Cluster) stopReason(ctx context.Context) error {
	if _, _, err := c.askMembership(ctx); errors.Is(err, errUnknownMember) {
		return c.errRemoved()
	}
	return errors.New("etcd has stopped")
}

func (c *Cluster) errRemoved() error {
	return fmt.Errorf("%w: %s is no longer a member of the cluster: it was removed. To use this machine again, remove %s and add it as a new member (dx cluster add)", engine.ErrRemoved, c.opt.Name, c.opt.Dir)
}

// endIfRemoved ends the log if this member has applied its own removal: etcd stops then, and its watch says nothing.
func (c *Cluster) endIfRemoved() bool {
	l, own := c.log.Load(), c.etcd.Server.MemberID()
	if l == nil || slices.ContainsFunc(c.etcd.Server.Cluster().Members(), func(m *membership.Member) bool { return m.ID == own }) {
		return false
	}
	l.archive.Fail(c.errRemoved())
	return true
}

var errNoLeader = errors.New("there is no leader")

// finalError is an error that no repetition changes.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func isFinal(err error) bool {
	var f finalError
	return errors.As(err, &f)
}

// newLife implements Log.NewLife.
func (c *Cluster) newLife() (uint32, error) {
	c.lifeMu.Lock()
	defer c.lifeMu.Unlock()
	next := *c.identity
	next.Life++
	if err := next.write(c.opt.Dir); err != nil {
		return 0, err
	}
	c.identity = &next
	return next.Life, nil
}

// number turns a version of etcd's key "log" into the number of a group. Each group is one write to that key,
// and the versions of a cluster that was made anew begin again at 1, after base.
func (c *Cluster) number(version int64) uint64 { return c.base + uint64(version) }

// readHead returns the number of the newest group, as a majority knows it.
func (c *Cluster) readHead(ctx context.Context) (head uint64, err error) {
	err = c.retry(ctx, "a majority of the members does not answer", func(ctx context.Context) error {
		r, err := c.read(ctx, c.logKey, clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		head = c.base
		if len(r.Kvs) > 0 {
			head = c.number(r.Kvs[0].Version)
		}
		return nil
	})
	return head, err
}

var errCompacted = errors.New("etcd does not have this group any more")

// revisionOf returns the revision from which on a watch yields the group of a number. Between two
// groups there may be revisions of other keys. So it begins at the newest group, goes back as many
// revisions as groups are between, and repeats that until it is there.
func (c *Cluster) revisionOf(ctx context.Context, number uint64) (int64, error) {
	if number <= c.base {
		return 0, errCompacted // etcd never had it
	}
	options := []clientv3.OpOption{clientv3.WithSerializable(), clientv3.WithKeysOnly()}
	r, err := c.client.Get(ctx, c.logKey, options...)
	if err != nil {
		return 0, err
	}
	if len(r.Kvs) == 0 {
		return 1, nil // the first group comes after every present revision
	}
	for {
		kv := r.Kvs[0]
		at := c.number(kv.Version)
		switch {
		case number > at:
			return kv.ModRevision + 1, nil
		case number == at:
			return kv.ModRevision, nil
		}
		rev := kv.ModRevision - int64(at-number)
		if rev <= 0 {
			return 0, errCompacted
		}
		if r, err = c.client.Get(ctx, c.logKey, append(options, clientv3.WithRev(rev))...); err != nil {
			return 0, err
		}
		if len(r.Kvs) == 0 {
			return 0, errCompacted
		}
	}
}

func (c *Cluster) stopped() bool {
	select {
	case <-c.etcd.Server.StopNotify():
		return true
	default:
		return false
	}
}

// Log returns the log; nil before OpenLog.
func (c *Cluster) Log() *Log { return c.log.Load() }

// Founds reports whether the settings of this member are those with which the cluster began, with an
// empty journal, so that it may put them in force as long as nobody has.
func (c *Cluster) Founds(setting string) bool {
	cfg := c.config.Load()
	_, recorded := cfg.Settings[setting] // and compared, by Open
	return recorded && cfg.Base.Number == 0
}

// Node returns the number of this member.
func (c *Cluster) Node() uint32 { return c.node }

// ID returns the id of the cluster.
func (c *Cluster) ID() ID { return c.id }

// Close gives the lead away, if this member has it, and stops etcd. It must be called after the log
// was closed. A second Close is a no-op.
func (c *Cluster) Close() error {
	c.cancel()
	var err error
	if c.follow != nil {
		err = c.follow.server.Close()
	}
	c.workers.Wait()
	if c.client != nil {
		err = errors.Join(err, ignoreCanceled(c.client.Close()))
	}
	if c.etcd != nil {
		closeEtcd(c.etcd)
	}
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
		c.lock = nil
	}
	return err
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

var _ io.Closer = (*Cluster)(nil)
