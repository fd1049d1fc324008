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

// reorderingLog is a log in memory. A test has it hold groups back, and deliver them in any order
// and any number of times.
type reorderingLog struct {
	now func() int64

	mu     sync.Mutex
	back   bool            // hold proposed groups back
	groups []journal.Group // proposed, in order
	last   journal.Position
	out    chan journal.Group
	more   *sync.Cond // a group was proposed
}

func newDisorderly(now func() int64) *reorderingLog {
	l := &reorderingLog{now: now, out: make(chan journal.Group, 64)}
	l.more = sync.NewCond(&l.mu)
	return l
}

func (l *reorderingLog) Propose(g journal.Group) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups = append(l.groups, g)
	l.more.Broadcast()
	if !l.back {
		l.deliver(g)
	}
	return nil
}

func (l *reorderingLog) deliver(g journal.Group) {
	l.last.Number++
	l.last.Stamp = max(l.last.Stamp, l.now())
	g.Number, g.Stamp = l.last.Number, l.last.Stamp
	l.out <- g
}

// keepBack sets whether groups are held back, and returns the number of groups proposed so far.
func (l *reorderingLog) keepBack(on bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back = on
	return len(l.groups)
}

// yield delivers the proposed group of index i.
func (l *reorderingLog) yield(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliver(l.groups[i])
}

// find returns the index of the first group, from index i on, with a command that matches; -1
// if there is none.
func (l *reorderingLog) find(i int, match func(core.Command) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.search(i, match)
}

func (l *reorderingLog) search(i int, match func(core.Command) bool) int {
	for ; i < len(l.groups); i++ {
		for cmd, err := range journal.Commands(l.groups[i].Body) {
			if err == nil && match(cmd) {
				return i
			}
		}
	}
	return -1
}

// await waits until such a group is proposed, and returns its index.
func (l *reorderingLog) await(i int, match func(core.Command) bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if at := l.search(i, match); at >= 0 {
			return at
		}
		l.more.Wait()
	}
}

func (l *reorderingLog) Deliver(ctx context.Context, _ uint64) iter.Seq2[journal.Group, error] {
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

func (l *reorderingLog) Trim(uint64) error      { return nil }
func (l *reorderingLog) Close() error           { return nil }
func (l *reorderingLog) Last() journal.Position { return journal.Position{} }

func isA[C core.Command](cmd core.Command) bool { _, ok := cmd.(C); return ok }

// TestOvertakenGroup checks a group that the log delivers after a later group of the same
// node: it is never applied, its callers get ErrShed as soon as the later group is applied,
// and the engine makes its own commands of that group again.
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
		time.Sleep(time.Millisecond) // until the last hash and the last Clock are done, which nothing signals
	}
	// A Checkpoint is due, and a Clock that freezes market 1.
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
	// The sequencer may have read the clock before the step. After this command it has read it
	// again.
	submit("before")
	late, behind := submit("overtaken")
	soon, n := submit("overtaking")
	l.keepBack(false) // groups proposed from here on are delivered
	e.Read(func(v *venue.Venue, _ *view.View) {
		if s, _ := v.Market(1); s.Status != core.Trading {
			t.Fatal("no group was held back")
		}
	})
	l.yield(n)
	if a := <-soon; a.err != nil || a.r.Stamp.Seq == 0 || len(a.r.Events) == 0 {
		t.Errorf("the later group: %+v, %v", a.r, a.err)
	}
	select {
	case a := <-late:
		if !errors.Is(a.err, ErrShed) || a.r.Stamp.Seq != 0 {
			t.Errorf("the overtaken group: %+v, %v", a.r, a.err)
		}
	case <-time.After(20 * time.Second):
		l.yield(behind)
		a := <-late
		t.Fatalf("the overtaken group was answered only after it was delivered: %+v, %v", a.r, a.err)
	}
	for i := first; i <= n; i++ { // the groups held back, and the later group a second time
		l.yield(i)
	}
	l.yield(behind)
	// The engine makes the Clock and the Checkpoint again, now that nothing is held back.
	waitUntil(t, e, func(v *venue.Venue, _ *view.View) bool { s, _ := v.Market(1); return s.Status == core.Frozen })
	do(t, e, &core.Deposit{User: 2, DepositID: "last", Amount: 1}) // after all of these
	e.Read(func(v *venue.Venue, _ *view.View) {
		if cash, _ := v.Balance(1); cash != 1_000_000_007 {
			t.Errorf("cash %d, want the deposits that were answered and no deposit of 7", cash)
		}
	})
	e.stop()
	<-e.stopped
	for name, match := range map[string]func(core.Command) bool{"Clock": isA[*core.Clock], "Checkpoint": isA[*core.Checkpoint]} {
		if was, again := l.find(first, match), l.find(n+1, match); was < 0 || was > behind || again < 0 {
			t.Errorf("a %s was in group %d, which was overtaken; the next is in group %d of %d", name, was, again, n)
		}
	}
}
