package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"duplex/core"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strictOptions rejects unknown members. The library's defaults reject duplicate names,
// invalid UTF-8, trailing data and names in another case.
var strictOptions = json.JoinOptions(json.RejectUnknownMembers(true))

// fastRequest is a request with a fast decoder. All its fields are in the body.
type fastRequest interface {
	decodeFast(body []byte) bool // false: leave the body to the general decoder
	validFast(tool bool) bool    // every field is within its domain, also for a tool
}

// Decode decodes the body fields of a request into the struct that into points to, and
// leaves its path and query fields unchanged. If the only fault of an order is one that
// the core records (docs/rules/errors.md#core-codes), Decode returns nil and sets the
// order's Fault. Otherwise it returns the fault of the highest rank: malformed_json,
// unknown_field, the code of a field's domain, or schema_violation.
func Decode(body []byte, into any) *Fault { return decodeRequest(body, into, inBody) }

func decodeRequest(body []byte, into any, from location) *Fault {
	if q, ok := into.(fastRequest); ok {
		if q.decodeFast(body) && q.validFast(from == inArguments) {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	return decode(body, into, from)
}

// DecodeOptional is Decode for a route with an optional body. No body counts as {}.
func DecodeOptional(body []byte, into any) *Fault {
	if len(body) == 0 {
		body = []byte("{}")
	}
	return Decode(body, into)
}

// DecodeArguments decodes the argument object of a tool, whose members are the path, query and body
// fields of the request. Because models write it so, null is an absent optional member, at any depth, and
// what converts without loss is taken (docs/rules/agents.md#arguments).
func DecodeArguments(raw []byte, into any) *Fault {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	return decodeRequest(raw, into, inArguments)
}

func decode(body []byte, into any, from location) *Fault {
	v := jsontext.Value(body)
	if f := checkObject(v); f != nil {
		return f
	}
	target := reflect.ValueOf(into).Elem()
	got := decodeObject(v, requestTypeOf(target.Type()), target, from, "")
	if got.unknown == nil && got.schema == nil {
		got = deferToCore(got, target)
	}
	return got.first()
}

// checkObject returns malformed_json unless v is one JSON object. It names a member that is there twice.
func checkObject(v jsontext.Value) *Fault {
	if v.Kind() == '{' && v.IsValid() {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	if err := dec.SkipValue(); v.Kind() == '{' && errors.Is(err, jsontext.ErrDuplicateName) {
		syntactic, _ := errors.AsType[*jsontext.SyntacticError](err)
		return newFault("malformed_json", fieldAt(syntactic.JSONPointer), quoted(string(v)), "given twice")
	}
	return newFault("malformed_json", "", quoted(string(v)), "one JSON object: no duplicate names, nothing after it, UTF-8")
}

// fieldAt returns a pointer in the form of Fault.Field, such as orders[2].qty.
func fieldAt(p jsontext.Pointer) (field string) {
	for name := range p.Tokens() {
		if _, err := strconv.ParseUint(name, 10, 32); err == nil && field != "" {
			field += "[" + name + "]"
		} else {
			field = joinPath(field, shownName(name))
		}
	}
	return field
}

// shownName returns the name of a member, quoted if it is empty or has what does not show.
func shownName(name string) string {
	if p := Printable(name); p == name && name != "" {
		return p
	}
	return strconv.QuoteToASCII(Printable(name))
}

// deferToCore moves a fault that the core records into the request, if the request can
// carry one.
func deferToCore(got faultSet, target reflect.Value) faultSet {
	if c, ok := target.Addr().Interface().(rejectCarrier); ok && got.domain != nil {
		c.setReject(coreRejectOf(got.domain.Code))
		got.domain = nil
	}
	return got
}

// faultSet holds the faults of one object, one for each group of ranks.
type faultSet struct{ unknown, domain, schema *Fault }

func (f *faultSet) add(x *Fault) {
	switch {
	case x == nil:
	case x.Code == "unknown_field":
		f.unknown = HigherRanked(f.unknown, x)
	case x.Code == "schema_violation":
		f.schema = HigherRanked(f.schema, x)
	default:
		f.domain = HigherRanked(f.domain, x)
	}
}

func (f *faultSet) merge(g faultSet) {
	f.add(g.unknown)
	f.add(g.domain)
	f.add(g.schema)
}

func (f *faultSet) first() *Fault { return HigherRanked(f.unknown, HigherRanked(f.domain, f.schema)) }

// checker is a request, or a part of one, with rules that involve several fields.
type checker interface{ Check() *Fault }

// argumentsChecker is a part of a request with rules for tools alone.
type argumentsChecker interface{ checkArguments() *Fault }

// rejectCarrier is a request that carries a reject to the core.
type rejectCarrier interface{ setReject(r core.Reject) }

// decodeObject decodes a valid JSON object member by member, sets the valid fields of
// target and returns the faults of the others.
func decodeObject(v jsontext.Value, p *requestType, target reflect.Value, from location, at string) (out faultSet) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	mustRead(dec)
	seen := make([]bool, len(p.fields))
	var unknown string // the first
	var unknownValue jsontext.Value
	for dec.PeekKind() != '}' {
		name := mustRead(dec).String()
		value, err := dec.ReadValue()
		if err != nil {
			panic(err) // the whole value was validated before
		}
		i, ok := p.byName[name]
		if !ok || !p.fields[i].appliesTo(from) {
			if unknownValue == nil {
				unknown, unknownValue = name, value.Clone()
			}
			continue
		}
		if f := &p.fields[i]; from == inArguments && (f.Optional || f.replaced) && value.Kind() == 'n' {
			continue
		}
		seen[i] = true
		out.merge(decodeMember(value, &p.fields[i], target.FieldByIndex(p.fields[i].index), from, joinPath(at, name)))
	}
	if unknownValue != nil {
		out.add(p.unknown(unknown, unknownValue, seen, from, at))
	}
	out.merge(p.missingFields(seen, from, at))
	out.merge(runChecks(target, at, from, out))
	return out
}

// unknown returns the fault of an unknown member. The fault names the field that was
// probably meant, unless the object has that field too.
func (p *requestType) unknown(name string, value jsontext.Value, seen []bool, from location, at string) *Fault {
	where := joinPath(at, shownName(name))
	i, ok := p.meant(name, from)
	if !ok || seen[i] {
		return newFault("unknown_field", where, Shown(value), "no such field")
	}
	f := &p.fields[i]
	out := newFault("unknown_field", where, Shown(value), "use "+f.Name+", "+f.domainText)
	out.Instead, out.Doc = f.Name, f.Doc
	return out
}

func (f *field) appliesTo(from location) bool {
	return from == inAny || from == inArguments || from == f.in
}

// missingFields returns the faults of required fields that are absent.
func (p *requestType) missingFields(seen []bool, from location, at string) (out faultSet) {
	for i := range p.fields {
		if seen[i] {
			for _, name := range p.fields[i].Replaces {
				seen[p.byName[name]] = true
			}
		}
	}
	for i := range p.fields {
		if f := &p.fields[i]; (!f.Optional || f.RequiredByTool && from == inArguments) && !seen[i] && f.appliesTo(from) {
			out.add(newFault(f.missing, joinPath(at, f.Name), "", "required: "+f.domainText))
		}
	}
	return out
}

// runChecks runs the rules that involve several fields, and those for tools alone, if so has no schema_violation.
func runChecks(target reflect.Value, at string, from location, so faultSet) (out faultSet) {
	if so.schema != nil {
		return out
	}
	var f *Fault
	x := target.Addr().Interface()
	if a, ok := x.(argumentsChecker); ok && from == inArguments {
		f = a.checkArguments()
	}
	if c, ok := x.(checker); ok && f == nil {
		f = c.Check()
	}
	if f != nil {
		f.Field = joinPath(at, f.Field)
		out.add(f)
	}
	return out
}

// decodeMember decodes one value. Null is a schema_violation.
func decodeMember(v jsontext.Value, f *field, target reflect.Value, from location, at string) (out faultSet) {
	sent := v
	if from == inArguments && !f.exact {
		v = f.lossless(v)
	}
	switch {
	case f.elem != nil && f.list:
		return decodeObjects(v, f, target, from, at)
	case f.elem != nil:
		return decodeNullable(v, f, target, from, at)
	case f.kind == kindRaw:
		target.SetBytes(bytes.Clone(v))
	case v.Kind() == 'n' || json.Unmarshal(v, target.Addr().Interface(), strictOptions) != nil:
		target.SetZero()
		if n, item := f.wrongItem(v, target.Type()); item != nil {
			out.add(newFault("schema_violation", fmt.Sprintf("%s[%d]", at, n), Shown(item), f.itemText))
			break
		}
		out.add(newFault("schema_violation", at, Shown(sent), f.domainOf(sent, from)))
	default:
		out.add(f.checkDomain(target, Shown(sent), at))
	}
	return out
}

// domainOf returns the domain of f in words, for a value of another type.
func (f *field) domainOf(sent jsontext.Value, from location) string {
	if from == inArguments && f.kind == kindU64 && sent.Kind() == '0' && !f.list {
		return f.domainText + ": JSON keeps a number of this size only as a string"
	}
	return f.domainText
}

// wrongItem returns the first item of an array that does not decode; nil if v is no array.
func (f *field) wrongItem(v jsontext.Value, t reflect.Type) (n int, item jsontext.Value) {
	var items []jsontext.Value
	if !f.list || json.Unmarshal(v, &items) != nil {
		return 0, nil
	}
	for n, item := range items {
		if json.Unmarshal(item, reflect.New(t.Elem()).Interface(), strictOptions) != nil {
			return n, item
		}
	}
	return 0, nil
}

// decodeNullable decodes an object or null. A fault that the core records stays with the object.
func decodeNullable(v jsontext.Value, f *field, target reflect.Value, from location, at string) (out faultSet) {
	switch v.Kind() {
	case 'n':
	case '{':
		one := reflect.New(target.Type().Elem())
		out = deferToCore(decodeObject(v, f.elem, one.Elem(), from, at), one.Elem())
		target.Set(one)
	default:
		out.add(newFault("schema_violation", at, Shown(v), f.domainText))
	}
	return out
}

// decodeObjects decodes an array of objects. An order whose only fault is one that the
// core records carries that fault. A schema_violation in any item rejects the whole request.
func decodeObjects(v jsontext.Value, f *field, target reflect.Value, from location, at string) (out faultSet) {
	if v.Kind() != '[' {
		out.add(newFault("schema_violation", at, Shown(v), f.domainText))
		return out
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v))
	mustRead(dec)
	items := reflect.MakeSlice(target.Type(), 0, max(f.ItemsMax, 1))
	n := 0
	for ; dec.PeekKind() != ']'; n++ {
		item, err := dec.ReadValue()
		if err != nil {
			panic(err)
		}
		here := fmt.Sprintf("%s[%d]", at, n)
		if item.Kind() != '{' {
			out.add(newFault("schema_violation", here, Shown(item), "an object"))
			continue
		}
		one := reflect.New(target.Type().Elem()).Elem()
		out.merge(deferToCore(decodeObject(item, f.elem, one, from, here), one))
		if n < max(f.ItemsMax, 1) {
			items = reflect.Append(items, one)
		}
	}
	target.Set(items)
	out.add(f.checkCount(n, at))
	return out
}

// checkDomain returns the fault of a decoded value that is outside the domain of f.
func (f *field) checkDomain(v reflect.Value, got, at string) *Fault {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !f.list {
		return f.checkValue(v, got, at)
	}
	if x := f.checkCount(v.Len(), at); x != nil {
		return x
	}
	for i := range v.Len() {
		if x := f.checkValue(v.Index(i), f.item(v.Index(i)), fmt.Sprintf("%s[%d]", at, i)); x != nil {
			return x
		}
	}
	return nil
}

// item returns a decoded item of a list in the form in which a fault shows it.
func (f *field) item(v reflect.Value) string {
	if f.kind == kindInt {
		return fmt.Sprint(v)
	}
	return quoted(fmt.Sprint(v))
}

func (f *field) checkCount(n int, at string) *Fault {
	if n < f.ItemsMin || (f.ItemsMax > 0 && n > f.ItemsMax) {
		return newFault("schema_violation", at, quoted(fmt.Sprintf("%d items", n)), f.domainText)
	}
	return nil
}

func (f *field) checkValue(v reflect.Value, got, at string) *Fault {
	ok := true
	switch f.kind {
	case kindInt:
		ok = (f.Min == nil || v.Int() >= *f.Min) && (f.Max == nil || v.Int() <= *f.Max)
	case kindU64:
		ok = !f.nonzero || v.Uint() != 0
	case kindString:
		if ok = f.matchesText(v.String()); ok && !PlainText(v.String()) {
			return newFault(f.code, at, got, plainTextLimit)
		}
	}
	if !ok {
		return newFault(f.code, at, got, f.itemText)
	}
	return nil
}

func (f *field) matchesText(s string) bool {
	switch {
	case len(s) < f.LenMin, f.LenMax > 0 && len(s) > f.LenMax:
		return false
	case f.Enum != nil:
		return slices.Contains(f.Enum, s)
	case f.pattern != nil:
		return f.pattern.MatchString(s)
	case f.Parts == nil:
		return true
	}
	for p := range strings.SplitSeq(s, ",") {
		if !slices.Contains(f.Parts, p) {
			return false
		}
	}
	return true
}

func mustRead(dec *jsontext.Decoder) jsontext.Token {
	t, err := dec.ReadToken()
	if err != nil {
		panic(err) // the whole value was validated before
	}
	return t
}

// unquote returns the text of a JSON string, or the JSON text of any other value.
func unquote(v jsontext.Value) string {
	if v.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(b)
		}
	}
	return string(v)
}

func joinPath(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
