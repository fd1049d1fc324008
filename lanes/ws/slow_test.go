package ws

import (
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"

	"context"
)

// eventually waits for what a goroutine of the lane will do.
func (s *stream) eventually(ok func() bool) {
	s.T.Helper()
	for range 10_000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.T.Fatal("it never came about")
}

// stuck connects a reader whose socket takes next to nothing.
func (s *stream) stuck(h http.Header) *reader {
	s.T.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetReadBuffer(4096)
		}
		return c, err
	}}
	ws, _, err := websocket.Dial(context.Background(), s.URL+path, &websocket.DialOptions{HTTPHeader: h, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		s.T.Fatal(err)
	}
	ws.SetReadLimit(-1)
	s.T.Cleanup(func() { _ = ws.CloseNow() })
	return &reader{t: s.T, ws: ws}
}

// TestStuckReader: one who does not read is closed with 4408 when his events pass
// the bound; who reads beside him gets each frame all the while.
func TestStuckReader(t *testing.T) {
	onlyLong(t)
	s := newStreamWith(t, bounds{every: defaultBounds.every, queue: 64 << 10, thin: 16 << 10, room: 4096})
	k := s.Key(1, core.ScopeRead)
	stuck, brisk := s.stuck(s.handshake(k)), s.dial(k)
	stuck.say(`{"id":1,"cmd":"subscribe","params":{"channels":["user","orderbook_delta"]}}`)
	brisk.ask("subscribe", `{"channels":["user","orderbook_delta"],"market_ids":[1]}`)
	s.eventually(func() bool { _, subs, _ := s.lane.Now(); return subs == 4 })
	n := uint64(0)
	for s.closes(4408) == 0 && n < 20_000 {
		n++
		s.place(1, n, 1, "buy yes 1 @ 4700")
		for got := schemas.U64(0); got == 0; {
			if m := brisk.until("user"); into[schemas.EventHead](t, m).Event == "order" {
				got = m.Seq
			}
		}
		if n%100 == 0 {
			s.Do(&core.CancelAll{User: 1})
		}
	}
	if code := stuck.closed(); code != 4408 {
		t.Errorf("closed with %d after %d orders", code, n)
	}
}

func (s *stream) closes(code int) (n uint64) {
	s.lane.Stats.Closed(func(c int, m uint64) {
		if c == code {
			n = m
		}
	})
	return n
}

// TestStuckBooks: one who reads books alone is never closed for it: what waits for
// him stays bounded, and when he reads on he gets what is true.
func TestStuckBooks(t *testing.T) {
	onlyLong(t)
	s := newStreamWith(t, bounds{every: defaultBounds.every, queue: 64 << 10, thin: 16 << 10, room: 4096})
	stuck := s.stuck(s.handshake(s.Key(1, core.ScopeRead)))
	stuck.ask("subscribe", `{"channels":["orderbook_delta"],"market_ids":[1]}`)
	var id uint64
	for s.lane.Stats.Thinned.Load() < 3 && id < 20_000 {
		id++
		s.place(1, id, 1, "buy yes 1 @ "+strconv.Itoa(4000+int(id%10)*100))
		if id%100 == 0 {
			s.Do(&core.CancelAll{User: 1})
		}
	}
	var want string
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		slot, _ := v.Slot(1)
		b := tools.BookOf(v, &slot, 1<<20)
		want = text(b.Generation, b.Yes, b.No)
	})
	m := &mirror{stream: s, tr: &truth{}, books: map[uint32]schemas.WSBook{}, last: map[string]schemas.U64{}, sids: map[int]string{1: "orderbook_delta"}}
	first := true
	for {
		msg := stuck.next()
		if first { // its snapshot was read with the answer, or comes now
			first = false
			m.last["1 1"] = msg.PrevSeq
		}
		m.take(&msg)
		if b := m.books[1]; text(b.Generation, b.Yes, b.No) == want {
			return
		}
	}
}

// TestRevoked: the key's connections close with 4401, another key's do not.
func TestRevoked(t *testing.T) {
	s := newStream(t)
	k := s.Key(1, core.ScopeRead)
	gone, stays := s.dial(k), s.dial(s.Key(1, core.ScopeRead))
	stays.ask("subscribe", `{"channels":["user"]}`)
	s.Do(&core.RevokeKey{User: 1, Key: k.ID})
	if code := gone.closed(); code != 4401 {
		t.Errorf("closed with %d", code)
	}
	if e := into[schemas.KeyRevokedEvent](t, stays.until("user")); e.Event != "key_revoked" || e.APIKey != k.ID {
		t.Errorf("%+v", e)
	}
	if status, _ := s.refused(s.handshake(k)); status != 401 {
		t.Errorf("a revoked key gets %d", status)
	}
	s.Do(&core.ResealKey{Key: k.ID, Sealed: []byte("anew")})
	s.Do(&core.Deposit{User: 1, DepositID: "behind it", Amount: 1})
	if e := into[schemas.KeyRevokedEvent](t, stays.until("user")); e.Event == "key_revoked" {
		t.Error("a new master key revokes again what was revoked")
	}
}

// TestPings: a pong keeps a connection, two missing ones end it. Time is given.
func TestPings(t *testing.T) {
	s := newStream(t)
	k := s.Key(1, core.ScopeRead)
	alive, dead := s.dial(k), s.dial(k)
	for _, r := range []*reader{alive, dead} { // who is answered has entered
		r.ask("list_subscriptions", "{}")
	}
	now := time.Now()
	for range pingsMax {
		now = now.Add(pingEvery)
		s.lane.sweep(now)
		alive.ask("list_subscriptions", "{}") // reading answers the ping, and the answer comes before the next command's
		alive.ask("list_subscriptions", "{}")
	}
	s.lane.sweep(now.Add(pingEvery))
	if code := dead.closed(); code != 1011 {
		t.Errorf("closed with %d", code)
	}
	alive.ask("list_subscriptions", "{}")
}
