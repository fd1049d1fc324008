package mcp

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// message is one JSON-RPC request or notification.
type message struct {
	method string
	params jsontext.Value // an object or nil
	id     jsontext.Value // as sent, because the response must repeat its bytes; nil for a notification
	meta   requestMeta    // the params that name the revision and the target
}

// rawMessage holds the members of a message; an absent one is nil.
type rawMessage struct {
	JSONRPC jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// parse parses a body that is exactly one JSON-RPC message. With a fault it still returns
// the id, if the id could be read (docs/rules/agents.md#protocol-errors).
func parse(body []byte) (m message, f *protocolFault) {
	v := jsontext.Value(bytes.TrimSpace(body))
	if v.Kind() != '{' && v.IsValid() {
		return m, badRequest("one JSON-RPC object; batches are not supported")
	}
	var e rawMessage
	if err := json.Unmarshal(v, &e); err != nil {
		if hasTrailingData(v) {
			return m, badRequest("one JSON object, and nothing after it")
		}
		return m, badJSON()
	}
	if e.ID != nil {
		if !isValidID(e.ID) {
			return m, badRequest("id must be a string or an integer")
		}
		m.id = e.ID
	}
	return m, m.fill(&e)
}

// hasTrailingData reports whether v starts with a valid JSON value.
func hasTrailingData(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, err := dec.ReadValue()
	return err == nil
}

// fill sets the method and the params from the members of a message.
func (m *message) fill(e *rawMessage) *protocolFault {
	switch {
	case string(e.JSONRPC) != `"2.0"`:
		return badRequest(`jsonrpc must be "2.0"`)
	case e.Result != nil || e.Error != nil:
		return badRequest("a response: this server sends no requests")
	}
	var ok bool
	if m.method, ok = stringOf(e.Method); !ok || m.method == "" {
		return badRequest("method must be a string")
	}
	if e.Params != nil && e.Params.Kind() != '{' {
		return badParams("params must be an object")
	}
	m.params = e.Params
	return nil
}

// isValidID reports whether v is a string or an integer of any size and sign.
func isValidID(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return true
	case '0':
		return !bytes.ContainsAny(v, ".eE")
	default:
		return false
	}
}

// decodeParams decodes the params into a struct. It ignores unknown members, as MCP
// requires.
func (m *message) decodeParams(into any) *protocolFault {
	if m.params == nil {
		return nil
	}
	if err := json.Unmarshal(m.params, into); err != nil {
		return badParams("params of " + m.method + " have a member of a wrong type")
	}
	return nil
}
