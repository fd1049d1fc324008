package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/journal/logtest"
)

// ends returns how the orders of account 1 ended, by reason, with the time of the last end.
func (s *severalEngines) ends() (n map[core.Reason]int, last time.Duration) {
	n = map[core.Reason]int{}
	for _, a := range s.applied() {
		for _, e := range a.Events {
			if e, ok := e.(*core.OrderClosed); ok {
				n[e.Reason]++
				last = time.Duration(a.Stamp.Ts)
			}
		}
	}
	return n, last
}

func (s *severalEngines) beats() (n int) {
	for _, a := range s.applied() {
		if _, ok := a.Command.(*core.Beat); ok {
			n++
		}
	}
	return n
}

// TestConnectionsEndWhileDraining checks that a venue that takes no more commands still cancels what is bound to the
// connections that it closes, also as a member of several.
func TestConnectionsEndWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		s.openMarkets()
		time.Sleep(2 * time.Second)
		e := s.members[1].engine()
		do(t, e, &core.CreateUser{Name: "ann"})
		do(t, e, &core.Deposit{User: 1, DepositID: "d", Amount: 1_000_000})
		if r := do(t, e, buy(1, 1, core.Yes, 4000, 1)); r.Reject != core.OK {
			t.Fatal(r.Reject)
		}
		do(t, e, &core.BindOrders{User: 1, Line: e.Line(1)})
		e.HoldLines(1)
		e.Drain()
		if _, err := e.Submit(t.Context(), buy(1, 2, core.Yes, 4000, 1)); err != ErrDraining {
			t.Errorf("a placement while draining: %v", err)
		}
		begun := time.Now()
		if r, err := e.Submit(t.Context(), &core.EndConnection{User: 1, Line: e.Line(1)}); err != nil || r.Reject != core.OK {
			t.Errorf("the end of a connection while draining: %v %v", r.Reject, err)
		}
		if n, at := s.ends(); n[core.Disconnected] != 1 || at-time.Duration(begun.UnixNano()) > time.Second {
			t.Errorf("ended: %v after %v", n, at-time.Duration(begun.UnixNano()))
		}
		s.close()
		if _, err := e.Submit(t.Context(), &core.EndConnection{User: 1, Line: e.Line(2)}); err == nil {
			t.Error("the end of a connection is taken after the close")
		}
	})
}

// TestBeats checks that what is bound to a connection of a member stays while the member lives, however long, and is
// canceled 4 s after its last beat at the latest, or at once when it comes back; and that a member without bound
// connections sends no beats.
func TestBeats(t *testing.T) {
	for name, test := range map[string]struct {
		away  time.Duration // of the member, 0: it stays
		least time.Duration // until the orders are canceled
		most  time.Duration
	}{
		"a member that stays":           {},
		"a member that is gone":         {away: 25 * time.Second, least: 3 * time.Second, most: 4*time.Second + 2*rankDelay},
		"a member that comes back":      {away: 2 * time.Second, least: 2 * time.Second, most: 2*time.Second + rankDelay},
		"a member that comes back late": {away: 15 * time.Second, least: 3 * time.Second, most: 4*time.Second + 2*rankDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
				s.openMarkets()
				time.Sleep(2 * time.Second) // the full minute opens them
				m := s.members[1]
				do(t, m.engine(), &core.CreateUser{Name: "ann"})
				do(t, m.engine(), &core.Deposit{User: 1, DepositID: "d", Amount: 1_000_000})
				for id := range uint64(3) {
					if r := do(t, m.engine(), buy(1, id+1, core.Yes, 4000, 1)); r.Reject != core.OK {
						t.Fatal(r.Reject)
					}
				}
				time.Sleep(3 * time.Second)
				if n := s.beats(); n != 0 {
					t.Errorf("%d beats before anything is bound", n)
				}
				do(t, m.engine(), &core.BindOrders{User: 1, Line: m.engine().Line(1)})
				m.engine().HoldLines(1)
				time.Sleep(10 * time.Second)
				if n := s.beats(); n < 9 || n > 11 {
					t.Errorf("%d beats in 10 s", n)
				}
				if n, _ := s.ends(); len(n) > 0 {
					t.Errorf("ended while the member lives: %v", n)
				}
				begun := time.Now()
				if test.away > 0 {
					m.crash()
					time.Sleep(test.away)
					m.open()
				}
				time.Sleep(10 * time.Second)
				n, at := s.ends()
				switch after := at - time.Duration(begun.UnixNano()); {
				case test.away == 0 && len(n) > 0, test.away > 0 && n[core.Disconnected] != 3:
					t.Errorf("ended: %v", n)
				case test.away > 0 && (after < test.least || after > test.most):
					t.Errorf("canceled after %v, want %v to %v", after, test.least, test.most)
				}
				before := s.beats()
				m.engine().HoldLines(-m.engine().lines.open.Load())
				time.Sleep(10 * time.Second)
				if n := s.beats() - before; n > 1 {
					t.Errorf("%d beats when nothing is bound any more", n)
				}
				s.close()
			})
		})
	}
}
