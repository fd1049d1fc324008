package sim

import (
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/server/v3/storage/wal"

	deep "duplex/core/sim"
	"duplex/internal/memdir"
)

var (
	seeds = flag.Uint64("seeds", 6, "number of seeds to run")
	first = flag.Uint64("first", 1, "the first seed")
	seed  = flag.Uint64("seed", 0, "run only this seed and print a trace")
	steps = flag.Int("steps", deep.Steps, "number of steps of each run")
)

// TestMain makes the log's segments small, so that they are often filled and trimmed.
func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 16 << 10
	os.Exit(m.Run())
}

// run simulates one seed in its own synctest bubble. tune may change the gate before the run.
func run(t *testing.T, seed uint64, steps int, to io.Writer, tune ...func(*simGate)) (res deep.Result, d *simGate, err error) {
	dir := memdir.New(t)
	defer os.RemoveAll(dir) // a test may run thousands of seeds
	synctest.Test(t, func(*testing.T) {
		res, err = deep.Run(deep.Options{Seed: seed, Steps: steps, Dir: dir, Trace: to, Lanes: func(w deep.World) deep.Lanes {
			d = newSimGate(w, seed)
			for _, f := range tune {
				f(d)
			}
			return d
		}})
	})
	return res, d, err
}

// TestSeeds runs the simulation for several seeds and logs the events they covered.
func TestSeeds(t *testing.T) {
	if *seed != 0 {
		res, d, err := run(t, *seed, *steps, os.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v, %+v", res, d.stats)
		return
	}
	var sum deep.Result
	var all stats
	all.NotDone = map[string]int{}
	for s := *first; s < *first+*seeds; s++ {
		res, d, err := run(t, s, *steps, nil)
		if err != nil {
			t.Fatalf("%v\n\tgo test ./lanes/sim -run Seeds -seed %d -steps %d", err, s, *steps)
		}
		sum.Commands += res.Commands
		sum.Crashes += res.Crashes
		all.add(&d.stats)
	}
	t.Logf("%d seeds: %d commands, %d crashes, %d lives", *seeds, sum.Commands, sum.Crashes, all.Lives)
	t.Logf("%d requests over REST, %d tool calls, %d of both batches, %d requests of operators; %d repeated by the network", all.REST, all.Tool, all.Batches, all.Operator, all.Again)
	t.Logf("%d commands answered, %d of them accepted; %d repeats answered from the response cache", all.Answered, all.Accepted, all.Repeats)
	t.Logf("%d answers lost, %d outcomes unknown, %d bodies cut; not executed: %v", all.Silent, all.Unknown, all.Cut, all.NotDone)
	if t.Logf("%d orders waited for their owner, %d of them were approved and placed", all.Waiting, all.Decided); all.Decided == 0 && *seeds >= 6 {
		t.Error("no order that waited was placed")
	}
	t.Logf("%d placements looked up: %d found, %d missing; %d reads", all.Found+all.Missing, all.Found, all.Missing, all.Reads)
}

func (s *stats) add(x *stats) {
	for _, p := range [][2]*int{
		{&s.REST, &x.REST}, {&s.Tool, &x.Tool}, {&s.Operator, &x.Operator}, {&s.Batches, &x.Batches}, {&s.Answered, &x.Answered}, {&s.Accepted, &x.Accepted}, {&s.Silent, &x.Silent},
		{&s.Unknown, &x.Unknown}, {&s.Cut, &x.Cut}, {&s.Repeats, &x.Repeats}, {&s.Again, &x.Again}, {&s.Reads, &x.Reads}, {&s.Found, &x.Found},
		{&s.Missing, &x.Missing}, {&s.Lives, &x.Lives}, {&s.Waiting, &x.Waiting}, {&s.Decided, &x.Decided},
	} {
		*p[0] += *p[1]
	}
	for code, n := range x.NotDone {
		s.NotDone[code] += n
	}
}

// TestSeedReproducesARun checks that two runs of one seed are equal.
func TestSeedReproducesARun(t *testing.T) {
	for s := uint64(1); s <= 3; s++ {
		a, d, err := run(t, s, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, e, err := run(t, s, 100, nil)
		if err != nil || a != b || fmt.Sprint(d.stats) != fmt.Sprint(e.stats) {
			t.Fatalf("two runs of seed %d differ: %+v %+v and %+v %+v, %v", s, a, d.stats, b, e.stats, err)
		}
	}
}
