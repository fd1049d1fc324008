package schemas

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// location is the part of a request that carries a field.
type location uint8

const (
	inBody location = iota
	inQuery
	inPath
	inAny // for decoding only: every part, as in the arguments of a tool
)

// kind is the shape of one value.
type kind uint8

const (
	kindString kind = iota
	kindU64
	kindInt
	kindBool
	kindObject
)

// field describes one field of a request. All of it comes from the struct tags.
type field struct {
	name       string
	index      []int
	in         location
	kind       kind // of the value, or of each item
	list       bool
	required   bool
	nonzero    bool
	min, max   *int64 // of an integer
	lenMin     int    // of a string, in bytes
	lenMax     int
	itemsMin   int
	itemsMax   int
	enum       []string
	parts      []string // legal parts of a comma-separated string
	pattern    *regexp.Regexp
	code       string // the fault of a value outside the domain
	missing    string // the fault of a required field that is absent
	domainText string // the domain in words
	doc        string
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
	p.add(t, nil)
	for i := range p.fields {
		p.byName[p.fields[i].name] = i
	}
	got, _ := requestTypes.LoadOrStore(t, p)
	return got.(*requestType)
}

func (p *requestType) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int{}, at...), i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			p.add(f.Type, index)
		case f.IsExported() && name != "-" && name != "":
			p.fields = append(p.fields, readField(f, name, index))
		}
	}
}

// readField reads the tags of one field. It panics on a tag without meaning.
func readField(sf reflect.StructField, name string, index []int) field {
	tag := sf.Tag
	f := field{name: name, index: index, required: !strings.Contains(tag.Get("json"), ",omit")}
	f.in = map[string]location{"": inBody, "query": inQuery, "path": inPath}[tag.Get("in")]
	f.setType(sf.Type)
	f.nonzero = tag.Get("nonzero") == "true"
	f.min, f.max = intTag(tag.Get("minimum")), intTag(tag.Get("maximum"))
	f.lenMin, f.lenMax = sizeTag(tag.Get("minLength")), sizeTag(tag.Get("maxLength"))
	f.itemsMin, f.itemsMax = sizeTag(tag.Get("minItems")), sizeTag(tag.Get("maxItems"))
	f.enum, f.parts = splitTag(tag.Get("enum")), splitTag(tag.Get("list"))
	if p := tag.Get("pattern"); p != "" && f.kind == kindString {
		f.pattern = regexp.MustCompile(p)
	}
	f.code, f.missing = orDefault(tag.Get("fault"), "schema_violation"), orDefault(tag.Get("missing"), "schema_violation")
	f.domainText, f.doc = f.describeDomain(tag.Get("pattern")), tag.Get("doc")
	return f
}

func (f *field) setType(t reflect.Type) {
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
	case t.Kind() == reflect.String:
		f.kind = kindString
	case t.Kind() == reflect.Bool:
		f.kind = kindBool
	case t.Kind() == reflect.Struct && f.list:
		f.kind, f.elem = kindObject, requestTypeOf(t)
	default:
		panic(fmt.Sprintf("schemas: %s cannot be a field of a request", t))
	}
}

// describeDomain returns the domain of f in words.
func (f *field) describeDomain(pattern string) string {
	var one string
	switch f.kind {
	case kindU64:
		one = "a string of decimal digits, at most 2^64 − 1"
		if f.nonzero {
			one += ", not 0"
		}
	case kindInt:
		one = "an integer" + describeRange(f.min, f.max)
	case kindBool:
		one = "true or false"
	case kindObject:
		one = "an object"
	default:
		one = f.describeText(pattern)
	}
	switch {
	case !f.list:
		return one
	case f.itemsMax > 0:
		return fmt.Sprintf("an array of %d to %d, each %s", f.itemsMin, f.itemsMax, one)
	default:
		return "an array, each " + one
	}
}

func (f *field) describeText(pattern string) string {
	switch {
	case f.enum != nil:
		return "one of " + strings.Join(f.enum, ", ")
	case f.parts != nil:
		return "a comma-separated list of " + strings.Join(f.parts, ", ")
	case pattern != "":
		return "a string matching " + pattern
	case f.lenMax > 0:
		return fmt.Sprintf("a string of %d to %d bytes", f.lenMin, f.lenMax)
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

func orDefault(tag, fallback string) string {
	if tag == "" {
		return fallback
	}
	return tag
}
