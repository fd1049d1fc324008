// Command flaky finds tests that depend on timing or on the order of tests.
//
// It compiles the test binaries once, keeps every core busy, and runs all tests at several values
// of GOMAXPROCS, in a new random order each time. The busy loops are goroutines of this process,
// so they always end with it. The output of a failed run is written to a file, with the command
// that reproduces it.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "flaky:", err)
		os.Exit(1)
	}
}

type options struct {
	root, out, match string
	rounds, count    int
	procs            []int
	busy, jobs       int
	timeout          time.Duration
	skip, packages   []string
	race             []string // the flag of go test, or nothing
}

func flags() (o options, err error) {
	procs, skip := "1,2,4", ""
	flag.StringVar(&o.root, "root", "../..", "the `dir`ectory of the program's module")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "flaky"), "the `dir`ectory for the output of failed runs")
	flag.StringVar(&o.match, "run", "", "only the tests that match this `regexp`")
	flag.IntVar(&o.rounds, "n", 1, "number of runs of all packages at each GOMAXPROCS")
	flag.IntVar(&o.count, "count", 1, "number of times that each process runs its tests")
	flag.StringVar(&procs, "procs", procs, "values of GOMAXPROCS, separated by commas")
	flag.StringVar(&skip, "skip", skip, "packages to skip, separated by commas")
	flag.IntVar(&o.busy, "busy", runtime.NumCPU(), "number of busy loops")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "number of packages that run at a time")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time limit of one package, multiplied by -count")
	race := flag.Bool("race", false, "with the race detector")
	flag.Parse()
	if *race {
		o.race = []string{"-race"}
	}
	for p := range strings.SplitSeq(procs, ",") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-procs: %q is not a positive number", p)
		}
		o.procs = append(o.procs, n)
	}
	o.skip = strings.FieldsFunc(skip, func(r rune) bool { return r == ',' })
	o.packages = flag.Args()
	if len(o.packages) == 0 {
		o.packages = []string{"./..."}
	}
	return o, nil
}

func run(ctx context.Context) error {
	o, err := flags()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flaky-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // a test's PostgreSQL runs as another user
		return err
	}
	start := time.Now()
	all, err := build(ctx, &o, dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d packages with tests, built in %s; %d busy loops\n", len(all), time.Since(start).Round(time.Second), o.busy)
	spin(o.busy)
	began := time.Now()
	var failed atomic.Int64
	var running sync.WaitGroup
	slots := make(chan struct{}, o.jobs)
	for round := range o.rounds {
		for _, procs := range o.procs {
			start := time.Now()
			wait := startAll(ctx, &o, slots, all, procs, round+1) // the next run begins while the last packages of this one end
			running.Go(func() {
				results := wait()
				if ctx.Err() != nil {
					return
				}
				bad := 0
				for _, r := range results {
					if r.err != nil {
						bad++
						fmt.Printf("FAIL %s at GOMAXPROCS=%d: %v; %s\n", r.path, procs, r.err, r.kept)
					}
				}
				failed.Add(int64(bad))
				slowest := slices.MaxFunc(results, func(a, b result) int { return cmp.Compare(a.took, b.took) })
				fmt.Printf("round %d of %d, GOMAXPROCS=%d: %d of %d packages failed in %s, the slowest is %s with %s; %s since the first run began\n",
					round+1, o.rounds, procs, bad, len(all), time.Since(start).Round(time.Second), slowest.path, slowest.took.Round(time.Second), time.Since(began).Round(time.Second))
			})
		}
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if n := failed.Load(); n > 0 {
		return fmt.Errorf("%d runs failed; their output is in %s", n, o.out)
	}
	return nil
}

// spin keeps n cores busy until the process ends.
func spin(n int) {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), n) + 1) // one more than the loops, for the rest of this process
	for range n {
		go func() {
			for {
			}
		}()
	}
}
