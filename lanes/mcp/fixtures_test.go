package mcp

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/tools"
)

// The fixtures are the tools, prompts and resources with fixed names and results that the
// protocol's conformance suites require of a server. They extend the lane's own methods.

// fixture handles a request for one name or URI.
type fixture func(*Lane, *call) (jsontext.Value, *protocolFault)

func mountFixtures(l *Lane) {
	mountTools(l)
	resources = append(resources, testResources...)
	templates = append(templates, testTemplates...)
	before(l, "resources/read", func(uri string) fixture {
		if id, ok := strings.CutPrefix(uri, "test://template/"); ok {
			id, _ = strings.CutSuffix(id, "/data")
			return contents(embedded{URI: uri, MIMEType: asJSON, Text: `{"id":"` + id + `","templateTest":true,"data":"Data for ID: ` + id + `"}`})
		}
		return testContents[uri]
	})
	for name := range testPrompts {
		prompts = append(prompts, prompt{Name: name, Title: name, Description: "A fixture", Arguments: testArguments[name]})
	}
	before(l, "prompts/get", func(name string) fixture { return testPrompts[name] })
}

// mountTools adds only the tools.
func mountTools(l *Lane) {
	for _, t := range testTools {
		l.tools = append(l.tools, &tool{spec: &tools.Spec{Name: t.name, Scope: core.ScopeRead}, definition: t.shown()})
	}
	before(l, "tools/call", func(name string) fixture {
		for _, t := range testTools {
			if t.name == name {
				return t.call
			}
		}
		return nil
	})
}

// before tries the fixtures before a method of the lane.
func before(l *Lane, name string, find func(string) fixture) {
	own := l.methods[name]
	l.methods[name] = method{answer: func(l *Lane, c *call) (jsontext.Value, *protocolFault) {
		var s requestMeta
		if f := c.decodeParams(&s); f != nil {
			return nil, f
		}
		source := s.Name
		if s.URI != nil {
			source = s.URI
		}
		target, _ := stringOf(source)
		do := find(target)
		if do == nil {
			return own.answer(l, c)
		}
		if f := l.authorize(c); f != nil {
			return nil, f
		}
		return do(l, c)
	}}
}

// block is a content block of a tool's result or a prompt's message.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	Data     string    `json:"data,omitzero"`
	MIMEType string    `json:"mimeType,omitzero"`
	Resource *embedded `json:"resource,omitzero"`
}

// embedded is the content of a resource.
type embedded struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text,omitzero"`
	Blob     string `json:"blob,omitzero"`
}

func words(s string) block { return block{Type: "text", Text: s} }

func within(e embedded) block { return block{Type: "resource", Resource: &e} }

var (
	dot   = onePixel()
	pixel = block{Type: "image", Data: dot, MIMEType: "image/png"}
	hush  = block{Type: "audio", Data: silence(), MIMEType: "audio/wav"}
)

func onePixel() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// silence is a WAV file without a sample: one channel of 8 kHz and 8 bits.
func silence() string {
	const head = "RIFF\x24\x00\x00\x00WAVE"
	const format = "fmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00"
	const data = "data\x00\x00\x00\x00"
	return base64.StdEncoding.EncodeToString([]byte(head + format + data))
}

var testResources = []resource{
	{URI: "test://static-text", Name: "static-text", Title: "Text", Description: "A fixture", MIMEType: "text/plain"},
	{URI: "test://static-binary", Name: "static-binary", Title: "Bytes", Description: "A fixture", MIMEType: "image/png"},
}

var testTemplates = []resource{
	{URITemplate: "test://template/{id}/data", Name: "template", Title: "Template", Description: "A fixture", MIMEType: asJSON},
}

var testContents = map[string]fixture{
	"test://static-text":   contents(embedded{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."}),
	"test://static-binary": contents(embedded{URI: "test://static-binary", MIMEType: "image/png", Blob: dot}),
}

func contents(e embedded) fixture {
	return func(l *Lane, c *call) (jsontext.Value, *protocolFault) {
		return l.encodeResult(c, struct {
			Contents []embedded `json:"contents"`
		}{[]embedded{e}}, noCache), nil
	}
}

var testArguments = map[string][]promptArgument{
	"test_prompt_with_arguments":         {{"arg1", "First", true}, {"arg2", "Second", true}},
	"test_prompt_with_embedded_resource": {{"resourceUri", "What to embed", true}},
}

var testPrompts = map[string]fixture{
	"test_simple_prompt": says(func(map[string]string) []block { return []block{words("This is a simple prompt for testing.")} }),
	"test_prompt_with_arguments": says(func(a map[string]string) []block {
		return []block{words("Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'")}
	}),
	"test_prompt_with_embedded_resource": says(func(a map[string]string) []block {
		e := embedded{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}
		return []block{within(e), words("Please process the embedded resource above.")}
	}),
	"test_prompt_with_image": says(func(map[string]string) []block {
		return []block{pixel, words("Please analyze the image above.")}
	}),
	"test_input_required_result_prompt": asks(inputRequest{Requests: map[string]clientRequest{"user_context": elicit("What context should the prompt use?", "context", "string")}},
		says(func(map[string]string) []block { return []block{words("A prompt in the context given.")} })),
}

// says returns a prompt of user messages.
func says(messages func(arguments map[string]string) []block) fixture {
	return func(l *Lane, c *call) (jsontext.Value, *protocolFault) {
		var in struct {
			Arguments map[string]string `json:"arguments"`
		}
		if f := c.decodeParams(&in); f != nil {
			return nil, f
		}
		type message struct {
			Role    string `json:"role"`
			Content block  `json:"content"`
		}
		var out struct {
			Messages []message `json:"messages"`
		}
		for _, b := range messages(in.Arguments) {
			out.Messages = append(out.Messages, message{"user", b})
		}
		return l.encodeResult(c, out, nil), nil
	}
}

// testTool is a tool with a fixed name.
type testTool struct {
	name  string
	call  fixture
	input string // its inputSchema; "" means no members
}

func (t *testTool) shown() jsontext.Value {
	input := jsontext.Value(t.input)
	if t.input == "" {
		input = jsontext.Value(`{"type":"object","additionalProperties":false}`)
	}
	return mustEncode(struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		InputSchema jsontext.Value `json:"inputSchema"`
	}{t.name, "A fixture", input})
}

var testTools = []*testTool{
	{name: "test_simple_text", call: gives(words("This is a simple text response for testing."))},
	{name: "test_image_content", call: gives(pixel)},
	{name: "test_audio_content", call: gives(hush)},
	{name: "test_embedded_resource", call: gives(within(embedded{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content."}))},
	{name: "test_multiple_content_types", call: gives(words("Multiple content types test:"), pixel,
		within(embedded{URI: "test://mixed-content-resource", MIMEType: asJSON, Text: `{"test":"data","value":123}`}))},
	{name: "test_error_handling", call: fails},
	{name: "test_tool_with_progress", call: progresses},
	{name: "test_logging_tool", call: logs},
	{name: "test_missing_capability", call: samples},
	{name: "test_streaming_elicitation", call: streams(asks(askName, gives(words("Done."))))},
	{name: "test_input_required_result_elicitation", call: asks(askName, greets)},
	{name: "test_input_required_result_sampling", call: asks(inputRequest{Requests: map[string]clientRequest{"capital_question": sample("What is the capital of France?")}}, gives(words("Thank you.")))},
	{name: "test_input_required_result_list_roots", call: asks(inputRequest{Requests: map[string]clientRequest{"client_roots": roots}}, gives(words("Roots are known.")))},
	{name: "test_input_required_result_request_state", call: asks(inputRequest{Requests: map[string]clientRequest{"confirm": elicit("Please confirm", "ok", "boolean")}, State: "confirm"}, gives(words("state-ok")))},
	{name: "test_input_required_result_tampered_state", call: asks(inputRequest{Requests: map[string]clientRequest{"confirm": elicit("Please confirm", "ok", "boolean")}, State: "tampered"}, gives(words("state-ok")))},
	{name: "test_input_required_result_multiple_inputs", call: asks(inputRequest{Requests: map[string]clientRequest{
		"user_name": elicit("What is your name?", "name", "string"), "greeting": sample("Generate a greeting"), "client_roots": roots,
	}, State: "several"}, gives(words("All is known.")))},
	{name: "test_input_required_result_multi_round", call: rounds},
	{name: "test_input_required_result_capabilities", call: asks(inputRequest{Requests: map[string]clientRequest{
		"user_name": elicit("What is your name?", "name", "string"), "greeting": sample("Generate a greeting"),
	}}, gives(words("Done.")))},
	{name: "json_schema_2020_12_tool", call: gives(words("Done.")), input: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`},
}

func gives(content ...block) fixture {
	return func(l *Lane, c *call) (jsontext.Value, *protocolFault) {
		return l.encodeResult(c, struct {
			Content []block `json:"content"`
		}{content}, nil), nil
	}
}

func fails(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	return l.encodeResult(c, struct {
		Content []block `json:"content"`
		IsError bool    `json:"isError"`
	}{[]block{words("This tool intentionally returns an error for testing")}, true}, nil), nil
}

// progresses reports progress if the request has a progress token.
func progresses(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	var s requestMeta
	if f := c.decodeParams(&s); f != nil {
		return nil, f
	}
	token := s.Meta["progressToken"]
	for _, done := range []int{0, 50, 100} {
		if token != nil {
			c.events.notify("notifications/progress", struct {
				Token    jsontext.Value `json:"progressToken"`
				Progress int            `json:"progress"`
				Total    int            `json:"total"`
			}{token, done, 100})
		}
	}
	return gives(words("Three steps done."))(l, c)
}

// logs sends log messages if the request sets a level.
func logs(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	var s requestMeta
	if f := c.decodeParams(&s); f != nil {
		return nil, f
	}
	if level, ok := stringOf(s.Meta["io.modelcontextprotocol/logLevel"]); ok && (level == "debug" || level == "info") {
		c.events.notify("notifications/message", struct {
			Level string `json:"level"`
			Data  string `json:"data"`
		}{"info", "Tool execution started"})
	}
	return gives(words("Done."))(l, c)
}

// samples needs a capability of the client.
func samples(l *Lane, c *call) (jsontext.Value, *protocolFault) {
	if !declares(c, "sampling") {
		return nil, lacks("sampling")
	}
	return gives(words("Sampling is there."))(l, c)
}

// streams sends the response as an event stream, even without notifications.
func streams(do fixture) fixture {
	return func(l *Lane, c *call) (jsontext.Value, *protocolFault) {
		c.events.writeHead()
		return do(l, c)
	}
}

// lacks returns the fault of a request from a client without a capability.
func lacks(capability string) *protocolFault {
	f := newFault(http.StatusBadRequest, codeCapability, "schema_violation", "Missing required client capability: "+capability)
	f.data.Required = map[string]struct{}{capability: {}}
	return f
}

// declares reports whether the request declares a capability of the client.
func declares(c *call, capability string) bool {
	var s requestMeta
	declared := map[string]jsontext.Value{}
	return c.decodeParams(&s) == nil && json.Unmarshal(s.Meta[metaCapabilities], &declared) == nil && declared[capability].Kind() == '{'
}
