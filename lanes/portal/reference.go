package portal

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"strings"

	"duplex/lanes/gate"
)

// The reference is Scalar's, in the binary as published (scalar/LICENSE): a page that
// reads the documents of this portal and nothing else.
var (
	//go:embed scalar/standalone.js.gz
	scalar []byte
	//go:embed page/docs.html
	docsPage string
	//go:embed page/docs.js
	docsScript []byte
)

// source is a document that the reference shows.
type source struct {
	Title string `json:"title"`
	Slug  string `json:"slug"`
	URL   string `json:"url"`
}

// reference serves the API reference, if there is a document to show.
func (l *lane) reference(m *gate.Routes) {
	var sources []source
	if l.OpenAPI != nil {
		sources = append(sources, source{"REST", "rest", "/openapi.json"})
	}
	if l.AsyncAPI != nil {
		sources = append(sources, source{"Events", "events", "/asyncapi.json"})
	}
	if len(sources) == 0 {
		return
	}
	var page bytes.Buffer
	list := must(json.Marshal(sources))
	if err := template.Must(template.New("docs").Parse(docsPage)).Execute(&page, string(list)); err != nil {
		panic(err) // the template is part of the binary
	}
	m.Handle("GET /docs", l.styled(documentOf(html, page.Bytes())))
	l.show(m, "/docs/start.js", "text/javascript; charset=utf-8", docsScript)
	m.Handle("GET /docs/scalar.js", packed("text/javascript; charset=utf-8", scalar))
}

// styled lets a page carry styles of its own making: Scalar writes its into the page.
func (l *lane) styled(next http.Handler) http.Handler {
	policy := l.policy("style-src 'self' 'unsafe-inline'")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		next.ServeHTTP(w, r)
	})
}

// packed serves what is kept gzipped: as it is to a client that takes it so, unpacked
// to any other.
func packed(kind string, body []byte) http.Handler {
	as := documentOf(kind, body)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
		if !takesGzip(r) {
			as.unpacked(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		as.ServeHTTP(w, r)
	})
}

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, weighed := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return !weighed || strings.Trim(weight, "q=0.") != ""
		}
	}
	return false
}

// unpacked is ServeHTTP for a client that does not take gzip.
func (d *document) unpacked(w http.ResponseWriter, r *http.Request) {
	plain, err := gzip.NewReader(bytes.NewReader(d.body))
	if err != nil {
		panic(err) // it is part of the binary
	}
	if !d.fresh(w, r) {
		_, _ = io.Copy(w, plain) // the client has gone, or was asked by HEAD: nobody is left to tell
	}
}
