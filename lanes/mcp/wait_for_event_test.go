package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

// waitResult is the result of wait_for_event.
type waitResult struct {
	Events []struct {
		Seq  string
		Kind string
		Msg  json.RawMessage
	}
	NextSeq string `json:"next_seq"`
	Missed  bool
}

func (d *testVenue) wait(k lanetest.Key, arguments string) (w waitResult) {
	d.T.Helper()
	r := d.callTool(k, "wait_for_event", arguments)
	if err := json.Unmarshal(r.StructuredContent, &w); err != nil || r.IsError {
		d.T.Fatalf("wait_for_event %s: %s, want a list of events", arguments, r.StructuredContent)
	}
	return w
}

// seq returns the venue's current seq.
func (d *testVenue) seq() string {
	d.T.Helper()
	return at(d.T, string(d.callTool(d.alice, "get_balance", `{}`).StructuredContent), "as_of_seq").(string)
}

// TestWaitMissesNothing tests that consecutive calls return each event once and in order
// while orders are placed and canceled.
func TestWaitMissesNothing(t *testing.T) {
	t.Parallel()
	d := generous(t)
	from := d.seq()
	const orders = 120
	go func() {
		for i := range orders {
			d.Call(d.alice, "POST", "/v1/portfolio/orders", order(i+1, `,"post_only":true`))
		}
	}()
	accepted, last := 0, uint64(0)
	for next := from; accepted < orders; {
		w := d.wait(d.alice, `{"after_seq":"`+next+`","kinds":["order"]}`)
		if w.Missed {
			t.Fatal("missed")
		}
		for _, e := range w.Events {
			seq, err := strconv.ParseUint(e.Seq, 10, 64)
			if err != nil || seq <= last || e.Kind != "order" {
				t.Fatalf("%+v after %d", e, last)
			}
			last = seq
			if id := at(t, string(e.Msg), "order", "client_order_id"); id != fmt.Sprint(accepted+1) {
				t.Fatalf("order %v instead of %d", id, accepted+1)
			}
			accepted++
		}
		next = w.NextSeq
	}
}

// TestWaitSeesWhatWasAnswered tests that a call that does not wait returns the events of an order whose
// answer came before, although the lane learns of the order after its answer.
func TestWaitSeesWhatWasAnswered(t *testing.T) {
	t.Parallel()
	d := generous(t)
	follower := d.Venue.Engine.Follow()
	h := newStoppedDispatcher(d.Venue.Engine)
	after := d.Venue.Engine.Seq()
	d.Call(d.alice, "POST", "/v1/portfolio/orders", order(1, ""))

	results := make(chan schemas.WaitedEvents, 1)
	go func() {
		now := schemas.Int(0)
		w, err := h.waitForEvent(t.Context(), d.Venue, tools.Caller{User: 1}, &schemas.WaitForEvent{AfterSeq: schemas.U64(after), TimeoutMs: &now})
		if err != nil {
			t.Error(err)
		}
		results <- w
	}()
	for waits := false; !waits && len(results) == 0; runtime.Gosched() {
		h.mu.Lock()
		waits = h.advanced != nil
		h.mu.Unlock()
	}
	for h.seq < d.Venue.Engine.Seq() {
		b, err := follower.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h.applyBatch(b)
	}
	if w := <-results; len(w.Events) == 0 || w.Events[0].Kind != "order" || uint64(w.NextSeq) <= after {
		t.Fatalf("the wait returned %+v, want an order event past seq %d", w, after)
	}
}

// TestWaitFilters tests the filters, and that transitions of rounds do not depend on the
// account.
func TestWaitFilters(t *testing.T) {
	t.Parallel()
	d := generous(t)
	from := d.seq()
	d.callTool(d.alice, "place_order", order(1, ""))
	d.callTool(d.bob, "place_order", `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"no","tick":5000,"qty":4}`)
	kinds := func(arguments string) string { // in the order of their names
		var out []string
		for _, e := range d.wait(d.alice, arguments).Events {
			out = append(out, e.Kind)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	if got := kinds(`{"after_seq":"` + from + `"}`); !strings.Contains(got, "fill") {
		t.Error(got)
	}
	for arguments, want := range map[string]string{
		`,"kinds":["fill"]`:                      "fill",
		`,"kinds":["fill"],"market_ids":[2]`:     "",
		`,"kinds":["fill"],"market_ids":[2,1]`:   "fill",
		`,"kinds":["deposit"]`:                   "",
		`,"kinds":["order"],"market_ids":[1]`:    "order order",
		`,"kinds":["settlement","round","fill"]`: "fill",
		`,"kinds":["order","fill"]`:              "fill order order",
	} {
		if got := kinds(`{"after_seq":"` + from + `","timeout_ms":0` + arguments + `}`); got != want {
			t.Errorf("wait_for_event with %s: the kinds %q, want %q", arguments, got, want)
		}
	}
	d.Submit(&core.VoidMarket{Market: 2})
	if got := kinds(`{"after_seq":"` + from + `","kinds":["round"]}`); got != "round" {
		t.Error(got)
	}
	for _, bad := range []string{`{}`, `{"after_seq":"0","kinds":["x"]}`, `{"after_seq":"0","timeout_ms":25001}`, `{"after_seq":"0","timeout_ms":-1}`, `{"after_seq":"0","market_ids":["x"]}`} {
		if got := d.callTool(d.alice, "wait_for_event", bad); !got.IsError {
			t.Errorf("wait_for_event %s: %s, want an error", bad, got.StructuredContent)
		}
	}
}

// TestWaitKinds checks that the rulebook names the kinds of the input schema, all of them.
func TestWaitKinds(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	var tool struct {
		InputSchema struct {
			Properties struct {
				Kinds struct{ Items struct{ Enum []string } }
			}
		}
	}
	if err := json.Unmarshal(d.lane.byName["wait_for_event"].definition, &tool); err != nil {
		t.Fatal(err)
	}
	kinds := tool.InputSchema.Properties.Kinds.Items.Enum
	if len(kinds) != 13 {
		t.Fatalf("%d kinds: %v", len(kinds), kinds)
	}
	holdsFigure(t, "`kinds` are `"+strings.Join(kinds[:12], "`, `")+"` and `"+kinds[12]+"`.")
}

// waiting sends a call that waits, and returns a channel with its response.
func (d *testVenue) waiting(ctx context.Context, k lanetest.Key, version, id, arguments string) <-chan string {
	d.T.Helper()
	meta, header := "", []string{"MCP-Protocol-Version", version}
	if version == modern {
		meta, header = ","+modernMeta, append(header, "Mcp-Method", "tools/call", "Mcp-Name", "wait_for_event")
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait_for_event","arguments":%s%s}}`, id, arguments, meta)
	r := d.SignedRequest(k, "POST", Path, []byte(body)).WithContext(ctx)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := make(chan string, 1)
	go func() {
		resp, err := d.RoundTrip(r)
		if err != nil {
			out <- "error: " + err.Error()
			return
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body) // the test compares what was received
		out <- b.String()
	}()
	return out
}

// waiters returns the number of watches of an account.
func (d *testVenue) waiters(u core.UserID) int {
	d.lane.dispatcher.mu.Lock()
	defer d.lane.dispatcher.mu.Unlock()
	return len(d.lane.dispatcher.users[u])
}

// TestManyLongPolls tests that 1,000 concurrent calls cost one goroutine each in addition
// to net/http's two, and that one event ends them all.
func TestManyLongPolls(t *testing.T) {
	d := generous(t)
	d.FreezeClock() // no request is too old
	longestWait = time.Hour
	defer func() { longestWait = maxWait }()
	const many = 1000
	keys := make([]lanetest.Key, 10)
	for i := range keys {
		keys[i] = d.NewKey(1, core.ScopeRead)
	}
	from := d.seq()
	before := runtime.NumGoroutine()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	answers := make([]<-chan string, many)
	for i := range answers {
		answers[i] = d.waiting(ctx, keys[i%len(keys)], modern, strconv.Itoa(i), `{"after_seq":"`+from+`","kinds":["order"]}`)
		if i%50 == 49 { // no faster than the listener accepts
			eventually(t, "calls on the way", func() bool { return d.waiters(1) == i+1 })
		}
	}
	if t.Failed() {
		return
	}
	// Per call: the handler and net/http's reader behind it; in this process also the
	// client's two and the test's own.
	if n := (runtime.NumGoroutine() - before) * 10 / many; n > 52 {
		t.Errorf("%d.%d goroutines a call", n/10, n%10)
	}
	d.callTool(d.alice, "place_order", order(1, ""))
	for i, a := range answers {
		if got := <-a; !strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":`, i)) || !strings.Contains(got, `"kind":"order"`) {
			t.Fatal(got)
		}
	}
	eventually(t, "the watches", func() bool { return d.waiters(1) == 0 })
}

// TestCancellation tests that a client cancels its request by disconnecting on the modern
// revision, and only by notifications/cancelled on the older ones
// (docs/rules/agents.md#revisions).
func TestCancellation(t *testing.T) {
	t.Parallel()
	d := generous(t)
	from := d.seq()
	arguments := `{"after_seq":"` + from + `","kinds":["deposit"],"timeout_ms":25000}`

	ctx, hangUp := context.WithCancel(t.Context())
	gone := d.waiting(ctx, d.alice, modern, "1", arguments)
	eventually(t, "the first", func() bool { return d.waiters(1) == 1 })
	hangUp()
	<-gone
	eventually(t, "a request whose client is gone", func() bool { return d.waiters(1) == 0 })

	ctx, hangUp = context.WithCancel(t.Context())
	gone = d.waiting(ctx, d.alice, legacy, `"old"`, arguments)
	eventually(t, "the second", func() bool { return d.waiters(1) == 1 })
	hangUp()
	<-gone
	for range 20 { // time for the venue to notice
		d.callTool(d.alice, "get_balance", `{}`)
	}
	if d.waiters(1) != 1 {
		t.Error("a disconnect canceled a request of an older revision")
	}
	cancel := func(k lanetest.Key, id string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"test"}}`
		if status, _, got := d.post(k, body, "MCP-Protocol-Version", legacy); status != 202 || got != "" {
			t.Errorf("notifications/cancelled of %s: %d %s, want an empty 202", id, status, got)
		}
	}
	cancel(d.bob, `"old"`)  // another key
	cancel(d.alice, `"x"`)  // unknown id
	cancel(d.alice, `null`) // no id
	if d.waiters(1) != 1 {
		t.Error("canceled by a notification for another request")
	}
	cancel(d.alice, `"old"`)
	eventually(t, "a canceled request", func() bool { return d.waiters(1) == 0 })
}

// TestRevocationEndsWaiting tests that a revocation ends the waits of the key.
func TestRevocationEndsWaiting(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	k := d.NewKey(1, core.ScopeRead)
	answer := d.waiting(t.Context(), k, modern, "1", `{"after_seq":"`+d.seq()+`"}`)
	eventually(t, "the call", func() bool { return d.waiters(1) == 1 })
	d.Submit(&core.RevokeKey{User: 1, Key: k.ID})
	if got := <-answer; at(t, got, "error", "code") != 401.0 {
		t.Error(got)
	}
}

// TestCloseEndsLongPolls tests that Close ends all waits, so that a draining venue stops in
// time.
func TestCloseEndsLongPolls(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	var answers []<-chan string
	for i := range 5 {
		answers = append(answers, d.waiting(t.Context(), d.alice, modern, strconv.Itoa(i), `{"after_seq":"`+d.seq()+`"}`))
	}
	eventually(t, "the calls", func() bool { return d.waiters(1) == 5 })
	d.lane.Close()
	for _, a := range answers {
		if got := <-a; !strings.Contains(got, `"events":[]`) {
			t.Error(got)
		}
	}
}

// TestWaitTimesOut tests that a timeout returns no events and a next_seq to continue from.
func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	from := d.seq()
	w := d.wait(d.alice, `{"after_seq":"`+from+`","kinds":["deposit"],"timeout_ms":1}`)
	if len(w.Events) != 0 || w.Missed || w.NextSeq < from {
		t.Errorf("%+v after %s", w, from)
	}
}

// TestWaitAheadOfTheVenue tests that a seq ahead of the venue's returns at once, with
// missed and a seq to continue from.
func TestWaitAheadOfTheVenue(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.FreezeClock() // no clock tick changes the seq
	d.Submit(&core.Clock{})
	head := d.Engine.Seq()
	for _, ahead := range []uint64{head + 1, head + 1_000_000, math.MaxUint64} {
		w := d.wait(d.alice, fmt.Sprintf(`{"after_seq":"%d","timeout_ms":25000}`, ahead))
		if len(w.Events) != 0 || !w.Missed || w.NextSeq != fmt.Sprint(d.Engine.Seq()) {
			t.Errorf("after %d: %+v; the head is %d", ahead, w, d.Engine.Seq())
		}
	}
	if w := d.wait(d.alice, fmt.Sprintf(`{"after_seq":"%d","timeout_ms":0}`, d.Engine.Seq())); w.Missed {
		t.Errorf("at the head: %+v", w)
	}
	answer := d.waiting(t.Context(), d.alice, modern, "1", fmt.Sprintf(`{"after_seq":"%d"}`, d.Engine.Seq()))
	eventually(t, "the call", func() bool { return d.waiters(1) == 1 })
	d.callTool(d.alice, "place_order", order(1, ""))
	if got := <-answer; !strings.Contains(got, `"kind":"order"`) {
		t.Errorf("the waiting call returned %s, want an order event", got)
	}
}

// TestWaitReportsMissed tests that events that are no longer kept are reported as missed.
func TestWaitReportsMissed(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.FreezeClock() // the market stays open
	from := d.seq()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 600 {
				id := 1 + i*10_000 + n
				if r := d.Submit(placed(id)); r.Reject != core.OK {
					t.Errorf("order %d was rejected: %v", id, r.Reject)
					return
				}
				d.Submit(&core.CancelAll{User: 1})
			}
		})
	}
	all.Wait()
	if w := d.wait(d.alice, `{"after_seq":"`+from+`","timeout_ms":0}`); !w.Missed || len(w.Events) > 0 || w.NextSeq != d.seq() {
		t.Errorf("after 4,800 events and more at %s: missed %v, %d events, next_seq %s", d.seq(), w.Missed, len(w.Events), w.NextSeq)
	}
}

func placed(id int) core.Command {
	return &core.PlaceOrder{User: 1, ClientID: uint64(id), Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 1000, Qty: 1}
}

// TestEventsAreShort tests that each event takes at most 100 tokens of 4 characters, with
// numbers of the greatest length that a venue reaches, and that those of a round name it.
func TestEventsAreShort(t *testing.T) {
	t.Parallel()
	d := generous(t)
	from := d.seq()
	d.trade()
	d.callTool(d.alice, "place_order", `{"client_order_id":"18446744073709551615","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":9900,"qty":5,"tif":"ioc"}`)
	d.Submit(&core.VoidMarket{Market: 1})
	kinds := map[string]int{}
	for next := from; ; {
		w := d.wait(d.alice, `{"after_seq":"`+next+`","timeout_ms":0}`)
		for _, e := range w.Events {
			kinds[e.Kind]++
			b, err := json.Marshal(e)
			if err != nil || len(b)/4 > 100 {
				t.Errorf("%d tokens: %s", len(b)/4, b)
			}
			about, _ := parsed(t, string(e.Msg)).(map[string]any)
			if order, ok := about["order"].(map[string]any); ok {
				about = order
			}
			if about["market_id"] == 1.0 && (about["generation"] == 1.0) != (about["round_number"] == "1") || about["market_id"] != nil && about["series"] == nil {
				t.Errorf("%s, want its series and its round", b)
			}
		}
		if next == w.NextSeq {
			break
		}
		next = w.NextSeq
	}
	for _, kind := range []string{"order", "fill", "balance", "position", "settlement", "withdrawal", "round"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s: %v", kind, kinds)
		}
	}
}

// TestOwnersActionsAreEvents tests that a transfer, a new mandate, a halt and a suspension of the
// owner wake the agent's waiting call, each with the kind and the cause of the rulebook.
func TestOwnersActionsAreEvents(t *testing.T) {
	t.Parallel()
	d := generous(t)
	agent, key := d.newAgent(core.Mandate{})
	seq := d.seq()
	for _, c := range []struct {
		command core.Command
		kind    string
		want    string
	}{
		{&core.Transfer{Owner: 1, ClientID: "t-1", From: 1, To: agent, Amount: 700}, "transfer", `"transfer":{"client_transfer_id":"t-1","from":1,"to":3,"amount":"700","seq":`},
		{&core.Transfer{Owner: 1, ClientID: "t-2", From: agent, To: 1, Amount: 50}, "balance", `"cash":"1000650","reserved":"0","change":"-50","cause":"transfer"`},
		{&core.SetMandate{Owner: 1, Agent: agent, IfRev: 1}, "account", `"state":"active","rev":2`},
		{&core.HaltAgent{Owner: 1, Agent: agent}, "account", `"state":"halted","rev":2`},
		{&core.SuspendUser{User: 1}, "account", `"state":"suspended","rev":2`},
		{&core.SuspendUser{User: 1, Lift: true}, "account", `"state":"halted","rev":2`},
		{&core.ResumeAgent{Owner: 1, Agent: agent}, "account", `"state":"active","rev":2`},
	} {
		go func() { _, _ = d.Engine.Submit(context.Background(), c.command) }() // an error leaves no event
		w := d.wait(key, `{"after_seq":"`+seq+`","kinds":["`+c.kind+`"]}`)
		if len(w.Events) != 1 || w.Events[0].Kind != c.kind || !strings.Contains(string(w.Events[0].Msg), c.want) {
			t.Errorf("%T: %+v, want one %s event with %s", c.command, w, c.kind, c.want)
		}
		seq = w.NextSeq
	}
	// A repeat of a transfer and a halt of a halted agent move nothing and are no events.
	d.Submit(&core.Transfer{Owner: 1, ClientID: "t-1", From: 1, To: agent, Amount: 700})
	d.Submit(&core.ResumeAgent{Owner: 1, Agent: agent})
	if w := d.wait(key, `{"after_seq":"`+seq+`","kinds":["transfer","account","balance"],"timeout_ms":0}`); len(w.Events) != 0 {
		t.Errorf("a repeated transfer and an agent that was active already: %+v, want no events", w)
	}
}

// TestTransitionsOfOneCommand checks that a round whose transitions are partly kept is returned once.
func TestTransitionsOfOneCommand(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	x := newStoppedDispatcher(d.Venue.Engine)
	var r core.Round
	d.Venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		round := w.Round(1)
		r, x.seq = round.Round, round.Seq
	})
	for range maxTransitions + 1 { // of one command: half of them are forgotten
		x.recordTransition(r)
	}
	list, _ := x.transitions(0)
	list = slices.DeleteFunc(list, func(t transition) bool { return t.round.Market != r.Market })
	if len(list) != 1 || list[0].round != r {
		t.Errorf("%d transitions of round %d", len(list), r.Number)
	}
}
