package portal

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex/lanes/gate"
	"duplex/schemas"
)

// documents lists what is there to read, besides the dashboard.
func (l *lane) documents(m *gate.Routes) {
	l.show(m, "/portal.css", "text/css; charset=utf-8", style)
	l.show(m, "/llms.txt", "text/plain; charset=utf-8", l.guide())
	l.show(m, "/llms-full.txt", "text/plain; charset=utf-8", l.full())
	l.show(m, "/errors.json", "application/json", must(schemas.Append(nil, faults)))
	m.Handle("GET /errors", either(documentOf(html, framed(errorsPage, faults)), documentOf("application/json", must(schemas.Append(nil, faults)))))
	l.show(m, "/deprecation", html, framed(deprecationPage, nil))
	if l.OpenAPI != nil {
		doc := *l.OpenAPI
		if l.API != "" {
			doc.Servers = []*huma.Server{{URL: l.API, Description: "The API listener"}}
		}
		l.show(m, "/openapi.json", "application/json", must(doc.MarshalJSON()))
		l.show(m, "/openapi.yaml", "application/yaml", must(doc.YAML()))
	}
	if l.AsyncAPI != nil {
		l.show(m, "/asyncapi.json", "application/json", l.AsyncAPI)
	}
	if l.Changelog != nil {
		l.show(m, "/changelog.atom", "application/atom+xml; charset=utf-8", atom(l.Changelog))
	}
	l.reference(m)
	l.dashboard(m)
	l.pages(m)
}

// faults are the tables of errors as the venue keeps them.
var faults = struct {
	Errors []schemas.Meaning `json:"errors"`
	WS     []schemas.WSFault `json:"ws"`
}{schemas.Faults, schemas.WSFaults}

// either shows a page to a browser, and the same as data to a program.
func either(page, data *document) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			page.ServeHTTP(w, r)
		} else {
			data.ServeHTTP(w, r)
		}
	})
}

// show serves bytes under a path.
func (l *lane) show(m *gate.Routes, path, kind string, body []byte) {
	m.Handle("GET "+path, documentOf(kind, body))
}

// document is bytes to read. They never change while the portal runs, but may with
// the next: a client keeps them and asks again by their tag.
type document struct {
	kind, tag string
	body      []byte
}

func documentOf(kind string, body []byte) *document {
	sum := sha256.Sum256(body)
	return &document{kind, `"` + hex.EncodeToString(sum[:16]) + `"`, body}
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.fresh(w, r) {
		_, _ = w.Write(d.body) // the client has gone: nobody is left to tell
	}
}

// fresh sets the headers. It answers, and is true, if the client has the bytes.
func (d *document) fresh(w http.ResponseWriter, r *http.Request) bool {
	gate.CallOf(r.Context()).Op = "portal_document"
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", d.tag)
	if strings.Contains(r.Header.Get("If-None-Match"), d.tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	h.Set("Content-Type", d.kind)
	return false
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err) // our own documents always encode
	}
	return b
}
