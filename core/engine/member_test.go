package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/core/venue"
)

// is checks the state of a member. Only a member that is Serving takes commands.
func (m *severalMember) is(state State, reads bool) {
	m.s.t.Helper()
	want := Status{State: state, Reads: reads, Writes: state == Serving}
	if got, ok := m.engine().MemberStatus(); got != want || !ok {
		m.s.t.Errorf("member %d: %+v, want %+v", m.node, got, want)
	}
	if m.engine().ServesReads() != reads {
		m.s.t.Errorf("member %d: reads are served: %v", m.node, !reads)
	}
	if m.engine().Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	switch _, err := m.engine().Submit(ctx, &core.CreateUser{Name: time.Now().String()}); {
	case state == Draining && !errors.Is(err, ErrDraining), state != Draining && !want.Writes && !errors.Is(err, ErrShed), want.Writes && err != nil:
		m.s.t.Errorf("member %d is %v: %v", m.node, state, err)
	}
}

// TestMemberStates checks each state that follows from what the log, the clock and the disk report,
// and that the member returns to work when the cause is gone.
func TestMemberStates(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for name, test := range map[string]struct {
		report func(*Members)
		free   uint64
		lasts  time.Duration // how long the cause lasts before the check
		state  State
		reads  bool
	}{
		"all is well":              {state: Serving, reads: true},
		"no vote":                  {report: func(m *Members) { m.Voters = []uint32{1, 3} }, state: Joining},
		"1,000 groups behind":      {report: func(m *Members) { m.Head += 1000 }, state: Serving, reads: true},
		"1,001 groups behind":      {report: func(m *Members) { m.Head += 1001 }, state: Behind},
		"a second behind":          {report: func(m *Members) { m.Head += 100 }, lasts: 1100 * time.Millisecond, state: Behind},
		"a moment behind":          {report: func(m *Members) { m.Head += 100 }, lasts: 600 * time.Millisecond, state: Serving, reads: true},
		"no leader for 0.9 s":      {report: func(m *Members) { m.Leader, m.Contact = 0, ago(900*time.Millisecond) }, state: Serving, reads: true},
		"no leader for 1.1 s":      {report: func(m *Members) { m.Leader, m.Contact = 0, ago(1100*time.Millisecond) }, state: Isolated, reads: true},
		"no leader for 2.9 s":      {report: func(m *Members) { m.Leader, m.Contact = 0, ago(2800*time.Millisecond) }, state: Isolated, reads: true},
		"no leader for 3.1 s":      {report: func(m *Members) { m.Leader, m.Contact = 0, ago(3100*time.Millisecond) }, state: Isolated},
		"clock 250 ms ahead":       {report: func(m *Members) { m.Clock.Offset = 250 * time.Millisecond }, state: Serving, reads: true},
		"clock 251 ms ahead":       {report: func(m *Members) { m.Clock.Offset = 251 * time.Millisecond }, state: ClockOff, reads: true},
		"clock 251 ms behind":      {report: func(m *Members) { m.Clock.Offset = -251 * time.Millisecond }, state: ClockOff, reads: true},
		"clock measured 9 s ago":   {report: func(m *Members) { m.Clock.Measured = ago(9 * time.Second) }, state: Serving, reads: true},
		"clock measured 11 s ago":  {report: func(m *Members) { m.Clock.Measured = ago(11 * time.Second) }, state: ClockOff, reads: true},
		"clock never measured":     {report: func(m *Members) { m.Clock.Measured = time.Time{} }, state: ClockOff, reads: true},
		"disk nearly full":         {free: 128 << 20, state: Serving, reads: true},
		"disk full":                {free: 128<<20 - 1, state: DiskFull, reads: true},
		"disk full and the clock":  {free: 1, report: func(m *Members) { m.Clock.Offset = time.Second }, state: ClockOff, reads: true},
		"behind and without leads": {report: func(m *Members) { m.Head += 2000; m.Contact = ago(2 * time.Second) }, state: Isolated},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
				m := s.members[1]
				time.Sleep(time.Second)
				m.is(Serving, true)
				if test.report != nil {
					m.report(test.report)
				}
				m.free.Store(test.free)
				time.Sleep(memberTick + freeSpaceCacheTime + test.lasts)
				m.is(test.state, test.reads)
				if want := test.state == DiskFull; (m.resigns.Load() == 1) != want {
					t.Errorf("gave the lead away %d times", m.resigns.Load())
				}
				m.report(func(*Members) {})
				m.free.Store(0)
				time.Sleep(time.Second)
				m.is(Serving, true)
				s.close()
			})
		})
	}
}

// TestUndeliveredProposalIsolates checks a member whose proposals no longer arrive although it
// hears the leader: after 2 s it sheds at once, and the caller of the proposal does not learn its
// outcome. When the log takes it, the member serves again, and the command is applied once.
func TestUndeliveredProposalIsolates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		m := s.members[1]
		time.Sleep(time.Second)
		m.report(func(list *Members) { list.Contact = time.Now() })
		m.log.Cut(true)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := m.engine().Submit(ctx, &core.CreateUser{Name: "proposed"}); !errors.Is(err, ErrUnknown) {
				t.Error(err)
			}
		})
		time.Sleep(1900 * time.Millisecond)
		if st, _ := m.engine().MemberStatus(); st.State != Serving {
			t.Errorf("after 1.9 s: %v", st.State)
		}
		time.Sleep(200 * time.Millisecond)
		m.is(Isolated, true)
		callers.Wait()
		m.log.Cut(false)
		time.Sleep(2 * time.Second)
		m.is(Serving, true)
		n := 0
		for _, a := range s.applied() {
			if c, ok := a.Command.(*core.CreateUser); ok && c.Name == "proposed" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("applied %d times", n)
		}
		s.close()
	})
}

// TestReadsEndWithoutATick checks that a member that was paused serves no read after StaleAfter,
// although nothing has updated it since.
func TestReadsEndWithoutATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		e := s.members[1].engine()
		now := time.Now()
		if st := e.member.status(now); !st.Reads {
			t.Errorf("%+v", st)
		}
		if st := e.member.status(now.Add(3*time.Second + memberTick)); st.Reads {
			t.Errorf("%+v after a pause", st)
		}
		s.close()
	})
}

// TestClosingMemberIsDraining checks the state of a member that closes.
func TestClosingMemberIsDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		s.members[1].engine().Drain()
		s.members[1].is(Draining, true)
		s.close()
	})
}

// damagedLog delivers Damage in the place of a group.
type damagedLog struct {
	*logtest.Node
	from atomic.Uint64
}

func (l *damagedLog) Deliver(ctx context.Context, from uint64) iter.Seq2[journal.Group, error] {
	return func(yield func(journal.Group, error) bool) {
		for g, err := range l.Node.Deliver(ctx, from) {
			if at := l.from.Load(); at > 0 && g.Number >= at {
				yield(journal.Group{}, &journal.Damage{File: "db", Group: at, Err: errors.New("checksum")})
				return
			}
			if !yield(g, err) {
				return
			}
		}
	}
}

// TestDamagedMemberStops checks that a member whose log delivers damage, or something that it did
// not propose as its own, stops for good and serves nothing; and that another failure of the log
// stops it without that verdict.
func TestDamagedMemberStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := logtest.NewCluster(1, logtest.Faults{})
		l := &damagedLog{Node: c.Open(1)}
		m := &severalMember{s: &severalEngines{t: t, cluster: c}, node: 1, log: l.Node}
		m.report(func(list *Members) { list.Voters, list.Up = []uint32{1}, []uint32{1} })
		o := memberOptions(t, l)
		o.Members = m.members
		e := mustOpen(t, o)
		m.current.Store(e)
		m.is(Serving, true)
		l.from.Store(c.Groups()[len(c.Groups())-1].Number + 1)
		if _, err := e.Submit(t.Context(), &core.CreateUser{Name: "x"}); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		<-e.Stopped()
		if err := e.Err(); !errors.Is(err, ErrDamaged) || errors.Is(err, ErrDiverged) {
			t.Error(err)
		}
		m.is(Damaged, false)
		e.Close(t.Context())
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		m := s.members[1]
		m.log.Close()
		<-m.engine().Stopped()
		if err := m.engine().Err(); err == nil || errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if st, _ := m.engine().MemberStatus(); st.Reads || st.Writes {
			t.Errorf("%+v", st)
		}
		s.members[0].engine().Close(t.Context())
		s.members[2].engine().Close(t.Context())
		m.engine().Close(t.Context())
	})
}

// TestClockOffEndsTheQueue checks that commands that wait for the sequencer when the clock turns out
// to be wrong are shed, and get no stamp of that clock.
func TestClockOffEndsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		m := s.members[1]
		time.Sleep(1010 * time.Millisecond)
		synctest.Wait() // nothing is under way
		before := len(s.cluster.Groups())
		m.report(func(list *Members) { list.Clock.Offset = time.Second })
		// The member has not updated its state yet: the command is collected, and shed before it is
		// proposed.
		if _, err := m.engine().Submit(t.Context(), &core.CreateUser{Name: "x"}); !errors.Is(err, ErrShed) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		m.is(ClockOff, true)
		for _, g := range s.cluster.Groups()[before:] {
			if g.Node == m.node {
				t.Errorf("group %d is of the member whose clock is off", g.Number)
			}
		}
		s.close()
	})
}

// openMarkets makes a Clock due every minute.
func (s *severalEngines) openMarkets() {
	do(s.t, s.members[0].engine(), &core.SetSession{Feed: core.BTC, Open: true})
	now := time.Now()
	time.Sleep(now.Truncate(time.Minute).Add(time.Minute - time.Second).Sub(now))
	do(s.t, s.members[0].engine(), &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: time.Now().Unix(), Price: 6_500_000_000_000, Count: 3}})
}

// clocks returns how long after the full minute each Clock has its stamp, and its node.
func (s *severalEngines) clocks(from int) (after []time.Duration, nodes []uint32) {
	for _, g := range s.cluster.Groups()[from:] {
		for cmd := range journal.Commands(g.Body) {
			if _, ok := cmd.(*core.Clock); ok {
				at := time.Unix(0, g.Stamp)
				after, nodes = append(after, at.Sub(at.Truncate(time.Minute))), append(nodes, g.Node)
			}
		}
	}
	return after, nodes
}

// TestSystemCommandsByRank checks that what is due is done by the leader at once, and by the others
// only if it is not, 150 ms later for each rank.
func TestSystemCommandsByRank(t *testing.T) {
	for name, test := range map[string]struct {
		leader uint32
		down   []int
		node   uint32
		after  time.Duration
	}{
		"the leader":                   {leader: 1, node: 1},
		"another leader":               {leader: 3, node: 3},
		"the leader is down":           {leader: 1, down: []int{0}, node: 2, after: rankDelay},
		"the leader and the next":      {leader: 3, down: []int{2, 0}, node: 2, after: 2 * rankDelay},
		"the leader is down, by names": {leader: 2, down: []int{1}, node: 1, after: rankDelay},
		"no leader is known":           {leader: 0, node: 1, after: rankDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
				for _, m := range s.members {
					m.report(func(list *Members) { list.Leader = test.leader })
				}
				s.openMarkets()
				time.Sleep(500 * time.Millisecond)
				for _, i := range test.down {
					s.members[i].crash()
				}
				from := len(s.cluster.Groups())
				time.Sleep(30 * time.Second)
				after, nodes := s.clocks(from)
				if len(after) == 0 || nodes[0] != test.node || after[0] < test.after || after[0] > test.after+20*time.Millisecond {
					t.Errorf("%v after the minute, by %v; want %v by %d", after, nodes, test.after, test.node)
				}
				if slices.ContainsFunc(nodes, func(n uint32) bool { return n != test.node }) {
					t.Errorf("sent by %v", nodes)
				}
				for _, i := range test.down {
					s.members[i].open()
				}
				s.close()
			})
		})
	}
}

// TestSubmitSystem checks that a command of the venue that every member submits is in the log once,
// and that another member sends it if the leader does not.
func TestSubmitSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{Delay: 3 * time.Millisecond}))
		for round, senders := range [][]int{{0, 1, 2}, {1, 2}, {2}} {
			from := len(s.cluster.Groups())
			set := core.SetSession{Feed: core.BTC, Open: round%2 == 0}
			done := func(v *venue.Venue) bool {
				_, _, _, open := v.Index(core.BTC)
				return open == set.Open
			}
			var all sync.WaitGroup
			for _, i := range senders {
				all.Go(func() {
					if _, err := s.members[i].engine().SubmitSystem(t.Context(), &set, done); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Second)
			n := 0
			for _, g := range s.cluster.Groups()[from:] {
				for cmd := range journal.Commands(g.Body) {
					if _, ok := cmd.(*core.SetSession); ok {
						n++
					}
				}
			}
			if n != 1 {
				t.Errorf("round %d: sent %d times", round, n)
			}
		}
		s.close()
	})
}

// TestSystemCommandsOverAHostileLog checks that every minute is acted on although the leader
// changes and members crash, and that all members agree.
func TestSystemCommandsOverAHostileLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(7, logtest.Faults{}))
		var leader atomic.Uint32
		leader.Store(1)
		for _, m := range s.members {
			m.report(func(list *Members) { list.Leader = leader.Load() })
		}
		s.openMarkets()
		s.cluster.SetFaults(logtest.Hostile())
		from := len(s.cluster.Groups())
		for minute := range 6 {
			time.Sleep(30 * time.Second)
			m := s.members[minute%3]
			leader.Store(m.node)
			m.crash()
			time.Sleep(30 * time.Second)
			m.open()
		}
		s.settle(func(*Engine) {})
		minutes := map[time.Duration]bool{}
		after, _ := s.clocks(from)
		for _, d := range after {
			minutes[d.Truncate(time.Second)] = true
		}
		if len(after) < 6 {
			t.Errorf("%d Clocks in 6 minutes: %v", len(after), minutes)
		}
		s.check(nil)
	})
}

// TestAnchoredClock checks that steps of the wall clock do not move the clock of a member, that it
// approaches the wall clock by at most 1 ms a second, and that it never falls.
func TestAnchoredClock(t *testing.T) {
	const start = int64(1_800_000_000) * core.NsPerSec
	var passed, step time.Duration
	c := &anchoredClock{since: func() time.Duration { return passed }}
	c.wall = func() int64 { return start + int64(passed+step) }
	c.now = c.wall()
	at := func() time.Duration { return time.Duration(c.Now() - start) }
	for i, x := range []struct{ pass, step, want, ahead time.Duration }{
		{time.Second, 0, time.Second, 0},
		{0, 10 * time.Second, time.Second, -10 * time.Second},
		{time.Second, 10 * time.Second, 2001 * time.Millisecond, -9999 * time.Millisecond},
		{time.Second, -10 * time.Second, 3 * time.Second, 10 * time.Second},
		{0, 0, 3 * time.Second, 0},
		{time.Second, 500 * time.Microsecond, 4*time.Second + 500*time.Microsecond, 0},
		{10 * time.Second, 0, 14 * time.Second, 0},
		{1000 * time.Second, 2 * time.Second, 1015 * time.Second, -time.Second},
		{2000 * time.Second, 2 * time.Second, 3016 * time.Second, 0},
	} {
		passed, step = passed+x.pass, x.step
		if got := at(); got != x.want || c.ahead() != x.ahead {
			t.Errorf("%d: %v, ahead by %v; want %v, %v", i, got, c.ahead(), x.want, x.ahead)
		}
	}
	last := c.Now()
	for i := range 10_000 {
		passed, step = passed+time.Duration(i%3), time.Duration(i%7-3)*time.Hour
		if now := c.Now(); now < last {
			t.Fatalf("%d: the clock fell by %d ns", i, last-now)
		} else {
			last = now
		}
	}
}

// TestStepOfTheWallClock checks that a step of a member's wall clock moves no stamp: the member
// sheds until the clocks agree again.
func TestStepOfTheWallClock(t *testing.T) {
	for _, step := range []time.Duration{10 * time.Second, -10 * time.Second} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := logtest.NewCluster(1, logtest.Faults{})
				m := &severalMember{s: &severalEngines{t: t, cluster: c}, node: 1, log: c.Open(1)}
				m.report(func(list *Members) { list.Voters, list.Up = []uint32{1}, []uint32{1} })
				var off atomic.Int64
				o := memberOptions(t, nil)
				o.Members, o.Now = m.members, func() int64 { return time.Now().UnixNano() + off.Load() }
				o.OpenLog = func(j journal.Options) (Log, error) {
					c.Now = j.Now
					return m.log, nil
				}
				m.current.Store(mustOpen(t, o))
				m.is(Serving, true)
				off.Store(int64(step))
				time.Sleep(time.Second)
				m.is(ClockOff, true)
				off.Store(0)
				time.Sleep(time.Second)
				m.is(Serving, true)
				for _, g := range c.Groups() {
					if d := time.Duration(g.Stamp - time.Now().UnixNano()).Abs(); d > 5*time.Second {
						t.Errorf("group %d: the stamp is off by %v", g.Number, d)
					}
				}
				mustClose(t, m.engine())
			})
		})
	}
}
