//go:build unix

package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

var throughput = flag.Int("throughput", 0, "pairs of TestThroughput; 0: it is left out")

const (
	throughputFor     = 5 * time.Second
	throughputCallers = 64
	throughputMarket  = core.MarketID(3) // a round of 15 minutes
)

// quarter is a clock that begins 2 s before a quarter of an hour.
func quarter() func() int64 {
	began := time.Now()
	start := began.Truncate(15 * time.Minute).Add(-2 * time.Second)
	return func() int64 { return start.Add(time.Since(began)).UnixNano() }
}

// openMarket prepares a venue: accounts with money, and a market that trades.
func openMarket(t *testing.T, e *engine.Engine, now func() int64) {
	t.Helper()
	submit := func(cmd core.Command) {
		for {
			_, err := e.Submit(t.Context(), cmd)
			if err == nil {
				return
			}
			if err != engine.ErrShed {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // a member that does not serve yet
		}
	}
	submit(&core.ActivateRules{Revision: core.RevisionNewest})
	submit(&core.SetSession{Feed: core.BTC, Open: true})
	for u := core.UserID(1); u <= throughputCallers; u++ {
		submit(&core.CreateUser{Name: fmt.Sprint("user", u), TokenHash: [32]byte{byte(u), 1}})
		submit(&core.Deposit{User: u, DepositID: fmt.Sprint("d", u), Amount: 100_000_000_000})
	}
	for open := false; !open; time.Sleep(20 * time.Millisecond) {
		submit(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: now() / 1e9, Price: 6_500_000_000_000, Count: 3}})
		e.Read(func(v *venue.Venue, _ *view.View) {
			s, _ := v.Market(throughputMarket)
			open = s.Status == core.Trading
		})
	}
}

// result is what callers saw in one run, and what the logs did.
type result struct {
	perSecond float64
	p50, p99  time.Duration
	size      float64 // commands of a group
	syncs     float64 // of the log, or of all logs of etcd, for each group
	sync      time.Duration
	cpu       time.Duration // of this process, for each command
}

// processorTime is that of this process so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// logged counts what engines and logs have done so far.
func logged(t *testing.T, engines []*engine.Engine) (groups, commands uint64, syncs WALSyncs) {
	t.Helper()
	for _, e := range engines {
		groups += e.Stats().Groups.Load()
		commands += e.Stats().Commands.Load()
	}
	syncs, err := ReadWALSyncs() // the log of a single machine is a WAL of etcd too
	if err != nil {
		t.Fatal(err)
	}
	return groups, commands, syncs
}

var nextClientID atomic.Uint64

// place lets the callers place orders for a while, each on its engine, in batches of a size.
func place(t *testing.T, engines []*engine.Engine, batch int) result {
	t.Helper()
	var callers sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	ctx, cancel := context.WithTimeout(t.Context(), throughputFor)
	defer cancel()
	groups, commands, syncs := logged(t, engines)
	cpu := processorTime(t)
	begun := time.Now()
	for i := range throughputCallers {
		callers.Go(func() {
			e, user := engines[i%len(engines)], core.UserID(i+1)
			var own []time.Duration
			for ctx.Err() == nil {
				cmds := make([]core.Command, batch)
				for k := range cmds {
					cmds[k] = &core.PlaceOrder{User: user, ClientID: nextClientID.Add(1), Market: throughputMarket, Side: core.Buy, Outcome: core.Yes, Tick: 1000, Qty: 1, TIF: core.IOC}
				}
				at := time.Now()
				out, err := e.SubmitAll(context.Background(), cmds)
				if err != nil || out[0].Err != nil {
					continue // shed
				}
				own = append(own, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, own...)
		})
	}
	callers.Wait()
	took := time.Since(begun)
	cpu = processorTime(t) - cpu
	groupsNow, commandsNow, syncsNow := logged(t, engines)
	slices.Sort(times)
	n := len(times)
	if n == 0 {
		t.Fatal("nothing was answered")
	}
	all, synced := float64(groupsNow-groups), float64(syncsNow.Count-syncs.Count)
	return result{
		float64(n*batch) / took.Seconds(), times[n/2], times[n*99/100],
		float64(commandsNow-commands) / all, synced / all, time.Duration((syncsNow.Sum - syncs.Sum) / synced * 1e9), cpu / time.Duration(n*batch),
	}
}

// TestThroughput measures a single machine's log and a cluster of three members in this process, in
// alternation, with 64 callers on the engines' own API:
//
//	go test ./cluster -run Throughput -throughput 5 -v -timeout 30m
func TestThroughput(t *testing.T) {
	if *throughput == 0 {
		t.Skip("-throughput N")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as dx has it
	wal.SegmentSizeBytes = 64 << 20
	now := quarter()
	disk := func(name string) string {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	file, err := engine.Open(engine.Options{Dir: disk("file"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close(context.Background())
	openMarket(t, file, now)
	r := newTrialIn(t, 3, disk("cluster"))
	var members []*engine.Engine
	for i, c := range r.clusters {
		e, err := engine.Open(engine.Options{
			Dir: filepath.Join(r.options[i].Dir, "journal"), Node: c.Node(), Now: now, Members: c.Members, Resign: c.Resign,
			OpenLog: func(o journal.Options) (engine.Log, error) { return c.OpenLog(t.Context(), o) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		members = append(members, e)
	}
	openMarket(t, members[0], now)
	kinds := []struct {
		name    string
		engines []*engine.Engine
		batch   int
	}{
		{"file", []*engine.Engine{file}, 1}, {"spread", members, 1}, {"one member", members[:1], 1},
		{"file, 20", []*engine.Engine{file}, 20}, {"spread, 20", members, 20}, {"one member, 20", members[:1], 20},
	}
	results := map[string][]result{}
	for range *throughput {
		for _, k := range kinds {
			results[k.name] = append(results[k.name], place(t, k.engines, k.batch))
		}
	}
	median := func(name string, of func(result) float64) float64 {
		var list []float64
		for _, x := range results[name] {
			list = append(list, of(x))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	for _, k := range kinds {
		base := "file"
		if k.batch > 1 {
			base = "file, 20"
		}
		rate, p50, p99 := func(x result) float64 { return x.perSecond }, func(x result) float64 { return x.p50.Seconds() * 1e3 }, func(x result) float64 { return x.p99.Seconds() * 1e3 }
		size, syncs := func(x result) float64 { return x.size }, func(x result) float64 { return x.syncs }
		sync, cpu := func(x result) float64 { return x.sync.Seconds() * 1e3 }, func(x result) float64 { return x.cpu.Seconds() * 1e6 }
		t.Logf("%-15s %8.0f/s (%.2f)  p50 %6.2f ms (%.1f)  p99 %6.2f ms (%.1f); %.1f commands a group, %.1f syncs a group of %.2f ms; %.0f µs of processor time a command", k.name, median(k.name, rate), median(k.name, rate)/median(base, rate),
			median(k.name, p50), median(k.name, p50)/median(base, p50), median(k.name, p99), median(k.name, p99)/median(base, p99), median(k.name, size), median(k.name, syncs), median(k.name, sync), median(k.name, cpu))
	}
}
