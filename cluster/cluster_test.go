package cluster

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/internal/memdir"
	"duplex/internal/race"
	"duplex/internal/timeouts"
)

// The wal has its segment size in a package variable. Small segments are filled, started and
// trimmed often, and cost less to make.
func TestMain(m *testing.M) {
	if code, is := RunReader(); is {
		os.Exit(code)
	}
	timeouts.Extend(30) // a machine that is held up for seconds fails no request and loses no member
	wal.SegmentSizeBytes = 256 << 10
	if err := flag.Set("test.parallel", "8"); err != nil { // these tests wait most of the time
		panic(err)
	}
	os.Exit(m.Run())
}

// trial is a cluster of several members in this process.
type trial struct {
	testing.TB
	dir      string
	options  []Options
	clusters []*Cluster // nil: not running
}

var masterKey = []byte("0123456789abcdef0123456789abcdef")

// newHost returns an address of loopback that no other member of this run has, and no other run, most
// likely.
var newHost = func() func() string {
	var n atomic.Uint32
	run := rand.Uint32N(1 << 14)
	return func() string {
		i := n.Add(1)
		return fmt.Sprintf("127.%d.%d.%d", 64|run>>8, run&255, i%250+1)
	}
}()

// newTrial starts a cluster of n members.
func newTrial(t testing.TB, n int) *trial {
	t.Helper()
	r := prepareTrial(t, n)
	r.startAll()
	return r
}

// prepareTrial is newTrial, but starts no member.
func prepareTrial(t testing.TB, n int) *trial {
	t.Helper()
	return prepareTrialIn(t, n, memdir.New(t))
}

// newTrialIn is newTrial in a folder.
func newTrialIn(t testing.TB, n int, dir string) *trial {
	t.Helper()
	r := prepareTrialIn(t, n, dir)
	r.startAll()
	return r
}

// prepareTrialIn is newTrialIn, but starts no member.
func prepareTrialIn(t testing.TB, n int, dir string) *trial {
	t.Helper()
	if race.Enabled {
		t.Skip("members judge each other by the time that an answer takes, which the race detector makes ten times as long")
	}
	r := &trial{TB: t, dir: dir, clusters: make([]*Cluster, n)}
	t.Cleanup(r.closeAll)
	var list []Address
	var hosts []string
	for i := range n {
		hosts = append(hosts, newHost())
		list = append(list, Address{Name: string(rune('a' + i)), Peer: hosts[i] + ":7000"})
	}
	for i := range n {
		r.options = append(r.options, Options{
			Dir: filepath.Join(dir, list[i].Name), Name: list[i].Name, Members: list, FollowListen: hosts[i] + ":7001",
			Heartbeat: 100 * time.Millisecond, Election: time.Second, farTimeout: 3 * time.Minute, // a machine that is held up elects and refuses nobody
			Settings: map[string]string{"environment": "dev"}, MasterKeys: [][]byte{masterKey}, Version: "test",
		})
	}
	return r
}

func (r *trial) startAll() {
	r.Helper()
	r.startFirst(len(r.clusters))
}

// startFirst starts those of the first n members that do not run.
func (r *trial) startFirst(n int) {
	r.Helper()
	var all sync.WaitGroup
	for i := range n {
		if r.clusters[i] == nil {
			all.Go(func() { r.start(i) })
		}
	}
	all.Wait()
	if r.Failed() {
		r.FailNow()
	}
}

func (r *trial) start(i int) {
	c, err := Open(r.Context(), r.options[i])
	if err != nil {
		r.Errorf("member %d: %v", i, err)
		return
	}
	r.clusters[i] = c
	<-c.etcd.Server.ReadyNotify() // the others know that it has taken part
}

func (r *trial) stop(i int) {
	r.Helper()
	if c := r.clusters[i]; c != nil {
		r.clusters[i] = nil
		if err := c.Close(); err != nil {
			r.Error(err)
		}
	}
}

// closeAll stops one member after the other, so that each leader has somebody to give the lead to.
func (r *trial) closeAll() {
	for i := range r.clusters {
		r.stop(i)
	}
}

func (r *trial) storage() *logtest.Storage {
	s := &logtest.Storage{BodyMax: BodyMax}
	for i := range r.clusters {
		s.Nodes = append(s.Nodes, uint32(i+1))
	}
	s.Open = func(node uint32, start journal.Position) (journal.Log, error) {
		return r.clusters[node-1].OpenLog(r.Context(), journal.Options{Now: s.Now, Start: start})
	}
	return s
}

// TestConformance runs the conformance cases of journal.Log over a cluster of one and over a cluster
// of three. Each case has a key of its own in etcd, and folders of its own.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r, cases := newTrial(t, n), 0
			logtest.Run(t, func(t *testing.T, test func(*testing.T, *logtest.Storage)) {
				cases++
				for i, c := range r.clusters {
					c.logKey, c.archive = fmt.Sprint("log ", cases), filepath.Join(r.options[i].Dir, fmt.Sprint("journal ", cases))
				}
				test(t, r.storage())
			})
		})
	}
}

// fill proposes n groups on a log and waits until each is delivered there.
func fill(t testing.TB, l *Log, node uint32, first uint64, n int) {
	t.Helper()
	for i := range uint64(n) {
		propose(t, l, journal.Group{Node: node, Proposal: first + i, Body: fmt.Appendf(nil, "node %d, proposal %d", node, first+i)})
	}
}

// writeSnapshot writes a snapshot of a position into a folder.
func writeSnapshot(t testing.TB, dir string, seq uint64, at journal.Position) {
	t.Helper()
	w, err := journal.CreateSnapshot(dir, seq, at)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.Piece(fmt.Appendf(nil, "the state at %d", seq)), w.EndPart()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit([32]byte{byte(seq)}); err != nil {
		t.Fatal(err)
	}
}

// propose proposes a group until the log confirms it.
func propose(t testing.TB, l *Log, g journal.Group) {
	t.Helper()
	for {
		err := l.Propose(t.Context(), g)
		if err == nil {
			return
		}
		if !errors.Is(err, journal.ErrUnconfirmed) {
			t.Fatal(err)
		}
	}
}

// read returns the groups of a log up to a number.
func read(t testing.TB, l *Log, from, upto uint64) (list []journal.Group) {
	t.Helper()
	for g, err := range l.Deliver(t.Context(), from) {
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, g); g.Number >= upto {
			break
		}
	}
	return list
}

func (r *trial) open(i int) *Log {
	r.Helper()
	l, err := r.clusters[i].OpenLog(r.Context(), journal.Options{})
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// TestCompaction checks that a member that was away gets what etcd has forgotten from the archive of
// another one, and that all archives end with the same bytes.
func TestCompaction(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	var logs [3]*Log
	for i := range logs {
		logs[i] = r.open(i)
		defer func() { logs[i].Close() }()
	}
	fill(t, logs[0], 1, 1, 50)
	read(t, logs[2], 1, 50)
	logs[2].Close()
	r.stop(2)
	fill(t, logs[0], 1, 51, 300)
	for i := range 2 {
		read(t, logs[i], 1, 350)
		if err := logs[i].archive.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the leader has heard of the other archive, and compacts", func() bool {
		n := uint64(0)
		for _, c := range r.clusters[:2] {
			c.pollOnce()
			c.peers.mu.Lock()
			delete(c.peers.heard, 3) // it counts as up for a while
			c.peers.mu.Unlock()
			if err := c.compactOnce(t.Context(), 20); err != nil {
				t.Log(err) // the lead may be changing
			}
			n = max(n, c.peers.compacted.Load())
		}
		return n >= 330 // a proposal that waited long was put twice
	})
	r.startAll()
	logs[2] = r.open(2)
	want, got := read(t, logs[0], 1, 350), read(t, logs[2], 1, 350)
	for i := range want {
		if want[i].After() != got[i].After() || !bytes.Equal(want[i].Body, got[i].Body) {
			t.Fatalf("group %d differs", i+1)
		}
	}
	fill(t, logs[2], 3, 1<<32, 5)
	read(t, logs[0], 351, 355)
}

// TestStartingMemberHoldsNoCompactionUp checks that a member whose archive is not open yet does not keep
// etcd from forgetting what the others' archives have, for they are a majority, and that one archive alone
// lets etcd forget nothing.
func TestStartingMemberHoldsNoCompactionUp(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	logs := []*Log{r.open(0)}
	defer func() {
		for _, l := range logs {
			l.Close()
		}
	}()
	fill(t, logs[0], 1, 1, 50)
	sync := func() {
		t.Helper()
		for _, l := range logs {
			read(t, l, 1, 50)
			if err := l.archive.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		c := r.clusters[0]
		await(t, "the first member has heard of each archive", func() bool {
			c.pollOnce()
			c.refreshView()
			open := 1
			for _, s := range c.peers.statuses() {
				if s.ArchiveNumber >= 50 {
					open++
				}
			}
			return open == len(logs) && len(c.view.Load().voters) == 3
		})
	}
	c := r.clusters[0]
	sync()
	if err := c.compactTo(t.Context(), 20); err != nil || c.peers.compacted.Load() != 0 {
		t.Errorf("with one archive of three etcd forgets up to group %d, %v", c.peers.compacted.Load(), err)
	}
	if _, err := c.Defrag(t.Context()); err != nil {
		t.Error("etcd has forgotten nothing yet: ", err)
	}
	logs = append(logs, r.open(1))
	sync()
	await(t, "with two archives of three etcd forgets groups", func() bool {
		err := c.compactTo(t.Context(), 20)
		return err == nil && c.peers.compacted.Load() >= 30 // a proposal that waited long was put twice
	})
	if _, err := c.Defrag(t.Context()); err != nil {
		t.Error(err)
	}
	logs = append(logs, r.open(2))
	read(t, logs[2], 1, 50)
}

// TestRunningMembers checks that each member compares its clock with the median; that a member which begins to follow
// the configuration takes a change that another one made since it read it last, and never an older one; and that a
// start which waits for a majority can be stopped.
func TestRunningMembers(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	ahead := []time.Duration{0, 0, 10 * time.Second}
	var logs []*Log
	for i := range 3 {
		l, err := r.clusters[i].OpenLog(t.Context(), journal.Options{Now: func() int64 { return time.Now().Add(ahead[i]).UnixNano() }})
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	for i, c := range r.clusters {
		var m engine.Members // as of one moment: a machine that is held up changes the leader
		await(t, "all members are up", func() bool {
			c.pollOnce()
			m = c.Members()
			return len(m.Up) == 3 && m.Leader != 0
		})
		if off := m.Clock.Offset - ahead[i]; off.Abs() > 4*time.Second || m.Clock.Measured.IsZero() {
			t.Errorf("member %d: its clock is %v ahead, measured at %v; want %v", i, m.Clock.Offset, m.Clock.Measured, ahead[i])
		}
		if len(m.Voters) != 3 || m.Contact.IsZero() {
			t.Errorf("member %d: %+v, want three voters and a contact", i, m)
		}
	}

	c := r.clusters[0]
	missed := *c.config.Load()
	missed.revision = 1
	missed.Members = slices.Clone(missed.Members)
	missed.Members[2].Follow = ""
	c.config.Store(&missed)
	go c.watchConfig() // it ends with the member
	await(t, "the change is known", func() bool { return c.config.Load().find("c").Follow != "" })
	now := c.config.Load()
	if c.storeConfig(&missed); c.config.Load() != now {
		t.Error("an older configuration has replaced a newer one")
	}

	for _, l := range logs {
		l.Close()
	}
	r.stop(1)
	r.stop(2)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if l, err := c.OpenLog(ctx, journal.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		if err == nil {
			l.Close()
		}
		t.Errorf("OpenLog without a majority: %v, want DeadlineExceeded", err)
	}
}
