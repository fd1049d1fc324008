package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// skewedLog opens a journal whose clock is ahead of the engine's. A group's stamp is then later
// than the time at which the engine decided whether a Clock is due.
func skewedLog(dir string, now func() int64, ahead *atomic.Int64) func(journal.Options) (Log, error) {
	return func(o journal.Options) (Log, error) {
		o.Now = func() int64 { return now() + ahead.Load() }
		return journal.Open(dir, o)
	}
}

// TestNothingTradesBehindTheClose checks that no order fills after its market's close, by the
// stamp of the log, even if its group was sealed before the close and has no Clock.
func TestNothingTradesBehindTheClose(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	var ahead atomic.Int64
	o := c.options(dir)
	o.OpenLog = skewedLog(dir, c.now, &ahead)
	e := mustOpen(t, o)
	defer mustClose(t, e)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	setUp(t, e, c)
	do(t, e, buy(1, 1, core.Yes, 5000, 10))
	var m venue.MarketState
	e.Read(func(v *venue.Venue, _ *view.View) { m, _ = v.Market(1) })
	for m.CloseTs-c.now() > 5*core.NsPerSec {
		c.step(4 * time.Second) // the index stays fresh for 5 s
		do(t, e, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: c.second(), Price: 6_500_000_000_000, Count: 3}})
	}
	if r := do(t, e, buy(2, 1, core.No, 5000, 1)); r.Reject != core.OK {
		t.Fatalf("before the close: %v", r.Reject)
	}
	ahead.Store(m.CloseTs - c.now())
	out, err := e.SubmitAll(context.Background(), []core.Command{buy(2, 2, core.No, 5000, 1), buy(2, 3, core.No, 4000, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range out {
		if x.Err != nil || x.Receipt.Reject != core.MarketNotTrading || x.Receipt.Stamp.Ts < m.CloseTs {
			t.Errorf("item %d: %v, %v, %d ns after the close", i, x.Receipt.Reject, x.Err, x.Receipt.Stamp.Ts-m.CloseTs)
		}
	}
}
