package portal

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"net/http"

	"duplex/lanes/gate"
)

// The reference page is Scalar, embedded as published (scalar/LICENSE). It loads only the
// documents of this portal.
var (
	//go:embed scalar/standalone.js.gz
	scalar []byte
	//go:embed page/docs.html
	docsPage string
	//go:embed page/docs.js
	docsScript []byte
	//go:embed page/docs.css
	docsStyle []byte
)

// referenceSource is a document that the reference shows.
type referenceSource struct {
	Title string `json:"title"`
	Slug  string `json:"slug"`
	URL   string `json:"url"`
}

// registerReference serves the API reference, if there is a document to show.
func (l *lane) registerReference(m *gate.Routes) {
	var sources []referenceSource
	if l.OpenAPI != nil {
		sources = append(sources, referenceSource{"REST", "rest", "/openapi.json"})
	}
	if l.AsyncAPI != nil {
		sources = append(sources, referenceSource{"Events", "events", "/asyncapi.json"})
	}
	if len(sources) == 0 {
		return
	}
	var page bytes.Buffer
	list := must(json.Marshal(sources))
	if err := template.Must(template.New("docs").Parse(docsPage)).Execute(&page, string(list)); err != nil {
		panic(err) // the template is part of the binary
	}
	m.Handle("GET /docs", l.withInlineStyles(documentOf(html, func() []byte { return page.Bytes() })))
	l.serveBytes(m, "/docs/start.js", "text/javascript; charset=utf-8", docsScript)
	l.serveBytes(m, "/docs/bar.css", "text/css; charset=utf-8", docsStyle)
	m.Handle("GET /docs/scalar.js", serveGzip("text/javascript; charset=utf-8", scalar))
}

// withInlineStyles relaxes the policy for inline styles, which Scalar inserts into the page.
func (l *lane) withInlineStyles(next http.Handler) http.Handler {
	policy := l.contentSecurityPolicy("style-src 'self' 'unsafe-inline'")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		next.ServeHTTP(w, r)
	})
}

// serveGzip serves a gzipped body, unpacked for a client that does not accept gzip.
func serveGzip(kind string, body []byte) http.Handler {
	as := documentOf(kind, func() []byte { return body })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
		if !gate.AcceptsCoding(r, "gzip") {
			as.serveUncompressed(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		as.ServeHTTP(w, r)
	})
}

// serveUncompressed is ServeHTTP for a client that does not accept gzip.
func (d *document) serveUncompressed(w http.ResponseWriter, r *http.Request) {
	plain, err := gzip.NewReader(bytes.NewReader(d.body()))
	if err != nil {
		panic(err) // the archive is part of the binary
	}
	if !d.notModified(w, r, d.tag()) {
		_, _ = io.Copy(w, plain) // fails only for HEAD, or after the client has disconnected
	}
}
