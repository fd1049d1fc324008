package schemas

import (
	"net/url"
	"reflect"
	"strings"
)

// DecodeQuery reads the query fields of a request from the raw query, by hand:
// url.Query drops what it cannot read. Unknown and repeated parameters are
// unknown_field, a wrong value is schema_violation, a cursor too long to be ours
// bad_cursor (contract core).
func DecodeQuery(rawQuery string, into any) *Fault {
	target := reflect.ValueOf(into).Elem()
	p := planOf(target.Type())
	var out found
	seen := make([]bool, len(p.fields))
	for rawQuery != "" {
		var pair string
		pair, rawQuery, _ = strings.Cut(rawQuery, "&")
		if pair != "" {
			out.put(p.parameter(pair, target, seen))
		}
	}
	if out.worst() == nil {
		out.join(p.absent(seen, inQuery, ""))
	}
	if p.has(inQuery) {
		out.join(finish(target, "", out))
	}
	return out.worst()
}

// parameter decodes one name=value.
func (p *plan) parameter(pair string, target reflect.Value, seen []bool) *Fault {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	i, ok := p.byName[name]
	switch {
	case err != nil || !ok || p.fields[i].in != inQuery:
		return faultAt("unknown_field", printable(rawName), rawName, "no such parameter")
	case seen[i]:
		return faultAt("unknown_field", name, rawValue, "given twice")
	}
	seen[i] = true
	f := &p.fields[i]
	value, err := url.QueryUnescape(rawValue)
	if err != nil || strings.Contains(rawValue, ";") {
		return faultAt("schema_violation", name, rawValue, f.limit)
	}
	return f.text(value, target.FieldByIndex(f.index), name)
}

// text decodes a value that stands in a URL: digits of a u64, a JSON integer, or
// the string itself.
func (f *field) text(value string, target reflect.Value, at string) *Fault {
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
		return faultAt("schema_violation", at, value, f.limit)
	}
	return f.judge(target, value, at)
}

func (p *plan) has(in part) bool {
	for i := range p.fields {
		if p.fields[i].in == in {
			return true
		}
	}
	return false
}

// DecodePath sets one path field from its segment. An id that is not a canonical
// number in range is the route's own 404: unknown_market, round_not_found,
// unknown_order, … (contract core).
func DecodePath(name, value string, into any) *Fault {
	target := reflect.ValueOf(into).Elem()
	p := planOf(target.Type())
	i, ok := p.byName[name]
	if !ok || p.fields[i].in != inPath {
		panic("schemas: " + target.Type().Name() + " has no path field " + name)
	}
	f := &p.fields[i]
	if f.kind != kindString && len(value) > 1 && value[0] == '0' {
		return faultAt(f.code, name, value, f.limit)
	}
	if x := f.text(value, target.FieldByIndex(f.index), name); x != nil {
		x.Code = f.code
		return x
	}
	return nil
}

// PathFields lists the path fields of a request, in order.
func PathFields(in any) []string { return fieldsIn(in, inPath) }

// QueryFields lists the query fields of a request, in order.
func QueryFields(in any) []string { return fieldsIn(in, inQuery) }

// BodyFields lists the body fields of a request, in order.
func BodyFields(in any) []string { return fieldsIn(in, inBody) }

func fieldsIn(in any, from part) []string {
	t := reflect.TypeOf(in)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out := []string{}
	for _, f := range planOf(t).fields {
		if f.in == from {
			out = append(out, f.name)
		}
	}
	return out
}
