package schemas

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// location is the part of a request that carries a field.
type location uint8

const (
	inBody location = iota
	inQuery
	inPath
	inAny       // for decoding only: every part
	inArguments // for decoding only: inAny, with the rules of tools (DecodeArguments)
)

// kind is the shape of one value.
type kind uint8

const (
	kindString kind = iota
	kindU64
	kindInt
	kindBool
	kindDollars
	kindObject
	kindRaw // an object that the operation decodes; null and other values pass
)

// Member describes one member of a JSON object of this wire, as the struct tags of its Go
// field state it. The decoder of requests and the definitions of tools are made from it.
type Member struct {
	Name           string
	Type           reflect.Type // of the Go field
	Doc            string       // what it means, with its unit
	Optional       bool         // it may be absent
	Enum           []string     // the legal values of a string; nil: any
	Values         string       // the name of those values, if several members share them; "": none
	Parts          []string     // the legal parts of a comma-separated string; nil: no list
	Pattern        string       // of a string; "": any
	Min, Max       *int64       // bounds of an integer; nil: none
	LenMin         int          // bounds of a string, in bytes; LenMax 0: none
	LenMax         int
	ItemsMin       int // bounds of an array; ItemsMax 0: none
	ItemsMax       int
	Replaces       []string // names of the members that are not required beside it
	RequiredByTool bool     // a tool requires it, although the route does not

	index []int // for reflect.Value.FieldByIndex
	tag   reflect.StructTag
}

// Members returns the members of a struct type in the order of its fields, those of
// embedded structs included. It panics on a tag that cannot be read.
func Members(t reflect.Type) []Member { return appendMembers(nil, t, nil) }

func appendMembers(list []Member, t reflect.Type, at []int) []Member {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(at), i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			list = appendMembers(list, f.Type, index)
		case f.IsExported() && name != "-" && name != "":
			tag := f.Tag
			m := Member{
				Name: name, Type: f.Type, Doc: tag.Get("doc"), Optional: strings.Contains(options, "omit"),
				Enum: splitTag(tag.Get("enum")), Parts: splitTag(tag.Get("list")), Pattern: tag.Get("pattern"), Min: intTag(tag.Get("minimum")), Max: intTag(tag.Get("maximum")),
				LenMin: sizeTag(tag.Get("minLength")), LenMax: sizeTag(tag.Get("maxLength")),
				ItemsMin: sizeTag(tag.Get("minItems")), ItemsMax: sizeTag(tag.Get("maxItems")),
				Replaces: splitTag(tag.Get("replaces")), RequiredByTool: tag.Get("tool") == "required", index: index, tag: tag,
			}
			m.fillFromTable()
			m.fillValues()
			list = append(list, m)
		}
	}
	return list
}

// field is a member of a request, with what the decoder checks.
type field struct {
	Member
	in         location
	kind       kind // of the value, or of each item
	list       bool
	nonzero    bool
	exact      bool // a price or an amount, which a tool never converts
	replaced   bool // another member may replace it
	pattern    *regexp.Regexp
	code       string // the fault of a value outside the domain
	missing    string // the fault of a required field that is absent
	domainText string // the domain in words
	itemText   string // that of one item of a list, or domainText
	elem       *requestType
}

// requestType describes a request type, in the order of its fields.
type requestType struct {
	fields []field
	byName map[string]int
}

var requestTypes sync.Map // reflect.Type → *requestType; tags are read once per type

func requestTypeOf(t reflect.Type) *requestType {
	if p, ok := requestTypes.Load(t); ok {
		return p.(*requestType)
	}
	p := &requestType{byName: map[string]int{}}
	for i, m := range Members(t) {
		p.fields, p.byName[m.Name] = append(p.fields, newField(m)), i
	}
	for _, f := range p.fields {
		for _, name := range f.Replaces {
			p.fields[p.byName[name]].replaced = true
		}
	}
	got, _ := requestTypes.LoadOrStore(t, p)
	return got.(*requestType)
}

// newField returns the field of a member. It panics on a type that a request cannot have.
func newField(m Member) field {
	f := field{Member: m, nonzero: m.tag.Get("nonzero") == "true", exact: m.tag.Get("exact") == "true"}
	f.in = map[string]location{"": inBody, "query": inQuery, "path": inPath}[m.tag.Get("in")]
	f.setType(m.Type)
	if m.Pattern != "" && f.kind == kindString {
		f.pattern = regexp.MustCompile(m.Pattern)
	}
	f.code, f.missing = cmp.Or(m.tag.Get("fault"), "schema_violation"), cmp.Or(m.tag.Get("missing"), "schema_violation")
	f.itemText = f.describeItem()
	f.domainText = f.describeDomain()
	return f
}

func (f *field) setType(t reflect.Type) {
	m := t
	if t == reflect.TypeFor[jsontext.Value]() {
		f.kind = kindRaw
		return
	}
	if t.Kind() == reflect.Slice {
		f.list, t = true, t.Elem()
	} else if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[U64]():
		f.kind = kindU64
	case t == reflect.TypeFor[Int]():
		f.kind = kindInt
	case t == reflect.TypeFor[Dollars]():
		f.kind = kindDollars
	case t.Kind() == reflect.String:
		f.kind = kindString
	case t.Kind() == reflect.Bool:
		f.kind = kindBool
	case t.Kind() == reflect.Struct && (f.list || m.Kind() == reflect.Pointer):
		f.kind, f.elem = kindObject, requestTypeOf(t)
	default:
		panic(fmt.Sprintf("schemas: %s cannot be a field of a request", t))
	}
}

// describeDomain returns the domain of f in words.
func (f *field) describeDomain() string {
	switch {
	case !f.list:
		return f.itemText
	case f.ItemsMax > 0:
		return fmt.Sprintf("an array of %d to %d, each %s", f.ItemsMin, f.ItemsMax, f.itemText)
	default:
		return "an array, each " + f.itemText
	}
}

// describeItem returns the domain of one value of f in words.
func (f *field) describeItem() string {
	switch f.kind {
	case kindU64:
		if f.nonzero {
			return "a whole number as a string, at most 2^64 − 1, not 0"
		}
		return "a whole number as a string, at most 2^64 − 1"
	case kindInt:
		return "an integer" + describeRange(f.Min, f.Max)
	case kindBool:
		return "true or false"
	case kindDollars:
		return "dollars over 0 with at most two decimals"
	case kindObject, kindRaw:
		if f.Type.Kind() == reflect.Pointer {
			return "an object or null"
		}
		return "an object"
	default:
		return f.describeText()
	}
}

func (f *field) describeText() string {
	switch {
	case f.Enum != nil:
		return "one of " + strings.Join(f.Enum, ", ")
	case f.Parts != nil:
		return "a comma-separated list of " + strings.Join(f.Parts, ", ")
	case f.Pattern != "":
		return "a string matching " + f.Pattern
	case f.LenMax > 0:
		return fmt.Sprintf("a string of %d to %d bytes", f.LenMin, f.LenMax)
	default:
		return "a string"
	}
}

func describeRange(lo, hi *int64) string {
	switch {
	case lo != nil && hi != nil:
		return fmt.Sprintf(" from %d to %d", *lo, *hi)
	case lo != nil:
		return fmt.Sprintf(" of at least %d", *lo)
	default:
		return ""
	}
}

// sentField returns the first of some members that a decoded request sets, else the first that it can have, else "".
func sentField(in any, names []string) (first string) {
	v := reflect.ValueOf(in).Elem()
	p := requestTypeOf(v.Type())
	for _, name := range names {
		i, ok := p.byName[name]
		if ok && !v.FieldByIndex(p.fields[i].index).IsZero() {
			return name
		}
		if ok && first == "" {
			first = name
		}
	}
	return first
}

func intTag(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(err)
	}
	return &n
}

func sizeTag(tag string) int {
	if n := intTag(tag); n != nil {
		return int(*n)
	}
	return 0
}

func splitTag(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}
