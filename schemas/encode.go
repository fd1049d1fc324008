package schemas

import (
	"bytes"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wire encodes the same value to the same bytes, without HTML escaping; an empty
// list is [], never null.
var wire = json.JoinOptions(json.Deterministic(true))

// Append writes v as JSON behind dst. It fails on text that is not UTF-8.
func Append(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(buf, v, wire); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

// Body is the JSON body of a request: its body fields alone. It is empty for a
// request that has none.
func Body(in any) ([]byte, error) {
	if len(BodyFields(in)) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	err := members(in, func(f *field, value jsontext.Value) {
		if f.in != inBody {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, f.name)
		out = append(append(out, ':'), value...)
	})
	return append(out, '}'), err
}

// Target is the request target of a route for a request: its path fields put into
// the template, as in /v1/rounds/{market_id}, and its query fields behind.
func Target(template string, in any) (string, error) {
	var query []string
	err := members(in, func(f *field, value jsontext.Value) {
		switch text := unquoted(value); f.in {
		case inPath:
			template = strings.Replace(template, "{"+f.name+"}", url.PathEscape(text), 1)
		case inQuery:
			query = append(query, f.name+"="+url.QueryEscape(text))
		}
	})
	if len(query) > 0 {
		template += "?" + strings.Join(query, "&")
	}
	return template, err
}

// members calls visit for each field of a request that is set, in order.
func members(in any, visit func(*field, jsontext.Value)) error {
	t := reflect.TypeOf(in)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := planOf(t)
	raw, err := Append(nil, in)
	if err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	mustRead(dec)
	for dec.PeekKind() != '}' {
		name := mustRead(dec).String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		visit(&p.fields[p.byName[name]], value)
	}
	return nil
}
