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
	l.show(m, "/llms.txt", "text/plain; charset=utf-8", l.guide())
	l.show(m, "/errors", "application/json", faults())
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
	l.pages(m)
}

// faults is the table of errors as the venue keeps it.
func faults() []byte {
	return must(schemas.Append(nil, struct {
		Errors []schemas.Meaning `json:"errors"`
	}{schemas.Faults}))
}

// show serves bytes under a path. They never change while the portal runs, but may
// with the next: a client keeps them and asks again by their tag.
func (l *lane) show(m *gate.Routes, path, kind string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	m.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		gate.CallOf(r.Context()).Op = "portal_document"
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", kind)
		_, _ = w.Write(body) // the client has gone: nobody is left to tell
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err) // our own documents always encode
	}
	return b
}
