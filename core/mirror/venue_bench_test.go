package mirror

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
)

// BenchmarkVenue measures what the mirror costs a venue: the throughput of 64 callers without a
// pause, and the latency at 2,000 commands a second, with and without a mirror in turn.
func BenchmarkVenue(b *testing.B) {
	for _, rate := range []int{0, 2000} {
		name := "unpaced"
		if rate > 0 {
			name = "2000-per-second"
		}
		b.Run(name, func(b *testing.B) {
			var commands [2]int
			var latencies [2][]time.Duration
			for b.Loop() {
				for range 3 {
					for on := range 2 {
						n, l := loadVenue(b, on == 1, rate, 3*time.Second)
						commands[on] += n
						latencies[on] = append(latencies[on], l...)
					}
				}
			}
			for on, unit := range []string{"off", "on"} {
				slices.Sort(latencies[on])
				l := latencies[on]
				b.ReportMetric(float64(commands[on])/float64(9*b.N), "commands/s-"+unit)
				b.ReportMetric(float64(l[len(l)/2].Microseconds()), "µs-p50-"+unit)
				b.ReportMetric(float64(l[len(l)*99/100].Microseconds()), "µs-p99-"+unit)
			}
		})
	}
}

// loadVenue runs a venue under load and returns the number of commands and their latencies.
func loadVenue(b *testing.B, mirrored bool, rate int, duration time.Duration) (int, []time.Duration) {
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
	do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: time.Now().Unix(), Price: 6_500_000_000_000, Count: 3}})
	var market core.MarketID
	for market == 0 {
		e.Read(func(v *venue.Venue, _ *view.View) {
			for id := range core.MarketID(20) {
				if s, ok := v.Market(id); ok && s.Status == core.Trading {
					market = id
				}
			}
		})
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
