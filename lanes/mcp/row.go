package mcp

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// row is a JSON object of the venue, with its members in order.
type row []rowMember

type rowMember struct {
	name  string
	value jsontext.Value
}

// parseRow parses an object that the venue encoded.
func parseRow(v jsontext.Value) (r row) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	mustRead(dec.ReadToken())
	for dec.PeekKind() != '}' {
		name := mustRead(dec.ReadToken()).String()
		r = append(r, rowMember{name, mustRead(dec.ReadValue()).Clone()})
	}
	return r
}

// arrayItems returns the values of an array that the venue encoded.
func arrayItems(v jsontext.Value) (items []jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	mustRead(dec.ReadToken())
	for dec.PeekKind() != ']' {
		items = append(items, mustRead(dec.ReadValue()).Clone())
	}
	return items
}

// mustRead returns what a decoder read. The venue's own JSON always parses.
func mustRead[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// value returns a member, nil if it is absent.
func (r row) value(name string) jsontext.Value {
	for i := range r {
		if r[i].name == name {
			return r[i].value
		}
	}
	return nil
}

// text returns a member that is a string, "" if it is absent.
func (r row) text(name string) string {
	s, _ := stringOf(r.value(name))
	return s
}

// number returns a member that is an unsigned integer or a string of digits, 0 if it is absent.
func (r row) number(name string) uint64 {
	n, _ := strconv.ParseUint(string(bytes.Trim(r.value(name), `"`)), 10, 64)
	return n
}

// set sets a member. A new one goes to the end.
func (r *row) set(name string, value jsontext.Value) {
	for i := range *r {
		if (*r)[i].name == name {
			(*r)[i].value = value
			return
		}
	}
	*r = append(*r, rowMember{name, value})
}

// withoutDefaults returns the members whose value is not the default of its type.
func (r row) withoutDefaults() (out row) {
	for _, m := range r {
		switch string(m.value) {
		case `0`, `"0"`, `""`, `false`, `null`:
		default:
			out = append(out, m)
		}
	}
	return out
}

func (r row) encode() jsontext.Value {
	out := jsontext.Value{'{'}
	for i, m := range r {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(append(out, m.name...), `":`...) // names are the venue's own words
		out = append(out, m.value...)
	}
	return append(out, '}')
}
