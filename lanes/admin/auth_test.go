package admin

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"

	"duplex/core"
)

// TestOnlyTheOperator checks that without the token every path but the probes gets the
// same response, known or not.
func TestOnlyTheOperator(t *testing.T) {
	d := newTestOperator(t, nil)
	bearers := []http.Header{
		nil,
		{"Authorization": {"Bearer "}},
		{"Authorization": {"Bearer wrong"}},
		{"Authorization": {"Bearer  " + token}},
		{"Authorization": {"Basic " + token}},
		{"Authorization": {token}},
		{"Authorization": {"Bearer " + token, "Bearer " + token}},
	}
	var first string
	for _, h := range bearers {
		for _, target := range []string{"/admin/state", "/admin/users", "/metrics", "/debug/pprof", "/debug/pprof/heap", "/nowhere", "/index.html", "/assets/none.js", "/?x", "/livez/x", "/v1/time"} {
			for _, method := range []string{"GET", "POST", "PUT", "OPTIONS"} {
				status, header, body := d.send(method, target, "", h)
				if first == "" {
					first = body
				}
				if status != 401 || body != first || header.Get("X-Request-Id") == "" || header.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s with %v: %d %s", method, target, h, status, body)
				}
			}
		}
	}
	if want := `{"error":{"code":"unauthorized","num":null,"origin":"gateway","message":"unauthorized","details":null}}`; first != want {
		t.Errorf("%s, want %s", first, want)
	}
	for _, target := range []string{"/livez", "/readyz", "/readyz?verbose"} {
		if status, _, body := d.send("GET", target, "", nil); status != 200 {
			t.Errorf("GET %s without a token: %d %s, want 200", target, status, body)
		}
	}
	if status, _, _ := d.send("GET", "/admin/state", "", http.Header{"Authorization": {"bearer " + token}}); status != 200 {
		t.Errorf("a scheme in lower case: %d", status)
	}
}

// TestPublicListener checks that a listener which other machines reach accepts no shared token, and
// limits failures by address, but never a valid token.
func TestPublicListener(t *testing.T) {
	d := newTestOperator(t, func(o *Options) { o.KeepShared, o.NamedOnly = true, true })
	d.FreezeClock()
	d.Server.Submit(&core.AddOperator{Name: "ann", Role: core.RoleAdmin, TokenHash: sha256.Sum256([]byte("dxo_ann"))})
	for i := range 31 {
		want := 401
		if i == 30 {
			want = 429
		}
		if status, _, body := d.send("GET", "/admin/state", "", bearer(token)); status != want {
			t.Fatalf("failure %d: %d %s", i, status, body)
		}
	}
	if status, _, body := d.send("GET", "/admin/state", "", bearer("dxo_ann")); status != 200 {
		t.Errorf("a valid token behind the same address: %d %s", status, body)
	}
}

func TestMisses(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"GET", "/index.html", "", 404, code("not_found")},
		{"POST", "/", "", 405, code("method_not_allowed")},
		{"GET", "/admin", "", 404, code("not_found")},
		{"GET", "/admin/nothing", "", 404, code("not_found")},
		{"GET", "/admin/users/", "", 404, code("not_found")},
		{"GET", "//admin/users", "", 404, code("not_found")},
		{"GET", "/admin/../admin/users", "", 404, code("not_found")},
		{"GET", "/admin/%75sers", "", 404, code("not_found")},
		{"GET", "/v1/time", "", 404, code("not_found")},
		{"GET", "/debug/pprof/none", "", 404, code("not_found")},
		{"DELETE", "/admin/users", "", 405, code("method_not_allowed")},
		{"POST", "/admin/fees", "{}", 405, code("method_not_allowed")},
		{"POST", "/livez", "", 405, code("method_not_allowed")},
		{"GET", "/admin/state?x=1", "", 400, code("unknown_field")},
		{"GET", "/admin/state", "{}", 400, code("unexpected_body")},
		{"POST", "/admin/users", "", 400, code("malformed_json")},
		{"POST", "/admin/users", "[]", 400, code("malformed_json")},
		{"POST", "/admin/users", `{"name":"a","name":"b"}`, 400, code("malformed_json")},
		{"POST", "/admin/users", `{"name":"a"} {}`, 400, code("malformed_json")},
		{"POST", "/admin/users", `{"name":"a","admin":true}`, 400, code("unknown_field")},
		{"POST", "/admin/users", `{"Name":"a"}`, 400, code("unknown_field")},
		{"POST", "/admin/users", `{"name":""}`, 400, code("schema_violation")},
		{"POST", "/admin/users", `{"name":"a\u001b[2Jb"}`, 400, code("schema_violation")},
		{"POST", "/admin/users/1/keys", `{"label":"a\nb"}`, 400, code("schema_violation")},
		{"POST", "/admin/users", `{"name":"` + strings.Repeat("x", 64<<10) + `"}`, 413, code("body_too_large")},
	})
	if _, header, _ := d.send("DELETE", "/admin/users", "", bearer(token)); header.Get("Allow") != "GET, POST" {
		t.Errorf("Allow: %q", header.Get("Allow"))
	}
	form := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/x-www-form-urlencoded"}}
	if status, _, body := d.send("POST", "/admin/users", `{"name":"a"}`, form); status != 415 {
		t.Errorf("a form: %d %s", status, body)
	}
}

// TestNoSecretIsLogged checks that no token or secret appears in logs or metrics.
func TestNoSecretIsLogged(t *testing.T) {
	d := newTestOperator(t, nil)
	var user struct {
		AccountToken string `json:"account_token"`
	}
	var key struct{ Secret string }
	_, body := d.do("POST", "/admin/users", `{"name":"carol","reason":"requested"}`)
	d.read(body, &user)
	_, body = d.do("POST", "/admin/users/3/keys", `{"scopes":["read"]}`)
	d.read(body, &key)
	d.do("GET", "/admin/users", "")
	d.do("POST", "/admin/users/9/keys", `{}`)
	_, metrics := d.do("GET", "/metrics", "")
	seen := d.logs.String() + metrics
	if user.AccountToken == "" || key.Secret == "" || !strings.Contains(seen, "admin_create_user") || !strings.Contains(seen, `reason=requested`) {
		t.Fatalf("the user is %+v, the key %+v, want both with their secrets, and the action with its reason in\n%s", user, key, seen)
	}
	for _, secret := range []string{token, user.AccountToken, key.Secret} {
		if strings.Contains(seen, secret) {
			t.Errorf("%s appears in\n%s", secret, seen)
		}
	}
}
