package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// waited is the answer of wait_for_event.
type waited struct {
	Events []struct {
		Seq  string
		Kind string
		Msg  json.RawMessage
	}
	NextSeq string `json:"next_seq"`
	Missed  bool
}

func (d *desk) wait(k lanetest.Key, arguments string) (w waited) {
	d.T.Helper()
	r := d.use(k, "wait_for_event", arguments)
	if err := json.Unmarshal(r.StructuredContent, &w); err != nil || r.IsError {
		d.T.Fatalf("%s: %s", arguments, r.StructuredContent)
	}
	return w
}

// seq is where the venue stands.
func (d *desk) seq() string {
	d.T.Helper()
	return at(d.T, string(d.use(d.alice, "get_balance", `{}`).StructuredContent), "as_of_seq").(string)
}

// While orders come and go, one reader after the other call sees each event once and
// in order, whatever falls between two calls.
func TestWaitMissesNothing(t *testing.T) {
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

// Filters keep what they name; rounds come without an account's part in them.
func TestWaitFilters(t *testing.T) {
	d := generous(t)
	from := d.seq()
	d.use(d.alice, "place_order", order(1, ""))
	d.use(d.bob, "place_order", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":4}`)
	kinds := func(arguments string) string {
		var out []string
		for _, e := range d.wait(d.alice, arguments).Events {
			out = append(out, e.Kind)
		}
		return strings.Join(out, " ")
	}
	if got := kinds(`{"after_seq":"` + from + `"}`); got != "order balance fill order position balance" && !strings.Contains(got, "fill") {
		t.Error(got)
	}
	for arguments, want := range map[string]string{
		`,"kinds":["fill"]`:                        "fill",
		`,"kinds":["fill"],"market_ids":[2]`:       "",
		`,"kinds":["fill"],"market_ids":[2,1]`:     "fill",
		`,"kinds":["deposit"]`:                     "",
		`,"kinds":["order"],"market_ids":[1]`:      "order order",
		`,"kinds":["settlement","round","fill"]`:   "fill",
		`,"kinds":["order","fill"],"timeout_ms":0`: "order fill order",
	} {
		if got := kinds(`{"after_seq":"` + from + `","timeout_ms":0` + strings.ReplaceAll(arguments, `,"timeout_ms":0`, "") + `}`); got != want && !sameKinds(got, want) {
			t.Errorf("%s: %q", arguments, got)
		}
	}
	d.Do(&core.VoidMarket{Market: 2})
	if got := kinds(`{"after_seq":"` + from + `","kinds":["round"]}`); got != "round" {
		t.Error(got)
	}
	for _, bad := range []string{`{}`, `{"after_seq":1}`, `{"after_seq":"0","kinds":["x"]}`, `{"after_seq":"0","timeout_ms":25001}`, `{"after_seq":"0","timeout_ms":-1}`, `{"after_seq":"0","market_ids":["1"]}`} {
		if got := d.use(d.alice, "wait_for_event", bad); !got.IsError {
			t.Errorf("%s: %s", bad, got.StructuredContent)
		}
	}
}

func sameKinds(got, want string) bool {
	a, b := strings.Fields(got), strings.Fields(want)
	if len(a) != len(b) {
		return false
	}
	count := map[string]int{}
	for i := range a {
		count[a[i]]++
		count[b[i]]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// waiting sends a call that waits, and gives its answer when it comes.
func (d *desk) waiting(ctx context.Context, k lanetest.Key, version, id, arguments string) <-chan string {
	d.T.Helper()
	meta, header := "", []string{"MCP-Protocol-Version", version}
	if version == modern {
		meta, header = ","+modernMeta, append(header, "Mcp-Method", "tools/call", "Mcp-Name", "wait_for_event")
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait_for_event","arguments":%s%s}}`, id, arguments, meta)
	r := d.Request(k, "POST", Path, []byte(body)).WithContext(ctx)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := make(chan string, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			out <- "error: " + err.Error()
			return
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body) // what came is what is told
		out <- b.String()
	}()
	return out
}

// waiters counts the watches of an account.
func (d *desk) waiters(u core.UserID) int {
	d.lane.hub.mu.Lock()
	defer d.lane.hub.mu.Unlock()
	return len(d.lane.hub.users[u])
}

// 1,000 calls wait at once and cost one goroutine each beside net/http's own two of
// a connection; one event answers them all.
func TestManyWait(t *testing.T) {
	d := generous(t)
	const many = 1000
	keys := make([]lanetest.Key, 10)
	for i := range keys {
		keys[i] = d.Key(1, core.ScopeRead)
	}
	from := d.seq()
	before := runtime.NumGoroutine()
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	answers := make([]<-chan string, many)
	for i := range answers {
		answers[i] = d.waiting(ctx, keys[i%len(keys)], modern, strconv.Itoa(i), `{"after_seq":"`+from+`","kinds":["order"]}`)
		if i%50 == 49 { // no faster than the listener takes them
			settle(t, "calls on the way", func() bool { return d.waiters(1) == i+1 })
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
	d.use(d.alice, "place_order", order(1, ""))
	for i, a := range answers {
		if got := <-a; !strings.HasPrefix(got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":`, i)) || !strings.Contains(got, `"kind":"order"`) {
			t.Fatal(got)
		}
	}
	settle(t, "the watches", func() bool { return d.waiters(1) == 0 })
}

// A client that goes away cancels its request on the modern revision. On the older
// ones it does not, and notifications/cancelled does (contract mcp, Transport).
func TestCancellation(t *testing.T) {
	d := generous(t)
	from := d.seq()
	arguments := `{"after_seq":"` + from + `","kinds":["deposit"],"timeout_ms":25000}`

	ctx, hangUp := context.WithCancel(t.Context())
	gone := d.waiting(ctx, d.alice, modern, "1", arguments)
	settle(t, "the first", func() bool { return d.waiters(1) == 1 })
	hangUp()
	<-gone
	settle(t, "a request whose client is gone", func() bool { return d.waiters(1) == 0 })

	ctx, hangUp = context.WithCancel(t.Context())
	gone = d.waiting(ctx, d.alice, legacy, `"old"`, arguments)
	settle(t, "the second", func() bool { return d.waiters(1) == 1 })
	hangUp()
	<-gone
	for range 20 { // the venue has had time to hear of it
		d.use(d.alice, "get_balance", `{}`)
	}
	if d.waiters(1) != 1 {
		t.Error("a client that went away canceled a request of an older revision")
	}
	cancel := func(k lanetest.Key, id string) {
		t.Helper()
		body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"test"}}`
		if status, _, got := d.post(k, body, "MCP-Protocol-Version", legacy); status != 202 || got != "" {
			t.Errorf("%d %s", status, got)
		}
	}
	cancel(d.bob, `"old"`)  // not his
	cancel(d.alice, `"x"`)  // not there
	cancel(d.alice, `null`) // nothing
	if d.waiters(1) != 1 {
		t.Error("canceled by what does not name it")
	}
	cancel(d.alice, `"old"`)
	settle(t, "a canceled request", func() bool { return d.waiters(1) == 0 })
}

// A revoked key has nothing to wait for.
func TestRevocationEndsWaiting(t *testing.T) {
	d := open(t)
	k := d.Key(1, core.ScopeRead)
	answer := d.waiting(t.Context(), k, modern, "1", `{"after_seq":"`+d.seq()+`"}`)
	settle(t, "the call", func() bool { return d.waiters(1) == 1 })
	d.Do(&core.RevokeKey{User: 1, Key: k.ID})
	if got := <-answer; at(t, got, "error", "code") != 401.0 {
		t.Error(got)
	}
}

// Closing the lane answers who waits, so that a draining venue ends in time.
func TestCloseAnswersWhoWaits(t *testing.T) {
	d := open(t)
	var answers []<-chan string
	for i := range 5 {
		answers = append(answers, d.waiting(t.Context(), d.alice, modern, strconv.Itoa(i), `{"after_seq":"`+d.seq()+`"}`))
	}
	settle(t, "the calls", func() bool { return d.waiters(1) == 5 })
	d.lane.Close()
	for _, a := range answers {
		if got := <-a; !strings.Contains(got, `"events":[]`) {
			t.Error(got)
		}
	}
}

// Time runs out without an event: an empty answer, and a next_seq to go on from.
func TestWaitTimesOut(t *testing.T) {
	d := open(t)
	w := d.wait(d.alice, `{"after_seq":"18446744073709551615","timeout_ms":1}`)
	if len(w.Events) != 0 || w.NextSeq != "18446744073709551615" {
		t.Errorf("%+v", w)
	}
}

// What is no longer kept is said to be missed, not passed over.
func TestWaitTellsWhatItMissed(t *testing.T) {
	d := generous(t)
	from := d.seq()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 600 {
				id := 1 + i*10_000 + n
				if r := d.Do(placed(id)); r.Reject != core.OK {
					t.Errorf("%d: %v", id, r.Reject)
					return
				}
				d.Do(&core.CancelAll{User: 1})
			}
		})
	}
	all.Wait()
	if w := d.wait(d.alice, `{"after_seq":"`+from+`","timeout_ms":0}`); !w.Missed {
		t.Errorf("nothing missed of 4,800 events and more: %d events", len(w.Events))
	}
}

func placed(id int) core.Command {
	return &core.PlaceOrder{User: 1, ClientID: uint64(id), Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 1000, Qty: 1}
}
