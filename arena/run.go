package arena

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options are how a run is made. A zero value selects the default.
type Options struct {
	Jobs     int    // seeds at the same time; default 1
	Dir      string // of the run
	Temp     string // folder for venues while they run; default that of the system
	Version  string // of dx
	Log      *slog.Logger
	Progress func(done, total int) // rounds of all seeds; nil is not called

	API, Portal, Admin string // addresses of the listeners; default free ports
	Hand               bool   // no processes are started: somebody calls by hand

	faults  []string // of a certification, for tests; nil: the standard set
	closing bool     // processes are asked to end while the venue still answers

	// Ready, unless it is nil, is called when the accounts of a venue exist.
	Ready func(*seedRun)
}

func timeOf(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		return 0, badConfig("start %q: a time such as 2026-01-05T00:00:00Z", text)
	}
	return t.UnixNano(), nil
}

func hostPort(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Host
}

// Run runs every seed of the config that is not complete, and writes the report. A run that was
// stopped continues with the seeds that are not complete; an incomplete seed starts anew. If a seat failed, it
// returns the report with the error of its Failed.
func Run(ctx context.Context, c *Config, o Options) (*Report, error) {
	o.Jobs = max(1, o.Jobs)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if _, err := missingSeeds(c, &o); err != nil { // before anything is written
		return nil, err
	}
	lock, err := lockRun(o.Dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	todo, err := missingSeeds(c, &o) // another run may have ended meanwhile
	if err != nil {
		return nil, err
	}
	if err := runSeeds(ctx, c, &o, todo); err != nil {
		return nil, err
	}
	r, err := MakeReport(o.Dir, false, nil)
	if err != nil {
		return nil, err
	}
	return r, cmp.Or(r.Write(o.Dir), r.Failed())
}

// missingSeeds returns the seeds that are to be run. Complete seeds of another setup are an error, and so is
// a folder that a run would replace although it is no bundle.
func missingSeeds(c *Config, o *Options) (todo []uint64, err error) {
	done, err := startedSeeds(o.Dir)
	if err != nil {
		return nil, err
	}
	hash := SetupHash(c, o.Version)
	for _, seed := range done {
		for _, dir := range manifestsOf(filepath.Join(o.Dir, strconv.FormatUint(seed, 10))) {
			m, err := readManifest(dir)
			if err != nil {
				return nil, err
			}
			if m.SetupHash != hash || !sameSeats(m.Settings, c) {
				return nil, badConfig("%s has a complete run of seed %d with another setup: name another folder with --out", o.Dir, seed)
			}
		}
	}
	for _, seed := range c.seeds {
		complete := slices.Contains(done, seed)
		for _, dir := range bundles(o.Dir, seed, c) {
			if _, err := os.Stat(filepath.Join(dir, manifestName)); err != nil {
				complete = false
			}
		}
		if !complete {
			if err := checkSeedFolder(o.Dir, seed, c); err != nil {
				return nil, err
			}
			todo = append(todo, seed)
		}
	}
	if len(todo) == 0 {
		return nil, badConfig("%s has complete runs of all these seeds: name other seeds, or another folder with --out", o.Dir)
	}
	return todo, nil
}

// sameSeats reports whether two configs have the same seats, by name and agent.
func sameSeats(a, b *Config) bool {
	return slices.EqualFunc(a.Seats, b.Seats, func(x, y Seat) bool {
		return x.Name == y.Name && x.Kind == y.Kind && x.Command == y.Command && x.MCP == y.MCP && x.Holds == y.Holds
	})
}

// runSeeds runs seeds, some at the same time.
func runSeeds(ctx context.Context, c *Config, o *Options, seeds []uint64) error {
	stopped := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	rounds, failed := map[string]int{}, error(nil)
	all := 0
	for _, seed := range seeds {
		all += c.Rounds * len(bundles(o.Dir, seed, c))
	}
	progress := func(dir string) func(int) {
		return func(n int) {
			mu.Lock()
			defer mu.Unlock()
			rounds[dir] = n
			sum := 0
			for _, n := range rounds {
				sum += n
			}
			if o.Progress != nil {
				o.Progress(sum, all)
			}
		}
	}
	queue := make(chan uint64)
	var jobs sync.WaitGroup
	for range min(o.Jobs, len(seeds)) {
		jobs.Go(func() {
			for seed := range queue {
				for i, dir := range bundles(o.Dir, seed, c) {
					err := runSeed(ctx, c, seed, dir, seatsOf(c, i), o, progress(dir))
					if err != nil {
						mu.Lock()
						failed = errors.Join(failed, fmt.Errorf("seed %d: %w", seed, err))
						mu.Unlock()
						stop()
						break
					}
				}
			}
		})
	}
	for _, seed := range seeds {
		select {
		case queue <- seed:
		case <-ctx.Done():
		}
	}
	close(queue)
	jobs.Wait()
	if failed == nil {
		failed = stopped.Err() // between two seeds, no run has failed
	}
	return failed
}

// seatsOf returns the indices of the seats in bundle i of a seed.
func seatsOf(c *Config, i int) (seats []int) {
	if c.Solo {
		return []int{i}
	}
	for i := range c.Seats {
		seats = append(seats, i)
	}
	return seats
}

// runSeed runs one seed into a bundle. The manifest is written last, so that only a complete bundle
// has one.
func runSeed(ctx context.Context, c *Config, seed uint64, dir string, seats []int, o *Options, progress func(int)) (err error) {
	// What an interrupted run left. The manifest goes first: without it a bundle counts as incomplete.
	if err = os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err = os.RemoveAll(dir); err != nil {
		return err
	}
	s, err := newSeedRun(c, seed, dir, seats, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.work)) }()
	if err := s.run(ctx, progress); err != nil {
		return err
	}
	return s.finish()
}

// finish writes the bundle of a run that has ended.
func (s *seedRun) finish() error {
	m := &Manifest{SetupHash: SetupHash(s.c, s.o.Version), Seed: s.seed, Versions: versions(s.o.Version), Settings: s.c, Reproducible: s.c.pace == 0 && s.c.Think == 0 && !s.o.closing}
	for _, x := range s.seats {
		end := SeatEnd{Name: x.Name, Number: x.number, Stalls: x.waits.stalls, ExitStatus: x.exit}
		if x.exit != nil && *x.exit != 0 {
			end.Output = s.lastOutput(x)
		}
		m.Reproducible = m.Reproducible && x.waits.stalls == 0
		m.Seats = append(m.Seats, end)
	}
	if err := s.keepJournal(); err != nil {
		return err
	}
	f, err := analyze(s.dir, m, nil, nil)
	if err != nil {
		return err
	}
	m.CommandsHash, m.StateHash = f.CommandsHash, f.StateHash
	if m.Files, err = hashFiles(s.dir); err != nil {
		return err
	}
	return writeManifest(s.dir, m)
}
