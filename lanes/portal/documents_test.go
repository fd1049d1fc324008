package portal

import (
	"encoding/json"
	"encoding/xml"
	"html/template"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"duplex/schemas"
	"duplex/tools"
)

const changes = `# Changelog

What users should know.

## Unreleased

- Something <new> & bright.

## 0.2.0 (2026-03-01)

- Two.

### Not an entry

- Still two.

## 0.1.0 - 2026-01-31
`

func TestDocuments(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.AsyncAPI = func() []byte { return []byte(`{"asyncapi":"3.0.0"}`) } })
	for target, want := range map[string]struct{ kind, has string }{
		"/":               {"text/html; charset=utf-8", "<h1>Duplex</h1>"},
		"/portal.css":     {"text/css; charset=utf-8", "body {"},
		"/openapi.json":   {"application/json", `"/v1/portfolio/orders"`},
		"/openapi.yaml":   {"application/yaml", "  /v1/portfolio/orders:\n"},
		"/asyncapi.json":  {"application/json", `{"asyncapi":"3.0.0"}`},
		"/llms.txt":       {"text/plain; charset=utf-8", "- POST /v1/portfolio/orders: "},
		"/changelog.atom": {"application/atom+xml; charset=utf-8", "<feed "},
		"/errors":         {"application/json", `"code":"bad_price_tick"`},
		"/errors.json":    {"application/json", `"name":"unknown_sid"`},
		"/deprecation":    {"text/html; charset=utf-8", "90 days"},
		"/docs":           {"text/html; charset=utf-8", `id="reference"`},
		"/docs/start.js":  {"text/javascript; charset=utf-8", "withDefaultFonts: false"},
		"/docs/bar.css":   {"text/css; charset=utf-8", ".bar {"},
		"/docs/scalar.js": {"text/javascript; charset=utf-8", "createApiReference"},
		"/llms-full.txt":  {"text/plain; charset=utf-8", "### POST /v1/portfolio/orders\n"},
	} {
		status, h, body := v.request("", "GET", target, "")
		if status != 200 || h.Get("Content-Type") != want.kind || !strings.Contains(body, want.has) || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("GET %s: %d %v %.300s, want 200, %s with %q and no-cache", target, status, h, body, want.kind, want.has)
		}
		status, _, body = v.send("GET", target, "", http.Header{"If-None-Match": {h.Get("ETag")}})
		if status != 304 || body != "" {
			t.Errorf("%s, conditional: %d %.300s", target, status, body)
		}
		if status, head, body := v.request("", "HEAD", target, ""); status != 200 || body != "" || head.Get("ETag") != h.Get("ETag") {
			t.Errorf("HEAD %s: %d %v", target, status, head)
		}
		v.wants("", "POST", target, "", 405, "method_not_allowed")
	}
}

// TestDocumentsAtOnce asks for the documents that are made of the same descriptions, each for the first time,
// at the same time.
func TestDocumentsAtOnce(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	var all sync.WaitGroup
	for _, target := range []string{"/openapi.json", "/openapi.yaml", "/llms.txt", "/llms-full.txt", "/openapi.json", "/rules/orders", "/rules/money"} {
		all.Go(func() {
			resp, err := http.Get(v.url + target)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if n, err := io.Copy(io.Discard, resp.Body); resp.StatusCode != http.StatusOK || n == 0 || err != nil {
				t.Errorf("%s: %d, %d bytes, %v", target, resp.StatusCode, n, err)
			}
		})
	}
	all.Wait()
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	host := strings.TrimPrefix(v.URL, "http://")
	for _, target := range []string{"/", "/keys", "/nowhere", "/llms.txt"} {
		_, h, _ := v.request("", "GET", target, "")
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'self'", "frame-ancestors 'none'", "connect-src 'self' http://" + host + " ws://" + host + ";"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: %s not in %s", target, part, policy)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Request-Id") == "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("GET %s: the header %v lacks nosniff, no-referrer or a request id, or allows other origins", target, h)
		}
	}
	if _, h, _ := v.request(carol, "GET", "/keys", ""); h.Get("Cache-Control") != "no-store" {
		t.Errorf("the response to GET /keys may be cached: %v", h)
	}
}

func TestMisses(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.Gate.Origins = []string{"http://elsewhere.example"}
	for _, target := range []string{"/nowhere", "/v1/markets", "/docs/", "/asyncapi.json", "/llms.txt/", "//llms.txt", "/./llms.txt", "/%6clms.txt", "/favicon.ico", "/page/index.html", "/metrics", "/admin/state"} {
		v.wants("", "GET", target, "", 404, "not_found")
		v.wants(carol, "GET", target, "", 404, "not_found")
	}
	v.wants(carol, "PUT", "/keys", "", 405, "method_not_allowed")
	v.wants(carol, "POST", "/account", "", 405, "method_not_allowed")
	v.wants(carol, "GET", "/keys/x/y", "", 404, "not_found")
	v.wants(carol, "GET", "/keys/", "", 404, "not_found")
	status, h, _ := v.send("OPTIONS", "/llms.txt", "", http.Header{"Origin": {"http://elsewhere.example"}, "Access-Control-Request-Method": {"GET"}})
	if status != 405 || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS: %d %v", status, h)
	}
}

// TestLanding checks that the page loads nothing from other hosts and shows the addresses of
// the venue.
func TestLanding(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.Venue.Config.Environment, o.Venue.Config.Oracle = "dev", "sim" })
	_, _, page := v.request("", "GET", "/", "")
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "/") && m[1] != "data:," {
			t.Errorf("%s is on another host", m[1])
		} else if m[1] != "data:," {
			v.wants("", "GET", m[1], "", 200, "")
		}
	}
	for _, part := range []string{"<strong>dev</strong>: play money", "<strong>sim</strong>, simulated", v.URL, "ws" + strings.TrimPrefix(v.URL, "http") + "/v1/ws"} {
		if !strings.Contains(page, part) {
			t.Errorf("no %q in\n%s", part, page)
		}
	}
	if strings.Contains(page, "<style") || strings.Contains(page, "<script") || strings.Contains(page, "asyncapi") || strings.Contains(page, "mcp") {
		t.Error(page)
	}
}

// TestGuide checks that the guide has routes, errors and the address of the API.
func TestGuide(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	_, _, guide := v.request("", "GET", "/llms.txt", "")
	for _, f := range []*tools.Spec{&tools.PlaceOrder.Spec, &tools.CancelOrders.Spec, &tools.GetDepositAddress.Spec} {
		if line := "- " + f.Method + " " + f.Path + ": " + f.Title + "\n"; strings.Count(guide, line) != 1 {
			t.Errorf("no %q", line)
		}
	}
	for _, m := range schemas.ErrorTable {
		if !strings.Contains(guide, " "+m.Code+" ("+string(m.Retry)+"): ") {
			t.Errorf("no %s", m.Code)
		}
	}
	if len(guide) > 16_000 || strings.Contains(guide, "<no value>") || strings.Contains(guide, "asyncapi") || !strings.Contains(guide, "- REST: "+v.URL) {
		t.Errorf("%d bytes\n%s", len(guide), guide)
	}
}

// TestErrors checks that a program gets the error tables as JSON and a browser as a page, and
// that both are complete.
func TestErrors(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	var table struct {
		Errors []schemas.ErrorInfo
		WS     []schemas.WSErrorInfo
	}
	_, _, body := v.request("", "GET", "/errors", "")
	if err := json.Unmarshal([]byte(body), &table); err != nil || len(table.Errors) != len(schemas.ErrorTable) || len(table.WS) != len(schemas.WSErrorTable) {
		t.Errorf("%v: %d errors, %d of the event lane", err, len(table.Errors), len(table.WS))
	}
	_, h, page := v.send("GET", "/errors", "", http.Header{"Accept": {"text/html,application/xhtml+xml"}})
	if h.Get("Content-Type") != html || h.Get("Vary") != "Accept" {
		t.Errorf("GET /errors as a page: %v, want HTML that varies by Accept", h)
	}
	for _, m := range schemas.ErrorTable {
		row := `<tr id="` + m.Code + `"><td><a href="/rules/errors#` + m.Code + `">.*<td>` + m.Origin + `</td><td>` + strconv.Itoa(m.HTTP) + `</td>.*<td>` + string(m.Retry) + `</td><td>` + regexp.QuoteMeta(template.HTMLEscapeString(m.Means)) + `</td>`
		if !regexp.MustCompile(row).MatchString(page) {
			t.Errorf("%s is not on the page", m.Code)
		}
	}
	for _, f := range schemas.WSErrorTable {
		if code := strconv.Itoa(f.Code); !strings.Contains(page, `<tr id="ws-`+code+`"><td><a href="/rules/events#wscode-`+code+`">`) {
			t.Errorf("%s is not on the page", f.Name)
		}
	}
}

func TestOpenAPINamesTheAPI(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	var doc struct{ Servers []struct{ URL string } }
	_, _, body := v.request("", "GET", "/openapi.json", "")
	if err := json.Unmarshal([]byte(body), &doc); err != nil || len(doc.Servers) != 1 || doc.Servers[0].URL != v.URL {
		t.Errorf("/openapi.json: %v, %+v, want %s as the only server", err, doc, v.URL)
	}
}

func TestChangelog(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	_, _, body := v.request("", "GET", "/changelog.atom", "")
	var f atomFeed
	if err := xml.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if len(f.Entries) != 3 || f.Author != "Duplex" || f.Updated < "2026-03-01T00:00:00Z" {
		t.Fatalf("the feed is %+v, want three entries by Duplex, updated in March 2026 or later", f)
	}
	ids := map[string]bool{f.ID: true}
	for i, want := range []struct{ title, updated, has string }{
		{"Unreleased", buildTime(), "- Something <new> & bright."},
		{"0.2.0 (2026-03-01)", "2026-03-01T00:00:00Z", "### Not an entry\n\n- Still two."},
		{"0.1.0 - 2026-01-31", "2026-01-31T00:00:00Z", ""},
	} {
		e := f.Entries[i]
		if _, err := time.Parse(time.RFC3339, e.Updated); err != nil || e.Updated != want.updated {
			t.Errorf("entry %d is of %s, %v, want %s", i, e.Updated, err, want.updated)
		}
		if e.Title != want.title || !strings.Contains(e.Content.Body, want.has) {
			t.Errorf("entry %d is %+v, want %+v", i, e, want)
		}
		if ids[e.ID] {
			t.Errorf("entry %d has the id of another: %s", i, e.ID)
		}
		ids[e.ID] = true
	}
	if dated, bare := entries("## 0.3.0 - 2026-05-01\nx"), entries("## 0.3.0\nx"); dated[0].ID != bare[0].ID {
		t.Error("the date of a heading changes the id of its entry")
	}
}

// TestStatic checks that each file of the dashboard is served under its own path only, encoded
// for clients that accept it, and that a name with a hash may be cached for good.
func TestStatic(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) {
		o.Static = fstest.MapFS{
			"index.html":           {Data: []byte("<!doctype html><title>dash</title>")},
			"assets/app.js":        {Data: []byte("let a = 1")},
			"assets/app.js.br":     {Data: []byte("BR")},
			"assets/app.js.gz":     {Data: []byte("GZ")},
			"manifest.webmanifest": {Data: []byte("{}")},
		}
	})
	for target, want := range map[string][3]string{
		"/":                     {"text/html; charset=utf-8", "<!doctype html><title>dash</title>", "no-cache"},
		"/assets/app.js":        {"text/javascript; charset=utf-8", "let a = 1", "public, max-age=31536000, immutable"},
		"/manifest.webmanifest": {"application/manifest+json", "{}", "no-cache"},
	} {
		if status, h, body := v.send("GET", target, "", http.Header{"Accept-Encoding": {"identity"}}); status != 200 || h.Get("Content-Type") != want[0] || body != want[1] || h.Get("Cache-Control") != want[2] {
			t.Errorf("GET %s: %d %v %s, want type, body and Cache-Control %q", target, status, h, body, want)
		}
	}
	for accepted, want := range map[string][2]string{
		"br, gzip": {"br", "BR"}, "gzip": {"gzip", "GZ"}, "GZIP;q=0.5, br;q=0": {"gzip", "GZ"}, "br;q=0.0": {"", "let a = 1"}, "brotli": {"", "let a = 1"}, "deflate, br;q=1": {"br", "BR"},
	} {
		accept := http.Header{"Accept-Encoding": {accepted}}
		status, h, body := v.send("GET", "/assets/app.js", "", accept)
		if status != 200 || h.Get("Content-Encoding") != want[0] || body != want[1] || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("app.js for Accept-Encoding %q: %d %v %q, want encoding and body %q, and Vary", accepted, status, h, body, want)
		}
		accept.Set("If-None-Match", h.Get("ETag"))
		if status, _, body := v.send("GET", "/assets/app.js", "", accept); status != 304 || body != "" {
			t.Errorf("%s, conditional: %d %q", accepted, status, body)
		}
	}
	for _, target := range []string{"/index.html", "/assets", "/assets/", "/assets/app.css", "/assets/app.js.br", "/assets/app.js.gz"} {
		v.wants("", "GET", target, "", 404, "not_found")
	}
}
