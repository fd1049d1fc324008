package bridge

import (
	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
)

// JSON-RPC codes of the bridge's own errors.
const (
	codeParse   = -32700
	codeRequest = -32600
	codeParams  = -32602
)

// venueErrorResponse returns a JSON-RPC error with the venue's error as data
// (docs/rules/agents.md#protocol-errors). It omits an unknown id.
func venueErrorResponse(id jsontext.Value, code int, e schemas.Error) []byte {
	return errorResponse(id, code, e.Message, mustEncode(e))
}

// errorResponse returns a JSON-RPC error with a message of the bridge, and the venue's error as data.
func errorResponse(id jsontext.Value, code int, message string, data jsontext.Value) []byte {
	return envelope(id, "error", mustEncode(struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	}{code, message, data}))
}

// toolErrorResponse returns the result of a rejected tool call, in the revision of m.
func toolErrorResponse(m *message, r *schemas.ToolError) []byte { return toolResponse(m, r, true) }

// toolResponse returns the result of a tool call, in the revision of m.
func toolResponse(m *message, r any, isError bool) []byte {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	content := mustEncode(r)
	result := struct {
		Content           []block        `json:"content"`
		StructuredContent jsontext.Value `json:"structuredContent"`
		IsError           bool           `json:"isError,omitzero"`
		ResultType        string         `json:"resultType,omitzero"`
	}{[]block{{"text", string(content)}}, content, isError, ""}
	if m.version == modern {
		result.ResultType = "complete"
	}
	return envelope(m.id, "result", mustEncode(result))
}

// streamEndResponse returns the response of an event stream that ended in an orderly way.
func streamEndResponse(m *message) []byte {
	return envelope(m.id, "result", mustEncode(struct {
		ResultType string                    `json:"resultType"`
		Meta       map[string]jsontext.Value `json:"_meta"`
	}{"complete", map[string]jsontext.Value{metaSubscription: m.id}}))
}

// envelope returns a response with the id as it was received.
func envelope(id jsontext.Value, member string, value jsontext.Value) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(append(append(b, `,"`...), member...), `":`...)
	return append(append(b, value...), '}')
}

// mustEncode encodes a value of the bridge's own types, which always succeeds.
func mustEncode(v any) jsontext.Value {
	b, err := schemas.Append(nil, v)
	if err != nil {
		panic(err)
	}
	return b
}
