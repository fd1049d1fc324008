package rest

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex"
	"duplex/lanes/schemadoc"
	"duplex/schemas"
	"duplex/tools"
)

const description = `REST interface of a binary (yes/no) prediction-market exchange. Every request is signed; there is no anonymous surface.

Prices are integer ticks in pips, 1–9999 ($1 = 10000 pips: 4700 is 47.00 cents). Quantities are whole shares. Money and every other u64 value is a decimal string. Timestamps are ns since the Unix epoch. Requests are closed: an unknown field is an error. Answers are open: ignore fields you do not know, and expect values that an enum of an answer does not list yet.

Sign ` + "`timestamp \\n METHOD \\n target \\n body`" + ` (the target with its query, exactly as sent) by HMAC-SHA256 with the 32-byte secret, base64, and send it as DX-ACCESS-SIGNATURE beside DX-ACCESS-KEY and DX-ACCESS-TIMESTAMP (Unix ms, within 5 s of the venue's clock).`

func init() {
	huma.DefaultArrayNullable = false // a list is never null on this wire
}

func config(version string) huma.Config {
	c := huma.DefaultConfig("Duplex", duplex.SemanticVersion(version))
	c.CreateHooks, c.Transformers = nil, nil
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", "" // the portal serves them
	c.Info.Description = description
	c.Servers = []*huma.Server{{URL: "/", Description: "The API listener"}}
	c.Tags = tags
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key":       {Type: "apiKey", In: "header", Name: schemas.HeaderKey, Description: "The public key: it identifies, it does not authenticate."},
		"timestamp": {Type: "apiKey", In: "header", Name: schemas.HeaderTimestamp, Description: "Unix milliseconds, 13 digits, within 5000 ms of the venue's clock."},
		"signature": {Type: "apiKey", In: "header", Name: schemas.HeaderSignature, Description: "Padded base64 of HMAC-SHA256(secret, timestamp LF METHOD LF target LF body)."},
	}
	c.Security = []map[string][]string{{"key": {}, "timestamp": {}, "signature": {}}}
	return c
}

// tags are the first path segments after /v1.
var tags = []*huma.Tag{
	{Name: "portfolio", Description: "Orders, fills, positions, money and the dead-man switch of the key's account"},
	{Name: "markets", Description: "Slots that trade now: prices, books, trades"},
	{Name: "rounds", Description: "The rounds of each slot: strike, freeze, settlement"},
	{Name: "series", Description: "The series: where each one trades now, and its last results."},
	{Name: "forecasts", Description: "The probabilities that the account expected, with their scores"},
	{Name: "oracle", Description: "Index prices"},
	{Name: "account", Description: "What the key may do, and how often"},
	{Name: "time", Description: "The venue's clock"},
	{Name: "exchange", Description: "The venue's status, fees, schedule and retention"},
	{Name: "withdrawals", Description: "Money out"},
	{Name: "deposits", Description: "Money in"},
}

// document describes the operations.
func (l *Lane) document() *huma.OpenAPI {
	api := l.api.OpenAPI()
	for _, op := range l.operations {
		api.AddOperation(operationDoc(api, op))
	}
	finish(api)
	return api
}

// operationDoc documents an operation from its spec and types.
func operationDoc(api *huma.OpenAPI, o tools.Operation) *huma.Operation {
	f, input, reg := o.Describe(), o.NewInput(), api.Components.Schemas
	in := reflect.TypeOf(input).Elem()
	op := &huma.Operation{
		OperationID: f.Name, Summary: f.Title, Description: operationDescription(f), Method: f.Method, Path: f.Path, Tags: []string{tagOf(f.Path)},
		Responses: map[string]*huma.Response{}, Deprecated: f.Retirement != nil,
	}
	whole := reg.Schema(in, false, in.Name())
	if whole.Ref != "" {
		whole = reg.SchemaFromRef(whole.Ref)
	}
	schemadoc.Complete(reg, whole, in)
	op.Parameters = append(parameters(whole, in, schemas.PathFields(input), "path"), parameters(whole, in, schemas.QueryFields(input), "query")...)
	if fields := schemas.BodyFields(input); len(fields) > 0 {
		op.RequestBody = &huma.RequestBody{Required: true, Content: jsonOf(bodySchema(reg, in, whole, fields))}
		op.RequestBody.Content["application/json"].Example = exampleOf(reg, whole, fields)
	}
	out := reflect.TypeOf(o.NewOutput()).Elem()
	op.Responses[strconv.Itoa(f.Status())] = &huma.Response{Description: f.Title, Headers: requestIDHeader(), Content: jsonOf(responseSchema(reg, out))}
	if out == reflect.TypeFor[schemas.Placed]() {
		op.Responses["202"] = &huma.Response{Description: "It waits for the owner", Headers: requestIDHeader(), Content: jsonOf(responseSchema(reg, reflect.TypeFor[schemas.Waiting]()))}
	}
	addErrorResponses(reg, op, f)
	return op
}

func operationDescription(f *tools.Spec) string {
	return fmt.Sprintf("%s\n\nScope `%s`, bucket `%s`.", f.Doc, f.Scope, f.Bucket)
}

func tagOf(path string) string {
	return strings.Split(strings.TrimPrefix(path, "/v1/"), "/")[0]
}

func jsonOf(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s}}
}

func requestIDHeader() map[string]*huma.Param {
	return map[string]*huma.Param{"X-Request-Id": {Description: "Names this request in the venue's log", Schema: &huma.Schema{Type: huma.TypeString}}}
}

// parameters returns the parameters of an operation with these names.
func parameters(whole *huma.Schema, t reflect.Type, names []string, in string) (out []*huma.Param) {
	for _, m := range schemas.Members(t) {
		if !slices.Contains(names, m.Name) {
			continue
		}
		p := &huma.Param{Name: m.Name, In: in, Required: in == "path", Description: whole.Properties[m.Name].Description, Schema: whole.Properties[m.Name]}
		if m.Parts != nil {
			separate := false
			p.Style, p.Explode, p.Schema = "form", &separate, listSchema(m.Parts)
		}
		out = append(out, p)
	}
	return out
}

// listSchema returns the schema of a comma-separated parameter.
func listSchema(parts []string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Enum: schemadoc.Anys(parts)}}
}

// bodySchema returns the schema of the body fields alone.
func bodySchema(reg huma.Registry, t reflect.Type, whole *huma.Schema, fields []string) *huma.Schema {
	if len(fields) == len(whole.Properties) {
		return reg.Schema(t, true, t.Name())
	}
	s := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, AdditionalProperties: false}
	for _, n := range fields {
		s.Properties[n] = whole.Properties[n]
		if slices.Contains(whole.Required, n) {
			s.Required = append(s.Required, n)
		}
	}
	return component(reg, t.Name(), s)
}

// exampleOf returns an example body from the examples of its fields. A required enum
// without an example gets its first value.
func exampleOf(reg huma.Registry, whole *huma.Schema, fields []string) map[string]any {
	out := map[string]any{}
	for _, n := range fields {
		switch p := whole.Properties[n]; {
		case len(p.Examples) > 0:
			out[n] = p.Examples[0]
		case p.Items != nil && p.Items.Ref != "":
			each := reg.SchemaFromRef(p.Items.Ref)
			out[n] = []any{exampleOf(reg, each, slices.Collect(maps.Keys(each.Properties)))}
		case len(p.Enum) > 0 && slices.Contains(whole.Required, n):
			out[n] = p.Enum[0]
		}
	}
	return out
}

// responseSchema returns the schema of a response. An element of a batch is either an
// outcome or the error body; huma would merge the two into one object.
func responseSchema(reg huma.Registry, t reflect.Type) *huma.Schema {
	results := func(name string, ok ...reflect.Type) *huma.Schema {
		var one []*huma.Schema
		for _, t := range ok {
			one = append(one, reg.Schema(t, true, ""))
		}
		return &huma.Schema{Type: huma.TypeArray, Items: component(reg, name, &huma.Schema{OneOf: append(one, errorBody(reg))})}
	}
	switch t {
	case reflect.TypeFor[schemas.Placed]():
		return reg.Schema(reflect.TypeFor[schemas.Outcome](), true, "")
	case reflect.TypeFor[schemas.PlaceResults]():
		return results("PlaceResult", reflect.TypeFor[schemas.Outcome](), reflect.TypeFor[schemas.Waiting]())
	case reflect.TypeFor[schemas.QuoteResults]():
		item := reg.Schema(reflect.TypeFor[schemas.QuoteResult](), true, "")
		component(reg, "QuotedSide", &huma.Schema{AnyOf: []*huma.Schema{
			reg.Schema(reflect.TypeFor[schemas.QuoteOutcome](), true, ""), reg.Schema(reflect.TypeFor[schemas.QuoteEmptied](), true, ""), errorBody(reg),
		}})
		return &huma.Schema{Type: huma.TypeArray, Items: item}
	case reflect.TypeFor[schemas.CancelResults]():
		return component(reg, t.Name(), &huma.Schema{Type: huma.TypeObject, Required: []string{"results"}, Properties: map[string]*huma.Schema{
			"results": results("CancelResult", reflect.TypeFor[schemas.Canceled]()),
		}})
	}
	return reg.Schema(t, true, t.Name())
}

// component names a schema and returns a reference to it.
func component(reg huma.Registry, name string, s *huma.Schema) *huma.Schema {
	reg.Map()[name] = s
	return &huma.Schema{Ref: schemadoc.Prefix + name}
}

func errorBody(reg huma.Registry) *huma.Schema {
	return reg.Schema(reflect.TypeFor[schemas.ErrorBody](), true, "ErrorBody")
}

// commonErrors are the codes that every route can return
// (docs/rules/rest.md#errors-of-every-route).
var commonErrors = []string{"unauthorized", "missing_scope", "rate_limited", "unknown_field", "body_too_large", "node_behind", "internal"}

// addErrorResponses documents the codes of a route by status.
func addErrorResponses(reg huma.Registry, op *huma.Operation, f *tools.Spec) {
	codes := slices.Concat(commonErrors, f.Errors)
	if !f.ReadOnly() {
		codes = append(codes, "read_only_node")
	}
	if op.RequestBody != nil {
		codes = append(codes, "malformed_json", "schema_violation", "unsupported_media_type")
	} else {
		codes = append(codes, "unexpected_body")
	}
	if len(op.Parameters) > 0 {
		codes = append(codes, "schema_violation")
	}
	by := map[int][]string{}
	for _, c := range codes {
		if m := schemas.ErrorInfoOf(c); !slices.Contains(by[m.HTTP], c) {
			by[m.HTTP] = append(by[m.HTTP], c)
		}
	}
	for status, codes := range by {
		slices.Sort(codes)
		text := make([]string, len(codes))
		for i, c := range codes {
			text[i] = fmt.Sprintf("- `%s`: %s", c, schemas.ErrorInfoOf(c).Means)
		}
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status) + "\n\n" + strings.Join(text, "\n"), Headers: requestIDHeader(), Content: jsonOf(errorBody(reg)),
		}
	}
}

// finish closes the schemas of requests and opens those of responses, since clients
// must ignore unknown fields (docs/rules/rest.md#closed-requests). It removes unused
// schemas.
func finish(api *huma.OpenAPI) {
	schemadoc.CompleteAll(api.Components.Schemas)
	all := api.Components.Schemas.Map()
	sent, used := map[string]bool{}, map[string]bool{}
	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			if op.RequestBody != nil {
				markReachable(all, op.RequestBody.Content["application/json"].Schema, sent)
			}
			for _, r := range op.Responses {
				markReachable(all, r.Content["application/json"].Schema, used)
			}
		}
	}
	for name, s := range all {
		switch {
		case !sent[name] && !used[name]:
			delete(all, name)
			continue
		case !sent[name] && s.AdditionalProperties == false:
			s.AdditionalProperties = nil
		}
		allowNullObjects(api.Components.Schemas, s, api.Components.Schemas.TypeFromRef(schemadoc.Prefix+name))
	}
}

// allowNullObjects lets the members of a request or a response be null that are a pointer to an object and always
// present. huma gives them the schema of the object alone. strike_tick keeps that, because tools that
// compare documents would report a breaking change of a released response.
func allowNullObjects(reg huma.Registry, s *huma.Schema, t reflect.Type) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, m := range schemas.Members(t) {
		p := s.Properties[m.Name]
		if p == nil || p.Ref == "" || m.Optional || m.Type.Kind() != reflect.Pointer || m.Name == "strike_tick" || reg.SchemaFromRef(p.Ref).Nullable {
			continue
		}
		s.Properties[m.Name] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}, Description: p.Description}
	}
}

// markReachable marks every component that a schema refers to.
func markReachable(all map[string]*huma.Schema, s *huma.Schema, seen map[string]bool) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		if !seen[name] {
			seen[name] = true
			markReachable(all, all[name], seen)
		}
		return
	}
	for _, p := range s.Properties {
		markReachable(all, p, seen)
	}
	for _, o := range slices.Concat(s.OneOf, s.AnyOf) {
		markReachable(all, o, seen)
	}
	markReachable(all, s.Items, seen)
	if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
		markReachable(all, extra, seen)
	}
}
