package ws

import (
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/schemas"
)

// TestCommandsOfARevokedKey checks that a command is rejected as soon as the revocation of its
// key is applied, even if the pump has not closed the connection yet
// (docs/rules/accounts.md#revocation).
func TestCommandsOfARevokedKey(t *testing.T) {
	s := newTestLane(t)
	k := s.NewKey(1, core.ScopeRead)
	r := s.dial(k)
	r.ask("list_subscriptions", `{}`) // after the answer the connection is registered
	s.lane.mu.Lock()                  // stops the pump
	s.Submit(&core.RevokeKey{User: 1, Key: k.ID})
	r.send(`{"id":7,"cmd":"nothing"}`)
	raw, err := r.raw()
	s.lane.mu.Unlock()
	if websocket.CloseStatus(err) != 4401 {
		t.Errorf("after the revocation: %s, %v, want a close with 4401", raw, err)
	}
}

// TestSnapshotsCarryTheSeqTheyAreAsOf checks that a requested snapshot carries the current
// seq, even if its book has not changed since an earlier one, and causes no later snapshot
// (docs/rules/events.md#messages).
func TestSnapshotsCarryTheSeqTheyAreAsOf(t *testing.T) {
	s := newTestLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead))
	at := func(channel string) (m message, seq uint64) {
		s.place(1, s.Engine.Seq()+1, 2, "buy yes 1 @ 4700")
		s.published()
		seq = s.Engine.Seq()
		if channel == "" {
			r.ask("update_subscription", `{"sid":1,"action":"get_snapshot"}`)
		} else {
			r.ask("subscribe", `{"channels":["`+channel+`"],"market_ids":[1]}`)
		}
		return r.until("orderbook_snapshot"), seq
	}
	last := schemas.U64(0)
	for _, channel := range []string{"orderbook_delta", "", "", "orderbook_snapshot"} {
		m, seq := at(channel)
		if m.Sid == 2 {
			last = 0 // another subscription has its own chain
		}
		if uint64(m.Seq) < seq || m.PrevSeq != last || into[schemas.WSBook](t, m).MarketID != 1 {
			t.Errorf("%s: seq %d, want at least %d; prev_seq %d, want %d", channel, m.Seq, seq, m.PrevSeq, last)
		}
		last = m.Seq
	}
	for range snapshotSlices {
		s.lane.sendDueSnapshots(time.Now().Add(time.Hour))
	}
	r.send(`{"id":99,"cmd":"list_subscriptions"}`)
	if m := r.next(); m.ID != 99 {
		t.Errorf("unexpected message for an unchanged book: %s %d", m.Type, m.Seq)
	}
}

// TestBooksCarryTheirTime checks that each message of a book has the stamp of its seq as ts: the
// first snapshots, deltas, snapshots at intervals, and requested ones of a book that has not
// changed since.
func TestBooksCarryTheirTime(t *testing.T) {
	s := newTestLane(t)
	applied, stamps := s.Engine.Follow(), map[schemas.U64]schemas.U64{}
	deposits := 0
	deposit := func() {
		deposits++
		s.Submit(&core.Deposit{User: 1, DepositID: strconv.Itoa(deposits), Amount: 1})
		s.published()
	}
	seen := map[string]int{}
	check := func(m message) {
		t.Helper()
		var got struct {
			Ts schemas.U64 `json:"ts"`
		}
		if err := json.Unmarshal(m.Msg, &got); err != nil {
			t.Fatal(err)
		}
		for stamps[m.Seq] == 0 {
			b, err := applied.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Applied {
				stamps[schemas.U64(b.Applied[i].Stamp.Seq)] = schemas.U64(b.Applied[i].Stamp.Ts)
			}
		}
		if got.Ts != stamps[m.Seq] {
			t.Errorf("%s of seq %d has the ts %d, want %d", m.Type, m.Seq, got.Ts, stamps[m.Seq])
		}
		seen[m.Type]++
	}
	r := s.dial(s.NewKey(1, core.ScopeRead))
	deposit()
	for _, channel := range []string{"orderbook_delta", "orderbook_snapshot"} {
		r.ask("subscribe", `{"channels":["`+channel+`"],"market_ids":[1]}`)
		check(r.until("orderbook_snapshot"))
	}
	for n := range 3 {
		s.place(1, uint64(n+1), 1, "buy yes 1 @ 4700")
		s.published()
		check(r.until("orderbook_delta"))
		for range snapshotSlices {
			s.lane.sendDueSnapshots(time.Now().Add(time.Hour))
		}
		check(r.until("orderbook_snapshot"))
		deposit()
		for _, sid := range []string{"1", "2"} {
			r.ask("update_subscription", `{"sid":`+sid+`,"action":"get_snapshot"}`)
			check(r.until("orderbook_snapshot"))
		}
	}
	if seen["orderbook_delta"] != 3 || seen["orderbook_snapshot"] != 11 {
		t.Errorf("the messages are %v", seen)
	}
}
