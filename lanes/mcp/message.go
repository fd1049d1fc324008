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
}

func (m *message) notification() bool { return m.id == nil }

// parse reads a body that is one JSON-RPC message and nothing else. The message it
// gives beside a fault holds the id, where that could be read (contract mcp,
// Transport).
func parse(body []byte) (m message, f *protocolFault) {
	v := jsontext.Value(bytes.TrimSpace(body))
	if !v.IsValid() {
		if several(v) {
			return m, badRequest("one JSON object, and nothing after it")
		}
		return m, badJSON()
	}
	if v.Kind() != '{' {
		return m, badRequest("one JSON-RPC object; batches are not taken")
	}
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(v, &members); err != nil {
		return m, badJSON()
	}
	if id, there := members["id"]; there {
		if !soundID(id) {
			return m, badRequest("id must be a string or an integer")
		}
		m.id = id
	}
	if f := m.envelope(members); f != nil {
		return m, f
	}
	return m, m.object(members)
}

// several tells a sound first value with something behind it from bad JSON.
func several(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, err := dec.ReadValue()
	return err == nil
}

// envelope reads what makes the object JSON-RPC.
func (m *message) envelope(members map[string]jsontext.Value) *protocolFault {
	if string(members["jsonrpc"]) != `"2.0"` {
		return badRequest(`jsonrpc must be "2.0"`)
	}
	_, result := members["result"]
	_, failed := members["error"]
	if result || failed {
		return badRequest("a response: this server sends no requests")
	}
	if members["method"].Kind() != '"' || json.Unmarshal(members["method"], &m.method) != nil || m.method == "" {
		return badRequest("method must be a string")
	}
	return nil
}

func (m *message) object(members map[string]jsontext.Value) *protocolFault {
	p, there := members["params"]
	if there && p.Kind() != '{' {
		return badParams("params must be an object")
	}
	m.params = p
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
