package ws

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/schemas"
)

// Every command, and every error of the page that a command can give; one that
// fails changes nothing and leaves the connection open (contract ws, Commands).
func TestCommandsAndErrors(t *testing.T) {
	s := newStream(t)
	r := s.dial(s.Key(1, core.ScopeRead))
	for _, c := range []struct{ cmd, params, want string }{
		{"subscribe", `{"channels":["trades"],"market_ids":[1]}`, `{"channel":"trades","sid":1}`},
		{"subscribe", `{"channels":["trades"]}`, `"code":5,"name":"already_subscribed"`},
		{"subscribe", `{"channels":["ticker"]}`, `"code":4,"name":"unknown_channel"`},
		{"subscribe", `{"channels":["rounds"],"market_ids":[31]}`, `"code":7,"name":"unknown_market"`},
		{"subscribe", `{"channels":[]}`, `"code":2,"name":"bad_params"`},
		{"subscribe", `{"channels":["rounds"],"x":1}`, `"code":2,"name":"bad_params"`},
		{"shout", `{}`, `"code":3,"name":"unknown_command"`},
		{"update_subscription", `{"sid":1,"action":"add_markets","market_ids":[2]}`, `{"sid":1,"market_ids":[1,2]}`},
		{"update_subscription", `{"sid":1,"action":"delete_markets","market_ids":[1]}`, `{"sid":1,"market_ids":[2]}`},
		{"update_subscription", `{"sid":1,"action":"get_snapshot"}`, `"code":10,"name":"unsupported_action"`},
		{"update_subscription", `{"sid":9,"action":"add_markets","market_ids":[2]}`, `"code":6,"name":"unknown_sid"`},
		{"unsubscribe", `{"sids":[9]}`, `"code":6,"name":"unknown_sid"`},
		{"list_subscriptions", `{}`, `{"subscriptions":[{"channel":"trades","sid":1,"market_ids":[2]}]}`},
		{"unsubscribe", `{"sids":[1]}`, `{"sids":[1]}`},
		{"list_subscriptions", `{}`, `{"subscriptions":[]}`},
	} {
		if m := r.ask(c.cmd, c.params); !strings.Contains(string(m.Msg), c.want) {
			t.Errorf("%s %s: %s %s, want %s", c.cmd, c.params, m.Type, m.Msg, c.want)
		}
	}
	r.say(`{"id":1,"cmd":`)
	if m := r.until("error"); m.ID != 0 || !strings.Contains(string(m.Msg), `"code":1,"name":"malformed_json"`) {
		t.Errorf("%d %s", m.ID, m.Msg)
	}
}

// Whoever revoked a key and was answered knows that its connections are told nothing
// more: a command finds it out by itself, though its connection is still to be closed.
func TestCommandsOfARevokedKey(t *testing.T) {
	s := newStream(t)
	k := s.Key(1, core.ScopeRead)
	r := s.dial(k)
	r.ask("list_subscriptions", `{}`) // who is answered has entered
	s.lane.mu.Lock()                  // the closing of connections waits
	s.Do(&core.RevokeKey{User: 1, Key: k.ID})
	r.say(`{"id":7,"cmd":"nothing"}`)
	raw, err := r.raw()
	s.lane.mu.Unlock()
	if websocket.CloseStatus(err) != 4401 {
		t.Errorf("%s, %v", raw, err)
	}
}

// A revoked key's connections close with 4401, another's stay.
func TestRevocationCloses(t *testing.T) {
	s := newStream(t)
	k, other := s.Key(1, core.ScopeRead), s.Key(1, core.ScopeRead)
	r, stays := s.dial(k), s.dial(other)
	s.Do(&core.RevokeKey{User: 1, Key: k.ID})
	if code := r.closed(); code != 4401 {
		t.Errorf("closed with %d", code)
	}
	if m := stays.ask("list_subscriptions", `{}`); m.Type != "ok" {
		t.Errorf("the other key: %s %s", m.Type, m.Msg)
	}
}

// A revocation holds for open connections before it is answered: what comes behind it
// gets no answer but the close, even where the stream is not told of it yet (contract
// operator, Accounts service).
func TestRevokedKeyGetsNoAnswer(t *testing.T) {
	s := newStream(t)
	k := s.Key(1, core.ScopeRead)
	r := s.dial(k)
	r.ask("list_subscriptions", `{}`)
	s.lane.mu.Lock() // the pump waits
	defer s.lane.mu.Unlock()
	s.Do(&core.RevokeKey{User: 1, Key: k.ID})
	r.say(`{"id":9,"cmd":"shout"}`)
	if _, raw, err := r.ws.Read(t.Context()); websocket.CloseStatus(err) != 4401 {
		t.Errorf("%s %v", raw, err)
	}
}

// A snapshot that was asked for carries the seq the stream is at, though its book has
// not changed for long (contract ws, Data); it is no reason for another.
func TestSnapshotsCarryTheSeqTheyAreAsOf(t *testing.T) {
	s := newStream(t)
	r := s.dial(s.Key(1, core.ScopeRead))
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
			last = 0 // a chain of its own
		}
		if uint64(m.Seq) < seq || m.PrevSeq != last || into[schemas.WSBook](t, m).MarketID != 1 {
			t.Errorf("%s: seq %d, prev_seq %d at %d, behind %d", channel, m.Seq, m.PrevSeq, seq, last)
		}
		last = m.Seq
	}
	for range phases {
		s.lane.snapshots(time.Now().Add(time.Hour))
	}
	r.say(`{"id":99,"cmd":"list_subscriptions"}`)
	if m := r.next(); m.ID != 99 {
		t.Errorf("a book that did not change: %s %d", m.Type, m.Seq)
	}
}
