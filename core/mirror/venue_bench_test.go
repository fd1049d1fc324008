package mirror

import (
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
)

// BenchmarkVenue measures what the mirror costs a venue: the throughput of 64 callers without a pause,
// the latency at 2,000 commands a second, and the processor time of a command, in pairs of runs with
// and without a mirror. The ratios are medians over the pairs, so that a busy second of the machine
// changes few of them. The runtime has one processor more than there are and a rare collector, as in
// dx serve.
func BenchmarkVenue(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, rate := range []int{0, 2000} {
		name := "unpaced"
		if rate > 0 {
			name = "2000-per-second"
		}
		b.Run(name, func(b *testing.B) {
			var commands [2]int
			var latencies [2][]time.Duration
			var processor [2]time.Duration
			var speeds, p99s, works []float64 // of each pair, with the mirror over without
			for b.Loop() {
				for pair := range 4 {
					var speed, p99, work [2]float64
					for _, on := range [][]int{{0, 1}, {1, 0}}[pair%2] {
						begun := processorTime(b)
						n, l := loadVenue(b, on == 1, rate, 3*time.Second)
						took := processorTime(b) - begun
						processor[on] += took
						commands[on] += n
						latencies[on] = append(latencies[on], l...)
						slices.Sort(l)
						speed[on], p99[on], work[on] = float64(n), float64(l[len(l)*99/100]), took.Seconds()/float64(n)
					}
					speeds, p99s, works = append(speeds, speed[1]/speed[0]), append(p99s, p99[1]/p99[0]), append(works, work[1]/work[0])
				}
			}
			for unit, ratios := range map[string][]float64{"speed": speeds, "p99": p99s, "processor": works} {
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], unit+"-ratio")
			}
			for on, unit := range []string{"off", "on"} {
				slices.Sort(latencies[on])
				l := latencies[on]
				b.ReportMetric(float64(commands[on])/float64(4*3*b.N), "commands/s-"+unit)
				b.ReportMetric(processor[on].Seconds()*1e6/float64(commands[on]), "µs-processor-"+unit)
				b.ReportMetric(float64(l[len(l)/2].Microseconds()), "µs-p50-"+unit)
				b.ReportMetric(float64(l[len(l)*99/100].Microseconds()), "µs-p99-"+unit)
			}
		})
	}
}

// processorTime returns the processor time of this process.
func processorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// loadVenue runs a venue under load and returns the number of commands and their latencies.
func loadVenue(b testing.TB, mirrored bool, rate int, duration time.Duration) (int, []time.Duration) {
	dir := b.TempDir()
	o := engine.Options{Dir: filepath.Join(dir, "journal")}
	var m *Mirror
	var e *engine.Engine
	if mirrored {
		m = New(Options{DSN: SQLitePath(dir), Dir: filepath.Join(dir, "mirror"), Journal: o.Dir, Busy: func() bool { return e.QueueDepth() > 0 }})
		o.Hold = m.Hold
	}
	e, err := engine.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	if mirrored {
		m.Start(e.Log().(Log))
	}
	do := func(c core.Command) {
		if _, err := e.Submit(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	do(&core.ActivateRules{Revision: core.RevisionNewest})
	const callers = 64
	for u := range core.UserID(callers) {
		do(&core.CreateUser{Name: "user", TokenHash: [32]byte{byte(u + 1)}})
		do(&core.Deposit{User: u + 1, DepositID: "d", Amount: 1 << 40})
	}
	do(&core.SetSession{Feed: core.BTC, Open: true})
	var market core.MarketID
	for market == 0 { // a round opens only on a new tick
		do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: time.Now().Unix(), Price: 6_500_000_000_000, Count: 3}})
		e.Read(func(v *venue.Venue, _ *view.View) {
			for id := range core.MarketID(20) {
				if s, ok := v.Market(id); ok && s.Status == core.Trading && s.CloseTs > time.Now().Add(duration).UnixNano() {
					market = id
				}
			}
		})
		time.Sleep(10 * time.Millisecond)
	}
	var wg sync.WaitGroup
	var commands atomic.Int64
	lists := make([][]time.Duration, callers)
	end := time.Now().Add(duration)
	for i := range callers {
		wg.Go(func() {
			next := time.Now()
			for id := uint64(1); time.Now().Before(end); id++ {
				if rate > 0 {
					next = next.Add(time.Second * callers / time.Duration(rate))
					time.Sleep(time.Until(next))
				}
				p := &core.PlaceOrder{User: core.UserID(i + 1), Market: market, ClientID: id, Side: core.Buy, Outcome: core.Outcome(id % 2), Tick: core.Tick(4900 + 10*(id*7%21)), Qty: 1}
				begun := time.Now()
				if _, err := e.Submit(ctx, p); err == nil {
					lists[i] = append(lists[i], time.Since(begun))
					commands.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if mirrored {
		seq, _ := m.Position()
		b.Logf("behind by %d of %d commands, paused %.2f s, %+v", e.Seq()-seq, e.Seq(), m.Stats().PausedSeconds, m.LastError())
		m.Close(ctx)
	}
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	return int(commands.Load()), slices.Concat(lists...)
}
