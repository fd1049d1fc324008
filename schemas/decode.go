package schemas

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"duplex/core"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strict refuses unknown members; duplicate names, invalid UTF-8, trailing data
// and another case of a name are refused by default.
var strict = json.JoinOptions(json.RejectUnknownMembers(true))

// scanner is a request that is read in one pass where it is plain and sound: all of it
// stands in its body.
type scanner interface {
	scan(body []byte) bool // in its plainest form
	quick() bool           // within every domain
}

// Decode reads the body fields of a request. into points to its struct; path and
// query fields it already holds stay. Where an order has but a core fault, it
// answers nil and the order carries it. Faults: malformed_json, unknown_field, the
// codes of the fields' domains, schema_violation; the most telling one wins
// (contract core).
func Decode(body []byte, into any) *Fault {
	if q, ok := into.(scanner); ok {
		if q.scan(body) && q.quick() {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return decode(body, into, inBody)
}

// DecodeOptional is Decode for a route that may have no body: none is {}.
func DecodeOptional(body []byte, into any) *Fault {
	if len(body) == 0 {
		body = []byte("{}")
	}
	return Decode(body, into)
}

// DecodeArguments reads the argument object of a tool: path, query and body fields
// are all members of it.
func DecodeArguments(raw []byte, into any) *Fault {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if _, ok := into.(scanner); ok {
		return Decode(raw, into)
	}
	return decode(raw, into, inAny)
}

func decode(body []byte, into any, from part) *Fault {
	v := jsontext.Value(body)
	if v.Kind() != '{' || !v.IsValid() {
		return faultAt("malformed_json", "", string(body), "one JSON object: no duplicate names, nothing after it, UTF-8")
	}
	target := reflect.ValueOf(into).Elem()
	got := object(v, planOf(target.Type()), target, from, "")
	if got.unknown == nil && got.schema == nil {
		got = handOver(got, target)
	}
	return got.worst()
}

// handOver leaves a core fault to the core, where the request can carry it there.
func handOver(got found, target reflect.Value) found {
	if c, ok := target.Addr().Interface().(carrier); ok && got.domain != nil {
		c.carry(carried(got.domain.Code))
		got.domain = nil
	}
	return got
}

// found collects what is wrong with one object, the first of each rank.
type found struct{ unknown, domain, schema *Fault }

func (f *found) put(x *Fault) {
	switch {
	case x == nil:
	case x.Code == "unknown_field":
		f.unknown = MostTelling(f.unknown, x)
	case x.Code == "schema_violation":
		f.schema = MostTelling(f.schema, x)
	default:
		f.domain = MostTelling(f.domain, x)
	}
}

func (f *found) join(g found) {
	f.put(g.unknown)
	f.put(g.domain)
	f.put(g.schema)
}

func (f *found) worst() *Fault { return MostTelling(f.unknown, MostTelling(f.domain, f.schema)) }

// checker is a request with rules that join fields, or a part of one.
type checker interface{ Check() *Fault }

// carrier takes a core reject along to the core.
type carrier interface{ carry(core.Reject) }

// object decodes a valid JSON object member by member and diagnoses each. What is
// sound is set in target.
func object(v jsontext.Value, p *plan, target reflect.Value, from part, at string) (out found) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	mustRead(dec)
	seen := make([]bool, len(p.fields))
	for dec.PeekKind() != '}' {
		name := mustRead(dec).String()
		value, err := dec.ReadValue()
		if err != nil {
			panic(err) // the whole value was found valid before
		}
		i, ok := p.byName[name]
		if !ok || !p.fields[i].of(from) {
			out.put(faultAt("unknown_field", join(at, printable(name)), printable(name), "no such field"))
			continue
		}
		seen[i] = true
		out.join(member(value, &p.fields[i], target.FieldByIndex(p.fields[i].index), join(at, name)))
	}
	out.join(p.absent(seen, from, at))
	out.join(finish(target, at, out))
	return out
}

func (f *field) of(from part) bool { return from == inAny || from == f.in }

// absent finds the required fields that were not there.
func (p *plan) absent(seen []bool, from part, at string) (out found) {
	for i := range p.fields {
		if f := &p.fields[i]; f.required && !seen[i] && f.of(from) {
			out.put(faultAt(f.missing, join(at, f.name), "", "required: "+f.limit))
		}
	}
	return out
}

// finish runs the rules that join fields, once each field is sound by itself.
func finish(target reflect.Value, at string, so found) (out found) {
	c, ok := target.Addr().Interface().(checker)
	if !ok || so.schema != nil {
		return out
	}
	if f := c.Check(); f != nil {
		f.Field = join(at, f.Field)
		out.put(f)
	}
	return out
}

// member decodes one value. A null is a fault of type like any other.
func member(v jsontext.Value, f *field, target reflect.Value, at string) (out found) {
	switch {
	case f.elem != nil:
		return objects(v, f, target, at)
	case v.Kind() == 'n' || json.Unmarshal(v, target.Addr().Interface(), strict) != nil:
		target.SetZero()
		out.put(faultAt("schema_violation", at, unquoted(v), f.limit))
	default:
		out.put(f.judge(target, unquoted(v), at))
	}
	return out
}

// objects decodes an array of objects. An order in it that has but a core fault
// carries it; with a fault of schema anywhere the whole request is refused.
func objects(v jsontext.Value, f *field, target reflect.Value, at string) (out found) {
	if v.Kind() != '[' {
		out.put(faultAt("schema_violation", at, string(v), f.limit))
		return out
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	mustRead(dec)
	items := reflect.MakeSlice(target.Type(), 0, max(f.itemsMax, 1))
	n := 0
	for ; dec.PeekKind() != ']'; n++ {
		item, err := dec.ReadValue()
		if err != nil {
			panic(err)
		}
		here := fmt.Sprintf("%s[%d]", at, n)
		if item.Kind() != '{' {
			out.put(faultAt("schema_violation", here, string(item), "an object"))
			continue
		}
		one := reflect.New(target.Type().Elem()).Elem()
		out.join(handOver(object(item, f.elem, one, inBody, here), one))
		if n < max(f.itemsMax, 1) {
			items = reflect.Append(items, one)
		}
	}
	target.Set(items)
	out.put(f.count(n, at))
	return out
}

// judge holds a decoded value against its field's domain.
func (f *field) judge(v reflect.Value, got, at string) *Fault {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !f.list {
		return f.judgeOne(v, got, at)
	}
	if x := f.count(v.Len(), at); x != nil {
		return x
	}
	for i := range v.Len() {
		if x := f.judgeOne(v.Index(i), fmt.Sprint(v.Index(i)), fmt.Sprintf("%s[%d]", at, i)); x != nil {
			return x
		}
	}
	return nil
}

func (f *field) count(n int, at string) *Fault {
	if n < f.itemsMin || (f.itemsMax > 0 && n > f.itemsMax) {
		return faultAt("schema_violation", at, fmt.Sprintf("%d items", n), f.limit)
	}
	return nil
}

func (f *field) judgeOne(v reflect.Value, got, at string) *Fault {
	ok := true
	switch f.kind {
	case kindInt:
		ok = (f.min == nil || v.Int() >= *f.min) && (f.max == nil || v.Int() <= *f.max)
	case kindU64:
		ok = !f.nonzero || v.Uint() != 0
	case kindString:
		ok = f.spells(v.String())
	}
	if !ok {
		return faultAt(f.code, at, got, f.limit)
	}
	return nil
}

func (f *field) spells(s string) bool {
	switch {
	case len(s) < f.lenMin, f.lenMax > 0 && len(s) > f.lenMax, !utf8.ValidString(s):
		return false
	case f.enum != nil:
		return contains(f.enum, s)
	case f.pattern != nil:
		return f.pattern.MatchString(s)
	case f.parts == nil:
		return true
	}
	for p := range strings.SplitSeq(s, ",") {
		if !contains(f.parts, p) {
			return false
		}
	}
	return true
}

func contains(words []string, s string) bool {
	for _, w := range words {
		if w == s {
			return true
		}
	}
	return false
}

func mustRead(dec *jsontext.Decoder) jsontext.Token {
	t, err := dec.ReadToken()
	if err != nil {
		panic(err) // the whole value was found valid before
	}
	return t
}

// unquoted is how a wrong value is shown: a string without its quotes.
func unquoted(v jsontext.Value) string {
	if v.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(b)
		}
	}
	return string(v)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
