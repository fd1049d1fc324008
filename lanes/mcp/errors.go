package mcp

import (
	stdjson "encoding/json"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"duplex/lanes/gate"
	"duplex/schemas"
)

// Error codes of MCP beyond those of JSON-RPC (docs/rules/agents.md#protocol-errors).
const (
	codeHeader      = -32020
	codeCapability  = -32021
	codeUnsupported = -32022
)

// protocolFault is a JSON-RPC error: the protocol or the venue rejected the request
// itself.
type protocolFault struct {
	status  int
	code    int
	message string
	data    faultData
}

// faultData is the venue's error with the members that MCP requires.
type faultData struct {
	schemas.Error
	Supported []string `json:"supported,omitempty"`
	Requested string   `json:"requested,omitzero"`
	URI       string   `json:"uri,omitzero"`
	Required  any      `json:"requiredCapabilities,omitzero"` // of the client

	Hint       string      `json:"hint,omitzero"`        // of unauthorized
	ServerTime schemas.U64 `json:"server_time,omitzero"` // of unauthorized; ns
}

func newFault(status, code int, venue, message string) *protocolFault {
	e := schemas.ErrorOf(venue)
	return &protocolFault{status: status, code: code, message: message, data: faultData{Error: e}}
}

func badJSON() *protocolFault {
	return newFault(http.StatusBadRequest, jsonrpc2.CodeParseError, "malformed_json", "Parse error: not JSON, not UTF-8, or a name twice")
}

func badRequest(why string) *protocolFault {
	return newFault(http.StatusBadRequest, jsonrpc2.CodeInvalidRequest, "malformed_json", "Invalid request: "+why)
}

func badParams(why string) *protocolFault {
	return newFault(http.StatusBadRequest, jsonrpc2.CodeInvalidParams, "schema_violation", "Invalid params: "+why)
}

func badHeader(why string) *protocolFault {
	return newFault(http.StatusBadRequest, codeHeader, "schema_violation", "Header mismatch: "+why)
}

func methodNotFound(name string) *protocolFault {
	return newFault(http.StatusNotFound, jsonrpc2.CodeMethodNotFound, "not_found", "Method not found: "+printable(name))
}

func resourceNotFound(uri string) *protocolFault {
	f := badParams("no such resource")
	f.message, f.data.URI = "Resource not found", printable(uri)
	return f
}

func unsupportedVersion(version string) *protocolFault {
	f := newFault(http.StatusBadRequest, codeUnsupported, "schema_violation", "Unsupported protocol version")
	f.data.Supported, f.data.Requested = revisions, printable(version)
	return f
}

// faultOf returns the fault of an error of the venue. Its code is the HTTP status.
func faultOf(e schemas.Error) *protocolFault {
	return &protocolFault{status: e.HTTP(), code: e.HTTP(), message: e.Code, data: faultData{Error: e}}
}

// unauthorizedHint is the same for every cause, because a live venue does not reveal which check failed.
const unauthorizedHint = "The request is not signed as the venue expects. Check the clock, which may differ from server_time by at most 5 s; the key, which may be unknown here or revoked; and the signature, which covers the timestamp, the method, the target and the body as they are sent. " +
	"An MCP host does not sign: dx mcp signs for it, and dx mcp doctor finds out what is wrong."

// bearerHint is that of a request with a bearer token (docs/rules/oauth.md#the-lane).
const bearerHint = "The access token is unknown here or has ended, or came without TLS. Refresh it, or connect again: WWW-Authenticate names where."

// explainUnauthorized adds the hint and the venue's clock to an unauthorized request, and the cause if the venue tells
// it (docs/rules/agents.md#protocol-errors).
func (l *Lane) explainUnauthorized(f *protocolFault, r *http.Request, c *gate.Call) {
	if f.data.Code != "unauthorized" {
		return
	}
	f.data.Hint, f.data.ServerTime = unauthorizedHint, schemas.U64(l.gate.Venue.Config.Wall())
	if c.Bearer() {
		f.data.Hint = bearerHint
		return
	}
	if cause := l.gate.UnauthorizedCause(r, c); cause != "" {
		f.data.Hint = "On this dev venue the cause is shown: " + cause + ". " + unauthorizedHint
	}
}

// rpcError returns the error member of the response.
func (f *protocolFault) rpcError() *jsonrpc2.Error {
	data := stdjson.RawMessage(mustEncode(f.data))
	return &jsonrpc2.Error{Code: int64(f.code), Message: f.message, Data: &data}
}

// mustEncode encodes a value of the lane's own types, which always succeeds.
func mustEncode(v any) jsontext.Value {
	b, err := schemas.Append(nil, v)
	if err != nil {
		panic(err)
	}
	return b
}

// printable returns a caller's text for use in a message: cut to 80 characters, and
// without characters that could act on a terminal or a model.
func printable(s string) string {
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
