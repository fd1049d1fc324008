package rest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/lanes/lanetest"
)

// held is a log that can be told to wait with a group.
type held struct {
	engine.Log
	hold      atomic.Bool
	took, let chan struct{}
}

func (h *held) Propose(g journal.Group) error {
	if h.hold.CompareAndSwap(true, false) {
		h.took <- struct{}{}
		<-h.let
	}
	return h.Log.Propose(g)
}

// heldHouse is a venue on such a log.
func heldHouse(t *testing.T) (*lanetest.House, *held) {
	l := &held{took: make(chan struct{}), let: make(chan struct{})}
	h := lanetest.New(t, func(o *engine.Options) {
		o.OpenLog = func(j journal.Options) (_ engine.Log, err error) {
			l.Log, err = journal.Open(o.Dir, j)
			return l, err
		}
	})
	return h, l
}

// together lets requests happen in one group: it fills while the one before it is with
// the log.
func together(h *lanetest.House, l *held, requests ...func()) {
	var all sync.WaitGroup
	l.hold.Store(true)
	all.Go(func() { h.Do(&core.SetSession{Feed: core.BTC, Open: true}) })
	<-l.took
	for i, f := range requests {
		all.Go(f)
		for h.Engine.Depth() <= i {
			time.Sleep(time.Millisecond) // it waits in the queue; nothing signals that it does
		}
	}
	l.let <- struct{}{}
	all.Wait()
}

// What a decrease is answered is of its own moment, whatever else the same group has
// done to the order by the time it is told.
func TestDecreaseIsAnsweredAsOfItself(t *testing.T) {
	h, l := heldHouse(t)
	h.Stop() // nothing falls due
	Mount(h.Routes, h.Gate, "test")
	h.Serve()
	alice := h.Key(1, everyone)
	decrease := func(id string, to int) (answer string) {
		together(h, l, func() {
			_, answer = h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", fmt.Sprintf(`{"reduce_to":%d}`, to))
		}, func() {
			h.Do(&core.PlaceOrder{User: 2, ClientID: uint64(to), Market: 1, Outcome: core.No, Tick: 5000, Qty: 3})
		})
		return answer
	}
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	id := field(t, body, "order_id").(string)
	if got := decrease(id, 9); field(t, got, "status") != "resting" || field(t, got, "remaining_qty") != 9.0 {
		t.Errorf("before the first fill: %s", got)
	}
	if got := decrease(id, 5); field(t, got, "status") != "partially_filled" {
		t.Errorf("after it: %s", got)
	}
	// An order that the same group makes later was none yet.
	answer := ""
	next := fmt.Sprint(h.Engine.Seq() + 3) // behind what holds the group up, and the decrease
	together(h, l, func() {
		_, answer = h.Call(alice, "POST", "/v1/portfolio/orders/"+next+"/decrease", `{"reduce_to":1}`)
	}, func() { _, body = h.Call(alice, "POST", "/v1/portfolio/orders", order(2, "")) })
	if id := field(t, body, "order_id"); id != next {
		t.Fatalf("the order is %v, not %s", id, next)
	}
	if got := code(answer); got != "unknown_order" {
		t.Errorf("of an order to come: %s", answer)
	}
}
