package bridge

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The revision with its version in every request, and its metadata.
const (
	modern           = "2026-07-28"
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// message is one JSON value of the host, with the parts that the bridge needs. The venue
// reports all other faults of it.
type message struct {
	raw     []byte
	id      jsontext.Value // as sent; nil if absent
	method  string
	params  map[string]jsontext.Value
	version string // of the protocol; "" if the message has none
}

// parse parses a message. It reports false if raw is not valid JSON.
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

// notification reports whether the message gets no response.
func (m *message) notification() bool { return m.method != "" && m.id == nil }

// response reports whether the message is a response. The venue sends no requests.
func (m *message) response() bool { return m.method == "" && m.id != nil }

// tool returns the name of the called tool, or "".
func (m *message) tool() string {
	if m.method != "tools/call" {
		return ""
	}
	name, _ := text(m.params["name"])
	return name
}

// object returns the members of a JSON object, and none for any other value.
func object(v jsontext.Value) (members map[string]jsontext.Value) {
	if v.Kind() == '{' {
		_ = json.Unmarshal(v, &members) // parse has validated it
	}
	return members
}

func text(v jsontext.Value) (s string, ok bool) {
	return s, v.Kind() == '"' && json.Unmarshal(v, &s) == nil
}

// headers returns the headers of the transport for a message. agreed is the revision of
// initialize, for messages without a version.
func (m *message) headers(agreed string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	version := m.version
	if version == "" && m.method != "initialize" {
		version = agreed
	}
	if version != "" && isHeaderSafe(version) {
		h.Set("Mcp-Protocol-Version", version)
	}
	if m.version == "" || !isHeaderSafe(m.method) { // the venue has no method that a header cannot carry
		return h
	}
	h.Set("Mcp-Method", m.method)
	if name, named := m.headerName(); named {
		h.Set("Mcp-Name", encodeName(name))
	}
	return h
}

// headerName returns the name or URI of a request whose transport has it in a header.
func (m *message) headerName() (string, bool) {
	switch m.method {
	case "tools/call", "prompts/get":
		return text(m.params["name"])
	case "resources/read":
		return text(m.params["uri"])
	default:
		return "", false
	}
}

const encodedPrefix = "=?base64?"

// encodeName encodes a name in base64 if it is not plain ASCII or begins with the prefix
// of an encoded name.
func encodeName(name string) string {
	if isHeaderSafe(name) && !strings.HasPrefix(name, encodedPrefix) {
		return name
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
}

// isHeaderSafe reports whether s can be a header value unchanged.
func isHeaderSafe(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && s == strings.TrimSpace(s)
}
