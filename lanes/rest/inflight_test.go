package rest

import (
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// TestInFlight checks that placements beyond the bound are shed at once, that cancels pass,
// and that a response frees its slot (docs/rules/limits.md#placements-in-hand).
func TestInFlight(t *testing.T) {
	t.Parallel()
	h, l := newHeldServer(t)
	alice, bob := h.NewKey(1, readTrade), h.NewKey(2, readTrade)
	h.Gate.InFlight = 1
	l.Hold.Store(true)
	answers := make(chan string, 2)
	send := func(k lanetest.Key, method, target, body string) {
		status, text := h.Call(k, method, target, body)
		answers <- fmt.Sprint(status, " ", text)
	}
	go send(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	select {
	case <-l.Took:
	case a := <-answers:
		t.Fatalf("the first request was not blocked: %s", a)
	}
	for _, target := range []string{"/v1/portfolio/orders", "/v1/portfolio/orders/batch"} {
		body := order(2, "")
		if strings.HasSuffix(target, "batch") {
			body = `{"orders":[` + body + `]}`
		}
		if status, text := h.Call(bob, "POST", target, body); status != 503 || !strings.Contains(text, `"shed"`) {
			t.Errorf("a second POST %s in flight: %d %s, want 503 shed", target, status, text)
		}
	}
	go send(bob, "DELETE", "/v1/portfolio/orders/7", "")
	l.Let <- struct{}{}
	for range 2 {
		if a := <-answers; !strings.HasPrefix(a, "201 ") && !strings.Contains(a, "unknown_order") {
			t.Errorf("response %s", a)
		}
	}
	if status, text := h.Call(bob, "POST", "/v1/portfolio/orders", order(2, "")); status != 201 {
		t.Errorf("after it: %d %s", status, text)
	}
	if n := h.Venue.Engine.Stats().Shed.Load(); n != 0 {
		t.Errorf("%d were shed by the queue", n)
	}
}

// TestInFlightOfAFamily checks that an owner and its agents share a quarter of the bound, so that
// no owner gets more of it by having agents.
func TestInFlightOfAFamily(t *testing.T) {
	t.Parallel()
	h, l := newHeldServer(t)
	h.Submit(&core.CreateAgent{Owner: 1, Name: "scout", Fund: 1_000_000})
	h.Submit(&core.CreateAgent{Owner: 1, Name: "other", Fund: 1_000_000})
	first, second, bob := h.NewKey(3, readTrade), h.NewKey(4, readTrade), h.NewKey(2, readTrade)
	h.Gate.InFlight = 2
	l.Hold.Store(true)
	answers := make(chan int, 2)
	send := func(k lanetest.Key) {
		status, _ := h.Call(k, "POST", "/v1/portfolio/orders", order(1, ""))
		answers <- status
	}
	go send(first)
	<-l.Took
	if status, text := h.Call(second, "POST", "/v1/portfolio/orders", order(1, "")); status != 503 || !strings.Contains(text, `"shed"`) {
		t.Errorf("a second order of the family: %d %s", status, text)
	}
	go send(bob)
	l.Hold.Store(false)
	l.Let <- struct{}{}
	for range 2 {
		if status := <-answers; status != 201 {
			t.Errorf("status %d", status)
		}
	}
}
