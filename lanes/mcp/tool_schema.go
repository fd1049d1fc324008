package mcp

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

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

// toolDefinition returns the definition of a tool. Its arguments and its result are closed
// objects, and a result may also be an error.
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
		f.Name, f.Title, f.Doc, inputSchema(f, in), outputSchema(out),
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
		if (!m.Optional || m.ToolOnly) && !slices.ContainsFunc(list, func(x schemas.Member) bool { return slices.Contains(x.Instead, m.Name) }) {
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

// outputSchema returns the schema of a tool's result: the closed object of a success, or
// an error, because some clients validate error results too.
func outputSchema(out reflect.Type) *schema {
	success := objectSchema(out, true)
	success.Type = ""
	switch out { // a canceled order has a hint
	case reflect.TypeFor[schemas.Outcome](), reflect.TypeFor[schemas.Replacement](), reflect.TypeFor[schemas.Preview]():
		success.Properties = append(success.Properties, namedSchema{"hint", &schema{Type: "string"}}, namedSchema{"next", &schema{Type: "object"}})
	}
	return &schema{Type: "object", AnyOf: []*schema{success, {Required: []string{"error"}}}}
}

// maxRequired is the most members that a result names as required.
const maxRequired = 2

// objectSchema returns the schema of an object in a result: closed, and with its units. An object
// with more than maxRequired members that are always there says how many these are: without
// optional members minProperties means the same as a list of all names, in fewer tokens.
func objectSchema(t reflect.Type, whole bool) *schema {
	s, list := &schema{Type: "object", Description: describeUnits(t), Closed: &no}, schemas.Members(t)
	for _, m := range list {
		x := typeSchema(m.Type, false)
		switch {
		case m.Name == "winner":
			x = &schema{Enum: []any{"yes", "no", nil}}
		case m.Type.Kind() == reflect.Pointer && !m.Optional:
			x = nullable(x)
		case whole && m.Enum != nil && x.Items == nil && !repeatsEnums[t]:
			x = &schema{Enum: anys(m.Enum)}
		}
		s.Properties = append(s.Properties, namedSchema{m.Name, x})
		if !m.Optional {
			s.Required = append(s.Required, m.Name)
		}
	}
	switch n := len(s.Required); {
	case !whole: // a row; the rows of another tool may leave out what this one has
		s.Required = nil
	case n > maxRequired:
		s.MinProperties, s.Required = n, nil
	}
	return s
}

// repeatsEnums are results whose enums another tool lists: place_order and get_round in their results,
// list_orders in its arguments.
var repeatsEnums = map[reflect.Type]bool{
	reflect.TypeFor[schemas.Preview]():     true,
	reflect.TypeFor[schemas.Replacement](): true,
	reflect.TypeFor[schemas.OrderRead]():   true,
	reflect.TypeFor[schemas.Evidence]():    true,
}

// unit matches the unit in the description of a field.
var unit = regexp.MustCompile(`(?i)\b(pips|ns|ms|1e8|contracts)\b`)

func unitOf(doc string) string { return strings.ToLower(unit.FindString(doc)) }

// unitName returns the name of a member as describeUnits shows it: one for all times.
func unitName(name string) string {
	if strings.HasSuffix(name, "_ts") {
		return "*_ts"
	}
	return name
}

// maxUnitNames is the most members that describeUnits names for one unit.
const maxUnitNames = 6

// describeUnits returns the units of an object's members: "ns: ts; pips: cost, fee". Of many
// members in pips it says "pips: amounts".
func describeUnits(t reflect.Type) string {
	units := map[string][]string{}
	for _, m := range schemas.Members(t) {
		if u := unitOf(m.Doc); u != "" && !slices.Contains(units[u], unitName(m.Name)) {
			units[u] = append(units[u], unitName(m.Name))
		}
	}
	var parts []string
	for _, u := range slices.Sorted(maps.Keys(units)) {
		if u == "pips" && len(units[u]) > maxUnitNames {
			units[u] = []string{"amounts"}
		}
		parts = append(parts, u+": "+strings.Join(units[u], ", "))
	}
	return strings.Join(parts, "; ")
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

// nullable returns the schema of a value that may be null, in the form that most clients
// understand: an anyOf whose branches have one type each.
func nullable(s *schema) *schema { return &schema{AnyOf: []*schema{s, {Type: "null"}}} }

// rowTools maps the type of a row to the tool whose output schema describes it. The schemas
// of lists name that tool instead of describing the row again.
var rowTools = map[reflect.Type]string{
	reflect.TypeFor[schemas.Market]():       "get_market",
	reflect.TypeFor[schemas.Round]():        "get_round",
	reflect.TypeFor[schemas.PlaceResult]():  "place_order",
	reflect.TypeFor[schemas.CancelResult](): "cancel_order",
}

// described are the objects within a result whose members its schema describes: those of
// list_series, with which an agent begins. Of others it gives the units, because the rows
// themselves show the members.
var described = map[reflect.Type]bool{
	reflect.TypeFor[schemas.Series]():    true,
	reflect.TypeFor[schemas.LiveRound](): true,
}

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
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem(), sent)
	case reflect.Struct:
		if described[t] {
			return objectSchema(t, false)
		}
		return &schema{Type: "object"}
	case reflect.Slice:
		x := &schema{Type: "array"}
		switch row := t.Elem(); {
		case !sent && rowTools[row] != "":
			x.Description = "As in " + rowTools[row]
		case !sent && row.Kind() == reflect.Struct && !described[row]:
			x.Description = describeUnits(row)
		default:
			x.Items = typeSchema(row, sent)
		}
		return x
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
