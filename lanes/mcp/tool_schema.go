package mcp

import (
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
	"duplex/tools"
)

// schema is the subset of JSON Schema 2020-12 that describes tools. It has no references.
type schema struct {
	Type        string    `json:"type,omitzero"`
	Description string    `json:"description,omitzero"`
	Enum        []string  `json:"enum,omitempty"`
	Pattern     string    `json:"pattern,omitzero"`
	Default     any       `json:"default,omitempty"`
	Minimum     *int64    `json:"minimum,omitempty"`
	Maximum     *int64    `json:"maximum,omitempty"`
	MaxLength   *int64    `json:"maxLength,omitempty"`
	MinItems    *int64    `json:"minItems,omitempty"`
	MaxItems    *int64    `json:"maxItems,omitempty"`
	Items       *schema   `json:"items,omitempty"`
	Properties  members   `json:"properties,omitempty"`
	Required    []string  `json:"required,omitempty"`
	Closed      *bool     `json:"additionalProperties,omitempty"` // false: no other members
	AnyOf       []*schema `json:"anyOf,omitempty"`
}

// members are properties in the order of the type.
type members []namedSchema

type namedSchema struct {
	name string
	*schema
}

func (m members) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, x := range m {
		if err := enc.WriteToken(jsontext.String(x.name)); err != nil {
			return err
		}
		if err := enc.WriteValue(mustEncode(x.schema)); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// toolDefinition returns the definition of a tool. The input schema is closed. The output
// schema is open, because a result can also be an error.
//
// All definitions together must fit into the bound of TestSchemasAreSmall. So only
// place_order describes the fields of an order, only the tool that reads one row
// describes the row, and members of results have a name, a type and a unit.
func toolDefinition(f *tools.Spec, in, out reflect.Type) jsontext.Value {
	no := false
	input := objectSchema(in, true)
	input.Closed = &no
	if f.Name == tools.PreviewOrder.Name {
		input.clearDescriptions()
	}
	type annotations struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
		Idempotent  bool `json:"idempotentHint"`
		OpenWorld   bool `json:"openWorldHint"`
	}
	return mustEncode(struct {
		Name         string      `json:"name"`
		Title        string      `json:"title"`
		Description  string      `json:"description"`
		InputSchema  *schema     `json:"inputSchema"`
		OutputSchema *schema     `json:"outputSchema"`
		Annotations  annotations `json:"annotations"`
	}{
		f.Name, f.Title, f.Doc, input, outputSchema(out),
		annotations{f.ReadOnly(), f.Destructive, f.ReadOnly() || f.Idempotent, f.Name == tools.RequestWithdrawal.Name},
	})
}

// outputSchema returns the schema of a tool's result. Clients validate error results with
// it too, so it requires no member and gives no enum to a member that an error also has.
func outputSchema(out reflect.Type) *schema {
	s := objectSchema(out, false)
	s.Required = nil
	for _, p := range s.Properties {
		if isErrorField(p.name) {
			p.Enum = nil
		}
	}
	return s
}

// clearDescriptions removes descriptions that another tool already gives.
func (s *schema) clearDescriptions() {
	for _, p := range s.Properties {
		p.Description = ""
	}
}

func isErrorField(name string) bool {
	return slices.ContainsFunc(schemas.Members(reflect.TypeFor[schemas.ToolError]()), func(m schemas.Member) bool { return m.Name == name })
}

// maxNoteLen is the longest description of a result's member: room for its unit.
const maxNoteLen = len("Contracts")

// objectSchema returns the schema of a struct. sent is true for inputs.
func objectSchema(t reflect.Type, sent bool) *schema {
	s := &schema{Type: "object"}
	for _, m := range schemas.Members(t) {
		s.Properties = append(s.Properties, namedSchema{m.Name, memberSchema(m, sent)})
		if !m.Optional {
			s.Required = append(s.Required, m.Name)
		}
	}
	return s
}

// memberSchema returns the schema of one member. What it says of an input is what decoding
// checks: both are made from the same schemas.Member.
func memberSchema(m schemas.Member, sent bool) *schema {
	s := typeSchema(m.Type, sent)
	inner := s
	if s.Items != nil && (m.Enum != nil || m.Pattern != "" || m.Min != nil) {
		inner = s.Items
	}
	if s.Description = m.Doc; !sent && len(s.Description) > maxNoteLen {
		s.Description = ""
	}
	inner.Enum = m.Enum
	if sent {
		inner.Pattern, inner.Minimum, inner.Maximum = m.Pattern, m.Min, m.Max
		s.MinItems, s.MaxItems, s.MaxLength = bound(m.ItemsMin), bound(m.ItemsMax), bound(m.LenMax)
		if m.Name == "limit" {
			s.Default = defaultPageSize
		}
	} else if m.Type.Kind() == reflect.Pointer && !m.Optional {
		return nullable(s)
	}
	return s
}

// bound returns n for a schema, nil for 0.
func bound(n int) *int64 {
	if n == 0 {
		return nil
	}
	m := int64(n)
	return &m
}

// nullable returns the schema of a value that may be null, in the form that most clients
// understand: an anyOf whose branches have one type each.
func nullable(s *schema) *schema {
	note := s.Description
	s.Description = ""
	return &schema{Description: note, AnyOf: []*schema{s, {Type: "null"}}}
}

// rowTools maps the type of a row to the tool whose output schema describes it. The schemas
// of lists name that tool instead of describing the row again.
var rowTools = map[reflect.Type]string{
	reflect.TypeFor[schemas.Order]():  "get_order",
	reflect.TypeFor[schemas.Market](): "get_market",
	reflect.TypeFor[schemas.Round]():  "get_round",
}

func typeSchema(t reflect.Type, sent bool) *schema {
	switch t {
	case reflect.TypeFor[schemas.U64]():
		return &schema{Type: "string"}
	case reflect.TypeFor[jsontext.Value]():
		return &schema{Type: "object"}
	case reflect.TypeFor[schemas.PlaceResult]():
		return resultOrError(reflect.TypeFor[schemas.Outcome]())
	case reflect.TypeFor[schemas.CancelResult]():
		return resultOrError(reflect.TypeFor[schemas.Canceled]())
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t == reflect.TypeFor[*schemas.EvidenceTick]() {
			return &schema{Type: "object"} // described in the list of ticks
		}
		return typeSchema(t.Elem(), sent)
	case reflect.Struct:
		return nestedSchema(t, sent)
	case reflect.Slice:
		if tool := rowTools[t.Elem()]; tool != "" {
			return &schema{Type: "array", Items: &schema{Type: "object", Description: "As in " + tool}}
		}
		return &schema{Type: "array", Items: typeSchema(t.Elem(), sent)}
	case reflect.Array:
		n := int64(t.Len())
		return &schema{Type: "array", Items: typeSchema(t.Elem(), sent), MinItems: &n, MaxItems: &n}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Map:
		return &schema{Type: "object"}
	default:
		return &schema{Type: "integer"}
	}
}

// nestedSchema returns the schema of an object within another. Inputs are closed at every
// level.
func nestedSchema(t reflect.Type, sent bool) *schema {
	s := objectSchema(t, sent)
	if !sent {
		s.Required = nil
		for _, p := range s.Properties {
			p.Enum = nil
		}
		return s
	}
	no := false
	s.Closed = &no
	s.clearDescriptions()
	return s
}

// resultOrError returns the schema of a batch's element: a result or an error.
func resultOrError(ok reflect.Type) *schema {
	s := objectSchema(ok, false)
	failed := typeSchema(reflect.TypeFor[schemas.Error](), false)
	s.AnyOf = []*schema{{Required: s.Required}, {Required: []string{"error"}}}
	s.Properties, s.Required = append(s.Properties, namedSchema{"error", failed}), nil
	return s
}
