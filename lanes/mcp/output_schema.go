package mcp

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"duplex/schemas"
)

// outputSchema returns the schema of a tool's result.
//
// A single result is the closed object of a success, or an error, because some clients
// validate error results too. A page is an open object, which an error matches as well: it
// names the members beside the rows. Rows show theirs themselves, and those of a page leave
// out the members with a default.
func outputSchema(name string, in, out reflect.Type) *schema {
	switch {
	case describedBy[out] != "":
		return &schema{Type: "object", Description: "As in " + describedBy[out]}
	case reflect.PointerTo(in).Implements(reflect.TypeFor[pager]()):
		return &schema{Type: "object", Properties: resultMembers(out)}
	}
	success := &schema{Description: describeUnits(out, "1e8", "pips"), Properties: resultMembers(out), Closed: &no}
	if rule := rowRules[name]; rule.rows == "" {
		for _, m := range rule.add.members() {
			if !slices.ContainsFunc(success.Properties, func(x namedSchema) bool { return x.name == m.name }) {
				success.Properties = append(success.Properties, m)
			}
		}
	}
	switch out { // a canceled order has a hint
	case reflect.TypeFor[schemas.Placed](), reflect.TypeFor[schemas.Preview]():
		success.Properties = append(success.Properties, namedSchema{"hint", &schema{Type: "string"}}, namedSchema{"next", &schema{Type: "object"}})
	}
	if list := requiredOf(out); len(list) > maxRequired {
		success.MinProperties = len(list)
	} else {
		success.Required = list
	}
	return &schema{Type: "object", AnyOf: []*schema{success, {Required: []string{"error"}}}}
}

// maxRequired is the most members that a result names as required. A result with more says
// how many are always there, in fewer tokens.
const maxRequired = 2

func requiredOf(t reflect.Type) (names []string) {
	if t == reflect.TypeFor[schemas.Placed]() { // both of its forms have as many
		t = reflect.TypeFor[schemas.Waiting]()
	}
	for _, m := range schemas.Members(t) {
		if !m.Optional {
			names = append(names, m.Name)
		}
	}
	return names
}

// resultMembers returns the schemas of the members of a result.
func resultMembers(t reflect.Type) (list members) {
	if t == reflect.TypeFor[schemas.Placed]() {
		list = resultMembers(reflect.TypeFor[schemas.Outcome]())
		for _, m := range resultMembers(reflect.TypeFor[schemas.Waiting]()) {
			if !slices.ContainsFunc(list, func(x namedSchema) bool { return x.name == m.name }) {
				list = append(list, m)
			}
		}
		return list
	}
	for _, m := range schemas.Members(t) {
		x := typeSchema(m.Type, false)
		switch {
		case m.Name == "winner":
			x = &schema{Enum: []any{"yes", "no", nil}}
		case m.Type.Kind() == reflect.Pointer && !m.Optional:
			x = nullable(x)
		case m.Enum != nil && x.Type == "string" && showsEnums[t]:
			x = &schema{Enum: anys(m.Enum)}
		}
		list = append(list, namedSchema{m.Name, x})
	}
	return list
}

// showsEnums are the results whose enums no argument lists.
var showsEnums = map[reflect.Type]bool{
	reflect.TypeFor[schemas.Account]():    true,
	reflect.TypeFor[schemas.MarketRead](): true,
	reflect.TypeFor[schemas.Venue]():      true,
}

// unit matches the unit in the description of a field.
var unit = regexp.MustCompile(`(?i)\b(pips|1e8)\b`)

// maxUnitNames is the most members that describeUnits names for one unit.
const maxUnitNames = 6

// describeUnits returns which of an object's members have the units: "1e8: strike; pips: cost,
// fee". Of many members in pips it says "pips: amounts".
func describeUnits(t reflect.Type, shown ...string) string {
	units := map[string][]string{}
	for _, m := range schemas.Members(t) {
		if u := strings.ToLower(unit.FindString(m.Doc)); slices.Contains(shown, u) {
			units[u] = append(units[u], m.Name)
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

// nullable returns the schema of a value that may be null, in the form that most clients
// understand: an anyOf whose branches have one type each.
func nullable(s *schema) *schema { return &schema{AnyOf: []*schema{s, {Type: "null"}}} }

// describedBy maps the type of a row, or of a result, to the tool whose output schema
// describes it too.
var describedBy = map[reflect.Type]string{
	reflect.TypeFor[schemas.Market]():       "get_market",
	reflect.TypeFor[schemas.Round]():        "get_round",
	reflect.TypeFor[schemas.PlaceResult]():  "place_order",
	reflect.TypeFor[schemas.Replacement]():  "place_order",
	reflect.TypeFor[schemas.CancelResult](): "cancel_order",
}

// describeRows says what the rows of a list do not show: the tool that has the same result,
// or the prices that have a scale.
func describeRows(row reflect.Type) string {
	switch {
	case describedBy[row] != "":
		return "As in " + describedBy[row]
	case row.Kind() == reflect.Struct:
		return describeUnits(row, "1e8")
	}
	return ""
}
