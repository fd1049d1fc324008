package schemas

import (
	"reflect"
	"testing"
)

// Requests holds a value of every request type. schemas_test sets it, because only an external
// test can ask tools for the inputs of its operations.
var Requests []any

// TestRequestTypes tests that every tag parses, every code is in the table, no name
// repeats, and no request has both query and body fields, so that Check sees all fields
// that it compares.
func TestRequestTypes(t *testing.T) {
	for _, r := range Requests {
		typ := reflect.TypeOf(r)
		p := requestTypeOf(typ)
		if len(p.byName) != len(p.fields) {
			t.Errorf("%s names a field twice", typ)
		}
		if p.hasFieldsIn(inQuery) && p.hasFieldsIn(inBody) {
			t.Errorf("%s has query and body", typ)
		}
		for _, f := range p.fields {
			if !IsErrorCode(f.code) || !IsErrorCode(f.missing) {
				t.Errorf("%s.%s: no such code %q %q", typ, f.Name, f.code, f.missing)
			}
			if f.in == inPath && (f.Optional || (f.kind != kindString && f.code == "schema_violation")) {
				t.Errorf("%s.%s: a path field needs its 404", typ, f.Name)
			}
			pointer := typ.FieldByIndex(f.index).Type.Kind() == reflect.Pointer
			if !f.Optional && pointer {
				t.Errorf("%s.%s: a required field must not be a pointer", typ, f.Name)
			}
		}
	}
}
