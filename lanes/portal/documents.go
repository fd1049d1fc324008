package portal

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"duplex/lanes/gate"
	"duplex/schemas"
)

// registerDocuments registers documents, pages and the dashboard.
func (l *lane) registerDocuments(m *gate.Routes) {
	l.serveBytes(m, "/portal.css", "text/css; charset=utf-8", style)
	l.serve(m, "/llms.txt", "text/plain; charset=utf-8", l.guide)
	l.serve(m, "/llms-full.txt", "text/plain; charset=utf-8", l.fullGuide)
	errors := func() []byte { return must(schemas.Append(nil, errorTables)) }
	l.serve(m, "/errors.json", "application/json", errors)
	m.Handle("GET /errors", negotiateHTML(documentOf(html, func() []byte { return renderPage(errorsPage, errorTables) }), documentOf("application/json", errors)))
	l.serve(m, "/deprecation", html, func() []byte { return renderPage(deprecationPage, nil) })
	l.rulebook(m)
	if l.OpenAPI != nil {
		doc := func() *huma.OpenAPI {
			doc := *l.OpenAPI()
			if l.API != "" {
				doc.Servers = []*huma.Server{{URL: l.API, Description: "The API listener"}}
			}
			return &doc
		}
		l.serve(m, "/openapi.json", "application/json", func() []byte { return must(doc().MarshalJSON()) })
		l.serve(m, "/openapi.yaml", "application/yaml", func() []byte { return must(doc().YAML()) })
	}
	if l.AsyncAPI != nil {
		l.serve(m, "/asyncapi.json", "application/json", l.AsyncAPI)
	}
	if l.Changelog != nil {
		l.serve(m, "/changelog.atom", "application/atom+xml; charset=utf-8", func() []byte { return atom(l.Changelog) })
	}
	l.registerReference(m)
	l.registerDashboard(m)
	l.registerPages(m)
}

// openAPI returns the document of REST, nil if there is none.
func (l *lane) openAPI() *huma.OpenAPI {
	if l.OpenAPI == nil {
		return nil
	}
	return l.OpenAPI()
}

// asyncAPI returns the document of the event lane, nil if there is none.
func (l *lane) asyncAPI() []byte {
	if l.AsyncAPI == nil {
		return nil
	}
	return l.AsyncAPI()
}

// errorTables are the error tables of REST and of the event lane.
var errorTables = struct {
	Errors []schemas.ErrorInfo   `json:"errors"`
	WS     []schemas.WSErrorInfo `json:"ws"`
}{schemas.ErrorTable, schemas.WSErrorTable}

// negotiateHTML serves page to a browser and data to any other client.
func negotiateHTML(page, data *document) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			page.ServeHTTP(w, r)
		} else {
			data.ServeHTTP(w, r)
		}
	})
}

// serveBytes serves body under a path.
func (l *lane) serveBytes(m *gate.Routes, path, kind string, body []byte) {
	l.serve(m, path, kind, func() []byte { return body })
}

// serve serves what build returns under a path.
func (l *lane) serve(m *gate.Routes, path, kind string, build func() []byte) {
	m.Handle("GET "+path, documentOf(kind, build))
}

// document is an immutable file with an ETag. Clients may cache it and must revalidate it,
// since the next version of the venue may serve another one, unless its name changes with its
// content. It is built when it is asked for the first time, so that a venue opens without waiting
// for pages.
type document struct {
	kind        string
	body        func() []byte
	tag         func() string
	encoded     []encodedBody // the same file encoded, the smallest first
	isImmutable bool          // the path names the content
}

// encodedBody is a file in a content coding.
type encodedBody struct {
	coding string
	body   []byte
}

func documentOf(kind string, build func() []byte) *document {
	body := sync.OnceValue(build)
	return &document{kind: kind, body: body, tag: sync.OnceValue(func() string {
		sum := sha256.Sum256(body())
		return `"` + hex.EncodeToString(sum[:16]) + `"`
	})}
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, tag := d.body(), d.tag()
	for _, e := range d.encoded {
		if gate.AcceptsCoding(r, e.coding) {
			w.Header().Set("Content-Encoding", e.coding)
			body, tag = e.body, strings.TrimSuffix(tag, `"`)+"-"+e.coding+`"`
			break
		}
	}
	if len(d.encoded) > 0 {
		w.Header().Add("Vary", "Accept-Encoding")
	}
	if d.notModified(w, r, tag) {
		return
	}
	_, _ = w.Write(body) // fails only after the client has disconnected
}

// notModified sets the headers. If the client has the current version, it responds with 304
// and returns true.
func (d *document) notModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	gate.CallOf(r.Context()).Op = "portal_document"
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if d.isImmutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	h.Set("Content-Type", d.kind)
	return false
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err) // the venue's own documents always encode
	}
	return b
}
