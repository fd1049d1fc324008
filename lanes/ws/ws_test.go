package ws

import (
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestAllChannels checks that one connection can subscribe to all six channels and receives
// messages of each.
func TestAllChannels(t *testing.T) {
	s := newTestLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead))
	r.send(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","orderbook_snapshot","trades","oracle","rounds","user"]}}`)
	for range 6 {
		t.Log(into[schemas.WSSubscribed](t, r.until("subscribed")))
	}
	t.Logf("%s", r.until("user_snapshot").Msg)
	s.place(1, 1, 1, "buy yes 10 @ 4700")
	t.Logf("%s", r.until("orderbook_delta").Msg)
	s.place(2, 1, 1, "buy no 5 @ 5300")
	t.Logf("%s", r.until("trade").Msg)
	s.PostIndex(6_600_000_000_000)
	t.Logf("%s", r.until("oracle").Msg)
	s.Submit(&core.VoidMarket{Market: 1})
	t.Logf("%s", r.until("round").Msg)
	t.Logf("%s", r.until("orderbook_snapshot").Msg)
}
