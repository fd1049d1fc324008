package gate

import (
	"context"
	"net/http"

	"duplex/schemas"
	"duplex/tools"
)

// Bind makes a handler of a function for the listeners that know no keys: it reads
// path, query and body into In, does, and answers. What it serves needs neither a
// scope nor a token of a bucket; who may call was settled by Guard. A body all of
// whose fields are optional may be left out.
func Bind[In, Out any](g *Gate, name string, status int, do func(context.Context, *Call, *In) (Out, error)) http.HandlerFunc {
	path := schemas.PathFields(new(In))
	body := len(schemas.BodyFields(new(In))) > 0
	decode := schemas.Decode
	if body && schemas.DecodeOptional(nil, new(In)) == nil {
		decode = schemas.DecodeOptional
	}
	read := func(r *http.Request, c *Call, in *In) error {
		if !body && len(c.Body) > 0 {
			return tools.Refuse("unexpected_body")
		}
		if err := MediaType(r, c); err != nil {
			return err
		}
		for _, name := range path {
			if f := schemas.DecodePath(name, r.PathValue(name), in); f != nil {
				return f
			}
		}
		var inBody *schemas.Fault
		if body {
			inBody = decode(c.Body, in)
		}
		return Read(inBody, schemas.DecodeQuery(r.URL.RawQuery, in))
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c := CallOf(r.Context())
		c.Op = name
		ctx, cancel := context.WithTimeout(r.Context(), g.Budget())
		defer cancel()
		in := new(In)
		if err := read(r, c, in); err != nil {
			g.Fail(w, err)
			return
		}
		out, err := do(ctx, c, in)
		if err != nil {
			g.Fail(w, err)
			return
		}
		Answer(w, status, &out)
	}
}
