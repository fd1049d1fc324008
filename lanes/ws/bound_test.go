package ws

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// resting returns the client_order_ids of the resting orders of an account, lowest first.
func resting(w *view.View, u core.UserID) (ids []uint64) {
	for o := range w.Orders(u, 0) {
		if o.Status.Live() {
			ids = append(ids, o.ClientID)
		}
	}
	slices.Sort(ids)
	return ids
}

// becomes waits until exactly these orders of account 1 rest, and checks that those of account 2 still do.
func (s *testLane) becomes(want ...uint64) {
	s.T.Helper()
	s.WaitUntil(func(_ *venue.Venue, w *view.View) bool { return slices.Equal(resting(w, 1), want) })
	s.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if ids := resting(w, 2); !slices.Equal(ids, []uint64{1}) {
			s.T.Errorf("orders %v of the other account rest", ids)
		}
		for o := range w.Orders(1, 0) {
			if !o.Status.Live() && o.Reason != core.Disconnected {
				s.T.Errorf("order %d ended with %q", o.ClientID, o.Reason)
			}
		}
	})
}

// newBoundLane returns a lane with orders 1 and 2 of account 1, the second of group 7, and one of account 2.
func newBoundLane(t *testing.T) *testLane {
	s := newTestLane(t)
	for i, o := range []*core.PlaceOrder{
		{User: 1, ClientID: 1}, {User: 1, ClientID: 2, Group: 7}, {User: 2, ClientID: 1, Group: 7},
	} {
		o.Market, o.Qty, o.Tick = 1, 5, core.Tick(4500+100*i)
		if r := s.Submit(o); r.Reject != core.OK {
			t.Fatal(r.Reject)
		}
	}
	return s
}

func (r *testReader) bind(params string) schemas.WSBound {
	r.t.Helper()
	m := r.ask(cancelOnDisconnect, params)
	if m.Type != "ok" {
		r.t.Fatalf("%s: %s %s", params, m.Type, m.Msg)
	}
	return into[schemas.WSBound](r.t, m)
}

// TestCancelOnDisconnect checks that whatever ends a connection cancels what is bound to it and nothing else.
func TestCancelOnDisconnect(t *testing.T) {
	for name, end := range map[string]func(s *testLane, r *testReader, k string){
		"a close of the client": func(_ *testLane, r *testReader, _ string) {
			go func() { _ = r.ws.Close(websocket.StatusNormalClosure, "") }()
		},
		"a line that breaks": func(_ *testLane, r *testReader, _ string) { _ = r.ws.CloseNow() },
		"a revoked key":      func(s *testLane, _ *testReader, k string) { s.Submit(&core.RevokeKey{User: 1, Key: k}) },
		"a restart":          func(s *testLane, _ *testReader, _ string) { s.lane.Restart() },
		"an invalid message": func(_ *testLane, r *testReader, _ string) {
			_ = r.ws.Write(context.Background(), websocket.MessageBinary, []byte("x"))
		},
		"two missed pongs, 5 s apart": func(s *testLane, _ *testReader, _ string) {
			for i := range maxMissedPongs + 1 {
				s.lane.pingAll(time.Now().Add(time.Duration(i+1) * boundPingEvery))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBoundLane(t)
			k := s.NewKey(1, core.ScopeRead|core.ScopeTrade)
			r, silent := s.dial(k), s.dial(s.NewKey(1, core.ScopeRead|core.ScopeTrade))
			silent.ask("list_subscriptions", "{}")
			if b := r.bind(`{"enabled":true,"group_id":7}`); !b.Enabled || b.GroupID != 7 || b.Seq == 0 {
				t.Errorf("answered %+v", b)
			}
			end(s, r, k.ID)
			s.becomes(1)
			s.Engine.Read(func(v *venue.Venue, _ *view.View) {
				for g := range v.Groups(1, v.Now().Ts) {
					t.Errorf("still set: %+v", g)
				}
			})
		})
	}
}

// TestBoundPings checks that a connection to which orders are bound is pinged every 5 s, whenever the lane looks.
func TestBoundPings(t *testing.T) {
	s := newBoundLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead|core.ScopeTrade))
	r.bind(`{"enabled":true}`)
	var c *conn
	s.lane.each(func(x *conn) { c = x })
	begun, pings := time.Now(), 0
	for at := begun; at.Before(begun.Add(26 * time.Second)); at = at.Add(sweepEvery + time.Millisecond) {
		c.missedPongs.Store(0)
		s.lane.pingAll(at)
		if c.missedPongs.Load() > 0 {
			pings++
		}
	}
	if pings != 4 && pings != 5 {
		t.Errorf("%d pings in 26 s", pings)
	}
}

// TestNewestConnectionHasTheOrders checks that the orders belong to the newest connection that bound them, that the
// binding of the account covers every group, and that a released one cancels nothing.
func TestNewestConnectionHasTheOrders(t *testing.T) {
	s := newBoundLane(t)
	k := s.NewKey(1, core.ScopeRead|core.ScopeTrade)
	first, second, third := s.dial(k), s.dial(k), s.dial(k)
	first.bind(`{"enabled":true}`)
	first.bind(`{"enabled":true,"group_id":7}`)
	second.bind(`{"enabled":true}`)
	third.bind(`{"enabled":true,"group_id":9}`)
	third.bind(`{"enabled":false,"group_id":9}`)
	_ = third.ws.CloseNow()
	_ = first.ws.CloseNow()
	s.becomes(1) // group 7 was bound to the first one alone
	second.bind(`{"enabled":false}`)
	second.bind(`{"enabled":true}`)
	_ = second.ws.CloseNow()
	s.becomes()
}

// TestCancelOnDisconnectRefused checks what is refused and that it binds nothing.
func TestCancelOnDisconnectRefused(t *testing.T) {
	s := newBoundLane(t)
	for id := range core.GroupsMax {
		s.Submit(&core.SetGroup{User: 1, Group: uint32(1000 + id), FillLimit: 1, WindowMs: 1000})
	}
	r, reader := s.dial(s.NewKey(1, core.ScopeRead|core.ScopeTrade)), s.dial(s.NewKey(1, core.ScopeRead))
	for _, c := range []struct {
		r      *testReader
		params string
		code   int
	}{
		{reader, `{"enabled":true}`, 8},
		{r, `{}`, 2},
		{r, `{"enabled":1}`, 2},
		{r, `{"enabled":true,"group_id":-1}`, 2},
		{r, `{"enabled":true,"group_id":4294967296}`, 2},
		{r, `{"enabled":true,"group":7}`, 2},
		{r, `{"enabled":true,"group_id":7}`, 16},
	} {
		m := c.r.ask(cancelOnDisconnect, c.params)
		if got := into[schemas.WSError](t, m); m.Type != "error" || got.Code != c.code {
			t.Errorf("%s: %s %+v, want the error %d", c.params, m.Type, got, c.code)
		}
	}
	_ = r.ws.CloseNow()
	_ = reader.ws.CloseNow()
	s.eventually(func() bool { conns, _, _ := s.lane.Usage(); return conns == 0 })
	s.becomes(1, 2)
}

// TestBoundOrdersAfterAKill checks that what was bound to a process that is gone is canceled before the first
// placement of the next one.
func TestBoundOrdersAfterAKill(t *testing.T) {
	s := newBoundLane(t)
	s.Submit(&core.BindOrders{User: 1, Line: s.Engine.Line(1)})
	before := s.Engine.Seq()
	s.Reopen()
	r := s.Submit(&core.PlaceOrder{User: 2, ClientID: 99, Market: 1, Side: core.Sell, Outcome: core.Yes, Qty: 1, Tick: 4500})
	s.becomes()
	s.Engine.Read(func(_ *venue.Venue, w *view.View) {
		for o := range w.Orders(1, 0) {
			if o.UpdateSeq <= before || o.UpdateSeq >= r.Stamp.Seq {
				t.Errorf("order %d ended at %d, the process at %d, and the first placement is %d", o.ClientID, o.UpdateSeq, before, r.Stamp.Seq)
			}
		}
	})
}
