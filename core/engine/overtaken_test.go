package engine

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// disorderly is a log in memory that keeps back what it is told to, and delivers that in
// any order and any number of times.
type disorderly struct {
	now func() int64

	mu     sync.Mutex
	back   bool            // groups proposed are kept back
	groups []journal.Group // proposed, in order
	last   journal.Position
	out    chan journal.Group
	more   *sync.Cond // a group was proposed
}

func newDisorderly(now func() int64) *disorderly {
	l := &disorderly{now: now, out: make(chan journal.Group, 64)}
	l.more = sync.NewCond(&l.mu)
	return l
}

func (l *disorderly) Propose(g journal.Group) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups = append(l.groups, g)
	l.more.Broadcast()
	if !l.back {
		l.deliver(g)
	}
	return nil
}

func (l *disorderly) deliver(g journal.Group) {
	l.last.Number++
	l.last.Stamp = max(l.last.Stamp, l.now())
	g.Number, g.Stamp = l.last.Number, l.last.Stamp
	l.out <- g
}

// keepBack turns it on or off. It gives how many groups were proposed so far.
func (l *disorderly) keepBack(on bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back = on
	return len(l.groups)
}

// yield delivers the i-th group that was proposed.
func (l *disorderly) yield(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliver(l.groups[i])
}

// find gives the first group from the i-th on that has a command that matches; -1 if there
// is none.
func (l *disorderly) find(i int, match func(core.Command) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.search(i, match)
}

func (l *disorderly) search(i int, match func(core.Command) bool) int {
	for ; i < len(l.groups); i++ {
		for cmd, err := range journal.Commands(l.groups[i].Body) {
			if err == nil && match(cmd) {
				return i
			}
		}
	}
	return -1
}

// await waits until such a group is proposed.
func (l *disorderly) await(i int, match func(core.Command) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if at := l.search(i, match); at >= 0 {
			return at
		}
		l.more.Wait()
	}
}

func (l *disorderly) Deliver(ctx context.Context, _ uint64) iter.Seq2[journal.Group, error] {
	return func(yield func(journal.Group, error) bool) {
		for {
			select {
			case g := <-l.out:
				if !yield(g, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (l *disorderly) Trim(uint64) error      { return nil }
func (l *disorderly) Close() error           { return nil }
func (l *disorderly) Last() journal.Position { return journal.Position{} }

func isA[C core.Command](cmd core.Command) bool { _, ok := cmd.(C); return ok }

// A group that the log delivers behind a later one of the same node is never applied. Its
// callers learn that, at once; they are never told that it was done. What the engine itself
// had put into it comes again.
func TestOvertakenGroup(t *testing.T) {
	c := newClock()
	l := newDisorderly(c.now)
	o := c.options(t.TempDir())
	o.CheckpointEvery = time.Second
	o.OpenLog = func(journal.Options) (Log, error) { return l, nil }
	e := mustOpen(t, o)
	furnish(t, e, c)
	var m venue.MarketState
	e.Read(func(v *venue.Venue, _ *view.View) { m, _ = v.Market(1) })
	for e.nextCheckpoint.Load() == nil || e.clockPending.Load() {
		time.Sleep(time.Millisecond) // the last hash and the last Clock; nothing signals that they are over
	}
	// A Clock that freezes market 1 is due, and a Checkpoint.
	first := l.keepBack(true)
	c.step(time.Duration(m.CloseTs - c.now()))
	type answer struct {
		r   Receipt
		err error
	}
	submit := func(id string) (chan answer, int) {
		ch := make(chan answer, 1)
		go func() {
			r, err := e.Submit(context.Background(), &core.Deposit{User: 1, DepositID: id, Amount: 7})
			ch <- answer{r, err}
		}()
		return ch, l.await(first, func(c core.Command) bool { d, ok := c.(*core.Deposit); return ok && d.DepositID == id })
	}
	// The sequencer may have looked at the time before the step, but not after this.
	submit("before")
	late, behind := submit("overtaken")
	soon, n := submit("overtaking")
	l.keepBack(false) // what comes from here on is delivered
	e.Read(func(v *venue.Venue, _ *view.View) {
		if s, _ := v.Market(1); s.Status != core.Trading {
			t.Fatal("nothing was kept back")
		}
	})
	l.yield(n)
	if a := <-soon; a.err != nil || a.r.Stamp.Seq == 0 || len(a.r.Events) == 0 {
		t.Errorf("the later one: %+v, %v", a.r, a.err)
	}
	select {
	case a := <-late:
		if !errors.Is(a.err, ErrShed) || a.r.Stamp.Seq != 0 {
			t.Errorf("the overtaken one: %+v, %v", a.r, a.err)
		}
	case <-time.After(20 * time.Second):
		l.yield(behind)
		a := <-late
		t.Fatalf("the overtaken one has no answer before it is delivered, and then %+v, %v", a.r, a.err)
	}
	for i := first; i <= n; i++ { // at last, and the later one again
		l.yield(i)
	}
	l.yield(behind)
	// The Clock and the Checkpoint come again, now that nothing is kept back.
	reach(t, e, func(v *venue.Venue, _ *view.View) bool { s, _ := v.Market(1); return s.Status == core.Frozen })
	do(t, e, &core.Deposit{User: 2, DepositID: "last", Amount: 1}) // behind all of these
	e.Read(func(v *venue.Venue, _ *view.View) {
		if cash, _ := v.Balance(1); cash != 1_000_000_007 {
			t.Errorf("cash %d: one of three deposits of 7 was done", cash)
		}
	})
	e.stop()
	<-e.stopped
	for name, match := range map[string]func(core.Command) bool{"Clock": isA[*core.Clock], "Checkpoint": isA[*core.Checkpoint]} {
		if was, again := l.find(first, match), l.find(n+1, match); was < 0 || was > behind || again < 0 {
			t.Errorf("a %s in group %d was overtaken; one came after it in group %d of %d", name, was, again, n)
		}
	}
}
