package live

import (
	"context"
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
	"duplex/feeds/line"
)

// now is when the tests play; the venues' stamps are around it.
var now = time.Date(2026, 3, 4, 15, 30, 0, 0, time.UTC)

// voice is how a venue's frames are made. at is the venue's time, no its count;
// a venue without one of them leaves it out.
type voice struct {
	talk    func(url string) line.Talk
	hello   string
	chatter []string // acknowledgement and heartbeats
	price   func(p string, at time.Time, no int) string
	other   string // a sound price of another product
	refusal string
	again   string // asks for a new connection
	timed   bool   // has stamps
	counted bool   // has a count
}

var voices = map[string]voice{
	"coinbase": {
		talk:    coinbase,
		hello:   `{"type":"subscribe","product_ids":["BTC-USD"],"channels":["ticker","heartbeat"]}`,
		chatter: []string{`{"type":"subscriptions","channels":[]}`, `{"type":"heartbeat","sequence":90,"product_id":"BTC-USD","time":"2020-02-01T01:40:17.088487Z"}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"type":"ticker","sequence":%d,"product_id":"BTC-USD","price":%q,"best_bid":%q,"best_ask":%q,"time":%q}`, no, p, p, p, at.Format(time.RFC3339Nano))
		},
		other:   `{"type":"ticker","sequence":99,"product_id":"ETH-USD","price":"180"}`,
		refusal: `{"type":"error","message":"Failed to subscribe","reason":"no"}`,
		timed:   true, counted: true,
	},
	"kraken": {
		talk:    kraken,
		hello:   `{"method":"subscribe","params":{"channel":"ticker","symbol":["BTC/USD"]},"req_id":1}`,
		chatter: []string{`{"channel":"status","type":"update","data":[{"system":"online"}]}`, `{"method":"subscribe","result":{},"success":true,"req_id":1}`, `{"channel":"heartbeat"}`},
		price: func(p string, at time.Time, _ int) string {
			return fmt.Sprintf(`{"channel":"ticker","type":"update","data":[{"symbol":"BTC/USD","bid":%s,"ask":%s,"last":1,"timestamp":%q}]}`, p, p, at.Format(time.RFC3339Nano))
		},
		other:   `{"channel":"ticker","type":"update","data":[{"symbol":"ETH/USD","bid":180,"ask":181}]}`,
		refusal: `{"error":"Currency pair not supported","method":"subscribe","success":false}`,
		timed:   true,
	},
	"bitstamp": {
		talk:    bitstamp,
		hello:   `{"event":"bts:subscribe","data":{"channel":"live_trades_btcusd"}}`,
		chatter: []string{`{"event":"bts:subscription_succeeded","channel":"live_trades_btcusd","data":{}}`, `{"event":"bts:heartbeat","channel":"","data":{"status":"success"}}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"event":"trade","channel":"live_trades_btcusd","data":{"id":%d,"price":1,"price_str":%q,"microtimestamp":"%d"}}`, no, p, at.UnixMicro())
		},
		other:   `{"event":"trade","channel":"live_trades_ethusd","data":{"id":99,"price_str":"180"}}`,
		refusal: `{"event":"bts:error","channel":"","data":{"code":null,"message":"Bad subscription string."}}`,
		again:   `{"event":"bts:request_reconnect","channel":"","data":""}`,
		timed:   true, counted: true,
	},
	"gemini": {
		talk:    gemini,
		hello:   `{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}`,
		chatter: []string{`{"type":"l2_updates","symbol":"BTCUSD","changes":[` + strings.Repeat(`["buy","1","1"],`, 20_000) + `["sell","2","1"]],"trades":[{"type":"trade","symbol":"BTCUSD","price":"7"}]}`, `{"type":"heartbeat"}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"type":"trade","symbol":"BTCUSD","event_id":%d,"timestamp":%d,"price":%q}`, no, at.UnixMilli(), p)
		},
		other:   `{"type":"trade","symbol":"ETHUSD","event_id":99,"price":"180"}`,
		refusal: `{"result":"error","reason":"InvalidSymbol"}`,
		timed:   true, counted: true,
	},
	"binance": {
		talk:    func(url string) line.Talk { return binance("binance", core.BTC, url, "BTCUSDT") },
		hello:   `{"method":"SUBSCRIBE","params":["btcusdt@bookTicker"],"id":1}`,
		chatter: []string{`{"result":null,"id":1}`},
		price: func(p string, _ time.Time, no int) string {
			return fmt.Sprintf(`{"u":%d,"s":"BTCUSDT","b":%q,"B":"1","a":%q,"A":"2"}`, no, p, p)
		},
		other:   `{"u":99,"s":"ETHUSDT","b":"180","a":"181"}`,
		refusal: `{"error":{"code":2,"msg":"no"},"id":1}`,
		again:   `{"e":"serverShutdown","E":1770123456789}`,
		counted: true,
	},
	"binance-futures": {
		talk:    func(url string) line.Talk { return binance("binance-futures", core.Gold, url, "XAUUSDT") },
		hello:   `{"method":"SUBSCRIBE","params":["xauusdt@bookTicker"],"id":1}`,
		chatter: []string{`{"result":null,"id":1}`},
		price: func(p string, at time.Time, no int) string {
			return fmt.Sprintf(`{"e":"bookTicker","u":%d,"E":%d,"s":"XAUUSDT","b":%q,"B":"1","a":%q,"A":"2"}`, no, at.UnixMilli(), p, p)
		},
		other:   `{"e":"bookTicker","u":99,"s":"CLUSDT","b":"78","a":"78"}`,
		refusal: `{"code":3,"msg":"no"}`,
		again:   `{"e":"serverShutdown","E":1770123456789}`,
		timed:   true, counted: true,
	},
	"pyth": {
		talk: func(url string) line.Talk {
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

// eachVenue runs a test for all of them, and wants no goroutine left after it.
func eachVenue(t *testing.T, test func(t *testing.T, v voice)) {
	for name, v := range voices {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			test(t, v)
			for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
				if time.Now().After(end) {
					t.Fatalf("%d goroutines left", runtime.NumGoroutine()-before)
				}
			}
		})
	}
}

// stage is a venue's server. Each connection gets the frames of its own script,
// and the last script serves all that follow; after it the server cuts.
type stage struct {
	*httptest.Server
	t *testing.T
	v voice

	mu      sync.Mutex
	scripts [][]string
	hellos  int
}

func play(t *testing.T, v voice, scripts ...[]string) *stage {
	s := &stage{t: t, v: v, scripts: scripts}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	if s.v.hello == "" {
		s.events(w, r)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.CloseNow()
	if _, hello, err := c.Read(r.Context()); err != nil || string(hello) != s.v.hello {
		s.t.Errorf("subscribed with %s, %v", hello, err)
	}
	for _, f := range s.script() {
		if c.Write(r.Context(), websocket.MessageText, []byte(f)) != nil {
			return // they have hung up
		}
	}
}

func (s *stage) events(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer sesame" || r.URL.Path != "/v2/updates/price/stream" || r.URL.Query().Get("ids[]") != pythGold || r.URL.Query().Get("parsed") != "true" {
		s.t.Errorf("%s %v", r.URL, r.Header)
	}
	for _, f := range s.script() {
		if _, err := fmt.Fprintf(w, "data:%s\n\n", f); err != nil {
			return
		}
	}
}

func (s *stage) script() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	script := s.scripts[min(s.hellos, len(s.scripts)-1)]
	s.hellos++
	return script
}

func (s *stage) line() *line.Line {
	return line.New(s.v.talk("ws"+strings.TrimPrefix(s.URL, "http")), line.Options{Now: func() time.Time { return now }})
}

// heard runs one connection, and gives what came of it: prices in whole units,
// and drops by reason.
func heard(t *testing.T, v voice, frames ...string) (prices []core.Price, drops string, err error) {
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
	for why, n := range l.Heard().Values {
		if feeds.Drop(why) != feeds.Sound && n > 0 {
			all = append(all, fmt.Sprintf("%s %d", feeds.Drop(why), n))
		}
	}
	if n := l.Heard().Values[feeds.Sound]; int(n) != len(prices) {
		t.Errorf("%d sound values, %d prices", n, len(prices))
	}
	return prices, strings.Join(all, ", "), err
}

func TestSnapshotUpdatesHeartbeatsCut(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		script := slices.Concat(v.chatter, []string{v.price("65000", now, 1)}, v.chatter, []string{v.price("65001", now.Add(time.Second), 2), v.other, v.price("64999", now.Add(2*time.Second), 3)})
		prices, drops, err := heard(t, v, script...)
		if fmt.Sprint(prices) != "[65000 65001 64999]" || drops != "wrong_product 1" || !errors.Is(err, io.EOF) {
			t.Errorf("%v, %s, %v", prices, drops, err)
		}
	})
}

func TestRefusedSubscription(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		if v.refusal == "" {
			t.Skip("this venue has no message for it: it refuses by HTTP status, as TestHowAStreamEnds of feeds/line has it")
		}
		prices, drops, err := heard(t, v, v.chatter[0], v.refusal, v.price("65000", now, 1))
		if len(prices) > 0 || drops != "" || !errors.Is(err, line.ErrRefused) {
			t.Errorf("%v, %s, %v", prices, drops, err)
		}
	})
}

func TestReconnectIsAskedFor(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		if v.again == "" {
			t.Skip("this venue sends no such message before it cuts")
		}
		prices, _, err := heard(t, v, v.price("65000", now, 1), v.again, v.price("65001", now.Add(time.Second), 2))
		if fmt.Sprint(prices) != "[65000]" || !errors.Is(err, line.ErrAsked) {
			t.Errorf("%v, %v", prices, err)
		}
	})
}

func TestTimeTravel(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		script := []string{
			v.price("100", now, 10),
			v.price("101", now, 10),                   // the same again
			v.price("102", now.Add(-time.Second), 9),  // before it
			v.price("103", now.Add(2*time.Second), 9), // later by one, earlier by the other
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
		prices, dropped, _ := heard(t, v, script...)
		if fmt.Sprint(prices) != want || dropped != drops {
			t.Errorf("%v, %s; want %s, %s", prices, dropped, want, drops)
		}
	})
}

// Order is kept within a connection: a venue may begin its count anew in the next,
// and be believed.
func TestCountMayBeginAnew(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		s := play(t, v, []string{v.price("100", now.Add(time.Second), 1_000_000)}, []string{v.price("101", now, 1)})
		defer s.Close()
		l := s.line()
		var prices []core.Price
		for range 2 {
			_ = l.Run(t.Context(), func(p core.Price, _ time.Time) { prices = append(prices, p/1e8) }) // cut
		}
		if fmt.Sprint(prices) != "[100 101]" || s.hellos != 2 {
			t.Errorf("%v, %d greetings", prices, s.hellos)
		}
	})
}

func TestBadPrices(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		sound := v.price("100", now, 1)
		script := []string{sound, sound[:len(sound)/2], sound[:len(sound)-1], sound + "}", "", `"100"`, "\x00\xff", "[100]"}
		want := 7
		if v.hello == "" { // there an event without data is none
			want = 6
		}
		for i, p := range []string{"0", "-100", "1e2", "NaN", "-Infinity", "0x64", "1.2.3", strings.Repeat("9", 40), "100000000000000000000"} {
			script = append(script, v.price(p, now.Add(time.Second), 2+i))
			want++
		}
		script = append(script, v.price("101", now.Add(time.Second), 100))
		prices, drops, err := heard(t, v, script...)
		if fmt.Sprint(prices) != "[100 101]" || !errors.Is(err, io.EOF) {
			t.Errorf("%v, %s, %v", prices, drops, err)
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

// A flood of sound and unsound frames: the index is made of the sound ones alone,
// and all are counted.
func TestFlood(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
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
			if v := x.Update(l.Feed(), l.Name(), p, at.UnixNano()); p != 65000e8 || v != feed.Taken {
				t.Errorf("%s %s", dollars(p), v)
			}
		})
		h := l.Heard()
		var all uint64
		for _, n := range h.Values {
			all += n
		}
		if !errors.Is(err, io.EOF) || h.Messages != frames || all != frames || h.Values[feeds.Zero]+h.Values[feeds.NotNumber] != frames/5 || h.Values[feeds.Garbled] != frames/5 || h.Values[feeds.WrongProduct] != frames/5 {
			t.Errorf("%v, %+v", err, h)
		}
		if tick, ok := x.Tick(l.Feed(), now.UnixNano()); !ok || tick.Price != 65000e8 || tick.Count != 1 {
			t.Errorf("%+v", tick)
		}
	})
}

// What is cut comes back through a Poster, and subscribes again by itself.
func TestComesBack(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		s := play(t, v, []string{v.price("100", now, 1)}, []string{v.price("101", now, 1), v.price("102", now.Add(time.Second), 2)})
		defer s.Close()
		l := s.line()
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		p, err := feeds.NewPoster(func(context.Context, core.Command) error { return nil }, ended{l, 3, stop})
		if err != nil {
			t.Fatal(err)
		}
		p.Run(ctx)
		st := p.States()[0]
		if st.Source.Price != 102e8 || st.Reconnects() < 1 || st.Heard.Values[feeds.Sound] < 3 || st.Dropped() != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// ended calls stop once its source has given so many prices.
type ended struct {
	*line.Line
	prices uint64
	stop   func()
}

func (e ended) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	return e.Line.Run(ctx, func(p core.Price, at time.Time) {
		out(p, at)
		if e.Heard().Values[feeds.Sound] >= e.prices {
			e.stop()
		}
	})
}
