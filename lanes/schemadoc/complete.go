package schemadoc

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"duplex/schemas"
)

// Prefix is where both documents have their schemas.
const Prefix = "#/components/schemas/"

// CompleteAll completes every schema of a registry. Calling it twice is the same as once.
func CompleteAll(reg huma.Registry) {
	all := reg.Map()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	for _, name := range names {
		Complete(reg, all[name], reg.TypeFromRef(Prefix+name))
	}
}

// Complete completes the schema s of the type t, nil if there is none.
func Complete(reg huma.Registry, s *huma.Schema, t reflect.Type) {
	correctNumbers(s)
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for _, m := range schemas.Members(t) {
		if p := s.Properties[m.Name]; p != nil && p.Ref == "" {
			addTable(p, &m)
			addNull(p)
			s.Properties[m.Name] = named(reg, p, &m)
		}
	}
}

// correctNumbers replaces the format int32, which huma gives uint32 and which cannot hold it. A list is
// never null on this wire.
func correctNumbers(s *huma.Schema) {
	if s.Format == "int32" {
		s.Format = "int64"
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	if s.Items != nil {
		correctNumbers(s.Items)
	}
	for _, p := range s.Properties {
		correctNumbers(p)
	}
}

// addTable gives a member that numbers a line of a table what the table says; huma reads the tags alone.
func addTable(p *huma.Schema, m *schemas.Member) {
	if !m.FromTable() {
		return
	}
	p.Description = m.Doc
	if m.Max == nil {
		return
	}
	one := p
	if p.Items != nil {
		one, p.MinItems, p.MaxItems = p.Items, &m.ItemsMin, &m.ItemsMax
	}
	lo, hi := float64(*m.Min), float64(*m.Max)
	one.Minimum, one.Maximum = &lo, &hi
}

// addNull adds null to the values of a string that may be null: an enum without it would rule null out,
// whatever the type says.
func addNull(p *huma.Schema) {
	if p.Nullable && len(p.Enum) > 0 && !slices.Contains(p.Enum, nil) {
		p.Enum = append(slices.Clone(p.Enum), nil)
	}
}

// named returns the schema p of a member, or a reference to a component if its type has a name: that of a
// list of values, or that of a map.
func named(reg huma.Registry, p *huma.Schema, m *schemas.Member) *huma.Schema {
	if m.Values != "" {
		list := schemas.ValuesNamed(m.Values)
		reg.Map()[m.Values] = &huma.Schema{Type: huma.TypeString, Description: list.Doc, Enum: Anys(list.List)}
		return &huma.Schema{Ref: Prefix + m.Values, Description: p.Description, Examples: p.Examples}
	}
	t := m.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Map { // the component keeps null, as released: apart from it null would look new
		reg.Map()[t.Name()] = p
		return &huma.Schema{Ref: Prefix + t.Name(), Description: p.Description}
	}
	return p
}

// Anys returns words as the values of an enum.
func Anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}
