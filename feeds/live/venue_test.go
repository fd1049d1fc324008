package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
	"duplex/feeds/adapter"
)

// now is the time of these tests.
var now = time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)

// venueScript formats the messages of a venue. at is the venue's stamp, no its sequence
// number; a venue without one of them ignores it.
type venueScript struct {
	codec     func(url string) adapter.Codec
	subscribe string
	chatter   []string // acknowledgement and heartbeats
	price     func(p string, at time.Time, no int) string
	other     string // a valid price of another product
	refusal   string
	reconnect string // the request of a new connection
	timed     bool   // the venue sends stamps
	counted   bool   // the venue sends sequence numbers
}

var venueScripts = map[string]venueScript{
	"coinbase": {
		codec:     coinbase,
		subscribe: `{"type":"subscribe","product_ids":["BTC-USD"],"channels":["ticker","heartbeat"]}`,
		chatter:   []string{`{"type":"subscriptions","channels":[]}`, `{"type":"heartbeat","sequence":90,"product_id":"BTC-USD","time":"2020-02-01T01:40:17.088487Z"}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"type":"ticker","sequence":%d,"product_id":"BTC-USD","price":%q,"best_bid":%q,"best_ask":%q,"time":%q}`, no, p, p, p, at.Format(time.RFC3339Nano))
		},
		other:   `{"type":"ticker","sequence":99,"product_id":"ETH-USD","price":"180"}`,
		refusal: `{"type":"error","message":"Failed to subscribe","reason":"no"}`,
		timed:   true, counted: true,
	},
	"kraken": {
		codec:     kraken,
		subscribe: `{"method":"subscribe","params":{"channel":"ticker","symbol":["BTC/USD"]},"req_id":1}`,
		chatter:   []string{`{"channel":"status","type":"update","data":[{"system":"online"}]}`, `{"method":"subscribe","result":{},"success":true,"req_id":1}`, `{"channel":"heartbeat"}`},
		price: func(p string, at time.Time, _ int) string {
			return fmt.Sprintf(`{"channel":"ticker","type":"update","data":[{"symbol":"BTC/USD","bid":%s,"ask":%s,"last":1,"timestamp":%q}]}`, p, p, at.Format(time.RFC3339Nano))
		},
		other:   `{"channel":"ticker","type":"update","data":[{"symbol":"ETH/USD","bid":180,"ask":181}]}`,
		refusal: `{"error":"Currency pair not supported","method":"subscribe","success":false}`,
		timed:   true,
	},
	"bitstamp": {
		codec:     bitstamp,
		subscribe: `{"event":"bts:subscribe","data":{"channel":"live_trades_btcusd"}}`,
		chatter:   []string{`{"event":"bts:subscription_succeeded","channel":"live_trades_btcusd","data":{}}`, `{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"event":"trade","channel":"live_trades_btcusd","data":{"id":%d,"price":1,"price_str":%q,"microtimestamp":"%d"}}`, no, p, at.UnixMicro())
		},
		other:     `{"event":"trade","channel":"live_trades_ethusd","data":{"id":99,"price_str":"180"}}`,
		refusal:   `{"event":"bts:error","channel":"","data":{"code":null,"message":"Bad subscription string."}}`,
		reconnect: `{"event":"bts:request_reconnect","channel":"","data":""}`,
		timed:     true, counted: true,
	},
	"gemini": {
		codec:     gemini,
		subscribe: `{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}`,
		chatter:   []string{`{"type":"l2_updates","symbol":"BTCUSD","changes":[` + strings.Repeat(`["buy","1","1"],`, 20_000) + `["sell","2","1"]],"trades":[{"type":"trade","symbol":"BTCUSD","price":"7"}]}`, `{"type":"heartbeat"}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"type":"trade","symbol":"BTCUSD","event_id":%d,"timestamp":%d,"price":%q}`, no, at.UnixMilli(), p)
		},
		other:   `{"type":"trade","symbol":"ETHUSD","event_id":99,"price":"180"}`,
		refusal: `{"result":"error","reason":"InvalidSymbol"}`,
		timed:   true, counted: true,
	},
	"binance": {
		codec:     func(url string) adapter.Codec { return binance("binance", core.BTC, url, "BTCUSDT") },
		subscribe: `{"method":"SUBSCRIBE","params":["btcusdt@bookTicker"],"id":1}`,
		chatter:   []string{`{"result":null,"id":1}`},
		price: func(p string, _ time.Time, no int) string {
			return fmt.Sprintf(`{"u":%d,"s":"BTCUSDT","b":%q,"B":"1","a":%q,"A":"2"}`, no, p, p)
		},
		other:     `{"u":99,"s":"ETHUSDT","b":"180","a":"181"}`,
		refusal:   `{"error":{"code":2,"msg":"no"},"id":1}`,
		reconnect: `{"e":"serverShutdown","E":1770123456789}`,
		counted:   true,
	},
	"binance-futures": {
		codec:     func(url string) adapter.Codec { return binance("binance-futures", core.Gold, url, "XAUUSDT") },
		subscribe: `{"method":"SUBSCRIBE","params":["xauusdt@bookTicker"],"id":1}`,
		chatter:   []string{`{"result":null,"id":1}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"e":"bookTicker","u":%d,"E":%d,"s":"XAUUSDT","b":%q,"B":"1","a":%q,"A":"2"}`, no, at.UnixMilli(), p, p)
		},
		other:     `{"e":"bookTicker","u":99,"s":"CLUSDT","b":"78","a":"78"}`,
		refusal:   `{"code":3,"msg":"no"}`,
		reconnect: `{"e":"serverShutdown","E":1770123456789}`,
		timed:     true, counted: true,
	},
	"pyth": {
		codec: func(url string) adapter.Codec {
			return pyth(core.Gold, strings.Replace(url, "ws", "http", 1), "sesame", pythGold)
		},
		chatter: []string{""}, // an event without data
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"parsed":[{"id":%q,"price":{"price":%q,"conf":"1","expo":0,"publish_time":%d},"metadata":{"slot":%d}}]}`, pythGold, p, at.Unix(), no)
		},
		other: `{"parsed":[{"id":"e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43","price":{"price":"180","expo":0,"publish_time":1}}]}`,
		timed: true, counted: true,
	},
}

// eachVenue runs a test for every venue and checks that it leaves no goroutine.
func eachVenue(t *testing.T, test func(t *testing.T, v venueScript)) {
	for name, v := range venueScripts {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			test(t, v)
			for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d goroutines left", runtime.NumGoroutine()-before)
				}
			}
		})
	}
}

// scriptedVenue is the server of a venue. Each connection receives the messages of its
// script and is then cut; the last script also serves all further connections.
type scriptedVenue struct {
	*httptest.Server
	t *testing.T
	v venueScript

	mu      sync.Mutex
	scripts [][]string
	hellos  int
}

func play(t *testing.T, v venueScript, scripts ...[]string) *scriptedVenue {
	s := &scriptedVenue{t: t, v: v, scripts: scripts}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *scriptedVenue) serve(w http.ResponseWriter, r *http.Request) {
	if s.v.subscribe == "" {
		s.events(w, r)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.CloseNow()
	if _, hello, err := c.Read(r.Context()); err != nil || string(hello) != s.v.subscribe {
		s.t.Errorf("subscribed with %s, %v", hello, err)
	}
	for _, f := range s.script() {
		if c.Write(r.Context(), websocket.MessageText, []byte(f)) != nil {
			return // the client has disconnected
		}
	}
}

func (s *scriptedVenue) events(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer sesame" || r.URL.Path != "/v2/updates/price/stream" || r.URL.Query().Get("ids[]") != pythGold || r.URL.Query().Get("parsed") != "true" {
		s.t.Errorf("the client asks for %s with %v, want the stream of gold prices with its key", r.URL, r.Header)
	}
	for _, f := range s.script() {
		if _, err := fmt.Fprintf(w, "data:%s\n\n", f); err != nil {
			return
		}
	}
}

func (s *scriptedVenue) script() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	script := s.scripts[min(s.hellos, len(s.scripts)-1)]
	s.hellos++
	return script
}

func (s *scriptedVenue) line() *adapter.Adapter {
	c := s.v.codec("ws" + strings.TrimPrefix(s.URL, "http"))
	c.Heartbeat = "" // the script does not read it, and a close with unread data resets the connection
	return adapter.New(c, adapter.Options{Now: func() time.Time { return now }})
}

// countsOf runs one connection and returns its prices in whole dollars and the drops by
// reason.
func countsOf(t *testing.T, v venueScript, frames ...string) (prices []core.Price, drops string, err error) {
	t.Helper()
	s := play(t, v, frames)
	defer s.Close()
	l := s.line()
	err = l.Run(t.Context(), func(p core.Price, at time.Time) {
		if !at.Equal(now) || p%1e8 != 0 {
			t.Errorf("%s at %s", dollars(p), at)
		}
		prices = append(prices, p/1e8)
	})
	var all []string
	for why, n := range l.Counts().Values {
		if feeds.DropReason(why) != feeds.NotDropped && n > 0 {
			all = append(all, fmt.Sprintf("%s %d", feeds.DropReason(why), n))
		}
	}
	if n := l.Counts().Values[feeds.NotDropped]; int(n) != len(prices) {
		t.Errorf("%d accepted values, %d prices", n, len(prices))
	}
	return prices, strings.Join(all, ", "), err
}

func TestSnapshotUpdatesHeartbeatsCut(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		script := slices.Concat(v.chatter, []string{v.price("65000", now, 1)}, v.chatter, []string{v.price("65001", now.Add(time.Second), 2), v.other, v.price("64999", now.Add(2*time.Second), 3)})
		prices, drops, err := countsOf(t, v, script...)
		if fmt.Sprint(prices) != "[65000 65001 64999]" || drops != "wrong_product 1" || !errors.Is(err, io.EOF) {
			t.Errorf("prices %v, drops %s, %v, want 65000, 65001 and 64999, one wrong product and the end", prices, drops, err)
		}
	})
}

func TestRejectedSubscription(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		if v.refusal == "" {
			t.Skip("this venue rejects by HTTP status; TestEventStreamEnds of feeds/adapter covers that")
		}
		prices, drops, err := countsOf(t, v, v.chatter[0], v.refusal, v.price("65000", now, 1))
		if len(prices) > 0 || drops != "" || !errors.Is(err, adapter.ErrRejected) {
			t.Errorf("after a rejected subscription: prices %v, drops %s, %v, want ErrRejected alone", prices, drops, err)
		}
	})
}

func TestReconnectRequest(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		if v.reconnect == "" {
			t.Skip("this venue has no such message")
		}
		prices, _, err := countsOf(t, v, v.price("65000", now, 1), v.reconnect, v.price("65001", now.Add(time.Second), 2))
		if fmt.Sprint(prices) != "[65000]" || !errors.Is(err, adapter.ErrReconnectRequested) {
			t.Errorf("after a reconnect request: prices %v, %v, want 65000 and ErrReconnectRequested", prices, err)
		}
	})
}

func TestTimeTravel(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		script := []string{
			v.price("100", now, 10),
			v.price("101", now, 10),                   // the same stamp and number
			v.price("102", now.Add(-time.Second), 9),  // an earlier stamp and number
			v.price("103", now.Add(2*time.Second), 9), // a later stamp, an earlier number
			v.price("104", now.Add(3*time.Second), 11),
		}
		want, drops := "[100 104]", "out_of_order 3"
		if !v.counted {
			want, drops = "[100 103 104]", "out_of_order 2"
		}
		if v.timed {
			script = append(script, v.price("105", now.Add(time.Hour), 12), v.price("106", now.Add(-time.Hour), 13), v.price("107", now.Add(4*time.Second), 14))
			want, drops = strings.Replace(want, "104]", "104 107]", 1), drops+", future 1, outdated 1"
		}
		prices, dropped, _ := countsOf(t, v, script...)
		if fmt.Sprint(prices) != want || dropped != drops {
			t.Errorf("%v, %s; want %s, %s", prices, dropped, want, drops)
		}
	})
}

// TestCountRestartsOnReconnect checks that stamps and sequence numbers are compared within
// one connection only.
func TestCountRestartsOnReconnect(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		s := play(t, v, []string{v.price("100", now.Add(time.Second), 1_000_000)}, []string{v.price("101", now, 1)})
		defer s.Close()
		l := s.line()
		var prices []core.Price
		for range 2 {
			_ = l.Run(t.Context(), func(p core.Price, _ time.Time) { prices = append(prices, p/1e8) }) // the server cuts it
		}
		if fmt.Sprint(prices) != "[100 101]" || s.hellos != 2 {
			t.Errorf("%v, %d subscriptions", prices, s.hellos)
		}
	})
}

func TestBadPrices(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		valid := v.price("100", now, 1)
		script := []string{valid, valid[:len(valid)/2], valid[:len(valid)-1], valid + "}", "", `"100"`, "\x00\xff", "[100]"}
		want := 7
		if v.subscribe == "" { // an event stream ignores an event without data
			want = 6
		}
		for i, p := range []string{"0", "-100", "1e2", "NaN", "-Infinity", "0x64", "1.2.3", strings.Repeat("9", 40), "100000000000000000000"} {
			script = append(script, v.price(p, now.Add(time.Second), 2+i))
			want++
		}
		script = append(script, v.price("101", now.Add(time.Second), 100))
		prices, drops, err := countsOf(t, v, script...)
		if fmt.Sprint(prices) != "[100 101]" || !errors.Is(err, io.EOF) {
			t.Errorf("prices %v, drops %s, %v, want 100 and 101, and the end", prices, drops, err)
		}
		total := 0
		for d := range strings.SplitSeq(drops, ", ") {
			var why string
			var n int
			if _, err := fmt.Sscan(d, &why, &n); err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if total != want {
			t.Errorf("%d drops, want %d: %s", total, want, drops)
		}
	})
}

// TestFlood sends thousands of valid and bad messages: the index uses the valid ones, and
// all are counted.
func TestFlood(t *testing.T) {
	eachVenue(t, func(t *testing.T, v venueScript) {
		const frames = 10_000
		var script []string
		for i := range frames {
			f := v.price("65000", now.Add(time.Duration(i)*time.Millisecond/2), 1+i)
			switch i % 5 {
			case 1:
				f = v.price("0", now, 1+i)
			case 2:
				f = f[:len(f)-2]
			case 3:
				f = v.other
			}
			script = append(script, f)
		}
		s := play(t, v, script)
		defer s.Close()
		l := s.line()
		var x feed.Index
		err := l.Run(t.Context(), func(p core.Price, at time.Time) {
			if v := x.Update(l.Feed(), l.Name(), p, at.UnixNano()); p != 65000e8 || v != feed.Accepted {
				t.Errorf("the price %s is %s, want 65000, accepted", dollars(p), v)
			}
		})
		h := l.Counts()
		var all uint64
		for _, n := range h.Values {
			all += n
		}
		if !errors.Is(err, io.EOF) || h.Messages != frames || all != frames || h.Values[feeds.Zero]+h.Values[feeds.NotNumber] != frames/5 || h.Values[feeds.Garbled] != frames/5 || h.Values[feeds.WrongProduct] != frames/5 {
			t.Errorf("the counts of the flood: %v, %+v, want a fifth each of bad numbers, garbled frames and wrong products", err, h)
		}
		if tick, gap := x.Tick(l.Feed(), now.UnixNano()); gap != feed.NoGap || tick.Price != 65000e8 || tick.Count != 1 {
			t.Errorf("the index after the flood is %+v, want 65000 of one source", tick)
		}
	})
}
