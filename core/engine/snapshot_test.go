package engine

import (
	"context"
	"sync"
	"testing"

	"duplex/core"
)

// Snapshots taken while commands go on are each the state at one seq: a start from
// the newest and a replay from the oldest come to what the engine had.
func TestSnapshotsUnderLoad(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	o.CheckpointEvery = 100
	e := mustOpen(t, o)
	furnish(t, e, c)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for u := core.UserID(1); u <= 2; u++ {
		all.Go(func() {
			for id := uint64(1); ctx.Err() == nil; id++ {
				r, err := e.Submit(context.Background(), buy(u, id, core.Outcome(u-1), core.Tick(4000+100*(id%20)), 1))
				if err != nil || r.Reject != core.OK && r.Reject != core.OpenOrderLimit {
					t.Error(r.Reject, err)
					return
				}
				if id%50 == 0 {
					if _, err := e.Submit(context.Background(), &core.CancelAll{User: u}); err != nil {
						t.Error(err)
						return
					}
				}
				c.step(1)
			}
		})
	}
	for range 12 {
		if _, err := e.Snapshot(); err != nil {
			t.Error(err)
		}
	}
	stop()
	all.Wait()
	for range 2 { // a checkpoint may go before the first; then the clock stands still
		do(t, e, &core.CancelAll{User: 1})
	}
	want := bytesOf(t, e)
	e.stop()
	<-e.stopped
	if err := e.log.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := Verify(o.Dir, nil)
	if err != nil || p.Snapshots == 0 {
		t.Errorf("%d snapshots compared, %v", p.Snapshots, err)
	}
	again := mustOpen(t, o)
	if bytesOf(t, again) != want {
		t.Error("the start from the newest snapshot came to another state")
	}
	mustClose(t, again)
}
