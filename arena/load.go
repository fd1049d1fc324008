package arena

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
)

// IsRun reports whether a folder is that of a run: it has a report, or bundles of seeds.
func IsRun(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, reportName)); err == nil {
		return true
	}
	seeds, _ := startedSeeds(dir)
	return slices.ContainsFunc(seeds, func(seed uint64) bool {
		return IsBundle(seedDir(dir, seed))
	})
}

// bundles returns the folders of the bundles in the folder of a seed: more than one if each seat has its
// own venue.
func bundles(at string, c *Config) (list []string) {
	if !c.Solo {
		return []string{at}
	}
	for i := range c.Seats {
		list = append(list, filepath.Join(at, c.Seats[i].Name))
	}
	return list
}

// completeSeeds returns the seeds of a run that are complete, those with the bundle of every seat if each has its own
// venue, and the settings of the run.
func completeSeeds(dir string) (seeds []uint64, c *Config, err error) {
	started, err := startedSeeds(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, seed := range started {
		found := manifestsOf(seedDir(dir, seed))
		m, err := readManifest(found[0])
		if err != nil {
			return nil, nil, err
		}
		if c = m.Settings; len(found) == len(bundles("", c)) {
			seeds = append(seeds, seed)
		}
	}
	if len(seeds) == 0 {
		return nil, nil, badConfig("%s has no complete seed", dir)
	}
	return seeds, c, nil
}

// startedSeeds returns the seeds of a run that have a manifest.
func startedSeeds(dir string) (seeds []uint64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		seed, err := strconv.ParseUint(e.Name(), 10, 64)
		if err != nil || !e.IsDir() {
			continue
		}
		if len(manifestsOf(filepath.Join(dir, e.Name()))) > 0 {
			seeds = append(seeds, seed)
		}
	}
	slices.Sort(seeds)
	return seeds, err
}

// manifestsOf returns the bundles in the folder of a seed that are complete.
func manifestsOf(at string) (list []string) {
	if _, err := os.Stat(filepath.Join(at, manifestName)); err == nil {
		return []string{at}
	}
	found, _ := filepath.Glob(filepath.Join(at, "*", manifestName))
	for _, path := range found {
		list = append(list, filepath.Dir(path))
	}
	return list
}

// loadRun analyzes every bundle of a run, seed by seed. check verifies each against its manifest.
func loadRun(dir string, check bool, progress func(done, total int)) (runs []*seedFigures, err error) {
	seeds, _, err := completeSeeds(dir)
	if err != nil {
		return nil, err
	}
	var bad []error
	for i, seed := range seeds {
		f, err := loadSeed(seedDir(dir, seed), check)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		runs = append(runs, f)
		if err := sameRun(seedDir(dir, seed), f.Setup, runs[0].Setup); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(i+1, len(seeds))
		}
	}
	if len(runs) > 0 {
		bad = append(bad, checkSeals(runs))
	}
	return runs, errors.Join(bad...)
}

// sameRun returns an error if the bundle in a folder is of another run than another one.
func sameRun(dir string, m, other *Manifest) error {
	switch {
	case m.SetupHash != other.SetupHash:
		return badConfig("%s is of another setup than seed %d", dir, other.Seed)
	case m.Versions != other.Versions:
		return badConfig("%s is of other versions than seed %d", dir, other.Seed)
	case m.Settings.Seeds != other.Settings.Seeds:
		return badConfig("%s is of other seeds than seed %d", dir, other.Seed)
	case !sameSeats(m.Settings, other.Settings):
		return badConfig("%s has other seats than seed %d", dir, other.Seed)
	}
	return nil
}

// loadSeed analyzes the bundles of one seed, and joins those of single seats.
func loadSeed(at string, check bool) (joined *seedFigures, err error) {
	for _, dir := range manifestsOf(at) {
		f, err := loadBundle(dir, check)
		if err != nil {
			return nil, err
		}
		if name := filepath.Base(at); name != strconv.FormatUint(f.Seed, 10) {
			return nil, fmt.Errorf("%s is the bundle of seed %d", dir, f.Seed)
		}
		if joined == nil {
			joined = f
			joined.hashes = []string{f.CommandsHash}
			continue
		}
		if err := sameRun(dir, f.Setup, joined.Setup); err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(f.Setup.Seal, joined.Setup.Seal) || !reflect.DeepEqual(f.Setup.Tape, joined.Setup.Tape) {
			return nil, fmt.Errorf("%s has another seal or window of the tape than the other seats", dir)
		}
		joined.Seats, joined.hashes = append(joined.Seats, f.Seats...), append(joined.hashes, f.CommandsHash)
		joined.Reproducible = joined.Reproducible && f.Reproducible
	}
	slices.SortFunc(joined.Seats, func(a, b *seatFigures) int { return a.Number - b.Number })
	for i, s := range joined.Seats {
		if s.Number != i+1 || len(joined.Seats) != len(joined.Setup.Settings.Seats) {
			return nil, fmt.Errorf("%s: its bundles do not have every seat of the settings once", at)
		}
	}
	digests := make([]*string, len(joined.Seats))
	for i, s := range joined.Seats {
		digests[i] = s.Digest
	}
	return joined, errors.Join(joined.Setup.checkSeal(digests), joined.Setup.checkWindow())
}

// checkComplete returns an error unless a run has exactly the seeds of its settings.
func checkComplete(dir string) error {
	seeds, c, err := completeSeeds(dir)
	if err != nil {
		return err
	}
	if c.seeds == nil { // sealed: which ones they are is checked with the bundles
		if len(seeds) < c.count {
			return badConfig("%s has %d of %d seeds: dx arena run continues it", dir, len(seeds), c.count)
		}
		if len(seeds) > c.count {
			return badConfig("%s has %d seeds, and %d in its settings", dir, len(seeds), c.count)
		}
		return nil
	}
	if missing := slices.DeleteFunc(slices.Clone(c.seeds), func(x uint64) bool { return slices.Contains(seeds, x) }); len(missing) > 0 {
		return badConfig("%s has %d of %d seeds, and seed %d is not complete: dx arena run continues it", dir, len(seeds), c.count, missing[0])
	}
	if !slices.Equal(seeds, c.seeds) {
		return badConfig("%s has seeds that are not in its settings", dir)
	}
	return nil
}
