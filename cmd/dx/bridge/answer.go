package bridge

import (
	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
)

// Codes of JSON-RPC that the bridge itself answers with.
const (
	codeParse   = -32700
	codeRequest = -32600
)

// failure is an answer that is an error of JSON-RPC with the venue's error in it
// (contract mcp, Transport). An id that is not known is left out, never null.
func failure(id jsontext.Value, code int, e schemas.Error) []byte {
	return failed(id, code, e.Message, e)
}

// failed is failure with more to say than the venue's error has.
func failed(id jsontext.Value, code int, message string, e schemas.Error) []byte {
	return envelope(id, "error", encoded(struct {
		Code    int           `json:"code"`
		Message string        `json:"message"`
		Data    schemas.Error `json:"data"`
	}{code, message, e}))
}

// refusal is a result of a tool that was refused, in the revision of its call.
func refusal(m *message, r *schemas.Refusal) []byte {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	told := encoded(r)
	result := struct {
		Content           []block        `json:"content"`
		StructuredContent jsontext.Value `json:"structuredContent"`
		IsError           bool           `json:"isError"`
		ResultType        string         `json:"resultType,omitzero"`
	}{[]block{{"text", string(told)}}, told, true, ""}
	if m.version == modern {
		result.ResultType = "complete"
	}
	return envelope(m.id, "result", encoded(result))
}

// ended is the answer of an event stream that ended in good order.
func ended(m *message) []byte {
	return envelope(m.id, "result", encoded(struct {
		ResultType string                    `json:"resultType"`
		Meta       map[string]jsontext.Value `json:"_meta"`
	}{"complete", map[string]jsontext.Value{metaSubscription: m.id}}))
}

// envelope makes an answer, with the id as it came.
func envelope(id jsontext.Value, member string, value jsontext.Value) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(append(append(b, `,"`...), member...), `":`...)
	return append(append(b, value...), '}')
}

// encoded writes a value of ours, which always encodes.
func encoded(v any) jsontext.Value {
	b, err := schemas.Append(nil, v)
	if err != nil {
		panic(err)
	}
	return b
}
