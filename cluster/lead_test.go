package cluster

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/schemas"
)

// TestSlowSyncs checks when the syncs of a window count as slow.
func TestSlowSyncs(t *testing.T) {
	second := func(n int) time.Time { return time.Unix(1000+int64(n), 0) }
	for name, test := range map[string]struct {
		each func(n int) syncSample // at second n
		slow int                    // the first second at which they are slow; -1: never
	}{
		"quick":                {func(n int) syncSample { return syncSample{second(n), uint64(n), uint64(n), uint64(n)} }, -1},
		"slow":                 {func(n int) syncSample { return syncSample{second(n), uint64(n), 0, uint64(n)} }, 10},
		"one quick in between": {func(n int) syncSample { return syncSample{second(n), uint64(n), uint64(n / 9), uint64(n)} }, -1},
		"idle":                 {func(n int) syncSample { return syncSample{second(n), 5, 5, 7} }, -1},
		"none ends":            {func(n int) syncSample { return syncSample{second(n), 5, 5, uint64(n)} }, 10},
		"quick, then slow":     {func(n int) syncSample { return syncSample{second(n), uint64(n), uint64(min(n, 4)), uint64(n)} }, 14},
	} {
		w, found := &syncWindow{}, -1
		for n := range 30 {
			if w.slow(test.each(n)) && found < 0 {
				found = n
			}
		}
		if found != test.slow {
			t.Errorf("%s: slow at %d s, want %d", name, found, test.slow)
		}
	}
}

// leaderOf waits until the running members agree on a leader, which is one of them. One that has given the
// lead away may say for a moment that it has it.
func (r *trial) leaderOf() int {
	r.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		leader, said := -1, map[uint32]bool{}
		for i, c := range r.clusters {
			if c == nil {
				continue
			}
			lead := c.view.Load().leader
			if said[lead] = true; lead == c.node {
				leader = i
			}
		}
		if leader >= 0 && len(said) == 1 {
			return leader
		}
	}
	r.Fatal("no leader")
	return 0
}

// hear polls until each member has heard what it needs of every other one: a member that is held up does
// not answer in time.
func (r *trial) hear(ok func(heard) bool) {
	r.Helper()
	for _, c := range r.clusters {
		await(r, "each member has heard of the others", func() bool {
			c.pollOnce()
			list := c.peers.statuses()
			return len(list) == len(r.clusters)-1 && !slices.ContainsFunc(list, func(h heard) bool { return !ok(h) })
		})
	}
}

// TestLeaderWithABadDiskLeavesTheLead checks that a leader with a full or a slow disk gives the lead to
// the one member that has neither, and that it keeps it if there is none.
func TestLeaderWithABadDiskLeavesTheLead(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 3)
	var slow [3]atomic.Bool
	for i := range slow {
		quick, n := WALSyncs{}, uint64(0)
		r.options[i].readSyncs = func() (WALSyncs, error) {
			if slow[i].Load() {
				n++
			}
			quick.Count = n
			return quick, nil
		}
	}
	r.startAll()
	for i := range 3 {
		defer r.open(i).Close()
	}
	set := func(low ...int) {
		free := map[uint32]uint64{}
		for i, c := range r.clusters {
			report := Report{State: engine.Serving.String(), DiskFree: 1 << 40}
			if slices.Contains(low, i) {
				report.DiskFree = 200 << 20
			}
			free[c.node] = report.DiskFree
			c.SetReport(func() Report { return report })
		}
		r.hear(func(h heard) bool { return h.DiskFree == free[h.Node] })
	}
	first := r.leaderOf()
	second, third := (first+1)%3, (first+2)%3
	set(first, second)
	await(t, "the only one with space leads", func() bool {
		r.clusters[first].guardLead() // in vain while it has not heard of the others for a moment
		return r.leaderOf() == third
	})
	set(0, 1, 2)
	r.clusters[third].guardLead()
	if got := r.leaderOf(); got != third {
		t.Errorf("member %d leads, want %d: nobody has space", got, third)
	}
	set()
	c := r.clusters[third]
	slow[third].Store(true)
	c.guarding.Lock()
	c.syncs.samples = []syncSample{{at: time.Now().Add(-slowFor)}}
	c.guarding.Unlock()
	await(t, "the leader's syncs are slow, and another one leads", func() bool {
		c.guardLead()
		return r.leaderOf() != third
	})
	if !c.Status().SlowSyncs {
		t.Error("a member does not tell that its syncs are slow")
	}
}

// TestMetrics checks that every metric of a member and of its ports can be read, and none twice, and that etcd's
// histogram of syncs is where it is looked for, with the limit of slow ones.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 1)
	l := r.open(0)
	defer l.Close()
	fill(t, l, 1, 1, 5)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(r.clusters[0].Metrics())
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if m := f.GetMetric()[0]; m.GetGauge() != nil {
			got[f.GetName()] = m.GetGauge().GetValue()
		}
	}
	if _, ok := got["duplex_cluster_archive_number"]; !ok || got["duplex_cluster_etcd_db_bytes"] <= 0 {
		t.Errorf("the gauges are %v, want the archive's number and etcd's size", got)
	}
	s, err := ReadWALSyncs()
	if err != nil || s.Count == 0 || s.Sum <= 0 {
		t.Errorf("etcd's syncs: %+v %v, want some", s, err)
	}
	if _, ok := s.AtMost[slowSync]; !ok {
		t.Errorf("etcd's syncs have no limit of %v s: %v", slowSync, s.AtMost)
	}
}

// TestDefrag checks that the databases of all members are written anew, the leader's last, and are
// smaller afterwards, that members whose database is small are left out, and that etcd takes writes
// again.
func TestDefrag(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	var logs [3]*Log
	for i := range logs {
		logs[i] = r.open(i)
		defer func() { logs[i].Close() }()
	}
	for n := uint64(1); n <= 40; n++ { // 40 groups of 500 KB
		propose(t, logs[0], journal.Group{Node: 1, Proposal: n, Body: make([]byte, 500_000)})
	}
	for i := range logs {
		read(t, logs[i], 1, 40)
		if err := logs[i].archive.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	r.hear(func(h heard) bool { return h.ArchiveNumber >= 40 })
	leader := r.leaderOf()
	asked := r.clusters[(leader+1)%3]
	done, err := asked.Defrag(t.Context())
	if err != nil || len(done) != 3 || done[2].Node != r.options[leader].Name {
		t.Fatalf("%+v %v; the leader is %s", done, err, r.options[leader].Name)
	}
	for _, d := range done {
		if d.Before < 20_000_000 || d.After > schemas.U64(5_000_000) {
			t.Errorf("%s: %d bytes, then %d", d.Node, d.Before, d.After)
		}
	}
	r.hear(func(h heard) bool { return h.EtcdBytes < 10_000_000 })
	if done, err := asked.defragOver(t.Context(), 10_000_000); err != nil || len(done) != 0 {
		t.Errorf("databases that are small: %+v %v", done, err)
	}
	fill(t, logs[1], 2, 1<<32, 3)
	read(t, logs[2], 41, 43)
}

// TestDistance checks that a member which is more than 100 ms away from another one does not start, and
// with DX_LONG that one which is 40 ms away does: on a machine without a processor to spare the round trip
// is longer.
func TestDistance(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 3)
	far := newProxy(t, r.options[0].FollowListen)
	r.options[0].FollowAdvertise = far.address
	r.startAll()
	r.stop(2)
	far.delay.Store(int64(70 * time.Millisecond)) // on the way there, and on the way back
	r.options[2].farTimeout = time.Second
	await(t, "a member 140 ms away is refused", func() bool {
		c, err := Open(t.Context(), r.options[2])
		if c != nil {
			c.Close() // it has not heard of a in time
		}
		option := (*OptionError)(nil)
		return errors.As(err, &option) && strings.Contains(err.Error(), "a is ") && strings.Contains(err.Error(), "apart")
	})
	if os.Getenv("DX_LONG") != "" {
		far.delay.Store(int64(20 * time.Millisecond))
		r.options[2].farTimeout = 0
		r.start(2)
	}
}

// TestJudgeDistance checks which round trips are too long, and which are long for the times of etcd.
func TestJudgeDistance(t *testing.T) {
	for _, test := range []struct {
		rtt, election time.Duration
		refused, warn bool
	}{
		{nearBy, 200 * time.Millisecond, false, false}, {nearBy + 1, 200 * time.Millisecond, false, true}, {40 * time.Millisecond, time.Second, false, false},
		{farthest, time.Second, false, false}, {farthest + 1, time.Second, true, false},
	} {
		var log bytes.Buffer
		c := &Cluster{opt: Options{Election: test.election, Log: slog.New(slog.NewTextHandler(&log, nil))}}
		err := c.checkDistance("a", test.rtt)
		if option := (*OptionError)(nil); errors.As(err, &option) != test.refused || (log.Len() > 0) != test.warn {
			t.Errorf("%v away: %v, the log says %q", test.rtt, err, &log)
		}
	}
}

// TestQuota fills etcd's database to its quota: no proposal is confirmed until dx cluster defrag has freed
// space and cleared the alarm, and the one that waited is in the log once.
func TestQuota(t *testing.T) {
	t.Parallel()
	r := prepareTrial(t, 1)
	r.options[0].quota = 4 << 20
	r.startAll()
	l := r.open(0)
	defer l.Close()
	c := r.clusters[0]
	g := journal.Group{Node: 1, Proposal: 1 << 32, Body: bytes.Repeat([]byte{'x'}, 200_000)}
	// etcd counts what its database has committed, ten times a second. The first group over the quota it
	// refuses, or it writes it and says that there is no space: then the group is confirmed once more.
	for refused := 0; refused < 2; {
		switch err := l.Propose(t.Context(), g); {
		case err == nil && g.Proposal < 1<<32+5000:
			g.Proposal, refused = g.Proposal+1, 0
		case errors.Is(err, journal.ErrUnconfirmed) && strings.Contains(err.Error(), "space exceeded"):
			refused++
		case errors.Is(err, journal.ErrUnconfirmed): // the machine was held up: again, and it may be in the log twice
		default:
			t.Fatalf("after %d groups: %v", g.Proposal-1<<32, err)
		}
	}
	groups, err := c.readHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read(t, l, 1, groups)
	if err := l.archive.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Defrag(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Proposal++ // the one before may be in the log: a put that was held up is written although later ones are refused
	propose(t, l, g)
	for x, err := range l.Deliver(t.Context(), groups+1) {
		if err != nil {
			t.Fatal(err)
		}
		if x.Proposal == g.Proposal {
			break
		}
	}
}
