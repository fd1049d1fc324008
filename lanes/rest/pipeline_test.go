package rest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
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

func TestBodies(t *testing.T) {
	h, alice, _ := newServer(t)
	send := func(body, contentType, encoding string) (int, string) {
		r := h.SignedRequest(alice, "POST", "/v1/portfolio/orders", []byte(body))
		r.Header.Del("Content-Type")
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		status, _, got := h.Send(r)
		return status, code(got)
	}
	pad := strings.Repeat(" ", 64<<10-len(order(1, "")))
	for _, c := range []struct {
		name, body, contentType, encoding string
		status                            int
		code                              string
	}{
		{"no type", order(1, ""), "", "", 201, ""},
		{"with a charset", order(2, ""), "application/json; charset=utf-8", "", 201, ""},
		{"a form", order(3, ""), "application/x-www-form-urlencoded", "", 415, "unsupported_media_type"},
		{"compressed", order(3, ""), "application/json", "gzip", 415, "unsupported_media_type"},
		{"plain text", "x", "text/plain", "", 415, "unsupported_media_type"},
		{"of the largest size", order(3, "") + pad, "application/json", "", 201, ""},
		{"one byte too long", order(4, "") + pad + " ", "application/json", "", 413, "body_too_large"},
		{"empty", "", "", "", 400, "malformed_json"},
		{"not UTF-8", "{\"qty\":\"\xff\"}", "", "", 400, "malformed_json"},
	} {
		if status, code := send(c.body, c.contentType, c.encoding); status != c.status || code != c.code {
			t.Errorf("%s: %d %s", c.name, status, code)
		}
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

// raw sends bytes unchanged and returns the status code and the body.
func raw(t *testing.T, h *lanetest.Server, text string) (status string, body string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b := make([]byte, 4096)
	n, _ := resp.Body.Read(b)
	return resp.Status[:3], string(b[:n])
}

func TestMalformedTargets(t *testing.T) {
	h, alice, _ := newServer(t)
	signed := func(method, target, body string) string {
		ts := strconv.FormatInt(h.Now()/core.NsPerMs, 10)
		return fmt.Sprintf("Host: x\r\n%s: %s\r\n%s: %s\r\n%s: %s\r\n", schemas.HeaderKey, alice.ID, schemas.HeaderTimestamp, ts, schemas.HeaderSignature, schemas.Sign(alice.Secret, ts, method, target, []byte(body)))
	}
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(order(1, "")), order(1, ""))
	for _, c := range []struct{ name, text, status, code string }{
		{"absolute form", "GET http://x/v1/time HTTP/1.1\r\n" + signed("GET", "http://x/v1/time", "") + "\r\n", "400", "schema_violation"},
		{"absolute form unsigned", "GET http://x/v1/time HTTP/1.1\r\nHost: x\r\n\r\n", "401", "unauthorized"},
		{"chunked", "POST /v1/portfolio/orders HTTP/1.1\r\n" + signed("POST", "/v1/portfolio/orders", order(1, "")) + "Transfer-Encoding: chunked\r\n\r\n" + chunked, "201", ""},
		{"two ends", "POST /v1/portfolio/orders HTTP/1.1\r\n" + signed("POST", "/v1/portfolio/orders", order(2, "")) + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.ReplaceAll(chunked, `"1"`, `"2"`), "400", "schema_violation"},
		{"two ends unsigned", "POST /v1/portfolio/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, "401", "unauthorized"},
		{"a body on a read", "GET /v1/time HTTP/1.1\r\n" + signed("GET", "/v1/time", "{}") + "Content-Length: 2\r\n\r\n{}", "400", "unexpected_body"},
		{"lower-case method", "get /v1/time HTTP/1.1\r\n" + signed("GET", "/v1/time", "") + "\r\n", "405", "method_not_allowed"},
	} {
		if status, body := raw(t, h, c.text); status != c.status || code(body) != c.code {
			t.Errorf("%s: %s %s", c.name, status, body)
		}
	}
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

// TestAccountsAreAnonymous checks that an order of another account gets the same response
// as an unknown order.
func TestAccountsAreAnonymous(t *testing.T) {
	h, alice, bob := newServer(t)
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	id := field(t, body, "order_id").(string)
	for _, c := range [][2]string{
		{"GET", "/v1/portfolio/orders/%s"}, {"DELETE", "/v1/portfolio/orders/%s"},
	} {
		_, foreign := h.Call(bob, c[0], fmt.Sprintf(c[1], id), "")
		_, unknown := h.Call(bob, c[0], fmt.Sprintf(c[1], "987654321"), "")
		if foreign != unknown || code(foreign) != "unknown_order" {
			t.Errorf("%s: %s and %s", c[0], foreign, unknown)
		}
	}
	_, foreign := h.Call(bob, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_by":1}`)
	if code(foreign) != "unknown_order" {
		t.Error(foreign)
	}
}
