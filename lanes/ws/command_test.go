package ws

import (
	"testing"
	"time"

	"github.com/coder/websocket"

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
