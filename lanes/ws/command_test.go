package ws

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/schemas"
)

// TestCommandsAndErrors runs every command and every error that a command can return. A
// failed command changes nothing and leaves the connection open
// (docs/rules/events.md#commands).
func TestCommandsAndErrors(t *testing.T) {
	s := newTestLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead))
	for _, c := range []struct{ cmd, params, want string }{
		{"subscribe", `{"channels":["trades"],"market_ids":[1]}`, `{"channel":"trades","sid":1}`},
		{"subscribe", `{"channels":["trades"]}`, `"code":5,"name":"already_subscribed"`},
		{"subscribe", `{"channels":["ticker"]}`, `"code":4,"name":"unknown_channel"`},
		{"subscribe", `{"channels":["rounds"],"market_ids":[31]}`, `"code":7,"name":"unknown_market"`},
		{"subscribe", `{"channels":["rounds"],"market_ids":[65537]}`, `"code":7,"name":"unknown_market"`},
		{"subscribe", `{"channels":["rounds"],"market_ids":[4294967295]}`, `"code":7,"name":"unknown_market"`},
		{"subscribe", `{"channels":[]}`, `"code":2,"name":"bad_params"`},
		{"subscribe", `{"channels":["rounds"],"x":1}`, `"code":2,"name":"bad_params"`},
		{"unknown", `{}`, `"code":3,"name":"unknown_command"`},
		{"update_subscription", `{"sid":1,"action":"add_markets","market_ids":[2]}`, `{"sid":1,"market_ids":[1,2]}`},
		{"update_subscription", `{"sid":1,"action":"delete_markets","market_ids":[1]}`, `{"sid":1,"market_ids":[2]}`},
		{"update_subscription", `{"sid":1,"action":"get_snapshot"}`, `"code":10,"name":"unsupported_action"`},
		{"update_subscription", `{"sid":1,"action":"add_markets","market_ids":[65537]}`, `"code":7,"name":"unknown_market"`},
		{"update_subscription", `{"sid":9,"action":"add_markets","market_ids":[2]}`, `"code":6,"name":"unknown_sid"`},
		{"unsubscribe", `{"sids":[9]}`, `"code":6,"name":"unknown_sid"`},
		{"list_subscriptions", `{}`, `{"subscriptions":[{"channel":"trades","sid":1,"market_ids":[2]}]}`},
		{"unsubscribe", `{"sids":[1]}`, `{"sids":[1]}`},
		{"list_subscriptions", `{}`, `{"subscriptions":[]}`},
		{"subscribe", `{"channels":["orderbook_delta","orderbook_snapshot","trades","oracle","rounds","user"]}`, `{"channel":"orderbook_delta","sid":2}`},
		{"list_subscriptions", `{}`, `{"channel":"user","sid":7,`},
	} {
		if m := r.ask(c.cmd, c.params); !strings.Contains(string(m.Msg), c.want) {
			t.Errorf("%s %s: %s %s, want %s", c.cmd, c.params, m.Type, m.Msg, c.want)
		}
	}
	r.send(`{"id":1,"cmd":`)
	if m := r.until("error"); m.ID != 0 || !strings.Contains(string(m.Msg), `"code":1,"name":"malformed_json"`) {
		t.Errorf("%d %s", m.ID, m.Msg)
	}
}

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
		t.Errorf("%s, %v", raw, err)
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
