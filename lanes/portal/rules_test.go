package portal

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"duplex/docs"
)

var (
	linked     = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	identified = regexp.MustCompile(`id="([^"]+)"`)
)

// rules returns the pages of the rulebook as the portal serves them, by path.
func (v *testPortal) rules() map[string]string {
	v.T.Helper()
	pages := map[string]string{}
	for _, name := range docs.Pages {
		at := docs.Served(name)
		status, h, body := v.request("", "GET", at, "")
		if status != 200 || h.Get("Content-Type") != html || h.Get("Cache-Control") != "no-cache" || h.Get("ETag") == "" {
			v.T.Errorf("GET %s: %d %v, want 200, HTML, no-cache and an ETag", at, status, h)
		}
		pages[at] = body
	}
	return pages
}

// TestRules checks that every page of the rulebook is served as HTML, with a table of
// contents and a permalink at each heading, and as unchanged Markdown.
func TestRules(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	pages := v.rules()
	for _, name := range docs.Pages {
		page, err := docs.Render(name)
		if err != nil {
			t.Fatal(err)
		}
		body := pages[page.Path]
		if !strings.Contains(body, "<title>"+page.Title+" · Duplex</title>") || !strings.Contains(body, string(page.HTML)) {
			t.Errorf("%s does not show %s", page.Path, name)
		}
		for _, h := range page.Headings {
			if n := strings.Count(body, `href="#`+h.ID+`"`); n < 2 {
				t.Errorf("%s: %d links to %s, want one in the contents and a permalink", page.Path, n, h.ID)
			}
		}
		status, h, text := v.request("", "GET", page.Source, "")
		written, err := os.ReadFile("../../docs/" + name)
		if err != nil || status != 200 || h.Get("Content-Type") != "text/markdown; charset=utf-8" || text != string(written) {
			t.Errorf("GET %s: %d %v, %v, want 200 and the Markdown as it was written", page.Source, status, h, err)
		}
	}
	for _, target := range []string{"/rules/", "/rules/nothing", "/rules/README", "/rules.md", "/glossary/", "/rules/../rules/orders"} {
		v.wants("", "GET", target, "", 404, "not_found")
	}
}

// TestLinksOfTheRules checks that every link in the rulebook leads to a page of the portal
// and to an existing anchor.
func TestLinksOfTheRules(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.AsyncAPI = func() []byte { return []byte(`{"asyncapi":"3.0.0"}`) } })
	pages, known := v.rules(), map[string]bool{}
	anchors := map[string]map[string]bool{}
	for at, body := range pages {
		anchors[at] = map[string]bool{}
		for _, m := range identified.FindAllStringSubmatch(body, -1) {
			anchors[at][m[1]] = true
		}
	}
	for at, body := range pages {
		for _, m := range linked.FindAllStringSubmatch(body, -1) {
			to, anchor, anchored := strings.Cut(m[1], "#")
			if to == "data:," {
				continue
			}
			if to == "" {
				to = at
			}
			to, _, _ = strings.Cut(to, "?")
			if !strings.HasPrefix(to, "/") {
				t.Errorf("%s: %s leads to another host", at, m[1])
			} else if anchored && !anchors[to][anchor] {
				t.Errorf("%s: %s: no such anchor", at, m[1])
			} else if !known[to] {
				known[to] = true
				v.wants("", "GET", to, "", 200, "")
			}
		}
	}
}

// TestRulesKeepThePolicy checks that a page of the rulebook has no scripts and no inline
// styles, and that it has the security headers of the portal.
func TestRulesKeepThePolicy(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	_, landing, _ := v.request("", "GET", "/", "")
	for at, body := range v.rules() {
		for _, bad := range []string{"<script", "<style", " style=", " onclick=", "javascript:"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", at, bad)
			}
		}
		_, h, _ := v.request("", "GET", at, "")
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy"} {
			if h.Get(name) == "" || h.Get(name) != landing.Get(name) {
				t.Errorf("%s: %s is %q", at, name, h.Get(name))
			}
		}
	}
}

// TestRulesAreLinked checks that pages and guides link to the rulebook.
func TestRulesAreLinked(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	for target, link := range map[string]string{
		"/": `href="/rules"`, "/docs": `href="/rules"`, "/errors": `href="/rules/errors"`, "/deprecation": `href="/rules"`, "/llms.txt": "/rules/README.md", "/llms-full.txt": "/rules/README.md",
	} {
		_, _, page := v.send("GET", target, "", http.Header{"Accept": {"text/html"}})
		if !strings.Contains(page, link) {
			t.Errorf("%s has no %s", target, link)
		}
	}
}
