package rest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// newHeldServer serves a venue on a log that can be held. No timer fires.
func newHeldServer(t *testing.T) (*lanetest.Server, *lanetest.HeldLog) {
	h, l := lanetest.NewHeld(t)
	Mount(h.Routes, h.Gate, "test")
	h.Serve()
	h.FreezeClock()
	return h, l
}

// inOneGroup sequences requests in one group, in order: the group fills while the log blocks
// the one before it.
func inOneGroup(h *lanetest.Server, l *lanetest.HeldLog, requests ...func()) {
	var all sync.WaitGroup
	l.Hold.Store(true)
	all.Go(func() { h.Submit(&core.SetSession{Feed: core.BTC, Open: true}) })
	<-l.Took
	for i, f := range requests {
		all.Go(f)
		waitQueued(h, i+1)
	}
	l.Let <- struct{}{}
	all.Wait()
}

// waitQueued waits until n requests are in the queue, which nothing signals.
func waitQueued(h *lanetest.Server, n int) {
	for h.Engine.QueueDepth() < n {
		time.Sleep(time.Millisecond)
	}
}

// TestDecreaseResponseIsAsOfItsSeq checks that the response to a decrease shows the order as
// of the decrease, even if a later command of the same group changed the order.
func TestDecreaseResponseIsAsOfItsSeq(t *testing.T) {
	t.Parallel()
	h, l := newHeldServer(t)
	alice := h.NewKey(1, allScopes)
	decrease := func(id string, to int) (answer string) {
		inOneGroup(h, l, func() {
			_, answer = h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", fmt.Sprintf(`{"reduce_to":%d}`, to))
		}, func() {
			h.Submit(&core.PlaceOrder{User: 2, ClientID: uint64(to), Market: 1, Outcome: core.No, Tick: 5000, Qty: 3})
		})
		return answer
	}
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	id := field(t, body, "order_id").(string)
	if got := decrease(id, 9); field(t, got, "status") != "resting" || field(t, got, "remaining_qty") != 9.0 {
		t.Errorf("before the fill: %s", got)
	}
	if got := decrease(id, 5); field(t, got, "status") != "partially_filled" {
		t.Errorf("after the fill: %s", got)
	}
	// The decrease of an order that a later command of the group places.
	answer := ""
	next := fmt.Sprint(h.Engine.Seq() + 3) // after the blocking command and the decrease
	inOneGroup(h, l, func() {
		_, answer = h.Call(alice, "POST", "/v1/portfolio/orders/"+next+"/decrease", `{"reduce_to":1}`)
	}, func() { _, body = h.Call(alice, "POST", "/v1/portfolio/orders", order(2, "")) })
	if id := field(t, body, "order_id"); id != next {
		t.Fatalf("the order is %v, not %s", id, next)
	}
	if got := code(answer); got != "unknown_order" {
		t.Errorf("an order that is placed later: %s", answer)
	}
}

// TestCancelByClientOrderIDOfAQueuedOrder checks that a cancel by client_order_id finds an order whose
// placement was queued, but not applied, when the cancel arrived.
func TestCancelByClientOrderIDOfAQueuedOrder(t *testing.T) {
	t.Parallel()
	h, l := newHeldServer(t)
	alice := h.NewKey(1, allScopes)
	var placed, canceled string
	inOneGroup(h, l, func() {
		_, placed = h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	}, func() {
		_, canceled = h.Call(alice, "DELETE", "/v1/portfolio/orders/by-client-order-id/1", "")
	})
	if field(t, placed, "status") != "resting" || field(t, canceled, "canceled_qty") != 10.0 {
		t.Errorf("placed %s, canceled %s", placed, canceled)
	}
	if _, body := h.Call(alice, "GET", "/v1/portfolio/orders?status=resting", ""); field(t, body, "cursor") != "" || strings.Contains(body, "order_id") {
		t.Errorf("the resting orders after the cancel: %s, want none", body)
	}
}

// TestCancelByClientOrderIDDuringItsApproval checks that a cancel by client_order_id finds the order that an owner
// approves while the cancel is under way.
func TestCancelByClientOrderIDDuringItsApproval(t *testing.T) {
	t.Parallel()
	h, l := newHeldServer(t)
	asks := core.Mandate{Set: 1 << core.RuleAskAbove} // about any buy
	h.Submit(&core.CreateAgent{Owner: 1, Name: "scout", Fund: 1_000_000, Mandate: asks})
	key := h.NewKey(3, readTrade)
	status, waits := h.Call(key, "POST", "/v1/portfolio/orders", order(1, ""))
	if status != 202 {
		t.Fatalf("the order is %d %s, want that it waits", status, waits)
	}
	ask, err := strconv.ParseUint(field(t, waits, "approval_id").(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var canceled string
	var all sync.WaitGroup
	l.Hold.Store(true)
	all.Go(func() { h.Submit(&core.DecideAsk{Owner: 1, Ask: ask, Approve: true}) })
	<-l.Took
	all.Go(func() { _, canceled = h.Call(key, "DELETE", "/v1/portfolio/orders/by-client-order-id/1", "") })
	waitQueued(h, 1)
	l.Let <- struct{}{}
	all.Wait()
	if !strings.HasPrefix(canceled, `{"status":"canceled","canceled_qty":10,`) {
		t.Errorf("the cancel is %s, want that of the order that was approved", canceled)
	}
	if _, body := h.Call(key, "GET", "/v1/portfolio/orders?status=resting", ""); strings.Contains(body, "order_id") {
		t.Errorf("the resting orders after the cancel: %s, want none", body)
	}
}

// TestReplaceOfAQueuedOrder checks that a replace finds an order whose placement comes before it and was
// not applied when it arrived, as on a member of several that did not take the placement.
func TestReplaceOfAQueuedOrder(t *testing.T) {
	t.Parallel()
	h, l := newHeldServer(t)
	alice := h.NewKey(1, allScopes)
	var placed, replaced string
	id := fmt.Sprint(h.Engine.Seq() + 2) // after the blocking command
	inOneGroup(h, l, func() {
		_, placed = h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	}, func() {
		_, replaced = h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/replace", `{"client_order_id":"2","tick":4000,"qty":7}`)
	})
	if field(t, placed, "order_id") != id || field(t, replaced, "replaced", "canceled_qty") != 10.0 || field(t, replaced, "status") != "resting" {
		t.Errorf("placed %s, replaced %s", placed, replaced)
	}
	if _, body := h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/replace", `{"client_order_id":"3","tick":4000,"qty":7}`); code(body) != "unknown_order" {
		t.Errorf("an order that was replaced: %s", body)
	}
}
