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

	// ChangedAgents continues a run whose agents were changed. Their seats then have no verdict.
	ChangedAgents bool

	faults   []string // of a certification, for tests; nil: the standard set
	closing  bool     // processes are asked to end while the venue still answers
	misleads bool     // seats that are hosts get the instruction of a certification

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
	if _, err := planRun(c, &o); err != nil { // before anything is written
		return nil, err
	}
	lock, err := lockRun(o.Dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	p, err := planRun(c, &o) // another run may have ended meanwhile
	if err != nil {
		return nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	r, err := MakeReport(o.Dir, false, nil)
	if err != nil {
		return nil, err
	}
	return r, cmp.Or(r.Write(o.Dir), r.Failed())
}

// plan is what is left of a run.
type plan struct {
	c       *Config
	o       *Options
	digests []*string // of the seats, at the begin
	todo    []int     // places of the seeds that are not complete

	replaced map[int]string // folders of seeds of which a part is complete, by place
}

// planRun returns what is left of a run. Complete seeds of another setup or, unless they are allowed, of other agents
// are an error, and so is a folder that a run would replace although it is no bundle.
func planRun(c *Config, o *Options) (*plan, error) {
	p := &plan{c: c, o: o, replaced: map[int]string{}}
	var err error
	if p.digests, err = c.digests(); err != nil {
		return nil, err
	}
	started, err := startedSeeds(o.Dir)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{reportName, pageName} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err == nil && len(started) == 0 {
			return nil, notOwn(o.Dir, name)
		}
	}
	done, hash := map[int]bool{}, SetupHash(c, o.Version)
	for _, seed := range started {
		at := seedDir(o.Dir, seed)
		found := manifestsOf(at)
		var m *Manifest
		for _, dir := range found {
			if m, err = readManifest(dir); err != nil {
				return nil, &ConfigError{err}
			}
			if m.SetupHash != hash || !sameSeats(m.Settings, c) || m.Settings.Seeds != c.Seeds {
				return nil, badConfig("%s has a complete run of seed %d with another setup: name another folder with --out", o.Dir, seed)
			}
			if err := c.checkDigests(p.digests, m.Seats); err != nil && !o.ChangedAgents {
				return nil, err
			}
		}
		place, ok := m.place(c)
		if !ok {
			return nil, badConfig("%s has seed %d, which is not one of the seeds %s", o.Dir, seed, c.Seeds)
		}
		if len(found) == len(bundles(at, c)) {
			done[place] = true
		} else {
			p.replaced[place] = at
		}
	}
	for place := range c.count {
		if done[place] {
			continue
		}
		p.todo = append(p.todo, place)
		for _, at := range p.folders(place) {
			if err := checkSeedFolder(at, c); err != nil {
				return nil, err
			}
		}
	}
	if len(p.todo) == 0 && c.sealed != "" {
		return nil, badConfig("%s is complete: name another folder with --out", o.Dir)
	}
	if len(p.todo) == 0 {
		return nil, badConfig("%s has complete runs of all these seeds: name other seeds, or another folder with --out", o.Dir)
	}
	return p, nil
}

// place returns the place of the seed of a bundle in a run, false if it has none.
func (m *Manifest) place(c *Config) (int, bool) {
	if c.sealed == sealFresh {
		if m.Seal == nil || m.Seal.Place == nil {
			return 0, false
		}
		return *m.Seal.Place, true
	}
	at := slices.Index(c.seeds, m.Seed)
	return at, at >= 0
}

// folders returns the folders that the seed of a place replaces: what a run that was killed has left.
func (p *plan) folders(place int) []string {
	list := []string{p.playing(place)}
	if at := p.replaced[place]; at != "" {
		list = append(list, at)
	} else if p.c.seeds != nil {
		list = append(list, seedDir(p.o.Dir, p.c.seeds[place]))
	}
	return list
}

// playing returns the folder of a seed while it plays. It is named by the place, because a seat can read the name.
func (p *plan) playing(place int) string {
	return filepath.Join(p.o.Dir, fmt.Sprint("playing-", place))
}

func seedDir(dir string, seed uint64) string {
	return filepath.Join(dir, strconv.FormatUint(seed, 10))
}

// sameSeats reports whether two configs have the same seats, by name and agent.
func sameSeats(a, b *Config) bool {
	return slices.EqualFunc(a.Seats, b.Seats, func(x, y Seat) bool {
		return x.Name == y.Name && x.Kind == y.Kind && x.Command == y.Command && x.MCP == y.MCP && x.Holds == y.Holds
	})
}

// run runs the seeds that are left, some at the same time.
func (p *plan) run(ctx context.Context) error {
	stopped := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var failed error
	rounds, all := map[string]int{}, len(p.todo)*p.c.Rounds*len(bundles("", p.c))
	progress := func(dir string) func(int) {
		return func(n int) {
			mu.Lock()
			defer mu.Unlock()
			rounds[dir] = n
			sum := 0
			for _, n := range rounds {
				sum += n
			}
			if p.o.Progress != nil {
				p.o.Progress(sum, all)
			}
		}
	}
	queue := make(chan int)
	var jobs sync.WaitGroup
	for range min(p.o.Jobs, len(p.todo)) {
		jobs.Go(func() {
			for place := range queue {
				if err := p.runPlace(ctx, place, progress); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					stop()
				}
			}
		})
	}
	for _, place := range p.todo {
		select {
		case queue <- place:
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

// runPlace runs the seed of a place. Until all its seats have played, nothing in the folder of the run has the seed,
// nor what a seat did that played it first, which shows the prices: both are in memory. Then the bundles and their
// manifests are written, and the folder gets its name.
func (p *plan) runPlace(ctx context.Context, place int, progress func(dir string) func(int)) error {
	now, err := p.c.digests()
	if err != nil {
		return err
	}
	if err := p.c.changed(p.digests, now); err != nil {
		return err
	}
	for _, at := range p.folders(place) {
		if err := os.RemoveAll(at); err != nil {
			return err
		}
	}
	d := p.c.draw(place, now)
	list := bundles(p.playing(place), p.c)
	manifests, held := make([]*Manifest, len(list)), make([]heldFiles, len(list))
	for i, dir := range list {
		if manifests[i], err = playSeed(ctx, p.c, d, dir, seatsOf(p.c, i), now, p.o, progress(dir)); err != nil {
			return fmt.Errorf("seed %d: %w", d.seed, err)
		}
		if held[i], err = takeAway(dir); err != nil {
			return err
		}
	}
	for i, dir := range list {
		if err := cmp.Or(held[i].putBack(dir), writeManifest(dir, manifests[i])); err != nil {
			return err
		}
	}
	return os.Rename(p.playing(place), seedDir(p.o.Dir, d.seed))
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

// heldFiles are the contents of files, by their paths in a folder.
type heldFiles map[string][]byte

// takeAway reads the files of a folder into memory, and removes it.
func takeAway(dir string) (heldFiles, error) {
	files := heldFiles{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[rel], err = os.ReadFile(path)
		return err
	})
	return files, cmp.Or(err, os.RemoveAll(dir))
}

// putBack writes the files into a folder.
func (f heldFiles) putBack(dir string) error {
	for rel, b := range f {
		path := filepath.Join(dir, rel)
		if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// playSeed runs one seed into a folder, which becomes a bundle when the manifest that it returns is written there.
func playSeed(ctx context.Context, c *Config, d draw, dir string, seats []int, digests []*string, o *Options, progress func(int)) (m *Manifest, err error) {
	s, err := newSeedRun(c, d, dir, seats, o)
	if err != nil {
		return nil, err
	}
	for _, x := range s.seats {
		x.digest = digests[x.number-1]
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.work)) }()
	if err := s.run(ctx, progress); err != nil {
		return nil, err
	}
	return s.finish()
}

// finish completes the folder of a run that has ended, and returns its manifest.
func (s *seedRun) finish() (*Manifest, error) {
	m := &Manifest{SetupHash: SetupHash(s.c, s.o.Version), Seed: s.seed, Seal: s.seal, Tape: s.window, Versions: versions(s.o.Version), Settings: s.c, Reproducible: s.c.pace == 0 && s.c.Think == 0 && !s.o.closing}
	for _, x := range s.seats {
		end := SeatEnd{Name: x.Name, Number: x.number, Stalls: x.waits.stalls, ExitStatus: x.exit, Digest: x.digest}
		if x.exit != nil && *x.exit != 0 {
			end.Output = s.lastOutput(x)
		}
		m.Reproducible = m.Reproducible && x.waits.stalls == 0
		m.Seats = append(m.Seats, end)
	}
	if err := s.keepJournal(); err != nil {
		return nil, err
	}
	f, err := analyze(s.dir, m, nil, nil)
	if err != nil {
		return nil, err
	}
	m.CommandsHash, m.StateHash = f.CommandsHash, f.StateHash
	m.Files, err = hashFiles(s.dir)
	return m, err
}
