package mirror

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/sim"
)

var (
	seeds = flag.Uint64("seeds", 10, "number of seeds of the simulation")
	first = flag.Uint64("first", 1, "the first seed")
)

// TestSeeds checks that the rows of simulated venues, with crashes and agents, equal those of a
// replay that keeps all of them.
func TestSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("many venues")
	}
	t.Parallel()
	postgres := ""
	for seed := *first; seed < *first+*seeds; seed++ {
		dir := tempDir(t)
		var err error
		synctest.Test(t, func(*testing.T) {
			_, err = sim.Run(sim.Options{Seed: seed, Dir: dir, Journal: func(from string) error { return os.CopyFS(filepath.Join(dir, "journal"), os.DirFS(from)) }})
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		l, err := journal.NewReader(filepath.Join(dir, "journal"))
		if err != nil {
			t.Fatal(err)
		}
		v := &venueLog{t: t, dir: filepath.Join(dir, "journal"), state: replica.New(unbounded())}
		if err := replay(ctx, l, v.state, l.Last().Number); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		dsns := []string{SQLitePath(dir)}
		if seed%10 == 1 && server.Available() {
			if postgres == "" {
				postgres = newPostgres(t)
			}
			dsns = append(dsns, postgres)
		}
		for _, dsn := range dsns {
			o := v.options(dsn)
			o.Dir = filepath.Join(dir, "mirror")
			if isPostgres(dsn) {
				if _, _, err := Rebuild(ctx, o, nil); err != nil { // replaces the venue of the seed before
					t.Fatal(err)
				}
			}
			m := New(o)
			m.limit = time.Minute // of a read
			m.Start(l)
			waitUntil(t, func() bool {
				_, at := m.Position()
				return at.Number == l.Last().Number || m.Err() != nil
			})
			if err := m.Err(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			<-m.done
			// The log has ended, and the projector with it: open the database again for reads.
			s, err := openStore(ctx, dsn, forWriting)
			if err != nil {
				t.Fatal(err)
			}
			m.store.Store(&s)
			v.check(m)
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				t.Fatalf("seed %d on %s", seed, dsn)
			}
		}
	}
}
