package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// haltOrder checks the commands of the log, in the order of their seq, for one agent.
type haltOrder struct {
	agent                      core.UserID
	halted                     bool
	halts, placed, late, fills int
}

func (h *haltOrder) check(t *testing.T, a *Applied) {
	switch c := a.Command.(type) {
	case *core.HaltAgent:
		h.halted = true
		h.halts++
	case *core.ResumeAgent:
		h.halted = false
	case *core.PlaceOrder:
		switch {
		case c.User != h.agent:
		case h.halted && a.Reject != core.MandateViolation:
			t.Errorf("seq %d: a placement of a halted agent: %v", a.Stamp.Seq, a.Reject)
		case h.halted:
			h.late++
		case a.Reject == core.OK:
			h.placed++
		}
	}
	for _, ev := range a.Events {
		if f, ok := ev.(*core.Filled); ok && (f.TakerUser == h.agent || f.MakerUser == h.agent) {
			if h.fills++; h.halted {
				t.Errorf("seq %d: a halted agent trades", a.Stamp.Seq)
			}
		}
	}
}

// TestNothingBehindAHalt checks that no order of an agent is placed or filled behind its halt,
// however many of its placements are in flight when the owner halts it
// (docs/rules/agent-accounts.md#states).
func TestNothingBehindAHalt(t *testing.T) {
	const halts, callers = 100, 8
	c := newClock()
	e := mustOpen(t, c.options(t.TempDir()))
	defer mustClose(t, e)
	setUp(t, e, c)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	do(t, e, &core.CreateAgent{Owner: 1, Name: "agent", Fund: 500_000_000})
	const agent = core.UserID(3)
	do(t, e, &core.CreateKey{User: agent, Key: "k", Scopes: core.ScopeTrade, Sealed: []byte{1}})

	f := e.Follow()
	ctx := context.Background()
	var ids atomic.Uint64
	var stop atomic.Bool
	accepted := make(chan struct{}, 1)
	var all sync.WaitGroup
	place := func(u core.UserID, o core.Outcome) {
		for !stop.Load() {
			cmd := buy(u, ids.Add(1), o, 5000, 1)
			if u == agent {
				cmd.Key = e.Key("k").Number
			}
			r, err := e.Submit(ctx, cmd)
			if err != nil {
				t.Error(err)
				return
			}
			if u == agent && r.Reject == core.OK {
				select {
				case accepted <- struct{}{}:
				default:
				}
			}
		}
	}
	for range callers {
		all.Go(func() { place(agent, core.Yes) })
	}
	all.Go(func() { place(2, core.No) })
	for range halts {
		<-accepted
		do(t, e, &core.HaltAgent{Owner: 1, Agent: agent})
		e.Read(func(v *venue.Venue, _ *view.View) {
			if n := v.Usage(agent).OpenOrders; n > 0 || v.State(agent) != core.AgentHalted {
				t.Errorf("%d orders of a halted agent rest", n)
			}
		})
		select {
		case <-accepted:
		default:
		}
		do(t, e, &core.ResumeAgent{Owner: 1, Agent: agent})
	}
	stop.Store(true)
	all.Wait()
	last := do(t, e, &core.HaltAgent{Owner: 1, Agent: agent}).Stamp.Seq
	h := &haltOrder{agent: agent}
	for seq := uint64(0); seq < last; {
		b, err := f.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Applied {
			h.check(t, &b.Applied[i])
			seq = b.Applied[i].Stamp.Seq
		}
	}
	t.Logf("%d halts, %d placements before them and %d behind them, %d fills", h.halts, h.placed, h.late, h.fills)
	if h.halts < halts || h.placed < halts || h.late == 0 || h.fills == 0 {
		t.Errorf("%d halts, %d placements before them and %d behind them, %d fills", h.halts, h.placed, h.late, h.fills)
	}
}

// TestFamilySharesTheQueue checks that an owner and its agents together have a quarter of the queue,
// and that another account still has its own (docs/rules/agent-accounts.md#family).
func TestFamilySharesTheQueue(t *testing.T) {
	e, h := heldEngine(t, 16)
	defer mustClose(t, e)
	do(t, e, &core.ActivateRules{Revision: core.RevisionNewest})
	do(t, e, &core.CreateAgent{Owner: 1, Name: "a"})
	do(t, e, &core.CreateAgent{Owner: 1, Name: "b"})
	h.mu.Lock()
	h.took = make(chan struct{}, 8)
	var all sync.WaitGroup
	cancels := func(u core.UserID, n int) {
		for range n {
			all.Go(func() {
				if _, err := e.Submit(context.Background(), &core.CancelAll{User: u}); err != nil {
					t.Errorf("account %d: %v", u, err)
				}
			})
		}
	}
	cancels(2, 1)
	<-h.took // the log has the first group; the others wait in the queue
	cancels(1, 1)
	cancels(3, 2)
	cancels(4, 1)
	queued(e, 4)
	for u := core.UserID(1); u <= 4; u++ {
		if u == 2 {
			continue
		}
		if _, err := e.Submit(context.Background(), &core.HaltAgent{Owner: e.Owner(u), Agent: 3}); !errors.Is(err, ErrShed) {
			t.Errorf("account %d, beyond the family's quarter: %v", u, err)
		}
	}
	cancels(2, 4)
	for e.QueueDepth() < 8 {
		time.Sleep(time.Millisecond)
	}
	h.took = nil
	h.mu.Unlock()
	all.Wait()
}
