package rest

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// TestUnauthorized checks that every kind of invalid credentials gets the same response.
func TestUnauthorized(t *testing.T) {
	h, alice, _ := newServer(t)
	other := h.NewKey(2, readTrade)
	revoked := h.NewKey(1, readTrade)
	h.Submit(&core.RevokeKey{User: 1, Key: revoked.ID})
	millis := func(off time.Duration) string {
		return strconv.FormatInt((h.Now()+int64(off))/core.NsPerMs, 10)
	}
	stamp := func(r *http.Request, k lanetest.Key, ts, target string) {
		r.Header.Set(schemas.HeaderTimestamp, ts)
		r.Header.Set(schemas.HeaderSignature, schemas.Sign(k.Secret, ts, r.Method, target, nil))
	}
	const target = "/v1/portfolio/balance"
	for name, corrupt := range map[string]func(*http.Request){
		"no key":        func(r *http.Request) { r.Header.Del(schemas.HeaderKey) },
		"no timestamp":  func(r *http.Request) { r.Header.Del(schemas.HeaderTimestamp) },
		"no signature":  func(r *http.Request) { r.Header.Del(schemas.HeaderSignature) },
		"key twice":     func(r *http.Request) { r.Header.Add(schemas.HeaderKey, alice.ID) },
		"unknown key":   func(r *http.Request) { r.Header.Set(schemas.HeaderKey, "dxk00") },
		"another's key": func(r *http.Request) { r.Header.Set(schemas.HeaderKey, other.ID) },
		"revoked key": func(r *http.Request) {
			r.Header.Set(schemas.HeaderKey, revoked.ID)
			stamp(r, revoked, millis(0), target)
		},
		"too old":        func(r *http.Request) { stamp(r, alice, millis(-6*time.Second), target) },
		"too new":        func(r *http.Request) { stamp(r, alice, millis(6*time.Second), target) },
		"seconds":        func(r *http.Request) { stamp(r, alice, millis(0)[:10], target) },
		"a sign":         func(r *http.Request) { stamp(r, alice, "+"+millis(0)[1:], target) },
		"another target": func(r *http.Request) { stamp(r, alice, millis(0), target+"?") },
		"signature unpadded": func(r *http.Request) {
			r.Header.Set(schemas.HeaderSignature, strings.TrimRight(r.Header.Get(schemas.HeaderSignature), "="))
		},
		"signature in hex": func(r *http.Request) { r.Header.Set(schemas.HeaderSignature, strings.Repeat("ab", 22)) },
		"signature url-safe": func(r *http.Request) {
			b, _ := base64.StdEncoding.DecodeString(r.Header.Get(schemas.HeaderSignature))
			b[0] = 0xfb
			r.Header.Set(schemas.HeaderSignature, base64.URLEncoding.EncodeToString(b))
		},
		"another method": func(r *http.Request) { r.Method = "DELETE" },
	} {
		r := h.SignedRequest(alice, "GET", target, nil)
		corrupt(r)
		status, header, body := h.Send(r)
		if want := `{"error":{"code":"unauthorized","num":null,"origin":"gateway","message":"unauthorized","details":null}}`; status != 401 || body != want || header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, body := h.Call(alice, "GET", "/v1/nothing-without-a-key", ""); status != 404 {
		t.Errorf("%d %s", status, body)
	}
	r, _ := http.NewRequest("GET", h.URL+"/v1/nothing-without-a-key", nil)
	if status, _, body := h.Send(r); status != 401 {
		t.Errorf("without a key: %d %s", status, body)
	}
}

// TestDroppedBody checks that a request without its signed body is unauthorized and cancels
// nothing (docs/rules/rest.md#bodies).
func TestDroppedBody(t *testing.T) {
	h, alice, _ := newServer(t)
	r := h.SignedRequest(alice, "DELETE", "/v1/portfolio/orders/batch", []byte(`{"order_ids":["1"]}`))
	bare, _ := http.NewRequest("DELETE", r.URL.String(), nil)
	bare.Header = r.Header
	if status, _, body := h.Send(bare); status != 401 {
		t.Errorf("%d %s", status, body)
	}
}

// TestMediaTypeCheckedLast checks that the media type is checked after route, scope and
// tokens, and only on a route with a body (docs/rules/rest.md#order-of-checks).
func TestMediaTypeCheckedLast(t *testing.T) {
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
			t.Errorf("%s %s: %d %s", c.method, c.target, status, body)
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
	h := lanetest.New(t)
	h.Routes.HandleFunc("GET /v1/panics", func(http.ResponseWriter, *http.Request) { panic("test panic") })
	Mount(h.Routes, h.Gate, "test")
	h.Serve()
	alice := h.NewKey(1, readTrade)
	status, header, body := h.Send(h.SignedRequest(alice, "GET", "/v1/panics", nil))
	if status != 500 || code(body) != "internal" || strings.Contains(body, "test panic") {
		t.Errorf("%d %s", status, body)
	}
	if id := header.Get("X-Request-Id"); !strings.Contains(h.Logs.String(), id) {
		t.Errorf("no %s in the log", id)
	}
	if status, _ := h.Call(alice, "GET", "/v1/time", ""); status != 200 {
		t.Error("no request is served after a panic")
	}
}
