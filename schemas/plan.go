package schemas

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// part says where a field of a request travels.
type part uint8

const (
	inBody part = iota
	inQuery
	inPath
	inAny // decoding only: every part, as the arguments of a tool
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

// field is what decoding knows of a request's field, all of it from its tags.
type field struct {
	name     string
	index    []int
	in       part
	kind     kind // of the value, or of each item
	list     bool
	required bool
	nonzero  bool
	min, max *int64 // of an integer
	lenMin   int    // of a string, in bytes
	lenMax   int
	itemsMin int
	itemsMax int
	enum     []string
	parts    []string // legal members of a comma-separated string
	pattern  *regexp.Regexp
	code     string // of a value out of its domain
	missing  string // code when absent though required
	limit    string // its domain, for people
	elem     *plan
}

// plan is a request type laid open, in the order of its fields.
type plan struct {
	fields []field
	byName map[string]int
}

var plans sync.Map // reflect.Type → *plan: tags are read once per type

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: map[string]int{}}
	p.add(t, nil)
	for i := range p.fields {
		p.byName[p.fields[i].name] = i
	}
	got, _ := plans.LoadOrStore(t, p)
	return got.(*plan)
}

func (p *plan) add(t reflect.Type, at []int) {
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

// readField reads one field's tags. A tag that makes no sense is a mistake in this
// program and panics.
func readField(sf reflect.StructField, name string, index []int) field {
	tag := sf.Tag
	f := field{name: name, index: index, required: !strings.Contains(tag.Get("json"), ",omit")}
	f.in = map[string]part{"": inBody, "query": inQuery, "path": inPath}[tag.Get("in")]
	f.setType(sf.Type)
	f.nonzero = tag.Get("nonzero") == "true"
	f.min, f.max = number(tag.Get("minimum")), number(tag.Get("maximum"))
	f.lenMin, f.lenMax = size(tag.Get("minLength")), size(tag.Get("maxLength"))
	f.itemsMin, f.itemsMax = size(tag.Get("minItems")), size(tag.Get("maxItems"))
	f.enum, f.parts = commas(tag.Get("enum")), commas(tag.Get("list"))
	if p := tag.Get("pattern"); p != "" && f.kind == kindString {
		f.pattern = regexp.MustCompile(p)
	}
	f.code, f.missing = or(tag.Get("fault"), "schema_violation"), or(tag.Get("missing"), "schema_violation")
	f.limit = f.domain(tag.Get("pattern"))
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
		f.kind, f.elem = kindObject, planOf(t)
	default:
		panic(fmt.Sprintf("schemas: %s cannot be a field of a request", t))
	}
}

// domain says in words what f takes.
func (f *field) domain(pattern string) string {
	var one string
	switch f.kind {
	case kindU64:
		one = "a string of decimal digits, at most 2^64 − 1"
		if f.nonzero {
			one += ", not 0"
		}
	case kindInt:
		one = "an integer" + span(f.min, f.max)
	case kindBool:
		one = "true or false"
	case kindObject:
		one = "an object"
	default:
		one = f.words(pattern)
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

func (f *field) words(pattern string) string {
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

func span(lo, hi *int64) string {
	switch {
	case lo != nil && hi != nil:
		return fmt.Sprintf(" from %d to %d", *lo, *hi)
	case lo != nil:
		return fmt.Sprintf(" of at least %d", *lo)
	default:
		return ""
	}
}

func number(tag string) *int64 {
	if tag == "" {
		return nil
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		panic(err)
	}
	return &n
}

func size(tag string) int {
	if n := number(tag); n != nil {
		return int(*n)
	}
	return 0
}

func commas(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

func or(tag, fallback string) string {
	if tag == "" {
		return fallback
	}
	return tag
}
