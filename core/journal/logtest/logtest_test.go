package logtest

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core/journal"
	"duplex/internal/memdir"
)

// The wal has its segment size in a package variable. Small segments are filled, started and
// trimmed often.
func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 64 << 10
	os.Exit(m.Run())
}

func TestCases(t *testing.T) {
	n := 0
	for range Cases() {
		n++
	}
	if n < 60 {
		t.Errorf("%d cases, there must be 60", n)
	}
	t.Logf("%d cases", n)
}

func TestFile(t *testing.T) {
	Run(t, func(t *testing.T, test func(*testing.T, *Storage)) {
		dir := memdir.New(t)
		s := &Storage{Nodes: []uint32{0}, BodyMax: journal.BodyMax}
		s.Open = func(_ uint32, start journal.Position) (journal.Log, error) {
			return journal.Open(dir, journal.Options{Now: s.Now, Start: start})
		}
		test(t, s)
	})
}

// clusterStorage is a cluster of three nodes.
func clusterStorage(c *Cluster) *Storage {
	s := &Storage{Nodes: []uint32{1, 2, 3}, BodyMax: BodyMax}
	s.Open = func(node uint32, _ journal.Position) (journal.Log, error) {
		if s.Now != nil {
			c.Now = s.Now
		}
		return c.Open(node), nil
	}
	return s
}

func TestCluster(t *testing.T) {
	for name, f := range map[string]Faults{"quiet": {}, "hostile": Hostile()} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(t *testing.T, test func(*testing.T, *Storage)) {
				synctest.Test(t, func(t *testing.T) { test(t, clusterStorage(NewCluster(7, f))) })
			})
		})
	}
}

// TestEveryFaultHappens checks that a hostile cluster injects every fault.
func TestEveryFaultHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCluster(1, Hostile())
		v := &venue{T: t, s: clusterStorage(c), node: 1}
		l := v.open()
		l.fill(300)
		if n := c.Counts(); n.Lost == 0 || n.ReplyLost == 0 || n.Late == 0 || n.Twice == 0 {
			t.Errorf("%+v", n)
		}
		repeats, late := len(c.Groups())-len(v.firsts(1, c.Groups())), 0
		last := uint64(0)
		for _, g := range c.Groups() {
			if g.Proposal < last {
				late++
			}
			last = max(last, g.Proposal)
		}
		if repeats == 0 || late == 0 {
			t.Errorf("%d repeats, %d of them after later proposals", repeats, late)
		}
	})
}

// TestNextIsWhatAFileWrites checks that Position.Next derives what the log of one machine writes.
func TestNextIsWhatAFileWrites(t *testing.T) {
	f, err := journal.Open(t.TempDir(), journal.Options{Now: func() int64 { return 77 }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, body := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("b"), 5000)} {
		before := f.Last()
		g := journal.Group{Node: 3, Proposal: 9, Body: body}
		if err := f.Propose(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		g.Stamp = 77
		if want := before.Next(g); want.After() != f.Last() {
			t.Errorf("%+v, the file has %+v", want.After(), f.Last())
		}
	}
}
