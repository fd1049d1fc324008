package sim

import (
	"flag"
	"io"
	"os"
	"testing"
	"testing/synctest"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/internal/memdir"
)

var (
	seeds = flag.Uint64("seeds", 8, "number of seeds to run")
	first = flag.Uint64("first", 1, "the first seed")
	seed  = flag.Uint64("seed", 0, "run only this seed and print its trace")
	steps = flag.Int("steps", Steps, "number of steps of each run")
)

// The wal has its segment size in a package variable. Small segments are filled, started and
// trimmed often.
func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 16 << 10
	os.Exit(m.Run())
}

// run simulates one seed in a bubble of its own.
func run(t *testing.T, seed uint64, steps int, to io.Writer) (res Result, err error) {
	dir := memdir.New(t)
	defer os.RemoveAll(dir) // a test may run thousands of seeds
	synctest.Test(t, func(*testing.T) {
		res, err = Run(Options{Seed: seed, Steps: steps, Dir: dir, Trace: to})
	})
	return res, err
}

func TestSeeds(t *testing.T) {
	if *seed != 0 {
		res, err := run(t, *seed, *steps, os.Stdout)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", res)
		return
	}
	var sum Result
	for s := *first; s < *first+*seeds; s++ {
		res, err := run(t, s, *steps, nil)
		if err != nil {
			t.Fatalf("%v\n\tgo test ./core/sim -run Seeds -seed %d -steps %d", err, s, *steps)
		}
		sum.Commands += res.Commands
		sum.Crashes += res.Crashes
		sum.Torn += res.Torn
		sum.Unconfirmed += res.Unconfirmed
		sum.Unknown += res.Unknown
		for i, n := range res.At {
			sum.At[i] += n
		}
	}
	t.Logf("%d seeds: %d commands, %d crashes, %d torn tails cut, %d groups without a response, %d outcomes unknown", *seeds, sum.Commands, sum.Crashes, sum.Torn, sum.Unconfirmed, sum.Unknown)
	for i, n := range sum.At {
		t.Logf("%6d crashes at %q", n, points[i])
	}
}

func TestSeedReproducesARun(t *testing.T) {
	for s := uint64(1); s <= 3; s++ {
		a, err := run(t, s, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := run(t, s, 100, nil)
		if err != nil || a != b {
			t.Fatalf("two runs of seed %d: %+v and %+v, %v", s, a, b, err)
		}
	}
}
