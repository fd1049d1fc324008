package rest

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Lane is the REST lane of a venue.
type Lane struct {
	gate *gate.Gate
	api  huma.API
}

// Mount puts every route onto m, which must stand behind g.Edge.
func Mount(m *gate.Routes, g *gate.Gate, version string) *Lane {
	l := &Lane{gate: g, api: humago.New(m, config(version))}
	l.routes()
	l.publish()
	return l
}

// OpenAPI is the document of the lane.
func (l *Lane) OpenAPI() *huma.OpenAPI { return l.api.OpenAPI() }

// mount is the one binder: it documents an operation and serves it.
func mount[In, Out any](l *Lane, op *tools.Op[In, Out]) {
	doc := describe[In, Out](l.api.OpenAPI(), &op.Facts)
	l.api.OpenAPI().AddOperation(doc)
	path := schemas.PathFields(new(In))
	body := len(schemas.BodyFields(new(In))) > 0
	l.api.Adapter().Handle(doc, func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		retire(w.Header(), op.Retires)
		c := gate.CallOf(r.Context())
		out, err := gate.Run(r.Context(), l.gate, c, op, func(in *In) error { return read(r, c, in, path, body) })
		if err != nil {
			l.gate.Fail(w, err)
			return
		}
		gate.Answer(w, op.Status(), bare(&out))
	})
}

// retire tells of an operation that goes since when that is known, and until when it
// is there (RFC 9745, RFC 8594).
func retire(h http.Header, r *tools.Retirement) {
	if r != nil {
		h.Set("Deprecation", "@"+strconv.FormatInt(r.Announced.Unix(), 10))
		h.Set("Sunset", r.Gone.UTC().Format(http.TimeFormat))
	}
}

// read fills an operation's input from path, query and body.
func read[In any](r *http.Request, c *gate.Call, in *In, path []string, body bool) error {
	if !body && len(c.Body) > 0 {
		return tools.Refuse("unexpected_body")
	}
	if err := gate.MediaType(r, c); err != nil {
		return err
	}
	for _, name := range path {
		if f := schemas.DecodePath(name, r.PathValue(name), in); f != nil {
			return f
		}
	}
	var inBody *schemas.Fault
	if body {
		inBody = schemas.Decode(c.Body, in)
	}
	return gate.Read(inBody, schemas.DecodeQuery(r.URL.RawQuery, in))
}

// bare turns the object a tool answers into the array spec 4.2 gives a batch
// placement.
func bare(out any) any {
	if p, ok := out.(*schemas.PlaceResults); ok {
		return p.Results
	}
	return out
}
