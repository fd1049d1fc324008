package mcp

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The protocol revisions, newest first. The modern one has its version in every request;
// the older ones begin with initialize. 2025-03-26 is not supported, because it requires
// batches (docs/rules/agents.md#revisions).
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

// requestMeta holds the params that name the revision and the target of a request.
type requestMeta struct {
	Meta map[string]jsontext.Value `json:"_meta"`
	Name jsontext.Value            `json:"name"`
	URI  jsontext.Value            `json:"uri"`
	Args jsontext.Value            `json:"arguments"`
}

func stringOf(v jsontext.Value) (s string, ok bool) {
	ok = v.Kind() == '"' && json.Unmarshal(v, &s) == nil
	return s, ok
}

// negotiateRevision returns the revision of a request and checks the headers and the
// metadata that the revision requires (docs/rules/agents.md#revisions). A notification
// needs only a known version.
func negotiateRevision(h http.Header, m *message) (string, *protocolFault) {
	s := &m.meta
	if f := m.decodeParams(s); f != nil {
		return "", f
	}
	header, one := singleHeader(h, "Mcp-Protocol-Version")
	if !one {
		return "", badHeader("MCP-Protocol-Version is repeated")
	}
	inBody, stated := stringOf(s.Meta[metaVersion])
	switch {
	case stated && header != "" && header != inBody:
		return "", badHeader("MCP-Protocol-Version is " + printable(header) + ", _meta says " + printable(inBody))
	case header != "" && !slices.Contains(revisions, header):
		return "", unsupportedVersion(header)
	case m.id == nil:
		return header, nil
	case header == "" && m.method == "initialize" && !stated:
		return legacy, nil
	case header == "" && stated && !slices.Contains(revisions, inBody):
		return "", unsupportedVersion(inBody)
	case header == "":
		return "", badHeader("MCP-Protocol-Version is missing; a client begins with initialize, or names its revision in each request")
	case header == modern:
		return modern, checkModern(h, m, stated)
	default:
		return header, nil
	}
}

// handshaking reports whether a request, which may be malformed, uses a revision that
// begins with initialize.
func handshaking(h http.Header, m *message) bool {
	version, one := singleHeader(h, "Mcp-Protocol-Version")
	return one && (version == legacy || version == oldest || version == "" && m.method == "initialize")
}

// checkModern compares the metadata and the headers of a request with its body.
func checkModern(h http.Header, m *message, stated bool) *protocolFault {
	s := &m.meta
	if !stated {
		return badParams("_meta must carry " + metaVersion)
	}
	if s.Meta[metaCapabilities].Kind() != '{' {
		return badParams("_meta must carry " + metaCapabilities)
	}
	if f := checkHeader(h, "Mcp-Method", m.method); f != nil {
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
	want, ok := stringOf(source)
	if !ok {
		return badParams(m.method + " has no name or uri")
	}
	return checkHeader(h, "Mcp-Name", want)
}

// checkHeader requires that a header equals the value in the body.
func checkHeader(h http.Header, name, want string) *protocolFault {
	got, one := singleHeader(h, name)
	switch {
	case !one:
		return badHeader(name + " is repeated")
	case got == "":
		return badHeader(name + " is missing")
	}
	if name == "Mcp-Name" {
		if got, one = decodeName(got); !one {
			return badHeader(name + " is not valid base64")
		}
	}
	if got != want {
		return badHeader(name + " is " + printable(got) + ", the body says " + printable(want))
	}
	return nil
}

// singleHeader returns a header's value, "" if it is absent. It reports false if there are
// several.
func singleHeader(h http.Header, name string) (string, bool) {
	v := h[name]
	if len(v) == 0 {
		return "", true
	}
	return strings.TrimSpace(v[0]), len(v) == 1
}

// decodeName decodes =?base64?…?=, the header form of names that are not plain ASCII.
func decodeName(v string) (string, bool) {
	body, ok := strings.CutPrefix(v, "=?base64?")
	if !ok || !strings.HasSuffix(body, "?=") {
		return v, true
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "?="))
	return string(b), err == nil
}
