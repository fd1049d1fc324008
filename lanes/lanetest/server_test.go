package lanetest_test

import (
	"net/http"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
)

// TestSignedAgain tests that only a request whose signature is right and too old is signed again.
func TestSignedAgain(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	h.FreezeClock()
	k := h.NewKey(1, core.ScopeRead)
	for _, c := range []struct {
		name   string
		after  time.Duration
		change func(*http.Request)
		want   int
	}{
		{"late", 6 * time.Second, func(*http.Request) {}, 200},
		{"forged", 0, func(r *http.Request) { r.Header.Set(schemas.HeaderSignature, "AAAA") }, 401},
		{"forged and late", 6 * time.Second, func(r *http.Request) { r.Header.Set(schemas.HeaderSignature, "AAAA") }, 401},
		{"unsigned and late", 6 * time.Second, func(r *http.Request) { r.Header.Del(schemas.HeaderSignature) }, 401},
		{"ahead of the venue", -6 * time.Second, func(*http.Request) {}, 401},
	} {
		r := h.SignedRequest(k, "POST", "/v1/portfolio/orders/preview", []byte(`{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":1}`))
		h.AdvanceClock(c.after)
		c.change(r)
		if status, _, body := h.Send(r); status != c.want {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
}
