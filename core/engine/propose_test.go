package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/core/venue"
	"duplex/core/view"
)

// scriptedLog is a node of a cluster whose calls a test replaces; nil: it passes them on.
type scriptedLog struct {
	*logtest.Node
	propose func(ctx context.Context, g journal.Group) error
	deliver func(g journal.Group) []journal.Group // what is delivered instead of g
	life    func() uint32
}

func (l *scriptedLog) Propose(ctx context.Context, g journal.Group) error {
	if l.propose != nil {
		return l.propose(ctx, g)
	}
	return l.Node.Propose(ctx, g)
}

func (l *scriptedLog) NewLife(ctx context.Context) (uint32, error) {
	if l.life != nil {
		return l.life(), nil
	}
	return l.Node.NewLife(ctx)
}

func (l *scriptedLog) Deliver(ctx context.Context, from uint64) iter.Seq2[journal.Group, error] {
	return func(yield func(journal.Group, error) bool) {
		for g, err := range l.Node.Deliver(ctx, from) {
			out := []journal.Group{g}
			if l.deliver != nil && err == nil {
				out = l.deliver(g)
			}
			for _, g := range out {
				if !yield(g, err) {
					return
				}
			}
		}
	}
}

// memberOptions are the options of node 1 of a cluster.
func memberOptions(t *testing.T, l Log) Options {
	return Options{Dir: t.TempDir(), Node: 1, OpenLog: func(journal.Options) (Log, error) { return l, nil }}
}

func deposit(id string) *core.Deposit { return &core.Deposit{User: 1, DepositID: id, Amount: 7} }

// proposals returns the proposals of a log that hold a deposit, in order of delivery.
func proposals(t *testing.T, c *logtest.Cluster, id string) (list []uint64) {
	t.Helper()
	for _, g := range c.Groups() {
		for cmd, err := range journal.Commands(g.Body) {
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := cmd.(*core.Deposit); ok && d.DepositID == id {
				list = append(list, g.Proposal)
			}
		}
	}
	return list
}

// TestUnconfirmedGroupIsProposedAgain checks a group that the log does not confirm a few times,
// whether or not it took the group: it is proposed again with the same bytes under the same number,
// applied once, and answered.
func TestUnconfirmedGroupIsProposedAgain(t *testing.T) {
	for name, took := range map[string]bool{"lost": false, "reply lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := logtest.NewCluster(1, logtest.Faults{})
				l := &scriptedLog{Node: cluster.Open(1)}
				var attempts []journal.Group
				l.propose = func(ctx context.Context, g journal.Group) error {
					if len(attempts) == 4 {
						return l.Node.Propose(ctx, g)
					}
					g.Body = bytes.Clone(g.Body)
					if attempts = append(attempts, g); took {
						if err := l.Node.Propose(ctx, g); err != nil {
							t.Error(err)
						}
					}
					return journal.ErrUnconfirmed
				}
				e := mustOpen(t, memberOptions(t, l))
				do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
				if r := do(t, e, deposit("one")); r.Reject != core.OK {
					t.Error(r.Reject)
				}
				for _, g := range attempts[1:] {
					if !took && (g.Proposal != attempts[0].Proposal || !bytes.Equal(g.Body, attempts[0].Body)) {
						t.Errorf("attempts %+v", attempts)
					}
				}
				if n := e.Stats().ProposedAgain.Load(); !took && n != 4 || took && n != 0 { // a delivered group needs no confirmation
					t.Errorf("%d proposed again", n)
				}
				if cash := cashOf(e, 1); cash != 7 {
					t.Errorf("cash %d", cash)
				}
				mustClose(t, e)
			})
		})
	}
}

func cashOf(e *Engine, u core.UserID) (cash core.Pips) {
	e.Read(func(v *venue.Venue, _ *view.View) { cash, _ = v.Balance(u) })
	return cash
}

// TestBudgetEndsBeforeTheLogConfirms checks a caller whose context ends while the log is away: it
// gets ErrUnknown, callers behind it get ErrShed, and the group is applied once the log returns.
func TestBudgetEndsBeforeTheLogConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := logtest.NewCluster(1, logtest.Faults{})
		n := cluster.Open(1)
		e := mustOpen(t, memberOptions(t, n))
		do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
		synctest.Wait() // the log delivers a group before it confirms it, and a cut must not come between
		n.Cut(true)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		proposed, queued := make(chan error, 1), make(chan error, 1)
		submit := func(id string, to chan error) {
			_, err := e.Submit(ctx, deposit(id))
			to <- err
		}
		go submit("proposed", proposed)
		synctest.Wait()
		go submit("queued", queued)
		if err := <-proposed; !errors.Is(err, ErrUnknown) {
			t.Errorf("the proposed command: %v", err)
		}
		if err := <-queued; !errors.Is(err, ErrShed) {
			t.Errorf("the queued command: %v", err)
		}
		n.Cut(false)
		do(t, e, deposit("after"))
		if n, m := len(proposals(t, cluster, "proposed")), len(proposals(t, cluster, "queued")); n == 0 || m != 0 {
			t.Errorf("the log has the proposed command %d times, the queued one %d times", n, m)
		}
		if cash := cashOf(e, 1); cash != 14 {
			t.Errorf("cash %d", cash)
		}
		if e.Stats().ProposedAgain.Load() == 0 {
			t.Error("nothing was proposed again")
		}
		mustClose(t, e)
	})
}

// TestRepeatsAreDropped checks that a log which delivers every group three times changes nothing.
func TestRepeatsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := logtest.NewCluster(1, logtest.Faults{})
		l := &scriptedLog{Node: cluster.Open(1)}
		l.propose = func(ctx context.Context, g journal.Group) (err error) {
			for range 3 {
				err = errors.Join(err, l.Node.Propose(ctx, g))
			}
			return err
		}
		e := mustOpen(t, memberOptions(t, l))
		do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
		do(t, e, deposit("a"))
		if seq := do(t, e, deposit("b")).Stamp.Seq; seq != e.Seq() {
			t.Errorf("the last command has seq %d, the venue %d", seq, e.Seq())
		}
		synctest.Wait() // the repeats of the last command come after its answer
		mustClose(t, e)
		users := 0
		e.Read(func(v *venue.Venue, _ *view.View) {
			for range v.Users() {
				users++
			}
		})
		if users != 1 {
			t.Errorf("%d accounts were created, want 1", users)
		}
		if n := e.Stats().RepeatsDropped.Load(); n < 6 {
			t.Errorf("%d repeats dropped, want at least 6", n)
		}
	})
}

// TestLogThatBreaksItsContract checks that the engine stops, and answers nothing, if the log
// delivers an own group that nobody proposed so.
func TestLogThatBreaksItsContract(t *testing.T) {
	for name, test := range map[string]struct {
		deliver func(g journal.Group, body []byte) []journal.Group
		want    string
	}{
		"another body": {func(g journal.Group, body []byte) []journal.Group {
			g.Body = body
			return []journal.Group{g}
		}, "differs from what this node proposed"},
		"a proposal of another process": {func(g journal.Group, body []byte) []journal.Group {
			g.Proposal += 5
			return []journal.Group{g}
		}, "which this process has not made"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				other, err := journal.AppendCommand(nil, deposit("other"))
				if err != nil {
					t.Fatal(err)
				}
				l := &scriptedLog{Node: logtest.NewCluster(1, logtest.Faults{}).Open(1)}
				var broken atomic.Bool
				l.deliver = func(g journal.Group) []journal.Group {
					if !broken.Load() {
						return []journal.Group{g}
					}
					return test.deliver(g, other)
				}
				e := mustOpen(t, memberOptions(t, l))
				do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
				broken.Store(true)
				if _, err := e.Submit(t.Context(), deposit("one")); !errors.Is(err, ErrUnknown) {
					t.Errorf("answered with %v", err)
				}
				<-e.Stopped()
				if err := e.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("stopped by %v", err)
				}
				if cash := cashOf(e, 1); cash != 0 {
					t.Errorf("cash %d", cash)
				}
			})
		})
	}
}

// TestOvertakenGroupStopsTheEngine checks a log that confirms a group and delivers a later one
// instead of it.
func TestOvertakenGroupStopsTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &scriptedLog{Node: logtest.NewCluster(1, logtest.Faults{}).Open(1)}
		var lose atomic.Bool
		l.propose = func(ctx context.Context, g journal.Group) error {
			if lose.CompareAndSwap(true, false) {
				return nil
			}
			return l.Node.Propose(ctx, g)
		}
		e := mustOpen(t, memberOptions(t, l))
		do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
		lose.Store(true)
		answers := make(chan error, 2)
		for _, id := range []string{"lost", "later"} {
			go func() {
				_, err := e.Submit(t.Context(), deposit(id))
				answers <- err
			}()
			synctest.Wait()
		}
		for range 2 {
			if err := <-answers; !errors.Is(err, ErrUnknown) {
				t.Errorf("answered with %v", err)
			}
		}
		<-e.Stopped()
		if err := e.Err(); err == nil || !strings.Contains(err.Error(), "has not delivered an earlier one") {
			t.Errorf("stopped by %v", err)
		}
	})
}

// TestLives checks the numbers of proposals: life << 32 | n, from n = 1 in each life; and in life 0
// from the highest applied number on.
func TestLives(t *testing.T) {
	const high = 1 << 32
	for name, test := range map[string]struct {
		lives []uint32
		want  []uint64 // first proposal of each life; the second is the next number
	}{
		"one machine":   {[]uint32{0, 0, 0}, []uint64{1, 3, 5}},
		"lives":         {[]uint32{1, 2, 7}, []uint64{high | 1, 2*high | 1, 7*high | 1}},
		"the last life": {[]uint32{math.MaxUint32}, []uint64{math.MaxUint32*high | 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := logtest.NewCluster(1, logtest.Faults{})
				for i, life := range test.lives {
					l := &scriptedLog{Node: cluster.Open(1), life: func() uint32 { return life }}
					e := mustOpen(t, memberOptions(t, l))
					for _, id := range []string{"a", "b"} {
						do(t, e, deposit(name+id))
					}
					mustClose(t, e)
					groups := cluster.Groups()
					if len(groups) != 2*(i+1) || groups[2*i].Proposal != test.want[i] || groups[2*i+1].Proposal != test.want[i]+1 {
						t.Errorf("life %d: %d groups, proposals %d and %d, want %d", life, len(groups), groups[2*i].Proposal, groups[2*i+1].Proposal, test.want[i])
					}
				}
			})
		})
	}
}

// TestLifeThatWasUsed checks that a node does not start if its count of lives is older than what
// it has applied.
func TestLifeThatWasUsed(t *testing.T) {
	for _, again := range []uint32{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			cluster := logtest.NewCluster(1, logtest.Faults{})
			e := mustOpen(t, memberOptions(t, &scriptedLog{Node: cluster.Open(1), life: func() uint32 { return 2 }}))
			do(t, e, deposit("a"))
			mustClose(t, e)
			if e, err := Open(memberOptions(t, &scriptedLog{Node: cluster.Open(1), life: func() uint32 { return again }})); err == nil {
				mustClose(t, e)
				t.Errorf("life %d began although life 2 is applied", again)
			}
		})
	}
}

// TestNodeZeroIsOfOneMachine checks that a log of several machines has no node 0, whose proposals
// are those of the journal that the log may go on from.
func TestNodeZeroIsOfOneMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := memberOptions(t, logtest.NewCluster(1, logtest.Faults{}).Open(0))
		o.Node = 0
		if e, err := Open(o); err == nil {
			mustClose(t, e)
			t.Error("it starts")
		}
	})
}

// TestNumbersOfALifeUsedUp checks that the sequencer begins a new life when a life has no number
// left.
func TestNumbersOfALifeUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := logtest.NewCluster(1, logtest.Faults{})
		e := mustOpen(t, memberOptions(t, cluster.Open(1)))
		do(t, e, deposit("a"))
		synctest.Wait() // the sequencer waits for the next command
		e.next = e.lastOfLife - 1
		for _, id := range []string{"b", "c", "d"} {
			do(t, e, deposit(id))
		}
		mustClose(t, e)
		var got []uint64
		for _, g := range cluster.Groups() {
			got = append(got, g.Proposal)
		}
		if len(got) != 4 || got[2] != 2<<32|1 || got[3] != 2<<32|2 {
			t.Errorf("proposals %x", got)
		}
	})
}

// TestLateGroupOfAnEarlierLife checks a group that is still on its way when its proposer crashes:
// before the first group of the next life it is applied once, after it never.
func TestLateGroupOfAnEarlierLife(t *testing.T) {
	for name, first := range map[string]bool{"before the new life": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := logtest.NewCluster(1, logtest.Faults{})
				l := &scriptedLog{Node: cluster.Open(1)}
				var late []journal.Group
				var hold atomic.Bool
				l.propose = func(ctx context.Context, g journal.Group) error {
					if hold.Load() {
						late = append(late, g)
						<-ctx.Done()
						return journal.ErrUnconfirmed
					}
					return l.Node.Propose(ctx, g)
				}
				e := mustOpen(t, memberOptions(t, l))
				do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
				hold.Store(true)
				answer := make(chan error)
				go func() {
					_, err := e.Submit(t.Context(), deposit("late"))
					answer <- err
				}()
				synctest.Wait()
				kill(t, e)
				if err := <-answer; !errors.Is(err, ErrUnknown) {
					t.Errorf("answered with %v", err)
				}
				n := cluster.Open(1)
				e = mustOpen(t, memberOptions(t, n))
				arrive := func() {
					if err := n.Propose(t.Context(), late[0]); err != nil {
						t.Fatal(err)
					}
				}
				want := core.Pips(7)
				if first {
					arrive()
					want = 14
				}
				do(t, e, deposit("new"))
				arrive()
				do(t, e, &core.SetSession{Feed: core.BTC, Open: true})
				if cash := cashOf(e, 1); cash != want {
					t.Errorf("cash %d, want %d", cash, want)
				}
				if n := len(proposals(t, cluster, "late")); n == 0 {
					t.Error("the late group never arrived")
				}
				mustClose(t, e)
			})
		})
	}
}
