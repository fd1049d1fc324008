package engine

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// TestSizing prints the memory, disk and time that accounts with full histories need, for
// docs/operations/sizing.md: 1000 terminal and 200 rejected orders, 2000 fills and 4096 events
// each. It takes some minutes, 4 GB of memory and 5 GB of disk.
func TestSizing(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip("takes some minutes, 4 GB of memory and 5 GB of disk: DX_LONG=1 go test ./core/engine -run Sizing -v -timeout 60m")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	fmt.Printf("%8s %9s %10s %9s %9s %9s %9s %9s  %s\n", "accounts", "heap MB", "KB/account", "file MB", "write s", "peak MB", "start s", "stop s", "at the stop")
	for _, accounts := range []int{100, 500, 1000, 2000, 5000} {
		size(t, accounts)
	}
}

func size(t *testing.T, accounts int) {
	c := newClock()
	logged := make(chan string, 1000)
	o := c.options(t.TempDir())
	o.Logf = func(msg string, args ...any) { logged <- fmt.Sprint(msg, args) }
	empty := heapBytes()
	e := mustOpen(t, o)
	fill(t, e, c, accounts)
	heap := heapBytes() - empty
	deposit := func(id string) { // changes the state, so that the next snapshot is written
		do(t, e, &core.Deposit{User: 1, DepositID: id, Amount: 1})
	}
	if _, err := e.Snapshot(); err != nil { // the second snapshot trims the log before the first
		t.Fatal(err)
	}
	deposit("a")
	begun, peak := time.Now(), peakHeap()
	if _, err := e.Snapshot(); err != nil {
		t.Fatal(err)
	}
	write, most := time.Since(begun), peak()
	file := int64(0)
	if err := filepath.WalkDir(filepath.Join(o.Dir, "snapshots"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			st, _ := d.Info()
			file = max(file, st.Size())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	deposit("b")
	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second)
	defer cancel()
	begun = time.Now()
	if err := e.Close(ctx); err != nil {
		t.Error(err)
	}
	stop := time.Since(begun)
	end := "a snapshot"
	if len(logged) > 0 {
		end = <-logged
	}
	e = nil
	begun = time.Now()
	e = mustOpen(t, o)
	start := time.Since(begun)
	const mb = 1e6
	fmt.Printf("%8d %9.0f %10.0f %9.0f %9.1f %9.0f %9.1f %9.1f  %s\n", accounts, float64(heap)/mb, float64(heap)/1e3/float64(accounts), float64(file)/mb, write.Seconds(), float64(most)/mb, start.Seconds(), stop.Seconds(), end)
	kill(t, e)
}

// heapBytes is the size of the live heap. The second and third collections free what pools
// keep.
func heapBytes() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// peakHeap samples the heap. The function that it returns stops it and returns the growth, in
// bytes.
func peakHeap() (stop func() int64) {
	var peak atomic.Int64
	read := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	from, done, ended := read(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			peak.Store(max(peak.Load(), read()-from))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() int64 {
		close(done)
		<-ended
		return peak.Load()
	}
}

// fill has the accounts trade in pairs until each has full histories.
func fill(t *testing.T, e *Engine, c *clock, accounts int) {
	t.Helper()
	openMarkets(t, e, c)
	r := rand.New(rand.NewPCG(1, 2))
	id := uint64(0)
	order := func(u core.UserID, o core.Outcome, tick core.Tick, qty core.Qty) core.Command {
		id += 1 + r.Uint64N(1000)
		return &core.PlaceOrder{User: u, ClientID: id, Market: 3, Side: core.Buy, Outcome: o, Tick: tick, Qty: qty}
	}
	for u := core.UserID(1); int(u) <= accounts; u++ {
		do(t, e, &core.CreateUser{Name: fmt.Sprint("user", u), TokenHash: [32]byte{byte(u), byte(u >> 8)}})
		do(t, e, &core.Deposit{User: u, DepositID: fmt.Sprint("d", u), Amount: 1_000_000_000})
		if u%2 == 1 {
			continue
		}
		const rest = 150 // orders that rest at a time
		maker, taker := u-1, u
		for range 8 {
			var a, b []core.Command
			for range rest {
				a = append(a, order(maker, core.Yes, 5000, 2))
				b = append(b, order(taker, core.No, 5000, 1), order(taker, core.No, 5000, 1))
			}
			doAll(t, e, a)
			doAll(t, e, b)
			maker, taker = taker, maker
		}
		for _, u := range []core.UserID{maker, taker} {
			var bad []core.Command
			for range 200 {
				bad = append(bad, order(u, core.Yes, 5001, 1))
			}
			doAll(t, e, bad)
			var quotes []core.Command
			for range rest {
				quotes = append(quotes, order(u, core.Yes, 1000, 1))
			}
			doAll(t, e, quotes)
			do(t, e, &core.CancelAll{User: u})
		}
	}
	e.Read(func(_ *venue.Venue, w *view.View) {
		for u := core.UserID(1); int(u) <= accounts; u += 97 {
			orders, fills := 0, 0
			for range w.Orders(u, 0) {
				orders++
			}
			for range w.Fills(u, 0) {
				fills++
			}
			if _, whole := w.EventsAfter(u, 0); whole || orders != 1200 || fills != 2000 {
				t.Fatalf("account %d has %d orders, %d fills", u, orders, fills)
			}
		}
	})
}
