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
	Type          string         `json:"type,omitzero"`
	Description   string         `json:"description,omitzero"`
	Enum          []any          `json:"enum,omitempty"`
	Pattern       string         `json:"pattern,omitzero"`
	Minimum       *int64         `json:"minimum,omitempty"`
	Maximum       *int64         `json:"maximum,omitempty"`
	MaxLength     *int64         `json:"maxLength,omitempty"`
	MinItems      *int64         `json:"minItems,omitempty"`
	MaxItems      *int64         `json:"maxItems,omitempty"`
	Items         *schema        `json:"items,omitempty"`
	Properties    members        `json:"properties,omitempty"`
	Required      []string       `json:"required,omitempty"`
	Dependent     jsontext.Value `json:"dependentSchemas,omitempty"`
	Closed        *bool          `json:"additionalProperties,omitempty"` // false: no other members
	MinProperties int            `json:"minProperties,omitzero"`
	AnyOf         []*schema      `json:"anyOf,omitempty"`
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

// toolDefinition returns the definition of a tool. Its arguments are a closed object.
//
// All definitions together, and those of the toolset core, must fit into the bounds of
// TestToolsetsAreSmall. So nothing is said twice: only place_order describes the fields of
// an order, the fields of every page and of histories have no description (the guide
// explains them), and a result has the types and the units of its members alone.
func toolDefinition(f *tools.Spec, in, out reflect.Type) jsontext.Value {
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
		f.Name, f.Title, f.Doc, inputSchema(f, in), outputSchema(f.Name, in, out),
		annotations{f.ReadOnly(), f.Destructive, f.ReadOnly() || f.Idempotent, f.Name == tools.RequestWithdrawal.Name},
	})
}

var no = false

// inputSchema returns the schema of a tool's arguments, a closed object. It has no anyOf,
// oneOf or if, which several model APIs reject there.
func inputSchema(f *tools.Spec, in reflect.Type) *schema {
	s := &schema{Type: "object", Closed: &no}
	if f.Name == tools.PlaceOrder.Name {
		s.Dependent = jsontext.Value(marketBuyNeedsMaxCost)
	}
	list := schemas.Members(in)
	for _, m := range list {
		x := typeSchema(m.Type, true)
		switch {
		case f.Name == tools.PreviewOrder.Name: // place_order says the rest
		case f.Name == tools.ReplaceOrder.Name && m.Optional && m.Name != "keep_total":
		case m.Name == "limit", m.Name == "cursor", m.Name == "min_seq", m.Name == "step_secs", m.Name == "from_ts", m.Name == "to_ts":
		default:
			x.constrain(m)
		}
		s.Properties = append(s.Properties, namedSchema{m.Name, x})
		if (!m.Optional || m.RequiredByTool) && !slices.ContainsFunc(list, func(x schemas.Member) bool { return slices.Contains(x.Replaces, m.Name) }) {
			s.Required = append(s.Required, m.Name)
		}
	}
	return s
}

// marketBuyNeedsMaxCost requires max_cost of a market buy. A plain if at the top of the
// schema would say the same, but several model APIs reject it there.
const marketBuyNeedsMaxCost = `{"type":{"if":{"properties":{"type":{"const":"market"},"side":{"const":"buy"}}},"then":{"anyOf":[{"required":["max_cost"]},{"required":["dollars"]}]}}}`

// constrain adds what decoding checks, as far as it tells a caller something: not the
// bounds of a 32-bit id, and not that an optional string of digits has digits.
func (s *schema) constrain(m schemas.Member) {
	one := s
	if s.Items != nil {
		one = s.Items
	}
	one.Enum = anys(m.Enum)
	if !m.Optional {
		one.Pattern = m.Pattern
	}
	if m.Max == nil || *m.Max != schemas.U32Max {
		one.Minimum, one.Maximum = m.Min, m.Max
	}
	s.MinItems, s.MaxItems, s.MaxLength = bound(m.ItemsMin), bound(m.ItemsMax), bound(m.LenMax)
	s.Description = m.Doc
}

func anys(words []string) (out []any) {
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

// bound returns n for a schema, nil for 0.
func bound(n int) *int64 {
	if n == 0 {
		return nil
	}
	m := int64(n)
	return &m
}

// quoteMembers describes an item of put_quotes in fewer tokens than a schema of both sides.
const quoteMembers = "{market_id, generation, group_id, bid, ask, not_after_ts?}; a side: {client_order_id, tick, qty} of YES, or null"

// typeSchema returns the schema of the type of an argument (sent) or of a member of a result.
func typeSchema(t reflect.Type, sent bool) *schema {
	switch t {
	case reflect.TypeFor[schemas.U64](), reflect.TypeFor[schemas.Signed](), reflect.TypeFor[schemas.USD](), reflect.TypeFor[schemas.SignedUSD](), reflect.TypeFor[schemas.Decimal]():
		return &schema{Type: "string"}
	case reflect.TypeFor[schemas.Dollars]():
		return &schema{Type: "number"}
	case reflect.TypeFor[jsontext.Value]():
		return &schema{Type: "object"}
	case reflect.TypeFor[schemas.PlaceOrder]():
		return &schema{Type: "object", Description: "As the arguments of place_order"}
	case reflect.TypeFor[schemas.Quote]():
		return &schema{Type: "object", Description: quoteMembers}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem(), sent)
	case reflect.Struct:
		return &schema{Type: "object"}
	case reflect.Slice:
		if !sent {
			return &schema{Type: "array", Description: describeRows(t.Elem())}
		}
		return &schema{Type: "array", Items: typeSchema(t.Elem(), sent)}
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
