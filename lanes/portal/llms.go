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
var guideTemplate string

// guideData is the data of the guide's template: routes and errors come from the program.
type guideData struct {
	venueData
	Routes []guideRoute
	Errors []schemas.ErrorInfo
}

type guideRoute struct{ Method, Path, Title string }

// guide returns /llms.txt: what a model needs to integrate, on one page.
func (l *lane) guide() []byte {
	return renderText(guideTemplate, guideData{l.venueData(), routesOf(l.openAPI()), schemas.ErrorTable})
}

func renderText(text string, data any) []byte {
	var out bytes.Buffer
	if err := template.Must(template.New("").Parse(text)).Execute(&out, data); err != nil {
		panic(err) // the template is part of the binary
	}
	return out.Bytes()
}

// routesOf lists the routes of a document, ordered by path and method.
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
