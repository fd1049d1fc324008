package rest

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
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

// TestUnauthorizedCause tests that the venue's log says why a request is unauthorized and which key it names, and that
// the answer says it on a dev venue alone.
func TestUnauthorizedCause(t *testing.T) {
	for _, environment := range []string{"live", "arena", "dev"} {
		h, alice, _ := newServer(t)
		h.Gate.Log = slog.New(slog.NewTextHandler(h.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
		h.Venue.Config.Environment, h.Gate.BodyTimeout = environment, 10*time.Millisecond
		revoked := h.NewKey(1, core.ScopeRead)
		h.Submit(&core.RevokeKey{User: 1, Key: revoked.ID})
		for cause, x := range map[string]struct {
			key    lanetest.Key
			change func(http.Header)
			hint   string
		}{
			"headers":   {alice, func(h http.Header) { h.Del(schemas.HeaderSignature) }, "is missing or repeated"},
			"key":       {revoked, func(http.Header) {}, "revoked"},
			"signature": {alice, func(h http.Header) { h.Set(schemas.HeaderSignature, strings.Repeat("0", 64)) }, "the signature is wrong"},
			"clock": {alice, func(h http.Header) {
				h.Set(schemas.HeaderTimestamp, "1")
				h.Set(schemas.HeaderSignature, schemas.Sign(alice.Secret, "1", "GET", "/v1/portfolio/balance", nil))
			}, "5 s of the venue's clock"},
			"body": {alice, nil, "the body ended early"},
		} {
			r := h.SignedRequest(x.key, "GET", "/v1/portfolio/balance", nil)
			if x.change != nil {
				x.change(r.Header)
			} else { // a body that never comes
				never, w := io.Pipe()
				defer w.Close()
				r.Body, r.ContentLength = never, 1
			}
			status, header, body := h.Send(r)
			if status != 401 || code(body) != "unauthorized" || strings.Contains(body, `"hint"`) != (environment == "dev") || environment == "dev" && !strings.Contains(body, x.hint) {
				t.Errorf("%s, %s: %d %s", environment, cause, status, body)
			}
			line := ""
			for _, l := range strings.Split(h.Logs.String(), "\n") {
				if strings.Contains(l, header.Get("X-Request-Id")) {
					line = l
				}
			}
			if !strings.Contains(line, "cause="+cause) || !strings.Contains(line, "api_key="+x.key.ID) {
				t.Errorf("%s, %s: the log has %q, want the cause and the key %s", environment, cause, line, x.key.ID)
			}
		}
		if status, header, _ := h.Send(h.SignedRequest(alice, "GET", "/v1/portfolio/balance", nil)); status != 200 || strings.Contains(h.Logs.String()[strings.Index(h.Logs.String(), header.Get("X-Request-Id")):], "cause=") {
			t.Errorf("a request that is authenticated: %d, and its line has a cause", status)
		}
	}
}

// TestRefusalsNameTheField checks the field and the hint of refusals that are found after decoding or before it: each
// has a hint, and the member that is at fault if there is one.
func TestRefusalsNameTheField(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	reader := h.NewKey(1, core.ScopeRead)
	order := func(more string) string {
		return `{"client_order_id":"71","market_id":1,"side":"buy","outcome":"yes","type":"limit","tick":4700,"qty":1` + more + `}`
	}
	status, placed := h.Call(alice, "POST", "/v1/portfolio/orders", order(""))
	if status != 201 && status != 200 {
		t.Fatal(status, placed)
	}
	var resting struct {
		OrderID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(placed), &resting); err != nil {
		t.Fatal(err)
	}
	const orders = "/v1/portfolio/orders"
	for _, c := range []struct {
		key                          lanetest.Key
		method, target, body         string
		code, field, hint, otherHint string
	}{
		{alice, "POST", orders, strings.Replace(order(`,"tif":"gtt","expiry_ts":"1"`), `"71"`, `"72"`, 1), "bad_expiry", "expiry_ts", "not in the future", ""},
		{alice, "POST", orders, strings.NewReplacer(`"71"`, `"73"`, `"market_id":1`, `"market_id":999`).Replace(order("")), "unknown_market", "market_id", "No market with this id", ""},
		{alice, "POST", orders, order(""), "duplicate_client_order_id", "client_order_id", "used before", ""},
		{alice, "GET", "/v1/markets/999", "", "unknown_market", "market_id", "No market with this id", ""},
		{alice, "GET", "/v1/markets/01", "", "unknown_market", "market_id", "without zeros in front", ""},
		{alice, "GET", orders + "/1", "", "unknown_order", "order_id", "No live order", ""},
		{alice, "DELETE", orders + "/by-client-order-id/9", "", "unknown_order", "client_order_id", "No live order", ""},
		{alice, "POST", orders + "/" + resting.OrderID + "/decrease", `{"reduce_to":2}`, "invalid_decrease", "reduce_to", "lower what remains", ""},
		{alice, "POST", orders + "/" + resting.OrderID + "/decrease", `{"reduce_by":2}`, "invalid_decrease", "reduce_by", "lower what remains", ""},
		{alice, "GET", "/v1/nothing", "", "not_found", "", "No such route", ""},
		{alice, "PUT", "/v1/time", "", "method_not_allowed", "", "does not take this method", ""},
		{alice, "GET", "/v1/time", "{}", "unexpected_body", "", "without a body", ""},
		{alice, "POST", orders, strings.Repeat(" ", 1<<16+1), "body_too_large", "", "64 KiB", ""},
		{reader, "POST", orders, order(""), "missing_scope", "", "lacks the scope", ""},
		{alice, "POST", orders, order(`,"tick":4700`), "malformed_json", "tick", "tick: given twice", ""},
		{alice, "POST", orders + "/batch", `{"orders":[` + order("") + `,` + order(`,"qty":2`) + `]}`, "malformed_json", "orders[1].qty", "orders[1].qty: given twice", ""},
		{alice, "POST", orders + "/batch", `{"orders":[` + order("") + `,` + order(`,"worst_tick":1`) + `]}`, "schema_violation", "orders[1].worst_tick", "orders[1].worst_tick: for market orders alone", "worst_tick: worst_tick"},
		{alice, "POST", orders, order(`,"":1`), "unknown_field", `""`, `"": no such field`, ""},
		{alice, "POST", orders, order(`,"q\u200bty":1`), "unknown_field", `"qty"`, `"qty": no such field`, ""},
		{alice, "DELETE", orders + "/batch", `{"order_ids":["1",2]}`, "schema_violation", "order_ids[1]", "a whole number as a string", "array"},
	} {
		_, _, body := h.Send(h.SignedRequest(c.key, c.method, c.target, []byte(c.body)))
		var got schemas.ErrorBody
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Error.Code != c.code || got.Error.Field != c.field || !strings.Contains(got.Error.Hint, c.hint) || c.otherHint != "" && strings.Contains(got.Error.Hint, c.otherHint) {
			t.Errorf("%s %s %.80s: %s %v, want %s at %q with the hint %q", c.method, c.target, c.body, body, err, c.code, c.field, c.hint)
		}
	}
}
