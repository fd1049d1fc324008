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

// parseRow parses an object that the venue encoded. The values share its memory.
func parseRow(v jsontext.Value) row {
	members := elements(v)
	r := make(row, len(members), len(members)+maxAdded)
	for i, m := range members {
		name, value, _ := bytes.Cut(m, []byte(`":`)) // a name of the venue has no quotation mark
		r[i] = rowMember{string(name[1:]), value}
	}
	return r
}

// maxAdded is about the most members that a tool adds to a row.
const maxAdded = 6

// arrayItems returns the values of an array that the venue encoded. They share its memory.
func arrayItems(v jsontext.Value) []jsontext.Value { return elements(v) }

// elements splits an object or an array at its commas. The venue's own JSON is valid and has no white space, so
// that a scan is enough; a decoder took three quarters of the time that completing an answer takes.
func elements(v jsontext.Value) (list []jsontext.Value) {
	depth, start, quoted := 0, 1, false
	for i := 1; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case (c == ',' || c == '}' || c == ']') && depth == 0:
			if i > start {
				list = append(list, v[start:i:i])
			}
			start = i + 1
		case c == '}', c == ']':
			depth--
		}
	}
	return list
}

// textValue, numberValue and digitsValue return JSON values; text needs no escapes.
func textValue(text string) jsontext.Value { return jsontext.Value(`"` + text + `"`) }

func numberValue(n uint64) jsontext.Value { return strconv.AppendUint(nil, n, 10) }

func digitsValue(n uint64) jsontext.Value { return textValue(strconv.FormatUint(n, 10)) }

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
	out := append(make(jsontext.Value, 0, 1024), '{')
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
