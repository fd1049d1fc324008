package mcp

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
	"duplex/tools"
)

// schema is the part of JSON Schema 2020-12 that tools are described in. It refers
// to nothing: each schema stands alone.
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
	Closed      *bool     `json:"additionalProperties,omitempty"` // set: no other members
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
		if err := enc.WriteValue(encoded(x.schema)); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// define makes a tool's definition. What is sent is closed; what is answered is
// open, and may be a refusal instead.
//
// All definitions together must fit into what a model spares for them (contract mcp,
// Tools). So an order is explained once, in place_order, a row once, by the tool
// that reads one, and an answer's members are named and typed, with but their units.
func define(f *tools.Facts, in, out reflect.Type) jsontext.Value {
	no := false
	input := object(in, true)
	input.Closed = &no
	if f.Name == tools.PreviewOrder.Name {
		input.bare()
	}
	type annotations struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
		Idempotent  bool `json:"idempotentHint"`
		OpenWorld   bool `json:"openWorldHint"`
	}
	return encoded(struct {
		Name         string      `json:"name"`
		Title        string      `json:"title"`
		Description  string      `json:"description"`
		InputSchema  *schema     `json:"inputSchema"`
		OutputSchema *schema     `json:"outputSchema"`
		Annotations  annotations `json:"annotations"`
	}{
		f.Name, f.Title, f.Doc, input, answer(out),
		annotations{f.ReadOnly(), f.Destructive, f.ReadOnly() || f.Idempotent, f.Name == tools.RequestWithdrawal.Name},
	})
}

// answer is the schema of what a tool gives. Clients hold refusals against it too,
// so nothing in it is required, and it says nothing of what a refusal says otherwise.
func answer(out reflect.Type) *schema {
	s := object(out, false)
	s.Required = nil
	for _, p := range s.Properties {
		if refusing(p.name) {
			p.Enum = nil
		}
	}
	return s
}

// bare takes out what another tool explains.
func (s *schema) bare() {
	for _, p := range s.Properties {
		p.Description = ""
	}
}

func refusing(name string) bool {
	t := reflect.TypeFor[schemas.Refusal]()
	for i := range t.NumField() {
		if n, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); n == name {
			return true
		}
	}
	return false
}

// unit is how long a note on an answer's member may be: what it is counted in.
const unit = len("Contracts")

// object is the schema of a struct.
func object(t reflect.Type, sent bool) *schema {
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
			s.Properties = append(s.Properties, namedSchema{name, field(f, options, sent)})
			if !strings.Contains(options, "omit") {
				s.Required = append(s.Required, name)
			}
		}
	}
}

// field is the schema of one member, from the tags that decoding reads too.
func field(f reflect.StructField, options string, sent bool) *schema {
	tag := f.Tag
	s := shape(f.Type, sent)
	inner := s
	if s.Items != nil && tag.Get("enum")+tag.Get("pattern")+tag.Get("minimum") != "" {
		inner = s.Items
	}
	if s.Description = tag.Get("doc"); !sent && len(s.Description) > unit {
		s.Description = ""
	}
	if e := tag.Get("enum"); e != "" {
		inner.Enum = strings.Split(e, ",")
	}
	if sent {
		inner.Pattern, inner.Minimum, inner.Maximum = tag.Get("pattern"), number(tag.Get("minimum")), number(tag.Get("maximum"))
		s.MinItems, s.MaxItems, s.MaxLength = number(tag.Get("minItems")), number(tag.Get("maxItems")), number(tag.Get("maxLength"))
		if f.Name == "Limit" {
			s.Default = listSize
		}
	} else if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
		return orNull(s)
	}
	return s
}

// orNull is a schema of what may be null, said in the way that most readers of tools
// understand: each branch has one type.
func orNull(s *schema) *schema {
	note := s.Description
	s.Description = ""
	return &schema{Description: note, AnyOf: []*schema{s, {Type: "null"}}}
}

// explained are rows that a tool of their own answers: lists refer to it.
var explained = map[reflect.Type]string{
	reflect.TypeFor[schemas.Order]():  "get_order",
	reflect.TypeFor[schemas.Market](): "get_market",
	reflect.TypeFor[schemas.Round]():  "get_round",
}

func shape(t reflect.Type, sent bool) *schema {
	switch t {
	case reflect.TypeFor[schemas.U64]():
		return &schema{Type: "string"}
	case reflect.TypeFor[jsontext.Value]():
		return &schema{Type: "object"}
	case reflect.TypeFor[schemas.PlaceResult]():
		return either(reflect.TypeFor[schemas.Outcome]())
	case reflect.TypeFor[schemas.CancelResult]():
		return either(reflect.TypeFor[schemas.Canceled]())
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t == reflect.TypeFor[*schemas.EvidenceTick]() {
			return &schema{Type: "object"} // its list shows what is in it
		}
		return shape(t.Elem(), sent)
	case reflect.Struct:
		return inner(t, sent)
	case reflect.Slice:
		if tool := explained[t.Elem()]; tool != "" {
			return &schema{Type: "array", Items: &schema{Type: "object", Description: "As " + tool + " answers"}}
		}
		return &schema{Type: "array", Items: shape(t.Elem(), sent)}
	case reflect.Array:
		n := int64(t.Len())
		return &schema{Type: "array", Items: shape(t.Elem(), sent), MinItems: &n, MaxItems: &n}
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

// inner is an object within another; what is sent is closed all the way down.
func inner(t reflect.Type, sent bool) *schema {
	s := object(t, sent)
	if !sent {
		s.Required = nil
		for _, p := range s.Properties {
			p.Enum = nil
		}
		return s
	}
	no := false
	s.Closed = &no
	s.bare()
	return s
}

// either is an element of a batch's answer: what became of it, or an error.
func either(ok reflect.Type) *schema {
	s := object(ok, false)
	failed := shape(reflect.TypeFor[schemas.Error](), false)
	s.AnyOf = []*schema{{Required: s.Required}, {Required: []string{"error"}}}
	s.Properties, s.Required = append(s.Properties, namedSchema{"error", failed}), nil
	return s
}

func number(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(err) // a tag of our own
	}
	return &n
}
