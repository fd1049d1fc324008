package bridge

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The revision that says its version with every request, and what it says it by.
const (
	modern           = "2026-07-28"
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// message is one JSON value of the host's, and what the bridge must know of it. What
// is wrong with it otherwise, the venue says.
type message struct {
	raw     []byte
	id      jsontext.Value // as sent; nil if there is none
	method  string
	params  map[string]jsontext.Value
	version string // of the protocol, where the message says it
}

// parse reads a message; false if it is not JSON.
func parse(raw []byte) (message, bool) {
	m := message{raw: raw}
	if !jsontext.Value(raw).IsValid() {
		return m, false
	}
	members := object(raw)
	m.id = members["id"]
	m.method, _ = text(members["method"])
	m.params = object(members["params"])
	m.version, _ = text(object(m.params["_meta"])[metaVersion])
	return m, true
}

// notification tells a message that gets no answer.
func (m *message) notification() bool { return m.method != "" && m.id == nil }

// response tells an answer to a request, of which the venue makes none.
func (m *message) response() bool { return m.method == "" && m.id != nil }

// tool is the name of the tool that is called, or "".
func (m *message) tool() string {
	if m.method != "tools/call" {
		return ""
	}
	name, _ := text(m.params["name"])
	return name
}

// object gives the members of a JSON object, none of anything else.
func object(v jsontext.Value) (members map[string]jsontext.Value) {
	if v.Kind() == '{' {
		_ = json.Unmarshal(v, &members) // it is valid: parse saw to that
	}
	return members
}

func text(v jsontext.Value) (s string, ok bool) {
	return s, v.Kind() == '"' && json.Unmarshal(v, &s) == nil
}

// headers are those that the transport wants of a message. agreed is the revision
// that initialize came to, for messages that do not say theirs.
func (m *message) headers(agreed string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	version := m.version
	if version == "" && m.method != "initialize" {
		version = agreed
	}
	if version != "" && plain(version) {
		h.Set("Mcp-Protocol-Version", version)
	}
	if m.version == "" || !plain(m.method) { // a method that no header can carry is unknown anyway
		return h
	}
	h.Set("Mcp-Method", m.method)
	if name, named := m.names(); named {
		h.Set("Mcp-Name", wrapped(name))
	}
	return h
}

// names is what a request is about, where the transport wants it in a header.
func (m *message) names() (string, bool) {
	switch m.method {
	case "tools/call", "prompts/get":
		return text(m.params["name"])
	case "resources/read":
		return text(m.params["uri"])
	default:
		return "", false
	}
}

const wrapper = "=?base64?"

// wrapped puts a name that is not plain ASCII, or could be taken for a wrapped one,
// into base64.
func wrapped(name string) string {
	if plain(name) && !strings.HasPrefix(name, wrapper) {
		return name
	}
	return wrapper + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
}

// plain tells what travels in a header as it is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && s == strings.TrimSpace(s)
}
