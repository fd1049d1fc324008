package schemas

import (
	"bytes"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wireOptions makes encoding deterministic. HTML is not escaped, and an empty list is []
// and never null.
var wireOptions = json.JoinOptions(json.Deterministic(true))

// Append appends the JSON of v to dst. It fails on text that is not UTF-8, and then
// returns dst unchanged.
func Append(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	if err := json.MarshalWrite(buf, v, wireOptions); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

// Body returns the JSON body of a request, which has its body fields only. It is nil for
// a request without body fields.
func Body(in any) ([]byte, error) {
	if len(BodyFields(in)) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	err := eachField(in, func(f *field, value jsontext.Value) {
		if f.in != inBody {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, f.Name)
		out = append(append(out, ':'), value...)
	})
	return append(out, '}'), err
}

// Target returns the request target of a route: the template, such as
// /v1/rounds/{market_id}, with the path fields of in substituted and its query fields
// appended.
func Target(template string, in any) (string, error) {
	var query []string
	err := eachField(in, func(f *field, value jsontext.Value) {
		switch text := unquote(value); f.in {
		case inPath:
			template = strings.Replace(template, "{"+f.Name+"}", url.PathEscape(text), 1)
		case inQuery:
			query = append(query, f.Name+"="+url.QueryEscape(text))
		}
	})
	if len(query) > 0 {
		template += "?" + strings.Join(query, "&")
	}
	return template, err
}

// eachField calls visit for each field of a request that is set, in order.
func eachField(in any, visit func(*field, jsontext.Value)) error {
	t := reflect.TypeOf(in)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := requestTypeOf(t)
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
