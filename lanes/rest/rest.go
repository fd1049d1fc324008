package rest

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Lane is the REST lane of a venue.
type Lane struct {
	gate       *gate.Gate
	api        huma.API
	operations []tools.Operation
	describe   func() *huma.OpenAPI
}

// Mount registers every route on m, which must be served through g.Edge. version is that
// of the document.
func Mount(m *gate.Routes, g *gate.Gate, version string) *Lane {
	l := &Lane{gate: g, api: humago.New(m, config(version))}
	l.describe = sync.OnceValue(l.document)
	for _, op := range slices.Concat(tools.Operations, tools.RouteOnly) {
		l.register(op)
	}
	if g.Venue.Virtual != nil {
		g.SetPathOptions(tools.AdvanceClock.Path, gate.PathOptions{NoBudget: true})
		l.register(tools.AdvanceClock)
		l.register(tools.ReportUsage)
	}
	return l
}

// OpenAPI returns the document of the lane, which the first call makes. The caller must not
// change it.
func (l *Lane) OpenAPI() *huma.OpenAPI { return l.describe() }

// register serves an operation. huma routes the request; it decodes and validates nothing, because the
// gate does that in one order for all lanes. register panics if the operation will be removed less than
// tools.MinRetirementNotice after the announcement: that is a programming error.
func (l *Lane) register(op tools.Operation) {
	spec := op.Describe()
	if r := spec.Retirement; r != nil && r.Removed.Sub(r.Announced) < tools.MinRetirementNotice {
		panic("rest: " + spec.Name + " is removed without due notice")
	}
	l.operations = append(l.operations, op)
	decode := gate.HTTPDecoder(op.NewInput(), schemas.Decode)
	l.api.Adapter().Handle(&huma.Operation{Method: spec.Method, Path: spec.Path}, func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		setDeprecation(w.Header(), spec.Retirement)
		c := gate.CallOf(r.Context())
		var in any
		out, err := l.gate.Run(r.Context(), c, op, func(x any) error {
			in = x
			return decode(r, c, x)
		})
		status := spec.Status()
		if p, ok := out.(*schemas.Placed); ok {
			status = cmp.Or(p.HTTPStatus(), status)
		}
		l.gate.Respond(w, in, status, unwrapBatch(out), err)
	})
}

// setDeprecation sets the headers of an operation that will be removed: Deprecation
// (RFC 9745) and Sunset (RFC 8594). See docs/rules/rest.md#changes.
func setDeprecation(h http.Header, r *tools.Retirement) {
	if r != nil {
		h.Set("Deprecation", "@"+strconv.FormatInt(r.Announced.Unix(), 10))
		h.Set("Sunset", r.Removed.UTC().Format(http.TimeFormat))
	}
}

// unwrapBatch returns the array that REST answers to a batch placement and to quotes; the agent lane
// answers an object that contains it.
func unwrapBatch(out any) any {
	switch out := out.(type) {
	case *schemas.PlaceResults:
		return out.Results
	case *schemas.QuoteResults:
		return out.Results
	}
	return out
}
