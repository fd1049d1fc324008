package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The protocol revisions, newest first. The modern one says its version with every
// request; the older ones begin with initialize. 2025-03-26 is not offered: it would
// have to take batches.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
	oldest = "2025-06-18"
)

var revisions = []string{modern, legacy, oldest}

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// said is what a request tells of its revision and its target.
type said struct {
	Meta map[string]jsontext.Value `json:"_meta"`
	Name jsontext.Value            `json:"name"`
	URI  jsontext.Value            `json:"uri"`
	Args jsontext.Value            `json:"arguments"`
}

func text(v jsontext.Value) (s string, ok bool) {
	ok = v.Kind() == '"' && json.Unmarshal(v, &s) == nil
	return s, ok
}

// speak finds the revision of a request and checks what that revision wants of its
// headers and its metadata (contract mcp, Transport). Notifications are held to a
// version we know and to nothing else.
func speak(h http.Header, m *message) (string, *protocolFault) {
	s := &m.said
	if f := m.read(s); f != nil {
		return "", f
	}
	header, one := single(h, "Mcp-Protocol-Version")
	if !one {
		return "", badHeader("MCP-Protocol-Version is there more than once")
	}
	inBody, stated := text(s.Meta[metaVersion])
	switch {
	case stated && header != "" && header != inBody:
		return "", badHeader("MCP-Protocol-Version is " + visible(header) + ", _meta says " + visible(inBody))
	case header != "" && !slices.Contains(revisions, header):
		return "", unsupported(header)
	case m.notification():
		return header, nil
	case header == "" && m.method == "initialize" && !stated:
		return legacy, nil
	case header == "" && stated && !slices.Contains(revisions, inBody):
		return "", unsupported(inBody)
	case header == "":
		return "", badHeader("MCP-Protocol-Version is missing")
	case header == modern:
		return modern, checkModern(h, m, stated)
	default:
		return header, nil
	}
}

// checkModern holds metadata and headers of a request against its body.
func checkModern(h http.Header, m *message, stated bool) *protocolFault {
	s := &m.said
	if !stated {
		return badParams("_meta must carry " + metaVersion)
	}
	if s.Meta[metaCapabilities].Kind() != '{' {
		return badParams("_meta must carry " + metaCapabilities)
	}
	if f := matches(h, "Mcp-Method", m.method); f != nil {
		return f
	}
	source := jsontext.Value(nil)
	switch m.method {
	case "tools/call", "prompts/get":
		source = s.Name
	case "resources/read":
		source = s.URI
	default:
		return nil
	}
	want, ok := text(source)
	if !ok {
		return badParams(m.method + " names nothing")
	}
	return matches(h, "Mcp-Name", want)
}

// matches wants a header that says what the body says.
func matches(h http.Header, name, want string) *protocolFault {
	got, one := single(h, name)
	switch {
	case !one:
		return badHeader(name + " is there more than once")
	case got == "":
		return badHeader(name + " is missing")
	}
	if name == "Mcp-Name" {
		if got, one = unwrapped(got); !one {
			return badHeader(name + " is no base64")
		}
	}
	if got != want {
		return badHeader(name + " is " + visible(got) + ", the body says " + visible(want))
	}
	return nil
}

// single gives a header's value, "" if it is absent; false if there are several.
func single(h http.Header, name string) (string, bool) {
	v := h[name]
	if len(v) == 0 {
		return "", true
	}
	return strings.TrimSpace(v[0]), len(v) == 1
}

// unwrapped decodes =?base64?…?=, in which names that are not plain ASCII travel.
func unwrapped(v string) (string, bool) {
	body, ok := strings.CutPrefix(v, "=?base64?")
	if !ok || !strings.HasSuffix(body, "?=") {
		return v, true
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "?="))
	return string(b), err == nil
}
