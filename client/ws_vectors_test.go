package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/schemas"
)

// step is a row of schemas/vectors/ws_resume.json. One of its members is set.
type step struct {
	Client json.RawMessage `json:"client"`
	Venue  json.RawMessage `json:"venue"`
	Cut    string          `json:"cut"`
	Expect *expected       `json:"expect"`
}

// expected is the state that a client must reach.
type expected struct {
	Why  string `json:"why"`
	Book *struct {
		Seq        schemas.U64     `json:"seq"`
		Generation uint32          `json:"generation"`
		Yes        []schemas.Level `json:"yes"`
		No         []schemas.Level `json:"no"`
	} `json:"book"`
	Account struct {
		Seq       schemas.U64   `json:"seq"`
		Cash      schemas.U64   `json:"cash"`
		Reserved  schemas.U64   `json:"reserved"`
		Orders    []schemas.U64 `json:"orders"`
		Positions []struct {
			MarketID uint32 `json:"market_id"`
			YesQty   int64  `json:"yes_qty"`
			NoQty    int64  `json:"no_qty"`
		} `json:"positions"`
	} `json:"account"`
	Events []string `json:"events"`
}

// action is the next step of the venue on its current connection. The last action of a
// connection is marked: the client reconnects within milliseconds, so a separate
// message that ended the connection could reach the handler of the next one.
type action struct {
	do   func(*scriptedConn)
	last bool
}

// TestResumeVectors replays the vectors that clients in any language can test against.
func TestResumeVectors(t *testing.T) {
	raw, err := os.ReadFile("../schemas/vectors/ws_resume.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Steps []step }
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	actions := make(chan action)
	defer close(actions)
	var scripts []func(*scriptedConn)
	previous := make(chan struct{})
	close(previous)
	for range v.Steps { // more than there are connections
		before, ended := previous, make(chan struct{})
		previous = ended
		scripts = append(scripts, func(s *scriptedConn) {
			// The client may reconnect before this server reads the end of the connection
			// before: that one still has to take its last action.
			<-before
			defer close(ended)
			for t := range actions {
				if t.do(s); t.last {
					return
				}
			}
		})
	}
	f := streamOf(t, []string{"orderbook_delta", "user"}, scripts...)
	delivered, breaks := 0, 0
	for i, s := range v.Steps {
		switch {
		case s.Client != nil:
			actions <- action{do: func(at *scriptedConn) { at.expectLike(i, s.Client) }}
		case s.Venue != nil:
			actions <- action{do: func(at *scriptedConn) { at.send(string(s.Venue)) }}
		case s.Cut == "venue":
			actions <- action{do: func(at *scriptedConn) { at.closes(websocket.StatusServiceRestart) }, last: true}
		case s.Cut == "client":
			actions <- action{do: (*scriptedConn).expectIdle, last: true}
		}
		if s.Cut != "" {
			breaks++
			f.until("it broke", func() bool { return f.Disconnects() == breaks })
		}
		if s.Expect != nil {
			delivered = f.knows(i, s.Expect, delivered)
		}
	}
	f.stop()
	_ = f.ended()
}

// expectLike requires that the next command is want, with any id.
func (s *scriptedConn) expectLike(i int, want json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	_, raw, err := s.ws.Read(ctx)
	var got, wanted map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if delete(got, "id"); err != nil || json.Unmarshal(want, &wanted) != nil || !reflect.DeepEqual(got, wanted) {
		s.t.Errorf("step %d: %s, %v; want %s", i, raw, err, want)
	}
}

// knows waits until the stream has the expected state, and returns the number of account
// events that it has delivered.
func (f *streamRecorder) knows(i int, want *expected, delivered int) int {
	f.t.Helper()
	has := ""
	defer func() {
		if has != want.known() {
			f.t.Logf("it has   %s\nand must %s", has, want.known())
		}
	}()
	f.until(fmt.Sprintf("step %d: %s", i, want.Why), func() bool {
		has = known(f.Stream)
		return has == want.known() && len(f.messages("user")) >= delivered+len(want.Events)
	})
	events := f.messages("user")[delivered:]
	for n, e := range events {
		seq, msg, _ := strings.Cut(e, " ")
		var head schemas.EventHead
		if err := json.Unmarshal([]byte(msg), &head); err != nil {
			f.t.Fatal(err)
		}
		events[n] = seq + " " + head.Event
	}
	if !slices.Equal(events, want.Events) {
		f.t.Errorf("step %d, %s: events %q, want %q", i, want.Why, events, want.Events)
	}
	return delivered + len(events)
}

// known formats the state of a stream, for comparison with an expected state.
func known(s *Stream) string {
	out := "no book"
	if b, seq, ok := s.Book(1); ok {
		out = fmt.Sprint("book ", seq, " ", b.Generation, " ", b.Yes, " ", b.No)
	}
	a, _ := s.Account()
	out += fmt.Sprint("; account ", a.Seq, " ", a.Cash, " ", a.Reserved, " orders ", slices.Sorted(maps.Keys(a.Orders)), " holds")
	for _, m := range slices.Sorted(maps.Keys(a.Positions)) {
		out += fmt.Sprint(" ", m, ":", a.Positions[m].YesQty, "/", a.Positions[m].NoQty)
	}
	return out
}

func (e *expected) known() string {
	out := "no book"
	if b := e.Book; b != nil {
		out = fmt.Sprint("book ", b.Seq, " ", b.Generation, " ", b.Yes, " ", b.No)
	}
	a := e.Account
	out += fmt.Sprint("; account ", a.Seq, " ", a.Cash, " ", a.Reserved, " orders ", a.Orders, " holds")
	for _, p := range a.Positions {
		out += fmt.Sprint(" ", p.MarketID, ":", p.YesQty, "/", p.NoQty)
	}
	return out
}
