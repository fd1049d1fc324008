package mcp

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// method is one method of the protocol.
type method struct {
	answer func(*Lane, *call) (jsontext.Value, *protocolFault)
	park   func(*Lane, *call) // waits before the answer, on the handler's goroutine
	modern bool               // on the modern revision alone
	legacy bool               // on the older ones alone
}

// speaks lists the methods of all revisions.
func (l *Lane) speaks() {
	l.methods = map[string]method{
		"server/discover":          {answer: (*Lane).discover, modern: true},
		"initialize":               {answer: (*Lane).initialize, legacy: true},
		"ping":                     {answer: (*Lane).ping, legacy: true},
		"tools/list":               {answer: (*Lane).listTools},
		"tools/call":               {answer: (*Lane).callTool, park: (*Lane).parkTool},
		"resources/list":           {answer: (*Lane).listResources},
		"resources/templates/list": {answer: (*Lane).listTemplates},
		"resources/read":           {answer: (*Lane).readResource},
		"prompts/list":             {answer: (*Lane).listPrompts},
		"prompts/get":              {answer: (*Lane).getPrompt},
		"completion/complete":      {answer: (*Lane).complete},
		"subscriptions/listen":     {answer: (*Lane).listen, modern: true},
	}
}

const instructions = "An exchange for yes/no markets on short price rounds. Read dx://guide or call get_venue and list_markets (status=trading) first. Prices are pips of a contract that pays 10000 pips ($1); quantities are whole contracts; money is in pips, as decimal strings. Give every order a new client_order_id. Use wait_for_event instead of polling."

// capabilities are what the server can do. Only the modern revision can subscribe.
func capabilities(c *call) any {
	resources := map[string]bool{}
	if c.modern() {
		resources["subscribe"] = true
	}
	return struct {
		Tools       struct{}        `json:"tools"`
		Resources   map[string]bool `json:"resources"`
		Prompts     struct{}        `json:"prompts"`
		Completions struct{}        `json:"completions"`
	}{Resources: resources}
}

func (l *Lane) discover(c *call) (jsontext.Value, *protocolFault) {
	if f := l.admit(c); f != nil {
		return nil, f
	}
	return l.finish(c, struct {
		SupportedVersions []string `json:"supportedVersions"`
		Capabilities      any      `json:"capabilities"`
		Instructions      string   `json:"instructions"`
	}{revisions, capabilities(c), instructions}, forAll), nil
}

// initialize agrees on an older revision: the one asked for, else the newest of them.
func (l *Lane) initialize(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if f := c.read(&in); f != nil {
		return nil, f
	}
	if in.ProtocolVersion == "" {
		return nil, badParams("initialize wants a protocolVersion")
	}
	if f := l.admit(c); f != nil {
		return nil, f
	}
	version := legacy
	if in.ProtocolVersion == oldest {
		version = oldest
	}
	return l.finish(c, struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    any    `json:"capabilities"`
		ServerInfo      any    `json:"serverInfo"`
		Instructions    string `json:"instructions"`
	}{version, capabilities(c), l.server(), instructions}, nil), nil
}

func (l *Lane) ping(c *call) (jsontext.Value, *protocolFault) {
	if f := l.admit(c); f != nil {
		return nil, f
	}
	return l.finish(c, struct{}{}, nil), nil
}

// notified takes a notification: of all only cancelled has an effect. It costs a
// token like a method.
func (l *Lane) notified(w http.ResponseWriter, c *call) {
	c.Op = "mcp notification"
	if f := l.admit(c); f != nil {
		l.fail(w, nil, f)
		return
	}
	if c.method == "notifications/cancelled" {
		var in struct {
			RequestID jsontext.Value `json:"requestId"`
		}
		if c.read(&in) == nil && in.RequestID != nil {
			l.running.cancel(requestID{c.Key.ID, string(in.RequestID)})
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// onePage refuses a cursor: every list of the protocol is one page here.
func onePage(c *call) *protocolFault {
	var in struct {
		Cursor *string `json:"cursor"`
	}
	if f := c.read(&in); f != nil {
		return f
	}
	if in.Cursor != nil {
		return badParams("no such cursor: the list is one page")
	}
	return nil
}
