package mcp

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
)

// Codes of JSON-RPC and MCP (contract mcp, Transport).
const (
	codeParse       = -32700
	codeRequest     = -32600
	codeMethod      = -32601
	codeParams      = -32602
	codeHeader      = -32020
	codeCapability  = -32021
	codeUnsupported = -32022
)

// protocolFault is an answer that is an error of JSON-RPC: the request itself was
// refused, by the protocol or by the venue.
type protocolFault struct {
	status  int
	code    int
	message string
	data    faultData
}

// faultData is the venue's error, with what MCP wants beside it.
type faultData struct {
	schemas.Error
	Supported []string `json:"supported,omitempty"`
	Requested string   `json:"requested,omitzero"`
	URI       string   `json:"uri,omitzero"`
	Required  any      `json:"requiredCapabilities,omitzero"` // of the client
}

func protocol(status, code int, venue, message string) *protocolFault {
	e := schemas.ErrorOf(venue)
	return &protocolFault{status: status, code: code, message: message, data: faultData{Error: e}}
}

func badJSON() *protocolFault {
	return protocol(http.StatusBadRequest, codeParse, "malformed_json", "Parse error: not JSON, not UTF-8, or a name twice")
}

func badRequest(why string) *protocolFault {
	return protocol(http.StatusBadRequest, codeRequest, "malformed_json", "Invalid request: "+why)
}

func badParams(why string) *protocolFault {
	return protocol(http.StatusBadRequest, codeParams, "schema_violation", "Invalid params: "+why)
}

func badHeader(why string) *protocolFault {
	return protocol(http.StatusBadRequest, codeHeader, "schema_violation", "Header mismatch: "+why)
}

func noMethod(name string) *protocolFault {
	return protocol(http.StatusNotFound, codeMethod, "not_found", "Method not found: "+visible(name))
}

func noResource(uri string) *protocolFault {
	f := badParams("no such resource")
	f.message, f.data.URI = "Resource not found", visible(uri)
	return f
}

func unsupported(version string) *protocolFault {
	f := protocol(http.StatusBadRequest, codeUnsupported, "schema_violation", "Unsupported protocol version")
	f.data.Supported, f.data.Requested = revisions, visible(version)
	return f
}

// venueFault is a refusal by the venue: its HTTP status is the code.
func venueFault(e schemas.Error) *protocolFault {
	return &protocolFault{status: e.HTTP(), code: e.HTTP(), message: e.Code, data: faultData{Error: e}}
}

// body is the error member of the answer.
func (f *protocolFault) body() jsontext.Value {
	return encoded(struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Data    faultData `json:"data"`
	}{f.code, f.message, f.data})
}

// encoded writes a value of ours, which always encodes.
func encoded(v any) jsontext.Value {
	b, err := schemas.Append(nil, v)
	if err != nil {
		panic(err)
	}
	return b
}

// visible is a name of the caller's that goes back in a message: short, and without
// what could act on a terminal or a model.
func visible(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r >= ' ' && r < 0x7f {
			out = append(out, r)
		}
		if len(out) == 80 {
			break
		}
	}
	return string(out)
}
