package rest

import (
	"net/http"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// TestMediaTypeCheckedLast checks that the media type is checked after route, scope and
// tokens, and only on a route with a body (docs/rules/rest.md#order-of-checks).
func TestMediaTypeCheckedLast(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	reader := h.NewKey(1, core.ScopeRead)
	for _, c := range []struct {
		key            lanetest.Key
		method, target string
		status         int
		code           string
	}{
		{alice, "GET", "/v1/nothing", 404, "not_found"},
		{alice, "PUT", "/v1/time", 405, "method_not_allowed"},
		{reader, "POST", "/v1/portfolio/orders", 403, "missing_scope"},
		{alice, "DELETE", "/v1/portfolio/orders?x=1", 400, "unexpected_body"},
		{alice, "DELETE", "/v1/portfolio/deadman", 400, "unexpected_body"},
		{alice, "GET", "/v1/time", 400, "unexpected_body"},
		{alice, "POST", "/v1/portfolio/orders?x=1", 415, "unsupported_media_type"},
	} {
		r := h.SignedRequest(c.key, c.method, c.target, []byte("a=1"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if status, _, body := h.Send(r); status != c.status || code(body) != c.code {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.target, status, body, c.status, c.code)
		}
	}
	h.FreezeClock() // no token is refilled, however slow the machine
	for range 300 { // once no token is left, the request is not decoded
		r := h.SignedRequest(reader, "POST", "/v1/portfolio/orders/preview", []byte("a=1"))
		r.Header.Set("Content-Type", "text/plain")
		if status, _, _ := h.Send(r); status == 429 {
			return
		}
	}
	t.Error("a request with another media type costs no token")
}

// TestPanicIsInternal checks that a panic in an operation is an internal error with its
// request id in the log, and that the venue serves further requests.
func TestPanicIsInternal(t *testing.T) {
	t.Parallel()
	h := lanetest.New(t)
	h.Routes.HandleFunc("GET /v1/panics", func(http.ResponseWriter, *http.Request) { panic("test panic") })
	Mount(h.Routes, h.Gate, "test")
	h.Serve()
	alice := h.NewKey(1, readTrade)
	status, header, body := h.Send(h.SignedRequest(alice, "GET", "/v1/panics", nil))
	if status != 500 || code(body) != "internal" || strings.Contains(body, "test panic") {
		t.Errorf("a handler that panics: %d %s, want 500 internal without the panic's text", status, body)
	}
	if id := header.Get("X-Request-Id"); !strings.Contains(h.Logs.String(), id) {
		t.Errorf("no %s in the log", id)
	}
	if status, _ := h.Call(alice, "GET", "/v1/time", ""); status != 200 {
		t.Error("no request is served after a panic")
	}
}
