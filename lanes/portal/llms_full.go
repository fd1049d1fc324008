package portal

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"duplex/schemas"
	"duplex/tools"
)

//go:embed page/llms-full.txt
var fullGuideTemplate string

// fullGuideData is the data of the long guide's template. All of it comes from the program:
// operations, documents, error tables, the signing code.
type fullGuideData struct {
	venueData
	Vector   signatureExample
	Routes   []fullRoute
	Types    []fullType
	Tools    []*tools.Spec
	Channels []fullChannel
	Errors   []schemas.ErrorInfo
	WSErrors []schemas.WSErrorInfo
}

// signatureExample is a worked example, against which a client can check its signatures.
type signatureExample struct{ Secret, Timestamp, Method, Target, Body, MessageHex, Signature, Subprotocol string }

// fullRoute is an operation of REST.
type fullRoute struct {
	guideRoute
	Doc          string
	Params       []fullField
	Body, Answer string
	Codes        []string
}

// fullType is a type that routes refer to: an object with its fields, or another one in a few words.
type fullType struct {
	Name   string
	Text   string // of one that is no object
	Fields []fullField
}

type fullField struct {
	Name, Type, Doc string
	Optional        bool
}

// fullChannel is a channel of the event lane, or the channel of commands, with an example of
// each message.
type fullChannel struct {
	Name, Title, Description string
	Messages                 []fullMessage
}

type fullMessage struct {
	Title, Description string
	Examples           []string
}

// fullGuide returns /llms-full.txt: everything that a model needs to write a client.
func (l *lane) fullGuide() []byte {
	return renderText(fullGuideTemplate, fullGuideData{l.venueData(), newSignatureExample(), fullRoutes(l.openAPI()), fullTypes(l.openAPI()), l.Tools, fullChannels(l.asyncAPI()), schemas.ErrorTable, schemas.WSErrorTable})
}

// newSignatureExample signs an order with a secret of the bytes 0 to 31.
func newSignatureExample() signatureExample {
	secret := make([]byte, schemas.SecretLen)
	for i := range secret {
		secret[i] = byte(i)
	}
	v := signatureExample{Secret: hex.EncodeToString(secret), Timestamp: "1700000000002", Method: "POST", Target: "/v1/portfolio/orders",
		Body: `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4700,"qty":10}`}
	v.MessageHex = hex.EncodeToString(schemas.Message(v.Timestamp, v.Method, v.Target, []byte(v.Body)))
	v.Signature = schemas.Sign(secret, v.Timestamp, v.Method, v.Target, []byte(v.Body))
	mac, err := base64.StdEncoding.DecodeString(schemas.Sign(secret, v.Timestamp, "GET", "/v1/ws", nil))
	if err != nil {
		panic(err) // Sign gives base64
	}
	v.Subprotocol = "dx.auth.KEY." + v.Timestamp + "." + base64.RawURLEncoding.EncodeToString(mac)
	return v
}

func fullRoutes(doc *huma.OpenAPI) (out []fullRoute) {
	for _, r := range routesOf(doc) {
		out = append(out, fullRouteOf(doc, r, operationOf(doc.Paths[r.Path], r.Method)))
	}
	return out
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
		if op != nil && op.Method == method {
			return op
		}
	}
	return nil
}

func fullRouteOf(doc *huma.OpenAPI, r guideRoute, op *huma.Operation) fullRoute {
	out := fullRoute{guideRoute: r, Doc: op.Description}
	for _, p := range op.Parameters {
		out.Params = append(out.Params, fullField{p.Name + " (" + p.In + ")", typeOf(p.Schema), p.Description, !p.Required})
	}
	if op.RequestBody != nil {
		body := op.RequestBody.Content["application/json"]
		out.Body = typeOf(body.Schema) + ", such as " + string(must(json.Marshal(body.Example)))
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		response := op.Responses[status]
		if status < "300" {
			if out.Answer != "" {
				out.Answer += ", or "
			}
			out.Answer += status + " " + typeOf(response.Content["application/json"].Schema)
		} else {
			out.Codes = append(out.Codes, codesOf(response)...)
		}
	}
	slices.Sort(out.Codes)
	return out
}

// codesOf parses the codes from the description of a response.
func codesOf(r *huma.Response) (out []string) {
	for line := range strings.Lines(r.Description) {
		if code, ok := strings.CutPrefix(line, "- `"); ok {
			code, _, _ = strings.Cut(code, "`")
			out = append(out, code)
		}
	}
	return out
}

// fullTypes lists the types that routes refer to.
func fullTypes(doc *huma.OpenAPI) (out []fullType) {
	if doc == nil {
		return nil
	}
	all := doc.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one := fullType{Name: name, Fields: fieldsOf(all[name])}
		if len(one.Fields) == 0 {
			one.Text = typeOf(all[name])
		}
		out = append(out, one)
	}
	return out
}

// fieldsOf lists the fields of an object, required ones first.
func fieldsOf(s *huma.Schema) (out []fullField) {
	for name, p := range s.Properties {
		out = append(out, fullField{name, typeOf(p), p.Description, !slices.Contains(s.Required, name)})
	}
	place := func(f fullField) int {
		if i := slices.Index(s.Required, f.Name); i >= 0 {
			return i
		}
		return len(s.Required)
	}
	slices.SortFunc(out, func(a, b fullField) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name, b.Name)) })
	return out
}

// typeOf describes a schema in a few words.
func typeOf(s *huma.Schema) string {
	text := typeNameOf(s)
	if s.Nullable {
		text += " or null"
	}
	return text
}

func typeNameOf(s *huma.Schema) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.OneOf != nil || s.AnyOf != nil || s.AllOf != nil: // allOf has one part
		var parts []string
		for _, o := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			parts = append(parts, typeOf(o))
		}
		return strings.Join(parts, " or ")
	case s.Type == huma.TypeArray:
		return "list of " + typeOf(s.Items)
	case s.Type == huma.TypeObject && len(s.Properties) > 0:
		var parts []string
		for _, f := range fieldsOf(s) {
			parts = append(parts, f.Name+": "+f.Type)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case s.Type == huma.TypeObject:
		if each, ok := s.AdditionalProperties.(*huma.Schema); ok {
			return "map to " + typeOf(each)
		}
		return "object"
	case s.Enum != nil:
		var parts []string
		for _, e := range s.Enum {
			if e != nil { // typeOf adds null
				parts = append(parts, fmt.Sprintf("%q", e))
			}
		}
		return strings.Join(parts, " or ")
	case s.Type == huma.TypeString && s.Pattern == "^[0-9]+$":
		return "u64 string"
	default:
		return s.Type + rangeOf(s)
	}
}

func rangeOf(s *huma.Schema) string {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf(" %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Minimum != nil && *s.Minimum > 0:
		return fmt.Sprintf(" from %.0f", *s.Minimum)
	default:
		return ""
	}
}

// fullChannels reads the channels of an AsyncAPI document, in order of name.
func fullChannels(raw []byte) (out []fullChannel) {
	if raw == nil {
		return nil
	}
	var doc struct {
		Channels map[string]struct {
			Title, Description string
			Messages           map[string]struct{}
		}
		Components struct {
			Messages map[string]struct {
				Title, Description string
				Examples           []struct{ Payload json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		panic(err) // the venue's own document
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Channels)) {
		c := doc.Channels[name]
		channel := fullChannel{Name: name, Title: c.Title, Description: c.Description}
		for _, m := range slices.Sorted(maps.Keys(c.Messages)) {
			described := doc.Components.Messages[m]
			text, _, _ := strings.Cut(described.Description, "\n\n") // the error tables are elsewhere on the page
			message := fullMessage{Title: described.Title, Description: text}
			for _, e := range described.Examples {
				var line bytes.Buffer
				if err := json.Compact(&line, e.Payload); err != nil {
					panic(err) // the venue's own document
				}
				message.Examples = append(message.Examples, line.String())
			}
			channel.Messages = append(channel.Messages, message)
		}
		out = append(out, channel)
	}
	return out
}
