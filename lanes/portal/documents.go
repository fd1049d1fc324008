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

// registerDocuments registers documents, pages and the dashboard.
func (l *lane) registerDocuments(m *gate.Routes) {
	l.serveBytes(m, "/portal.css", "text/css; charset=utf-8", style)
	l.serveBytes(m, "/llms.txt", "text/plain; charset=utf-8", l.guide())
	l.serveBytes(m, "/llms-full.txt", "text/plain; charset=utf-8", l.fullGuide())
	l.serveBytes(m, "/errors.json", "application/json", must(schemas.Append(nil, errorTables)))
	m.Handle("GET /errors", negotiateHTML(documentOf(html, renderPage(errorsPage, errorTables)), documentOf("application/json", must(schemas.Append(nil, errorTables)))))
	l.serveBytes(m, "/deprecation", html, renderPage(deprecationPage, nil))
	l.rulebook(m)
	if l.OpenAPI != nil {
		doc := *l.OpenAPI
		if l.API != "" {
			doc.Servers = []*huma.Server{{URL: l.API, Description: "The API listener"}}
		}
		l.serveBytes(m, "/openapi.json", "application/json", must(doc.MarshalJSON()))
		l.serveBytes(m, "/openapi.yaml", "application/yaml", must(doc.YAML()))
	}
	if l.AsyncAPI != nil {
		l.serveBytes(m, "/asyncapi.json", "application/json", l.AsyncAPI)
	}
	if l.Changelog != nil {
		l.serveBytes(m, "/changelog.atom", "application/atom+xml; charset=utf-8", atom(l.Changelog))
	}
	l.registerReference(m)
	l.registerDashboard(m)
	l.registerPages(m)
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
	m.Handle("GET "+path, documentOf(kind, body))
}

// document is an immutable file with an ETag. Clients may cache it and must revalidate it,
// since the next version of the venue may serve another one, unless its name changes with its
// content.
type document struct {
	kind, tag   string
	body        []byte
	encoded     []encodedBody // the same file encoded, the smallest first
	isImmutable bool          // the path names the content
}

// encodedBody is a file in a content coding.
type encodedBody struct {
	coding string
	body   []byte
}

func documentOf(kind string, body []byte) *document {
	sum := sha256.Sum256(body)
	return &document{kind: kind, tag: `"` + hex.EncodeToString(sum[:16]) + `"`, body: body}
}

func (d *document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, tag := d.body, d.tag
	for _, e := range d.encoded {
		if gate.AcceptsCoding(r, e.coding) {
			w.Header().Set("Content-Encoding", e.coding)
			body, tag = e.body, strings.TrimSuffix(d.tag, `"`)+"-"+e.coding+`"`
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
