package portal

import (
	"bytes"
	"cmp"
	_ "embed"
	"slices"
	"text/template"

	"github.com/danielgtaylor/huma/v2"

	"duplex/schemas"
)

//go:embed page/llms.txt
var guideText string

// guideFacts are what the guide is filled with, so that it names no route and no
// error that there is not.
type guideFacts struct {
	facts
	Routes []guideRoute
	Errors []schemas.Meaning
}

type guideRoute struct{ Method, Path, Title string }

// guide is /llms.txt: what a model needs to integrate, on one page.
func (l *lane) guide() []byte {
	var out bytes.Buffer
	t := template.Must(template.New("llms").Parse(guideText))
	if err := t.Execute(&out, guideFacts{l.facts(), routesOf(l.OpenAPI), schemas.Faults}); err != nil {
		panic(err) // the template is part of the binary
	}
	return out.Bytes()
}

// routesOf lists the routes of a document by path.
func routesOf(doc *huma.OpenAPI) (out []guideRoute) {
	if doc == nil {
		return nil
	}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				out = append(out, guideRoute{op.Method, path, op.Summary})
			}
		}
	}
	slices.SortFunc(out, func(a, b guideRoute) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method)) })
	return out
}
