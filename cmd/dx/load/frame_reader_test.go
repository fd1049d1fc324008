package load

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// eventLane returns a venue whose event lane confirms every subscription to the channels of
// want and then runs the n-th script on the n-th connection.
func eventLane(t *testing.T, want string, scripts ...func(*websocket.Conn)) *Venue {
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/ws" {
			_, _ = w.Write([]byte("{}"))
			return
		}
		i := int(n.Add(1)) - 1
		if i >= len(scripts) {
			http.Error(w, "enough", http.StatusTooManyRequests)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		_, text, err := c.Read(r.Context())
		if err != nil || string(text) != `{"id":1,"cmd":"subscribe","params":{"channels":[`+want+`]}}` {
			t.Errorf("the subscription is %s, %v, want the channels %s", text, err, want)
		}
		for sid, name := range strings.Split(want, ",") {
			say(t, c, fmt.Sprintf(`{"id":1,"type":"subscribed","msg":{"channel":%s,"sid":%d}}`, name, sid+1))
		}
		scripts[i](c)
	}))
	t.Cleanup(s.Close)
	return &Venue{api: s.URL}
}

func say(t *testing.T, c *websocket.Conn, text string) {
	if err := c.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		t.Error(err)
	}
}

// frame returns a frame as the venue writes it.
func frame(typ string, sid, seq, prev int, msg string) string {
	return fmt.Sprintf(`{"type":"%s","sid":%d,"seq":"%d","prev_seq":"%d","msg":%s}`, typ, sid, seq, prev, msg)
}

// A reader counts frames and gaps, answers pings, and reconnects when its connection is
// closed or breaks.
func TestFrameReader(t *testing.T) {
	there := make(chan struct{})
	pinged := make(chan error, 1)
	on := eventLane(t, `"orderbook_delta","trades","oracle","user"`, func(c *websocket.Conn) {
		long := `{"market_id":3,"yes":[` + strings.Repeat(`[1,1],`, 20_000) + `[1,1]]}` // a length of 64 bits
		for _, text := range []string{
			frame("orderbook_snapshot", 1, 10, 0, `{"market_id":3,"generation":1}`), frame("orderbook_snapshot", 1, 10, 0, long),
			frame("orderbook_delta", 1, 12, 10, `{"market_id":3,"generation":1}`), frame("orderbook_delta", 1, 13, 0, `{"market_id":4,"generation":1}`),
			frame("orderbook_delta", 1, 17, 15, `{"market_id":3,"generation":1}`), // 15 is missing
			frame("trade", 2, 13, 0, `{"market_id":4}`), frame("trade", 2, 13, 13, `{"market_id":4}`), frame("trade", 2, 17, 13, `{"market_id":3}`),
			frame("oracle", 3, 11, 0, `{"feed":0,"price":"1"}`), frame("oracle", 3, 20, 19, `{"feed":0,"price":"1"}`),
			frame("user_snapshot", 4, 10, 0, `{"as_of_seq":"10"}`), frame("user", 4, 13, 10, `{"event":"order"}`),
		} {
			say(t, c, text)
		}
		go func() { _, _, _ = c.Read(context.Background()) }() // Ping returns only while somebody reads
		pinged <- c.Ping(t.Context())
		_ = c.Close(4408, "slow consumer") // the reader answers by closing the connection
	}, func(c *websocket.Conn) {
		say(t, c, frame("orderbook_delta", 1, 30, 0, `{"market_id":3,"generation":1}`))
		_ = c.CloseNow()
	}, func(c *websocket.Conn) {
		close(there)
		_, _, _ = c.Read(context.Background()) // until the reader closes
	})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	x := newFrameReader(on, newTrader("k", nil), true)
	if err := x.open(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- x.run(ctx, time.Now()) }()
	select {
	case <-there:
	case err := <-ended:
		t.Fatal(err)
	}
	end()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := <-pinged; err != nil {
		t.Error(err)
	}
	if want := map[int]int{4408: 1, 1006: 1}; !maps.Equal(x.closes, want) {
		t.Errorf("closes %v", x.closes)
	}
	for typ, want := range map[string]struct {
		count, gaps int64
		timed       []uint64
	}{
		"orderbook_snapshot": {2, 1, nil}, // one snapshot does not follow the other
		"orderbook_delta":    {4, 1, []uint64{12, 13, 17, 30}},
		"trade":              {3, 0, []uint64{13, 17}},
		"oracle":             {2, 1, []uint64{11, 20}},
		"user_snapshot":      {1, 0, nil},
		"user":               {1, 0, []uint64{13}},
	} {
		got := x.rows[typ]
		if got == nil {
			t.Errorf("no %s", typ)
			continue
		}
		var timed []uint64
		for _, m := range got.arrivals.all {
			timed = append(timed, m.seq)
		}
		if got.count != want.count || got.gaps != want.gaps || !slices.Equal(timed, want.timed) {
			t.Errorf("%s: %d, %d gaps, timed %v", typ, got.count, got.gaps, timed)
		}
		delete(x.rows, typ)
	}
	if len(x.rows) > 0 {
		t.Errorf("frames of types that were not sent: %v", x.rows)
	}
}

// An unexpected message, or a rejected connection, ends the run.
func TestFrameReaderRejected(t *testing.T) {
	const channels = `"orderbook_delta","trades","oracle"`
	for _, c := range []struct {
		name string
		says func(*websocket.Conn)
		want string
	}{
		{"an error", func(c *websocket.Conn) {
			say(t, c, `{"id":1,"type":"error","msg":{"code":9,"name":"rate_limited"}}`)
		}, "rate_limited"},
		{"another message", func(c *websocket.Conn) { say(t, c, `{"type":"trade","seq":"1"}`) }, "unexpected message to a reader"},
		{"bytes", func(c *websocket.Conn) { _ = c.Write(context.Background(), websocket.MessageBinary, []byte("{}")) }, "opcode 0x82"},
		{"no more", func(c *websocket.Conn) { _ = c.Close(1012, "restarting") }, "rejected a reader: 429 enough"},
	} {
		x := newFrameReader(eventLane(t, channels, c.says), newTrader("k", nil), false)
		err := x.open(t.Context())
		if err == nil {
			err = x.run(t.Context(), time.Now())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := newFrameReader(eventLane(t, channels), newTrader("k", nil), false).open(t.Context()); err == nil || !strings.Contains(err.Error(), "429") {
		t.Error(err)
	}
}

func TestFrameHead(t *testing.T) {
	for text, want := range map[string]string{
		frame("trade", 2, 184, 180, `{"market_id":3}`):                                                       "trade {2 0} 184 180",
		frame("orderbook_delta", 1, 184, 0, `{"market_id":31,"generation":2}`):                               "orderbook_delta {1 31} 184 0",
		`{"type":"user","sid":64,"seq":"18446744073709551615","prev_seq":"18446744073709551614","msg":{"eve`: "user {64 0} 18446744073709551615 18446744073709551614",
		frame("orderbook_delta", 1, 184, 0, `{"generation":2}`):                                              "",
		frame("orderbook_delta", 1, 184, 0, `{"market_id":"3"}`):                                             "",
		`{"type":"trade","sid":,"seq":"1","prev_seq":"0","msg":{}}`:                                          "",
		`{"type":"trade","sid":1,"seq":"","prev_seq":"0","msg":{}}`:                                          "",
		`{"type":"trade","sid":1,"seq":"1","msg":{}}`:                                                        "",
		`{"id":1,"type":"subscribed","msg":{"channel":"trades","sid":1}}`:                                    "",
		`{"type":"error","msg":{"code":1}}`:                                                                  "",
		"":                                                                                                   "",
	} {
		f, ok := parseFrameHeader([]byte(text))
		got := fmt.Sprintf("%s %v %d %d", f.typ, f.sequence, f.seq, f.prev)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("the header of %s is %q, want %q", text, got, want)
		}
	}
}
