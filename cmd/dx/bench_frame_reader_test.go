package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/schemas"
)

// eventLane answers every reader's subscription, and then has the n-th connection say
// what its script says. It gives the venue to dial.
func eventLane(t *testing.T, want string, scripts ...func(*websocket.Conn)) *target {
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
			t.Errorf("%s, %v", text, err)
		}
		for sid, name := range strings.Split(want, ",") {
			say(t, c, fmt.Sprintf(`{"id":1,"type":"subscribed","msg":{"channel":%s,"sid":%d}}`, name, sid+1))
		}
		scripts[i](c)
	}))
	t.Cleanup(s.Close)
	return &target{api: s.URL}
}

func say(t *testing.T, c *websocket.Conn, text string) {
	if err := c.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		t.Error(err)
	}
}

// frame is one of the stream, as the venue writes it.
func frame(typ string, sid, seq, prev int, msg string) string {
	return fmt.Sprintf(`{"type":"%s","sid":%d,"seq":"%d","prev_seq":"%d","msg":%s}`, typ, sid, seq, prev, msg)
}

// A reader counts what comes and what is missing, answers pings, and comes back when
// its connection is closed or breaks.
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
		go func() { _, _, _ = c.Read(context.Background()) }() // or no pong is seen
		pinged <- c.Ping(t.Context())
		_ = c.Close(4408, "slow consumer") // there is no answer but the end
	}, func(c *websocket.Conn) {
		say(t, c, frame("orderbook_delta", 1, 30, 0, `{"market_id":3,"generation":1}`))
		_ = c.CloseNow()
	}, func(c *websocket.Conn) {
		close(there)
		_, _, _ = c.Read(context.Background()) // until the reader goes
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
		t.Errorf("%v", x.rows)
	}
}

// What a reader does not understand, or is not given, ends the run.
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
		{"another message", func(c *websocket.Conn) { say(t, c, `{"type":"trade","seq":"1"}`) }, "a reader was told"},
		{"bytes", func(c *websocket.Conn) { _ = c.Write(context.Background(), websocket.MessageBinary, []byte("{}")) }, "opcode 0x82"},
		{"no more", func(c *websocket.Conn) { _ = c.Close(1012, "restarting") }, "a reader was refused: 429 enough"},
	} {
		x := newFrameReader(eventLane(t, channels, c.says), newTrader("k", nil), false)
		err := x.open(t.Context())
		if err == nil {
			err = x.run(t.Context(), time.Now())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
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
		got := fmt.Sprintf("%s %v %d %d", f.typ, f.chain, f.seq, f.prev)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// Two samples of different size have the seqs of the smaller one in common.
func TestTimingSample(t *testing.T) {
	var small, large timingSample
	for seq := range uint64(5 * maxSampleSize) {
		large.add(timing{seq: seq})
		if seq%7 == 0 {
			small.add(timing{seq: seq})
		}
	}
	if small.mask != 0 || large.mask != 7 || len(large.all) > maxSampleSize || len(large.all) < maxSampleSize/2 {
		t.Errorf("%d by %d, %d by %d", len(small.all), small.mask, len(large.all), large.mask)
	}
	for _, m := range large.all {
		if m.seq&large.mask != 0 {
			t.Fatalf("%d is in", m.seq)
		}
	}
	if common := len(large.all) / 7; common < maxSampleSize/2/8 {
		t.Errorf("%d in common", common)
	}
}

// A frame counts from when its command was sent and from when that was answered; what
// others caused is not timed.
func TestSummarizeReaders(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	commands := []timing{{7, ms(10), ms(14)}, {9, ms(30), ms(31)}, {9, ms(20), ms(24)}, {7, ms(14), ms(15)}} // with two exact repeats
	taps := []*frameReader{
		{rows: map[string]*frameCounts{"trade": {count: 3, gaps: 1, arrivals: timingSample{all: []timing{{seq: 7, received: ms(13)}, {seq: 8, received: ms(15)}}}}}, closes: map[int]int{4408: 1}},
		{rows: map[string]*frameCounts{"trade": {count: 2, arrivals: timingSample{all: []timing{{seq: 9, received: ms(29)}}}}, "oracle": {count: 4, gaps: 2}}, closes: map[int]int{4408: 1, 1006: 2}},
	}
	r, err := summarizeReaders(taps, commands, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if r.Conns != 2 || r.Count != 9 || r.PerSecond != 4.5 || r.Gaps != 3 || !maps.Equal(r.Closes, map[int]int{4408: 2, 1006: 2}) || len(r.Frames) != 2 {
		t.Errorf("%+v", r)
	}
	near := func(got, want int64) bool { return max(got-want, want-got) <= 1+max(want, -want)/1000 }
	oracle, trade := r.Frames[0], r.Frames[1]
	if oracle.Type != "oracle" || oracle.Count != 4 || oracle.PerSecond != 2 || oracle.Gaps != 2 || oracle.Timed != 0 {
		t.Errorf("%+v", oracle)
	}
	if trade.Count != 5 || trade.Gaps != 1 || trade.Timed != 2 || !near(trade.P50, 3000) || !near(trade.P99, 9000) || !near(trade.Max, 9000) || !near(trade.AnswerP50, -1000) || !near(trade.AnswerP99, 5000) {
		t.Errorf("%+v", trade)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "readers: 2; closes by code: 1006 2, 4408 2\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"closes":{"1006":2,"4408":2}`) || !strings.Contains(string(b), `"after_answer_p50_us":-1000`) {
		t.Errorf("%s, %v", b, err)
	}
	late := []*frameReader{{rows: map[string]*frameCounts{"trade": {arrivals: timingSample{all: []timing{{seq: 7, received: time.Hour}}}}}}}
	if _, err := summarizeReaders(late, commands, time.Second); err == nil {
		t.Error("an hour was counted as a minute")
	}
}

// The board follows the rounds: all nine series, or the one market that a mix is on
// until it trades no more.
func TestBoard(t *testing.T) {
	var mu sync.Mutex // of what the venue says
	var now []schemas.Market
	busy := false
	asked := make(chan struct{}, 100)
	says := func(list []schemas.Market) {
		mu.Lock()
		defer mu.Unlock()
		now = list
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var answer any = schemas.MarketList{Markets: now}
		var slot uint32
		if _, err := fmt.Sscanf(r.URL.Path, "/v1/rounds/%d", &slot); err == nil {
			m := now[slices.IndexFunc(now, func(m schemas.Market) bool { return m.MarketID == slot })]
			answer = schemas.RoundRead{Round: schemas.Round{MarketID: slot, RoundNumber: m.RoundNumber, Category: uint16(1 + (m.RoundNumber-1)%9)}}
		} else if r.URL.Path == "/v1/markets" {
			asked <- struct{}{}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		if busy {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(text) // what does not arrive is missed by the test
	}))
	defer s.Close()
	market := func(slot uint32, round, closes schemas.U64) schemas.Market {
		return schemas.Market{MarketID: slot, RoundNumber: round, CloseTs: closes}
	}
	boardOf := func(one bool) (*marketBoard, error) {
		w, err := (&target{api: s.URL}).dial(newTrader("k", nil))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.conn.Close() })
		return newMarketBoard(w, one)
	}
	if _, err := boardOf(false); !errors.Is(err, errNoMarket) {
		t.Error(err)
	}
	var nine []schemas.Market
	for i := range uint32(9) {
		nine = append(nine, market(i+1, schemas.U64(i+1), schemas.U64(100-i)))
	}
	says(nine)
	all, err := boardOf(false)
	if err != nil {
		t.Fatal(err)
	}
	one, err := boardOf(true)
	if err != nil {
		t.Fatal(err)
	}
	at := func(step string, rounds, series int, want ...uint32) {
		t.Helper()
		for _, b := range []*marketBoard{all, one} {
			if err := b.refresh(); err != nil {
				t.Fatal(step, err)
			}
		}
		if got := *all.trading.Load(); !slices.Equal(got, want[1:]) || len(all.rounds) != rounds || len(all.series) != series {
			t.Errorf("%s: %v, %d rounds of %d series", step, got, len(all.rounds), len(all.series))
		}
		if got := *one.trading.Load(); !slices.Equal(got, want[:1]) {
			t.Errorf("%s: on %v", step, got)
		}
	}
	at("nine", 9, 9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	says(append([]schemas.Market{market(1, 1, 20)}, nine[3:]...)) // two have ended; of the others the first now closes last, and stays
	at("two less", 9, 9, 1, 4, 5, 6, 7, 8, 9, 1)
	says(append(slices.Clone(nine[3:]), market(20, 10, 200), market(21, 11, 199)))
	at("new rounds", 11, 9, 20, 20, 21, 4, 5, 6, 7, 8, 9)
	says(nil)
	at("between two rounds", 11, 9, 20, 20, 21, 4, 5, 6, 7, 8, 9)
	mu.Lock()
	busy = true
	mu.Unlock()
	var no *statusError
	if err := all.refresh(); !errors.As(err, &no) {
		t.Error(err)
	}
	for len(asked) > 0 {
		<-asked
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- all.run(ctx) }()
	all.stale.Store(true) // it is told at once that a market went, has no tokens, and goes on
	<-asked
	mu.Lock()
	busy = false
	mu.Unlock()
	says(nine)
	for range 2 { // of the first the answer is in before the second is asked
		all.stale.Store(true)
		<-asked
	}
	end()
	if err := <-ended; err != nil || len(*all.trading.Load()) != 9 {
		t.Errorf("%v, %v", *all.trading.Load(), err)
	}
}
