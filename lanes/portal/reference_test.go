package portal

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestReference checks that the reference loads and runs scripts only from the portal, and
// that every feature that connects to other hosts is disabled.
func TestReference(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.AsyncAPI = func() []byte { return []byte(`{"asyncapi":"3.0.0"}`) } })
	_, h, page := v.request("", "GET", "/docs", "")
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'self'", "style-src 'self' 'unsafe-inline'", "frame-ancestors 'none'", "connect-src 'self' " + v.URL} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s not in %s", part, policy)
		}
	}
	if strings.Contains(policy, "script-src") || strings.Contains(page, "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(page) {
		t.Errorf("/docs has script-src in its policy, a style element or an inline script: %s\n%s", policy, page)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if m[1] != "data:," {
			v.wants("", "GET", m[1], "", 200, "")
		}
	}
	for _, part := range []string{`&#34;url&#34;:&#34;/openapi.json&#34;`, `&#34;url&#34;:&#34;/asyncapi.json&#34;`} {
		if !strings.Contains(page, part) {
			t.Errorf("no %s in\n%s", part, page)
		}
	}
	for _, off := range []string{"telemetry: false", "withDefaultFonts: false", "agent: { disabled: true }", `proxyUrl: ""`, "hideTestRequestButton: true", "hideClientButton: true"} {
		if !bytes.Contains(docsScript, []byte(off)) {
			t.Errorf("%s is not in the script", off)
		}
	}
}

func TestReferenceIsGzipped(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	r, err := gzip.NewReader(bytes.NewReader(scalar))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for accept, packed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "GZIP": true, "identity": false, "gzip;q=0": false, "gzip; q=0.0": false, "*": false} {
		_, h, body := v.send("GET", "/docs/scalar.js", "", http.Header{"Accept-Encoding": {accept}})
		want := string(plain)
		if packed {
			want = string(scalar)
		}
		if body != want || (h.Get("Content-Encoding") == "gzip") != packed || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %d bytes, %v", accept, len(body), h)
		}
	}
}

// TestNoReference checks that the reference needs a document.
func TestNoReference(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, func(o *Options) { o.OpenAPI = nil })
	v.wants("", "GET", "/docs", "", 404, "not_found")
	v.wants("", "GET", "/docs/scalar.js", "", 404, "not_found")
}
