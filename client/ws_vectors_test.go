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

// step is a line of schemas/vectors/ws_resume.json; one of them is set.
type step struct {
	Client json.RawMessage `json:"client"`
	Venue  json.RawMessage `json:"venue"`
	Cut    string          `json:"cut"`
	Expect *expected       `json:"expect"`
}

// expected is what a client must know.
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

// TestResumeVectors: the conversation that clients of any language can hold
// themselves against.
func TestResumeVectors(t *testing.T) {
	raw, err := os.ReadFile("../schemas/vectors/ws_resume.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Steps []step }
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	turns := make(chan func(*seat)) // what the venue does next; nil where its connection ends
	defer close(turns)
	var scripts []func(*seat)
	for range v.Steps { // more than there are connections
		scripts = append(scripts, func(s *seat) {
			for turn := <-turns; turn != nil; turn = <-turns {
				turn(s)
			}
		})
	}
	f := streamOf(t, []string{"orderbook_delta", "user"}, scripts...)
	told, breaks := 0, 0
	for i, s := range v.Steps {
		switch {
		case s.Client != nil:
			turns <- func(at *seat) { at.hearsLike(i, s.Client) }
		case s.Venue != nil:
			turns <- func(at *seat) { at.says(string(s.Venue)) }
		case s.Cut == "venue":
			turns <- func(at *seat) { at.closes(websocket.StatusServiceRestart) }
		case s.Cut == "client":
			turns <- (*seat).idles
		}
		if s.Cut != "" {
			turns <- nil
			breaks++
			f.until("it broke", func() bool { return f.Breaks() == breaks })
		}
		if s.Expect != nil {
			told = f.knows(i, s.Expect, told)
		}
	}
	f.stop()
	_ = f.ended()
}

// hearsLike wants this command next, whatever its id.
func (s *seat) hearsLike(i int, want json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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

// knows waits until the stream is where it must be, and gives how many events of the
// account it has told.
func (f *follower) knows(i int, want *expected, told int) int {
	f.t.Helper()
	has := ""
	defer func() {
		if has != want.known() {
			f.t.Logf("it has   %s\nand must %s", has, want.known())
		}
	}()
	f.until(fmt.Sprintf("step %d: %s", i, want.Why), func() bool {
		has = known(f.Stream)
		return has == want.known() && len(f.said("user")) >= told+len(want.Events)
	})
	events := f.said("user")[told:]
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
	return told + len(events)
}

// known puts what a stream keeps on a line, and its namesake what it must keep.
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
