package admin

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"duplex/core"
)

// TestPage checks that the page needs no token, that it allows nothing but its own files, and that
// it has no inline script or style.
func TestPage(t *testing.T) {
	d := newTestOperator(t, nil)
	status, h, body := d.send("GET", "/", "", nil)
	if status != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Cache-Control") != "no-cache" {
		t.Fatalf("GET /: %d %v, want 200, HTML and no-cache", status, h)
	}
	policy := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !slices.Contains(strings.Split(policy, "; "), want) {
			t.Errorf("the policy has no %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the header %v allows something unsafe, or lacks nosniff or no-referrer", h)
	}
	if regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style| style=| on[a-z]+=`).MatchString(body) {
		t.Errorf("the page has an inline script or style:\n%s", body)
	}
	files := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(files) < 3 {
		t.Fatalf("the page loads %v", files)
	}
	for _, f := range files {
		status, h, file := d.send("GET", f[1], "", nil)
		if status != 200 || len(file) == 0 || !strings.Contains(h.Get("Cache-Control"), "immutable") {
			t.Errorf("GET %s: %d %v, want 200, a body, and immutable", f[1], status, h)
		}
		if status, _, file := d.send("GET", f[1], "", http.Header{"If-None-Match": {h.Get("ETag")}}); status != 304 || file != "" {
			t.Errorf("%s again: %d", f[1], status)
		}
	}
}

// TestPageIsCompressed checks that a client that accepts gzip gets the script in less than half of its
// bytes, with a tag of its own, and that others get it as it is.
func TestPageIsCompressed(t *testing.T) {
	d := newTestOperator(t, nil)
	_, _, body := d.send("GET", "/", "", nil)
	script := regexp.MustCompile(`src="([^"]+\.js)"`).FindStringSubmatch(body)
	if script == nil {
		t.Fatalf("the page has no script:\n%s", body)
	}
	_, plain, whole := d.send("GET", script[1], "", http.Header{"Accept-Encoding": {"gzip;q=0"}})
	_, packed, small := d.send("GET", script[1], "", http.Header{"Accept-Encoding": {"br, gzip"}})
	if plain.Get("Content-Encoding") != "" || packed.Get("Content-Encoding") != "gzip" || packed.Get("Vary") != "Accept-Encoding" || packed.Get("ETag") == plain.Get("ETag") {
		t.Fatalf("the script as it is: %v, and compressed: %v, want gzip for the second alone, Vary, and two tags", plain, packed)
	}
	r, err := gzip.NewReader(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || string(got) != whole || len(small) > len(whole)/2 {
		t.Errorf("%d of %d bytes hold %d: %v", len(small), len(whole), len(got), err)
	}
}

// TestWhoAmI checks that each role gets the actions of the table, and the limit of approvals.
func TestWhoAmI(t *testing.T) {
	limit := core.Pips(500_0000)
	d := newTestOperator(t, func(o *Options) { o.KeepShared, o.FourEyes = true, &limit })
	for _, role := range core.RoleNames() {
		token := d.add(role, role)
		status, _, body := d.send("GET", "/admin/whoami", "", bearer(token))
		var me struct {
			Name, Role string
			Actions    []string
			FourEyes   string `json:"four_eyes"`
		}
		if err := json.Unmarshal([]byte(body), &me); err != nil || status != 200 {
			t.Fatalf("whoami of a %s: %d %s, %v, want 200", role, status, body, err)
		}
		if me.Name != role || me.Role != role || me.FourEyes != "5000000" {
			t.Fatalf("whoami of a %s: %s, want this name and role, and four_eyes 5000000", role, body)
		}
		r, _ := core.RoleOf(role)
		for action := range permissions {
			if slices.Contains(me.Actions, action) != mayDo(r, action) {
				t.Errorf("%s: %s is wrong in %v", role, action, me.Actions)
			}
		}
	}
}
