package ws

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/internal/timeouts"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// testLane is a test server with an event lane.
type testLane struct {
	*lanetest.Server
	lane *Lane
}

func newTestLane(t testing.TB) *testLane { return newTestLaneWith(t, defaultLimits) }

// A busy machine may write a close frame late: the connections of tests have time for it.
func init() { timeouts.Extend(30) }

func newTestLaneWith(t testing.TB, lim limits) *testLane {
	h := lanetest.New(t)
	s := &testLane{h, mount(h.Routes, h.Gate, lim)}
	h.Serve()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := s.lane.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// message is any message of the lane.
type message struct {
	ID      int            `json:"id,omitzero"`
	Type    string         `json:"type"`
	Sid     int            `json:"sid,omitzero"`
	Seq     schemas.U64    `json:"seq,omitzero"`
	PrevSeq schemas.U64    `json:"prev_seq,omitzero"`
	Msg     jsontext.Value `json:"msg"`
}

// into decodes the msg of a message.
func into[T any](t testing.TB, m message) (out T) {
	t.Helper()
	if err := json.Unmarshal(m.Msg, &out); err != nil {
		t.Fatalf("the msg %s has another type: %v", m.Msg, err)
	}
	return out
}

// testReader is a client of the lane.
type testReader struct {
	t  testing.TB
	ws *websocket.Conn
	id int
}

func (s *testLane) handshake(k lanetest.Key) http.Header {
	return s.SignedRequest(k, "GET", path, nil).Header
}

func (s *testLane) dial(k lanetest.Key) *testReader {
	s.T.Helper()
	return s.dialWith(k, &http.Client{Transport: s})
}

func (s *testLane) dialWith(k lanetest.Key, client *http.Client) *testReader {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.URL+path, &websocket.DialOptions{HTTPHeader: s.handshake(k), HTTPClient: client})
	if err != nil {
		s.T.Fatal(err)
	}
	ws.SetReadLimit(-1)
	s.T.Cleanup(func() { _ = ws.CloseNow() })
	return &testReader{t: s.T, ws: ws}
}

// next reads one message.
func (r *testReader) next() message {
	r.t.Helper()
	raw, err := r.raw()
	if err != nil {
		r.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		r.t.Fatalf("not a message: %s: %v", raw, err)
	}
	return m
}

func (r *testReader) raw() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	_, raw, err := r.ws.Read(ctx)
	return raw, err
}

// until reads messages up to the first one of a type, and returns it.
func (r *testReader) until(typ string) message {
	r.t.Helper()
	for {
		if m := r.next(); m.Type == typ {
			return m
		}
	}
}

// send sends a text message.
func (r *testReader) send(text string) {
	r.t.Helper()
	if err := r.ws.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

// ask sends a command and returns its answer. It drops the messages before it.
func (r *testReader) ask(cmd, params string) message {
	r.t.Helper()
	r.id++
	r.send(`{"id":` + strconv.Itoa(r.id) + `,"cmd":"` + cmd + `","params":` + params + `}`)
	for {
		if m := r.next(); m.ID == r.id {
			return m
		}
	}
}

// waitClose reads until the connection ends and returns the close code, -1 if there is none.
func (r *testReader) waitClose() int {
	r.t.Helper()
	for {
		if _, err := r.raw(); err != nil {
			code := int(websocket.CloseStatus(err))
			if code == -1 {
				r.t.Logf("no close frame: %v", err)
			}
			return code
		}
	}
}

// place submits an order, given as text such as `buy yes 10 @ 4700`.
func (s *testLane) place(u core.UserID, id uint64, m core.MarketID, what string) {
	s.T.Helper()
	f := strings.Fields(what)
	o := &core.PlaceOrder{User: u, ClientID: id, Market: m}
	if f[0] == "sell" {
		o.Side = core.Sell
	}
	if f[1] == "no" {
		o.Outcome = core.No
	}
	qty, _ := strconv.Atoi(f[2])
	tick, _ := strconv.Atoi(f[4])
	o.Qty, o.Tick = core.Qty(qty), core.Tick(tick)
	if r := s.Submit(o); r.Reject != core.OK {
		s.T.Fatal(what, r.Reject)
	}
}
