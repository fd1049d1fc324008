package mcp

import (
	"reflect"
	"strconv"
	"strings"

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
	t := reflect.TypeFor[schemas.ToolError]()
	for i := range t.NumField() {
		if n, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); n == name {
			return true
		}
	}
	return false
}

// maxNoteLen is the longest description of a result's member: room for its unit.
const maxNoteLen = len("Contracts")

// objectSchema returns the schema of a struct. sent is true for inputs.
func objectSchema(t reflect.Type, sent bool) *schema {
	s := &schema{Type: "object"}
	s.fields(t, sent)
	return s
}

func (s *schema) fields(t reflect.Type, sent bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, sent)
		case f.IsExported() && name != "-" && name != "":
			s.Properties = append(s.Properties, namedSchema{name, fieldSchema(f, options, sent)})
			if !strings.Contains(options, "omit") {
				s.Required = append(s.Required, name)
			}
		}
	}
}

// fieldSchema returns the schema of one member, from the tags that decoding checks.
func fieldSchema(f reflect.StructField, options string, sent bool) *schema {
	tag := f.Tag
	s := typeSchema(f.Type, sent)
	inner := s
	if s.Items != nil && tag.Get("enum")+tag.Get("pattern")+tag.Get("minimum") != "" {
		inner = s.Items
	}
	if s.Description = tag.Get("doc"); !sent && len(s.Description) > maxNoteLen {
		s.Description = ""
	}
	if e := tag.Get("enum"); e != "" {
		inner.Enum = strings.Split(e, ",")
	}
	if sent {
		inner.Pattern, inner.Minimum, inner.Maximum = tag.Get("pattern"), intTag(tag.Get("minimum")), intTag(tag.Get("maximum"))
		s.MinItems, s.MaxItems, s.MaxLength = intTag(tag.Get("minItems")), intTag(tag.Get("maxItems")), intTag(tag.Get("maxLength"))
		if f.Name == "Limit" {
			s.Default = defaultPageSize
		}
	} else if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
		return nullable(s)
	}
	return s
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

func intTag(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(err) // a tag of package schemas
	}
	return &n
}
