package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"duplex/core"
)

// venueWithOrders returns a venue with the given number of resting orders in market 1, 200 of each
// account.
func venueWithOrders(b *testing.B, dir string, orders int) (*Engine, Options) {
	b.Helper()
	c := newClock()
	o := c.options(dir)
	e := mustOpen(b, o)
	openMarkets(b, e, c)
	const each = 200
	for u := core.UserID(1); int(u) <= (orders+each-1)/each; u++ {
		do(b, e, &core.CreateUser{Name: fmt.Sprint("user", u), TokenHash: [32]byte{byte(u), byte(u >> 8)}})
		do(b, e, &core.Deposit{User: u, DepositID: fmt.Sprint("d", u), Amount: 100_000_000_000})
		cmds := make([]core.Command, 0, each)
		for i := range min(each, orders-int(u-1)*each) {
			cmds = append(cmds, &core.PlaceOrder{User: u, ClientID: uint64(i + 1), Market: core.MarketID(1 + i%3), Side: core.Buy, Outcome: core.Yes, Tick: core.Tick(1000 + 100*(i%30)), Qty: 10})
		}
		doAll(b, e, cmds)
	}
	return e, o
}

// BenchmarkReplay starts a venue from a log without a snapshot: 100,000 resting orders, and 400,000 commands of
// 500 accounts in turn. Of four, two place an order that rests, one cancels any of those, and one is an
// immediate order that finds no counterparty.
func BenchmarkReplay(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as dx has it
	dir := b.TempDir()
	e, o := venueWithOrders(b, dir, 100_000)
	const submitters, each = 64, 400_000 / 64
	var submitting sync.WaitGroup
	for w := range submitters {
		submitting.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			var open []*core.CancelOrder
			for n := range each {
				p := &core.PlaceOrder{User: core.UserID(1 + r.IntN(500)), ClientID: uint64(1000 + w*each + n), Market: core.MarketID(1 + r.IntN(3)), Side: core.Buy, Outcome: core.Yes, Tick: core.Tick(1000 + 100*r.IntN(30)), Qty: 1}
				var cmd core.Command = p
				switch {
				case n%4 == 3:
					p.TIF = core.IOC
				case n%4 == 2:
					i := r.IntN(len(open))
					cmd, open[i] = open[i], open[len(open)-1]
					open = open[:len(open)-1]
				}
				receipt, err := e.Submit(context.Background(), cmd)
				if err != nil || receipt.Reject != core.OK {
					b.Error(err, receipt.Reject)
					return
				}
				if n%4 < 2 {
					open = append(open, &core.CancelOrder{User: p.User, Order: core.OrderID(receipt.Stamp.Seq)})
				}
			}
		})
	}
	submitting.Wait()
	seq := e.Seq()
	e.opt.SnapshotEvery = Backlog{1 << 60, 1 << 60, 1 << 60}
	kill(b, e)
	for b.Loop() {
		again, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if again.Seq() < seq {
			b.Fatal(again.Seq(), seq)
		}
		kill(b, again)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N)*float64(seq)/b.Elapsed().Seconds(), "commands/s")
}

// kill ends an engine without a snapshot.
func kill(b testing.TB, e *Engine) {
	b.Helper()
	e.stop()
	<-e.stopped
	if err := e.log.Close(); err != nil {
		b.Error(err)
	}
}

// lockTimes records the longest time for which a lock was held.
type lockTimes struct {
	sync.Locker
	since   time.Time
	longest time.Duration
}

func (h *lockTimes) Lock() { h.Locker.Lock(); h.since = time.Now() }
func (h *lockTimes) Unlock() {
	h.longest = max(h.longest, time.Since(h.since))
	h.Locker.Unlock()
}

// BenchmarkSnapshot writes a snapshot of 100,000 resting orders. ms-stopped is the longest
// time for which it held up commands.
func BenchmarkSnapshot(b *testing.B) {
	e, _ := venueWithOrders(b, b.TempDir(), 100_000)
	defer kill(b, e)
	var longest time.Duration
	for b.Loop() {
		l := &lockTimes{Locker: e.mu.RLocker()}
		begun := time.Now()
		im, err := e.capture()
		longest = max(longest, time.Since(begun))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := im.Stream(&memory{}, l, func() error { return nil }, im.awaitHash); err != nil {
			b.Fatal(err)
		}
		im.View.End(l)
		longest = max(longest, l.longest)
	}
	b.ReportMetric(float64(longest.Microseconds())/1000, "ms-stopped")
}

// BenchmarkStart starts a venue from a snapshot of 100,000 resting orders.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	e, o := venueWithOrders(b, dir, 100_000)
	if _, err := e.Snapshot(); err != nil {
		b.Fatal(err)
	}
	kill(b, e)
	for b.Loop() {
		again, err := Open(o)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		kill(b, again)
		b.StartTimer()
	}
}

// BenchmarkCheckpoint hashes the state of 100,000 resting orders.
func BenchmarkCheckpoint(b *testing.B) {
	e, _ := venueWithOrders(b, b.TempDir(), 100_000)
	defer kill(b, e)
	for b.Loop() {
		if _, _, err := e.Hash(); err != nil {
			b.Fatal(err)
		}
	}
}
