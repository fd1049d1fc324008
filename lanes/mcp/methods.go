package mcp

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// method is one method of the protocol.
type method struct {
	answer func(*Lane, *call) (jsontext.Value, *protocolFault)
	modern bool // not available on the older revisions
	legacy bool // not available on the modern revision
}

// registerMethods sets the methods of all revisions (docs/rules/agents.md#methods).
func (l *Lane) registerMethods() {
	l.methods = map[string]method{
		"server/discover":          {answer: (*Lane).discover, modern: true},
		"initialize":               {answer: (*Lane).initialize, legacy: true},
		"ping":                     {answer: (*Lane).ping, legacy: true},
		"tools/list":               {answer: (*Lane).listTools},
		"tools/call":               {answer: (*Lane).callTool},
		"resources/list":           {answer: (*Lane).listResources},
		"resources/templates/list": {answer: (*Lane).listTemplates},
		"resources/read":           {answer: (*Lane).readResource},
		"prompts/list":             {answer: (*Lane).listPrompts},
		"prompts/get":              {answer: (*Lane).getPrompt},
		"completion/complete":      {answer: (*Lane).complete},
		"subscriptions/listen":     {answer: (*Lane).listen, modern: true},
	}
}

const instructions = "An exchange for yes/no markets on short price rounds. Start with list_series: it shows which market each series trades in now. Prices are pips of a contract that pays 10000 pips ($1); quantities are whole contracts; money is in pips, as decimal strings; *_usd is dollars. Give every order a new client_order_id. After an error make the call in next. Use wait_for_event instead of polling. dx://guide explains the rest."

// capabilities returns the server's capabilities. Only the modern revision can subscribe.
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
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	return l.encodeResult(c, struct {
		SupportedVersions []string `json:"supportedVersions"`
		Capabilities      any      `json:"capabilities"`
		Instructions      string   `json:"instructions"`
	}{revisions, capabilities(c), instructions}, cachePublic), nil
}

// initialize agrees on one of the older revisions: the requested one, or the newest.
func (l *Lane) initialize(c *call) (jsontext.Value, *protocolFault) {
	var in struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if f := c.decodeParams(&in); f != nil {
		return nil, f
	}
	if in.ProtocolVersion == "" {
		return nil, badParams("initialize needs a protocolVersion")
	}
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	version := legacy
	if in.ProtocolVersion == oldest {
		version = oldest
	}
	return l.encodeResult(c, struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    any    `json:"capabilities"`
		ServerInfo      any    `json:"serverInfo"`
		Instructions    string `json:"instructions"`
	}{version, capabilities(c), l.serverInfo(), instructions}, nil), nil
}

func (l *Lane) ping(c *call) (jsontext.Value, *protocolFault) {
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	return l.encodeResult(c, struct{}{}, nil), nil
}

// handleNotification handles a notification. Only notifications/cancelled has an effect.
// Each costs a read token.
func (l *Lane) handleNotification(w http.ResponseWriter, c *call) {
	c.Op = "mcp notification"
	if f := l.authorize(c); f != nil {
		writeFault(w, nil, f)
		return
	}
	if c.method == "notifications/cancelled" {
		var in struct {
			RequestID jsontext.Value `json:"requestId"`
		}
		if c.decodeParams(&in) == nil && in.RequestID != nil {
			l.cancelable.cancel(requestID{c.Key.ID, string(in.RequestID)})
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// rejectCursor rejects a cursor, because every list of the protocol is one page here.
func rejectCursor(c *call) *protocolFault {
	var in struct {
		Cursor *string `json:"cursor"`
	}
	if f := c.decodeParams(&in); f != nil {
		return f
	}
	if in.Cursor != nil {
		return badParams("no such cursor: the list is one page")
	}
	return nil
}
