package ws

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// FuzzCommand checks that every message is answered, that the answers are JSON, and that an
// error has a wscode.
func FuzzCommand(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","user"],"market_ids":[1,2],"since_seq":"0"}}`,
		`{"id":2,"cmd":"unsubscribe","params":{"sids":[1]}}`, `{"id":3,"cmd":"list_subscriptions"}`, `{`, `[]`, `{"id":-1}`,
		`{"id":4,"cmd":"update_subscription","params":{"sid":1,"action":"get_snapshot"}}`,
		`{"id":4,"cmd":"update_subscription","params":{"sid":1,"action":"add_markets","market_ids":[3]}}`,
	} {
		f.Add([]byte(seed))
	}
	h := lanetest.New(f)
	l := Mount(h.Routes, h.Gate)
	f.Cleanup(func() { _ = l.Close(context.Background()) })
	var n atomic.Int64
	f.Fuzz(func(t *testing.T, text []byte) {
		k := &core.Key{ID: strconv.FormatInt(n.Add(1), 10), User: 1, Scopes: core.ScopeRead} // a new key has a full bucket
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := &conn{lane: l, call: &gate.Call{Key: k}, net: ours, flushed: make(chan struct{}), conflateAt: l.limits.conflateBytes, scheduled: true} // without a writer, the answers stay in the queue
		c.handleCommand([]byte(`{"id":7,"cmd":"subscribe","params":{"channels":["trades"],"market_ids":[1]}}`))
		from := len(c.queue)
		c.handleCommand(text)
		if len(c.queue) == from {
			t.Fatal("no answer")
		}
		for _, x := range c.queue[from:] {
			var m message
			if err := json.Unmarshal(payloadOf(&x), &m); err != nil {
				t.Fatalf("the answer %s is not a message: %v", payloadOf(&x), err)
			}
			if m.Type == "error" && into[schemas.WSError](t, m).Code == 0 {
				t.Fatalf("an error without a code: %s", m.Msg)
			}
		}
		l.mu.Lock()
		for _, s := range c.subs {
			l.remove(s)
		}
		l.mu.Unlock()
	})
}

// payloadOf returns the text of a queued frame.
func payloadOf(x *item) []byte {
	b := x.append(nil)
	switch b[1] {
	case 126:
		return b[4:]
	case 127:
		return b[10:]
	default:
		return b[2:]
	}
}
