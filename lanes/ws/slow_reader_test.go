package ws

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/schemas"
)

// eventually waits until ok returns true, for up to 3 min.
func (s *testLane) eventually(ok func() bool) {
	s.T.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.T.Fatal("the condition did not become true within 3 min")
		}
	}
}

// slowClient returns a client with a minimal receive buffer, so that a slow reader falls behind soon.
func slowClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetReadBuffer(4096)
		}
		return c, err
	}}}
}

// smallLimits are those of a lane in which a reader that does not read is soon behind. It conflates
// by bytes alone.
var smallLimits = limits{
	snapshotInterval: defaultLimits.snapshotInterval, maxQueueBytes: 64 << 10, conflateBytes: 16 << 10, conflateAge: time.Hour,
	socketBufferBytes: 4096, unsentBytes: defaultLimits.unsentBytes,
}

// TestStuckReader checks that a reader that stops reading is closed with 4408 once its queue
// exceeds the bound, and that another reader receives every event meanwhile
// (docs/rules/events.md#falling-behind).
func TestStuckReader(t *testing.T) {
	onlyLong(t)
	s := newTestLaneWith(t, smallLimits)
	k := s.NewKey(1, core.ScopeRead)
	stuck, brisk := s.dialWith(k, slowClient()), s.dial(k)
	stuck.send(`{"id":1,"cmd":"subscribe","params":{"channels":["user","orderbook_delta"]}}`)
	brisk.ask("subscribe", `{"channels":["user","orderbook_delta"],"market_ids":[1]}`)
	s.eventually(func() bool { _, subs, _ := s.lane.Usage(); return subs == 4 })
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
			s.Submit(&core.CancelAll{User: 1})
		}
	}
	if code := stuck.waitClose(); code != 4408 {
		t.Errorf("closed with %d after %d orders", code, n)
	}
}

func (s *testLane) closes(code int) (n uint64) {
	s.lane.Stats.Closes(func(c int, m uint64) {
		if c == code {
			n = m
		}
	})
	return n
}

// TestStuckBooks checks that a reader of books that stops reading is not closed: its queue
// stays bounded, and once it reads again it arrives at the venue's book.
func TestStuckBooks(t *testing.T) {
	onlyLong(t)
	s := newTestLaneWith(t, smallLimits)
	stuck := s.dialWith(s.NewKey(1, core.ScopeRead), slowClient())
	stuck.ask("subscribe", `{"channels":["orderbook_delta"],"market_ids":[1]}`)
	var id uint64
	for s.lane.Stats.ConflatedBytes.Load() < 3 && id < 20_000 {
		id++
		s.place(1, id, 1, "buy yes 1 @ "+strconv.Itoa(4000+int(id%10)*100))
		if id%100 == 0 {
			s.Submit(&core.CancelAll{User: 1})
		}
	}
	want := s.text(1)
	m := &modelReader{testLane: s, history: &bookHistory{}, books: map[uint32]schemas.WSBook{}, last: map[string]schemas.U64{}, sids: map[int]string{1: "orderbook_delta"}}
	first := true
	for {
		msg := stuck.next()
		if first { // the first snapshot may have been read before the answer
			first = false
			m.last["1 1"] = msg.PrevSeq
		}
		m.take(&msg)
		if b := m.books[1]; text(b.Generation, b.Yes, b.No) == want {
			return
		}
	}
}

// TestRevoked checks that a revocation closes the key's connections with 4401 and is reported
// once to the account's other keys.
func TestRevoked(t *testing.T) {
	s := newTestLane(t)
	k := s.NewKey(1, core.ScopeRead)
	gone, stays := s.dial(k), s.dial(s.NewKey(1, core.ScopeRead))
	stays.ask("subscribe", `{"channels":["user"]}`)
	s.Submit(&core.RevokeKey{User: 1, Key: k.ID})
	if code := gone.waitClose(); code != 4401 {
		t.Errorf("closed with %d", code)
	}
	if e := into[schemas.KeyRevokedEvent](t, stays.until("user")); e.Event != "key_revoked" || e.APIKey != k.ID {
		t.Errorf("the event is %+v, want key_revoked of %s", e, k.ID)
	}
	if status, _ := s.sendHandshake(s.handshake(k)); status != 401 {
		t.Errorf("handshake with a revoked key: status %d, want 401", status)
	}
	s.Submit(&core.ResealKey{Key: k.ID, Sealed: []byte("anew")})
	s.Submit(&core.Deposit{User: 1, DepositID: "behind it", Amount: 1})
	if e := into[schemas.KeyRevokedEvent](t, stays.until("user")); e.Event == "key_revoked" {
		t.Error("resealing a revoked key sent another key_revoked")
	}
}

// TestPings checks that a connection that answers pings stays open and one that misses two
// pongs is closed. The test passes the time to pingAll.
func TestPings(t *testing.T) {
	s := newTestLane(t)
	k := s.NewKey(1, core.ScopeRead)
	alive, dead := s.dial(k), s.dial(k)
	for _, r := range []*testReader{alive, dead} { // after the answer the connection is registered
		r.ask("list_subscriptions", "{}")
	}
	now := time.Now()
	for range maxMissedPongs {
		now = now.Add(pingEvery)
		s.lane.pingAll(now)
		alive.ask("list_subscriptions", "{}") // reading sends the pong, which the lane receives before the next command
		alive.ask("list_subscriptions", "{}")
	}
	s.lane.pingAll(now.Add(pingEvery))
	if code := dead.waitClose(); code != 1011 {
		t.Errorf("closed with %d", code)
	}
	alive.ask("list_subscriptions", "{}")
}

// TestHeld checks that the lane writes nothing more to a client that answers pings, but has not yet
// read as far as the last one; that a held connection ends like any other; and that a client that
// reads on arrives at the venue's book.
func TestHeld(t *testing.T) {
	for name, end := range map[string]func(*modelReader, *testReader){
		"revoked": func(m *modelReader, r *testReader) {
			m.Submit(&core.RevokeKey{User: m.key.User, Key: m.key.ID})
			if code := r.waitClose(); code != 4401 {
				m.T.Errorf("closed with %d, want 4401", code)
			}
		},
		"gone": func(_ *modelReader, r *testReader) { _ = r.ws.CloseNow() },
		"reads on": func(m *modelReader, r *testReader) {
			for want := m.text(1); ; {
				msg := r.next()
				m.take(&msg)
				if b := m.books[1]; text(b.Generation, b.Yes, b.No) == want {
					_ = r.ws.CloseNow()
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestLane(t)
			m := &modelReader{
				testLane: s, key: s.NewKey(2, core.ScopeRead), history: &bookHistory{}, books: map[uint32]schemas.WSBook{}, last: map[string]schemas.U64{},
				sids: map[int]string{1: "orderbook_delta"},
			}
			r := s.dial(m.key)
			r.ask("subscribe", `{"channels":["orderbook_delta"],"market_ids":[1]}`)
			var c *conn
			s.lane.each(func(x *conn) { c = x })
			is := func(what func(*probe) bool) bool { c.mu.Lock(); defer c.mu.Unlock(); return what(&c.probe) }
			id := uint64(0)
			trade := func() {
				id++
				s.place(1, id, 1, "buy yes 1 @ "+strconv.Itoa(4000+int(id%10)*100))
				if id%100 == 0 {
					s.Submit(&core.CancelAll{User: 1})
				}
			}
			for !is(func(p *probe) bool { return p.answers }) {
				trade()
				msg := r.next()
				m.take(&msg)
			}
			for !is(func(p *probe) bool { return p.held }) {
				trade()
			}
			end(m, r)
			s.eventually(func() bool { n, _, _ := s.lane.Usage(); return n == 0 })
		})
	}
}

// TestLongSlowReader checks what a reader of 18 messages a second sees of a venue that sends it 100: no
// message of a book is older than 10 s when it is read, and the queue is conflated for its age.
func TestLongSlowReader(t *testing.T) {
	onlyLong(t)
	for name, client := range map[string]*http.Client{"small receive buffer": slowClient(), "default receive buffer": http.DefaultClient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestLane(t)
			r := s.dialWith(s.NewKey(1, core.ScopeRead), client)
			r.ask("subscribe", `{"channels":["orderbook_delta"]}`)
			ctx, stop := context.WithCancel(t.Context())
			var trading sync.WaitGroup
			trading.Go(func() {
				every := time.NewTicker(10 * time.Millisecond)
				defer every.Stop()
				for id := uint64(1); ctx.Err() == nil; id++ {
					if id%100 == 0 {
						s.Submit(&core.CancelAll{User: 2})
					}
					s.place(2, id, 3, "buy yes 1 @ "+strconv.Itoa(4000+int(id%10)*100))
					<-every.C
				}
			})
			oldest, pace := time.Duration(0), time.NewTicker(time.Second/18)
			for n := range 45 * 18 {
				m := r.next()
				var b struct {
					Ts int64 `json:"ts,string"`
				}
				if err := json.Unmarshal(m.Msg, &b); err != nil {
					t.Fatal(err)
				}
				if oldest = max(oldest, time.Duration(s.Now()-b.Ts)); n%90 == 0 {
					t.Logf("%d read, oldest %v", n, oldest)
				}
				<-pace.C
			}
			stop()
			trading.Wait()
			if n := s.lane.Stats.ConflatedAge.Load(); n == 0 || oldest > 10*time.Second {
				t.Errorf("a message was %v old when it was read, want at most 10 s; the queue was conflated %d times for its age", oldest, n)
			}
		})
	}
}
