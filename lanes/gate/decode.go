package gate

import (
	"net/http"
	"strings"

	"duplex/schemas"
	"duplex/tools"
)

// HTTPDecoder returns the decoder of an operation's HTTP requests: it fills an input of the type
// of example, a pointer, from the path, the body and the query. decodeBody is schemas.Decode, or
// schemas.DecodeOptional for a body that may be omitted. An operation whose input has no body
// fields rejects every body.
func HTTPDecoder(example any, decodeBody func(body []byte, into any) *schemas.Fault) func(r *http.Request, c *Call, in any) error {
	path := schemas.PathFields(example)
	hasBody := len(schemas.BodyFields(example)) > 0
	return func(r *http.Request, c *Call, in any) error {
		if !hasBody && len(c.Body) > 0 {
			return tools.NewError("unexpected_body")
		}
		if err := CheckContentType(r, c); err != nil {
			return err
		}
		for _, name := range path {
			if f := schemas.DecodePath(name, r.PathValue(name), in); f != nil {
				return f
			}
		}
		var inBody *schemas.Fault
		if hasBody {
			inBody = decodeBody(c.Body, in)
		}
		return joinFaults(inBody, schemas.DecodeQuery(r.URL.RawQuery, in))
	}
}

// CheckContentType returns unsupported_media_type unless the body of c is uncompressed
// JSON or has no Content-Type. It runs where a body is about to be decoded, since a route
// without a body rejects one of any type (docs/rules/rest.md#bodies).
func CheckContentType(r *http.Request, c *Call) error {
	if len(c.Body) == 0 {
		return nil
	}
	if len(r.Header["Content-Encoding"]) > 0 {
		return tools.NewError("unsupported_media_type")
	}
	if t := r.Header.Values("Content-Type"); len(t) > 0 {
		if name, _, _ := strings.Cut(t[0], ";"); len(t) > 1 || !strings.EqualFold(strings.TrimSpace(name), "application/json") {
			return tools.NewError("unsupported_media_type")
		}
	}
	return nil
}

// joinFaults returns the fault with the highest rank, nil if there is none
// (docs/rules/errors.md#which-code-answers).
func joinFaults(a, b *schemas.Fault) error {
	if f := schemas.HigherRanked(a, b); f != nil {
		return f
	}
	return nil
}
