package mcp

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// message is one JSON-RPC request or notification as it came.
type message struct {
	id     jsontext.Value // as sent; nil of a notification
	method string
	params jsontext.Value // an object, or nil
	said   said           // of params, once its revision is known
}

func (m *message) notification() bool { return m.id == nil }

// opened is a message laid open; a member that is absent is nil.
type opened struct {
	JSONRPC jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// parse reads a body that is one JSON-RPC message and nothing else. The message it
// gives beside a fault holds the id, where that could be read (contract mcp,
// Transport).
func parse(body []byte) (m message, f *protocolFault) {
	v := jsontext.Value(bytes.TrimSpace(body))
	if v.Kind() != '{' && v.IsValid() {
		return m, badRequest("one JSON-RPC object; batches are not taken")
	}
	var e opened
	if err := json.Unmarshal(v, &e); err != nil {
		if several(v) {
			return m, badRequest("one JSON object, and nothing after it")
		}
		return m, badJSON()
	}
	if e.ID != nil {
		if !soundID(e.ID) {
			return m, badRequest("id must be a string or an integer")
		}
		m.id = e.ID
	}
	return m, m.take(&e)
}

// several tells a sound first value with something behind it from bad JSON.
func several(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, err := dec.ReadValue()
	return err == nil
}

// take reads what makes the object a request of JSON-RPC.
func (m *message) take(e *opened) *protocolFault {
	switch {
	case string(e.JSONRPC) != `"2.0"`:
		return badRequest(`jsonrpc must be "2.0"`)
	case e.Result != nil || e.Error != nil:
		return badRequest("a response: this server sends no requests")
	}
	var ok bool
	if m.method, ok = text(e.Method); !ok || m.method == "" {
		return badRequest("method must be a string")
	}
	if e.Params != nil && e.Params.Kind() != '{' {
		return badParams("params must be an object")
	}
	m.params = e.Params
	return nil
}

// soundID tells a string or an integer, of any size and sign, from what cannot be an
// id: null, fractions, exponents, anything else.
func soundID(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return true
	case '0':
		return !bytes.ContainsAny(v, ".eE")
	default:
		return false
	}
}

// read decodes the params into a struct; members it does not name are let through,
// as MCP wants.
func (m *message) read(into any) *protocolFault {
	if m.params == nil {
		return nil
	}
	if err := json.Unmarshal(m.params, into); err != nil {
		return badParams("params of " + m.method + " have a member of a wrong type")
	}
	return nil
}
