package engine

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
	"duplex/core/replica"
	"duplex/core/view"
)

var severalSeeds = flag.Uint64("seeds", 20, "number of seeds of TestSeveralEngines")

// severalEngines are three engines over one log.
type severalEngines struct {
	t       *testing.T
	cluster *logtest.Cluster
	members []*severalMember
}

// reports changes what the log of a member reports.
type reports func(*Members)

type severalMember struct {
	s       *severalEngines
	node    uint32
	dir     string
	log     *logtest.Node
	free    atomic.Uint64 // bytes; 0: plenty
	resigns atomic.Int32
	reports atomic.Pointer[reports] // nil: changes nothing
	up      atomic.Bool
	current atomic.Pointer[Engine]
}

// newSeveral opens the engines and puts the newest rules in force.
func newSeveral(t *testing.T, c *logtest.Cluster) *severalEngines {
	s := openSeveral(t, c)
	do(t, s.members[0].engine(), &core.ActivateRules{Revision: core.RevisionNewest})
	return s
}

func openSeveral(t *testing.T, c *logtest.Cluster) *severalEngines {
	s := &severalEngines{t: t, cluster: c}
	for n := range uint32(3) {
		s.members = append(s.members, &severalMember{s: s, node: n + 1, dir: t.TempDir()})
	}
	for _, m := range s.members {
		m.open()
	}
	return s
}

func (m *severalMember) open() {
	m.s.t.Helper()
	m.log = m.s.cluster.Open(m.node)
	m.up.Store(true)
	e := mustOpen(m.s.t, Options{
		Dir: m.dir, Node: m.node, CheckpointEvery: 2 * time.Second, SnapshotEvery: Backlog{Groups: 100, Commands: 1 << 40, Applying: 1 << 62},
		OpenLog: func(journal.Options) (Log, error) { return m.log, nil },
		Members: m.members, Free: m.freeBytes, Resign: func() { m.resigns.Add(1) },
	})
	m.current.Store(e)
}

// members is what a log that reaches every node would say, with node 1 as the leader.
func (m *severalMember) members() Members {
	at, head := m.log.Contact()
	list := Members{Voters: []uint32{1, 2, 3}, Up: m.s.nodes(), Leader: 1, Contact: at, Head: head, Clock: ClockOffset{Measured: time.Now()}}
	if change := m.reports.Load(); change != nil {
		(*change)(&list)
	}
	return list
}

func (m *severalMember) report(change reports) { m.reports.Store(&change) }

func (m *severalMember) freeBytes() (uint64, error) { return cmp.Or(m.free.Load(), 1<<40), nil }

// crash stops the engine as a kill would: what it has not written is gone.
func (m *severalMember) crash() {
	m.up.Store(false)
	e := m.engine()
	kill(m.s.t, e)
	e.background.Wait()
	e.snapshotJobs.Wait()
}

// engine returns the engine of the member; the stopped one between a crash and the return.
func (m *severalMember) engine() *Engine { return m.current.Load() }

func (s *severalEngines) close() {
	for _, m := range s.members {
		mustClose(s.t, m.engine())
	}
}

// replay applies the whole log to an empty state.
func (s *severalEngines) replay(each func(r *replica.Replica, out *replica.Result)) *replica.Replica {
	s.t.Helper()
	r := replica.New(view.DefaultRetentionCaps())
	for _, g := range s.cluster.Groups() {
		cmds, err := replica.Commands(&g)
		if err != nil {
			s.t.Fatal(err)
		}
		out, err := r.Apply(&g, cmds, func(c *core.Checkpoint) error {
			if c.Hash == [32]byte{} && c.Seq == r.State.Seq {
				r.State.Seq = r.Venue.Now().Seq
			}
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
		each(r, &out)
	}
	return r
}

func (s *severalEngines) applied() (list []Applied) {
	s.replay(func(_ *replica.Replica, out *replica.Result) { list = append(list, out.Applied...) })
	return list
}

// sent is a command of a caller, and what the caller learned.
type sent struct {
	key string // names the command in the log
	err error
	seq uint64 // of the receipt
}

// caller sends commands of one account and class through one member, and records them in the order
// of Submit.
type caller struct {
	m     *severalMember
	user  core.UserID
	class core.Class
	list  []*sent
}

// keyOf names a command of a caller; "" for any other.
func keyOf(cmd core.Command) string {
	switch c := cmd.(type) {
	case *core.PlaceOrder:
		return fmt.Sprint("place ", c.User, c.ClientID)
	case *core.CancelOrder:
		return fmt.Sprint("cancel ", c.User, c.Order)
	case *core.CreateUser:
		return fmt.Sprint("create ", c.Name)
	}
	return ""
}

// id numbers of a caller's commands: no two callers share one.
func (c *caller) command(r *rand.Rand) core.Command {
	id := uint64(c.m.node)*1_000_000 + uint64(len(c.list)) + 1
	switch c.class {
	case core.ClassPlacement:
		return buy(c.user, id, core.Outcome(r.IntN(2)), core.Tick(4000+100*r.IntN(20)), 1)
	case core.ClassCancel:
		return &core.CancelOrder{User: c.user, Order: core.OrderID(id)}
	}
	return &core.CreateUser{Name: fmt.Sprint(id)}
}

// run sends n requests, without waiting for the answers.
func (c *caller) run(n int, r *rand.Rand, answers *sync.WaitGroup) {
	for range n {
		time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
		var rs []*request
		var own []*sent
		for range 1 + r.IntN(3) {
			cmd := c.command(r)
			q, err := newRequest(cmd)
			if err != nil {
				c.m.s.t.Error(err)
				return
			}
			x := &sent{key: keyOf(cmd)}
			rs, own, c.list = append(rs, q), append(own, x), append(c.list, x)
		}
		e := c.m.engine()
		g, err := e.collect(rs)
		if err != nil {
			for _, x := range own {
				x.err = err
			}
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+r.IntN(5000))*time.Millisecond)
		answers.Go(func() {
			defer cancel()
			for i, q := range rs {
				receipt, err := e.awaitReceipt(ctx, g, q)
				own[i].seq, own[i].err = receipt.Stamp.Seq, err
			}
		})
	}
}

// TestSeveralEngines runs three engines over one log that loses, repeats and delays, while
// engines crash and return and nodes are cut off. Then no answered command is missing, none is
// applied twice, no refused one is in the log, the order within each account, class and member is
// that of Submit, and all states are equal to a replay of the log.
func TestSeveralEngines(t *testing.T) {
	var again, repeats, unknown, answered atomic.Uint64
	for seed := uint64(1); seed <= *severalSeeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSeveral(t, logtest.NewCluster(seed, logtest.Faults{})) // until the callers run: one command at a time may find a member isolated
				count := func(e *Engine) {
					again.Add(e.Stats().ProposedAgain.Load())
					repeats.Add(e.Stats().RepeatsDropped.Load())
				}
				callers := s.trade(rand.New(rand.NewPCG(seed, 0xca11)), count)
				s.settle(count)
				a, u := s.check(callers)
				answered.Add(a)
				unknown.Add(u)
			})
		})
	}
	t.Logf("%d answered, %d unknown, %d proposed again, %d repeats dropped", answered.Load(), unknown.Load(), again.Load(), repeats.Load())
	if answered.Load() == 0 || unknown.Load() == 0 || again.Load() == 0 || repeats.Load() == 0 {
		t.Error("a fault never happened")
	}
}

// trade runs the callers and the faults.
func (s *severalEngines) trade(r *rand.Rand, count func(*Engine)) (callers []*caller) {
	const users = 2
	for u := range core.UserID(users) {
		for _, cmd := range []core.Command{&core.CreateUser{Name: fmt.Sprint("user ", u)}, &core.Deposit{User: u + 1, DepositID: fmt.Sprint(u), Amount: 1_000_000}} {
			do(s.t, s.members[0].engine(), cmd)
		}
	}
	do(s.t, s.members[0].engine(), &core.SetSession{Feed: core.BTC, Open: true})
	s.cluster.SetFaults(logtest.Hostile())
	var running, answers sync.WaitGroup
	for _, m := range s.members {
		for u := range core.UserID(users) {
			for _, class := range []core.Class{core.ClassPlacement, core.ClassCancel} {
				callers = append(callers, &caller{m: m, user: u + 1, class: class})
			}
		}
		callers = append(callers, &caller{m: m, class: core.ClassSystem})
	}
	for _, c := range callers {
		own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
		running.Go(func() { c.run(60, own, &answers) })
	}
	ticks, stop := context.WithCancel(context.Background())
	running.Go(func() {
		for range 6 {
			time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
			m := s.members[r.IntN(len(s.members))]
			if r.IntN(2) == 0 {
				count(m.engine())
				m.crash()
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				m.open()
				continue
			}
			m.log.Cut(true)
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			m.log.Cut(false)
		}
		stop()
	})
	running.Go(func() {
		for ticks.Err() == nil {
			now := time.Now()
			time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
			ctx, cancel := context.WithTimeout(ticks, time.Second)
			s.members[time.Now().Second()%3].engine().Submit(ctx, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: time.Now().Unix(), Price: 6_500_000_000_000, Count: 3}})
			cancel()
		}
	})
	running.Wait()
	answers.Wait()
	return callers
}

// settle ends the faults, waits for what is late, and brings every engine to the end of the log.
func (s *severalEngines) settle(count func(*Engine)) {
	s.cluster.SetFaults(logtest.Faults{})
	time.Sleep(10 * time.Second)
	for _, m := range s.members {
		if r, err := m.engine().Submit(context.Background(), &core.CreateUser{Name: "last"}); err != nil {
			s.t.Errorf("member %d after the faults: %v, %v", m.node, r, err)
		}
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	for _, m := range s.members {
		count(m.engine())
		if err := m.engine().Err(); err != nil || m.engine().Suspect() {
			s.t.Errorf("member %d: %v, suspect %v", m.node, err, m.engine().Suspect())
		}
	}
}

// check compares what callers learned with a replay of the log. Then it closes the engines.
func (s *severalEngines) check(callers []*caller) (answered, unknown uint64) {
	t := s.t
	seqs := map[string][]uint64{}
	want := s.replay(func(_ *replica.Replica, out *replica.Result) {
		for _, a := range out.Applied {
			if key := keyOf(a.Command); key != "" {
				seqs[key] = append(seqs[key], a.Stamp.Seq)
			}
		}
	})
	inLog := map[string]bool{}
	for _, g := range s.cluster.Groups() {
		for cmd := range journal.Commands(g.Body) {
			inLog[keyOf(cmd)] = true
		}
	}
	for _, c := range callers {
		last := uint64(0)
		for _, x := range c.list {
			at := seqs[x.key]
			switch {
			case len(at) > 1:
				t.Errorf("%s is applied %d times", x.key, len(at))
			case x.err == nil && (len(at) == 0 || at[0] != x.seq):
				t.Errorf("%s is answered with seq %d, the log has %v", x.key, x.seq, at)
			case x.err != nil && !errors.Is(x.err, ErrUnknown) && inLog[x.key]:
				t.Errorf("%s is answered with %v, and the log has it", x.key, x.err)
			}
			if len(at) > 0 {
				if at[0] < last {
					t.Errorf("%s has seq %d, after a later one with %d", x.key, at[0], last)
				}
				last = at[0]
			}
			switch {
			case x.err == nil:
				answered++
			case errors.Is(x.err, ErrUnknown):
				unknown++
			}
		}
	}
	hash, err := want.Venue.Hash()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.members {
		if seq, got, err := m.engine().Hash(); err != nil || got != hash || seq != want.Venue.Now().Seq {
			t.Errorf("member %d: hash %x at seq %d, a replay %x at %d; %v", m.node, got[:4], seq, hash[:4], want.Venue.Now().Seq, err)
		}
	}
	s.close()
	return answered, unknown
}
