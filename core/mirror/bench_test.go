package mirror

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/history"
)

// benchmarkDatabases runs a benchmark on an empty database of each kind. SQLite is on the disk of
// the temporary folder, PostgreSQL syncs with MIRROR_TEST_FSYNC=1 and TMPDIR.
func benchmarkDatabases(b *testing.B, f func(b *testing.B, dsn string)) {
	b.Run("sqlite", func(b *testing.B) { f(b, filepath.Join(b.TempDir(), "history.db")) })
	b.Run("postgres", func(b *testing.B) { f(b, newPostgres(b)) })
}

// BenchmarkProject measures rows a second from the journal to the database.
func BenchmarkProject(b *testing.B) {
	v := newVenueLog(b, 1)
	v.perGroup = 200
	v.run(300)
	benchmarkDatabases(b, func(b *testing.B, dsn string) {
		for b.Loop() {
			o := v.options(dsn)
			o.Dir = b.TempDir()
			begun, work := time.Now(), processorTime(b)
			m := v.start(o)
			v.waitFor(m)
			took := time.Since(begun)
			work = processorTime(b) - work
			rows := uint64(0)
			for _, n := range m.Stats().Rows {
				rows += n
			}
			s := m.Stats()
			b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
			b.ReportMetric(float64(rows), "rows")
			b.ReportMetric(work.Seconds()*1e6/float64(rows), "µs-processor/row")
			b.ReportMetric(s.CommitSeconds/float64(s.Commits)*1000, "ms/commit")
			if err := m.Close(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPages measures pages of 100 fills a second, from random places, by as many readers as there
// are connections.
func BenchmarkPages(b *testing.B) {
	v := newVenueLog(b, 1)
	v.perGroup = 200
	v.run(300)
	benchmarkDatabases(b, func(b *testing.B, dsn string) {
		m := v.start(v.options(dsn))
		defer m.Close(ctx)
		v.waitFor(m)
		var bad atomic.Int64
		b.SetParallelism(max(1, readPool/runtime.GOMAXPROCS(0)))
		work := processorTime(b)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			r := rand.New(rand.NewPCG(rand.Uint64(), 1))
			for pb.Next() {
				list, err := m.Fills(ctx, core.UserID(1+r.IntN(testUsers)), 200+r.Uint64N(3000), 100, history.FillFilter{})
				if err != nil || len(list) != 100 {
					if bad.Add(1) == 1 {
						b.Errorf("%d rows: %v", len(list), err)
					}
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		b.ReportMetric((processorTime(b)-work).Seconds()*1e6/float64(b.N), "µs-processor")
		if n := bad.Load(); n > 0 {
			b.Errorf("%d pages failed", n)
		}
	})
}
