package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/server"
)

var clockRounds = flag.Int("clockrounds", 0, "rounds of each fault in TestClusterClocks; 0: it is left out")

// skewedClock is the machine's clock of a member.
type skewedClock struct {
	ahead  atomic.Int64 // ns
	frozen atomic.Int64 // Unix ns; 0: it runs
}

func (c *skewedClock) Now() time.Time {
	if at := c.frozen.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// TestClusterClocks runs three members in this process, with etcd over loopback, and sets the clock of
// one of them wrong: it was ahead or behind at the start, it steps, or it stands still. That member
// becomes clock_off and takes no commands, the others go on, and no stamp of the venue is ahead of the
// time by more than the members may differ, so no round freezes early. With the right clock it serves
// again.
//
//	go test ./server -run ClusterClocks -clockrounds 20 -v -timeout 60m
func TestClusterClocks(t *testing.T) {
	if *clockRounds == 0 {
		t.Skip("-clockrounds N")
	}
	m := newClockMembers(t)
	for round := range *clockRounds {
		faults := []struct {
			name string
			set  func(*skewedClock)
		}{
			{"10 s ahead", func(c *skewedClock) { c.ahead.Store(int64(10 * time.Second)) }},
			{"stands still", func(c *skewedClock) { c.frozen.Store(time.Now().UnixNano()) }},
			{"300 ms ahead", func(c *skewedClock) { c.ahead.Store(int64(300 * time.Millisecond)) }},
			{"300 ms behind", func(c *skewedClock) { c.ahead.Store(-int64(300 * time.Millisecond)) }},
			{"10 s behind", func(c *skewedClock) { c.ahead.Store(-int64(10 * time.Second)) }},
		}
		for n, f := range faults {
			member := (round + n) % 3
			m.wrong(t, member, f.name, f.set, false)
			if f.name != "stands still" {
				m.wrong(t, member, f.name+" at the start", f.set, true)
			}
		}
	}
}

type clockMembers struct {
	options [3]server.Options
	clocks  [3]skewedClock
	venues  [3]*server.Venue
	sent    int
}

func newClockMembers(t *testing.T) *clockMembers {
	m := &clockMembers{}
	dir, run := t.TempDir(), rand.IntN(1<<12)
	var list []cluster.Address
	host := func(i int) string { return fmt.Sprintf("127.%d.%d.%d", 48|run>>8, run&255, i+1) }
	for i := range 3 {
		list = append(list, cluster.Address{Name: string(rune('a' + i)), Peer: host(i) + ":7000"})
	}
	for i := range 3 {
		m.options[i] = server.Options{
			Data: filepath.Join(dir, list[i].Name), MasterKey: make([]byte, 32), Now: m.clocks[i].Now,
			Cluster: &cluster.Options{Name: list[i].Name, Members: list, FollowListen: host(i) + ":7001"},
		}
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { m.start(t, i) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for i := range 3 {
			m.stop(t, i)
		}
	})
	for i := range 3 {
		waitState(t, m.venues[i].Engine(), engine.Serving)
	}
	return m
}

func (m *clockMembers) start(t *testing.T, i int) {
	v, err := server.Open(t.Context(), m.options[i])
	if err != nil {
		t.Error(err)
		return
	}
	m.venues[i] = v
}

func (m *clockMembers) stop(t *testing.T, i int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if v := m.venues[i]; v != nil {
		m.venues[i] = nil
		_ = v.Close(ctx) // the last member may not reach a majority for its last command
	}
}

// submit sends a command to a member.
func (m *clockMembers) submit(t *testing.T, i int) (engine.Receipt, error) {
	m.sent++
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return m.venues[i].Submit(ctx, &core.CreateUser{Name: fmt.Sprint("user ", m.sent)})
}

// check sends commands to the other members and compares their stamps, and that of the newest group
// everywhere, with the time.
func (m *clockMembers) check(t *testing.T, wrong int, fault string) {
	t.Helper()
	for i := range 3 {
		if i == wrong {
			continue
		}
		before := time.Now().Add(-time.Second) // time never decreases, and stamps may be this late
		r, err := m.submit(t, i)
		after := time.Now()
		if err != nil {
			t.Errorf("%s: member %d: %v", fault, i, err)
			continue
		}
		if at := time.Unix(0, r.Stamp.Ts); at.Before(before) || at.After(after.Add(250*time.Millisecond)) {
			t.Errorf("%s: a stamp of member %d is %v ahead", fault, i, at.Sub(after))
		}
		m.venues[i].Engine().Read(func(v *venue.Venue, _ *view.View) {
			if ahead := time.Until(time.Unix(0, v.Now().Ts)); ahead > 250*time.Millisecond {
				t.Errorf("%s: the venue is %v ahead", fault, ahead)
			}
		})
	}
}

// set changes the clock of a member, while it runs or between a stop and a start.
func (m *clockMembers) set(t *testing.T, i int, change func(*skewedClock), restart bool) {
	t.Helper()
	if restart {
		m.stop(t, i)
	}
	change(&m.clocks[i])
	if restart {
		m.start(t, i)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// wrong sets the clock of a member wrong, and right again.
func (m *clockMembers) wrong(t *testing.T, i int, fault string, change func(*skewedClock), restart bool) {
	t.Helper()
	m.set(t, i, change, restart)
	waitState(t, m.venues[i].Engine(), engine.ClockOff)
	if _, err := m.submit(t, i); !errors.Is(err, engine.ErrShed) {
		t.Errorf("%s: a command at member %d: %v, want ErrShed", fault, i, err)
	}
	m.check(t, i, fault)
	m.set(t, i, func(c *skewedClock) {
		c.ahead.Store(0)
		c.frozen.Store(0)
	}, restart)
	waitState(t, m.venues[i].Engine(), engine.Serving)
	m.check(t, -1, fault+", and right again")
}
