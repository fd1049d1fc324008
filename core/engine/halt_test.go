package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// TestHaltsInFlight halts and resumes an agent a hundred times while it places orders from many
// callers. No placement that comes after a halt in sequence is accepted before the next resume, and no
// order rests between them (docs/rules/agent-accounts.md#states).
func TestHaltsInFlight(t *testing.T) {
	const halts, callers, agent = 100, 8, core.UserID(3)
	c := newClock()
	e := mustOpen(t, c.options(t.TempDir()))
	defer mustClose(t, e)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	furnish(t, e, c)
	do(t, e, &core.CreateAgent{Owner: 1, Name: "scout", Fund: 900_000_000})
	var id, halted atomic.Uint64
	var accepted sync.Map // seq → true
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := e.Submit(context.Background(), buy(agent, id.Add(1), core.Yes, 4000, 1))
				switch {
				case err != nil:
					t.Error(err)
					return
				case r.Reject == core.OK:
					accepted.Store(r.Stamp.Seq, true)
				case r.Reject == core.MandateViolation:
					halted.Add(1)
				case r.Reject != core.OpenOrderLimit:
					t.Errorf("order: %v", r.Reject)
				}
			}
		})
	}
	type pause struct{ from, to uint64 } // seqs of a halt and of the resume after it
	var pauses []pause
	for range halts {
		before := halted.Load()
		from := do(t, e, &core.HaltAgent{Owner: 1, Agent: agent}).Stamp.Seq
		e.Read(func(v *venue.Venue, _ *view.View) {
			if n := v.Usage(agent).OpenOrders; n != 0 {
				t.Errorf("%d orders rest after the halt at seq %d", n, from)
			}
		})
		for halted.Load() < before+callers { // every caller has had an order in flight at the halt
			do(t, e, &core.CancelAll{User: agent})
		}
		pauses = append(pauses, pause{from, do(t, e, &core.ResumeAgent{Owner: 1, Agent: agent}).Stamp.Seq})
	}
	stop()
	all.Wait()
	n := 0
	accepted.Range(func(seq, _ any) bool {
		n++
		for _, p := range pauses {
			if s := seq.(uint64); s > p.from && s < p.to {
				t.Errorf("a placement at seq %d was accepted between the halt at %d and the resume at %d", s, p.from, p.to)
			}
		}
		return true
	})
	if n == 0 {
		t.Error("no placement was accepted")
	}
	t.Logf("%d placements accepted, %d rejected by a halt", n, halted.Load())
}
