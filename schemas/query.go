package schemas

import (
	"net/url"
	"reflect"
	"strings"
)

// DecodeQuery decodes the query fields of a request. An unknown or repeated parameter is
// unknown_field, a wrong value is schema_violation, and a cursor over 256 bytes is
// bad_cursor. It does not use url.ParseQuery, which drops pairs that it cannot parse.
func DecodeQuery(rawQuery string, into any) *Fault {
	target := reflect.ValueOf(into).Elem()
	p := requestTypeOf(target.Type())
	var out faultSet
	seen := make([]bool, len(p.fields))
	for rawQuery != "" {
		var pair string
		pair, rawQuery, _ = strings.Cut(rawQuery, "&")
		if pair != "" {
			out.add(p.decodeParameter(pair, target, seen))
		}
	}
	if out.first() == nil {
		out.merge(p.missingFields(seen, inQuery, ""))
	}
	if p.hasFieldsIn(inQuery) {
		out.merge(runChecks(target, "", inQuery, out))
	}
	return out.first()
}

// decodeParameter decodes one name=value.
func (p *requestType) decodeParameter(pair string, target reflect.Value, seen []bool) *Fault {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	i, ok := p.byName[name]
	switch {
	case err != nil || !ok || p.fields[i].in != inQuery:
		return newFault("unknown_field", shownName(rawName), quoted(rawValue), "no such parameter")
	case seen[i]:
		return newFault("unknown_field", name, quoted(rawValue), "given twice")
	}
	seen[i] = true
	f := &p.fields[i]
	value, err := url.QueryUnescape(rawValue)
	if err != nil || strings.Contains(rawValue, ";") {
		return newFault("schema_violation", name, quoted(rawValue), f.domainText)
	}
	return f.decodeText(value, target.FieldByIndex(f.index), name)
}

// decodeText decodes a value of a URL: the digits of a u64, a JSON integer, or a string.
func (f *field) decodeText(value string, target reflect.Value, at string) *Fault {
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	var err error
	switch f.kind {
	case kindU64:
		err = target.Addr().Interface().(*U64).UnmarshalText([]byte(value))
	case kindInt:
		err = target.Addr().Interface().(*Int).parse([]byte(value))
	default:
		target.SetString(value)
	}
	if err != nil {
		return newFault("schema_violation", at, quoted(value), f.domainText)
	}
	return f.checkDomain(target, quoted(value), at)
}

func (p *requestType) hasFieldsIn(in location) bool {
	for i := range p.fields {
		if p.fields[i].in == in {
			return true
		}
	}
	return false
}

// DecodePath decodes one path field from its segment. An id that is not a canonical
// number in range is the 404 of the route: unknown_market, round_not_found,
// unknown_order, … (docs/rules/rest.md#paths).
func DecodePath(name, value string, into any) *Fault {
	target := reflect.ValueOf(into).Elem()
	p := requestTypeOf(target.Type())
	i, ok := p.byName[name]
	if !ok || p.fields[i].in != inPath {
		panic("schemas: " + target.Type().Name() + " has no path field " + name)
	}
	f := &p.fields[i]
	if f.kind != kindString && len(value) > 1 && value[0] == '0' {
		return newFault(f.code, name, quoted(value), "without zeros in front")
	}
	if x := f.decodeText(value, target.FieldByIndex(f.index), name); x != nil {
		x.Code = f.code
		return x
	}
	return nil
}

// PathFields returns the names of the path fields of a request, in order.
func PathFields(in any) []string { return fieldsIn(in, inPath) }

// QueryFields returns the names of the query fields of a request, in order.
func QueryFields(in any) []string { return fieldsIn(in, inQuery) }

// BodyFields returns the names of the body fields of a request, in order.
func BodyFields(in any) []string { return fieldsIn(in, inBody) }

func fieldsIn(in any, from location) []string {
	t := reflect.TypeOf(in)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out := []string{}
	for _, f := range requestTypeOf(t).fields {
		if f.in == from {
			out = append(out, f.Name)
		}
	}
	return out
}
