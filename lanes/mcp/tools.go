package mcp

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
	"duplex/tools"
)

// tool is an operation offered as a tool.
type tool struct {
	spec       *tools.Spec
	definition jsontext.Value // its definition, as tools/list shows it
	longPoll   bool           // a call may block up to maxWait
	newInput   func() any     // see tools.Operation
	rowRule
	paged bool // the result is a page of rows
	do    func(*call, jsontext.Value) *toolResult
}

// toolResult is the result of a tool call.
type toolResult struct {
	structured jsontext.Value
	isError    bool
	fault      *protocolFault // instead of a result, if the key was revoked, or a bearer token lacks a scope
}

// register offers an operation as a tool.
func (l *Lane) register(op tools.Operation) *tool {
	spec := op.Describe()
	inType, outType := reflect.TypeOf(op.NewInput()).Elem(), reflect.TypeOf(op.NewOutput()).Elem()
	t := &tool{spec: spec, definition: toolDefinition(spec, inType, outType), rowRule: rowRules[spec.Name], newInput: op.NewInput}
	if _, t.paged = op.NewInput().(pager); t.paged {
		t.rows = rowsOf(outType)
	}
	t.do = func(c *call, arguments jsontext.Value) *toolResult {
		ctx, cancel := context.WithTimeout(c.ctx, l.gate.Budget()+t.extraTime(l.gate.Venue))
		defer cancel()
		var in any // as far as it was decoded
		out, err := l.gate.Run(ctx, c.Call, op, func(into any) error {
			in = into
			return decodeArguments(arguments, into)
		})
		in = decodedInput(op, in, arguments, spec.Deduplicated && l.gate.ReplayGuard)
		if err != nil {
			return l.errorResult(c, t, in, err)
		}
		b, err := l.shortOutput(ctx, c, t, op, in, out)
		if err != nil {
			return l.errorResult(c, t, in, err)
		}
		return &toolResult{structured: b}
	}
	l.tools = append(l.tools, t)
	l.byName[spec.Name] = t
	return t
}

// registerLongPoll offers an operation that may block up to maxWait.
func (l *Lane) registerLongPoll(op tools.Operation) {
	l.register(op).longPoll = true
}

// ToolSpecs returns the spec of every tool, in the order of tools/list.
func (l *Lane) ToolSpecs() []*tools.Spec {
	out := make([]*tools.Spec, len(l.tools))
	for i, t := range l.tools {
		out[i] = t.spec
	}
	return out
}

// extraTime returns the time that a call may take beyond the budget of a request.
func (t *tool) extraTime(v *tools.Venue) time.Duration {
	switch {
	case t.longPoll && v.Virtual != nil:
		return maxVirtualWait
	case t.longPoll:
		return maxWait
	}
	return 0
}

// decodeArguments decodes the arguments and sets the default page size.
func decodeArguments(arguments jsontext.Value, in any) error {
	if f := schemas.DecodeArguments(arguments, in); f != nil {
		return f
	}
	if p, ok := in.(pager); ok {
		p.SetDefault(defaultPageSize)
	}
	return nil
}

// decodedInput returns the input of a call, or nil if the call was rejected before it was
// decoded. The gate answers an exact repeat without decoding it; such a call is decoded
// here, so that it gets the hints and the members of the first.
func decodedInput(op tools.Operation, in any, arguments jsontext.Value, repeat bool) any {
	switch {
	case in != nil:
		return in
	case !repeat:
		return nil
	}
	in = op.NewInput()
	_ = decodeArguments(arguments, in) // a fault was returned for the first call
	return in
}

// listTools returns the tools that the key's scopes allow.
func (l *Lane) listTools(c *call) (jsontext.Value, *protocolFault) {
	if f := rejectCursor(c); f != nil {
		return nil, f
	}
	if f := l.authorize(c); f != nil {
		return nil, f
	}
	out := struct {
		Tools []jsontext.Value `json:"tools"`
	}{[]jsontext.Value{}}
	for _, t := range l.tools {
		if c.Key.Scopes.Has(t.spec.Scope) {
			out.Tools = append(out.Tools, t.definition)
		}
	}
	return l.encodeResult(c, out, cachePrivate), nil
}

// toolCall is a resolved tools/call.
type toolCall struct {
	tool      *tool
	arguments jsontext.Value
	fault     *protocolFault // if the params name no tool
}

func (l *Lane) resolveTool(c *call) (out toolCall) {
	name, ok := stringOf(c.meta.Name)
	out.tool, out.arguments = l.byName[name], c.meta.Args
	if out.arguments.Kind() == 'n' {
		out.arguments = nil
	}
	switch {
	case !ok:
		out.fault = badParams("tools/call names no tool")
	case out.arguments != nil && out.arguments.Kind() != '{':
		out.fault = badParams("arguments must be an object")
	case out.tool == nil:
		out.fault = badParams(tools.UnknownTool(printable(name), l.toolsOf(c)))
	}
	return out
}

// toolsOf returns the names of the tools that the key's scopes allow.
func (l *Lane) toolsOf(c *call) (names []string) {
	for _, t := range l.tools {
		if c.Key.Scopes.Has(t.spec.Scope) {
			names = append(names, t.spec.Name)
		}
	}
	return names
}

// callTool runs tools/call. A rejected operation is a result with isError.
func (l *Lane) callTool(c *call) (jsontext.Value, *protocolFault) {
	target := l.resolveTool(c)
	if target.fault != nil {
		if f := l.authorize(c); f != nil {
			return nil, f
		}
		return nil, target.fault
	}
	o := target.tool.do(c, target.arguments)
	if o.fault != nil {
		return nil, o.fault
	}
	b, err := o.encode()
	if err != nil { // results always encode: their text was checked to be UTF-8
		panic(err)
	}
	return l.finishResult(c, b, nil), nil
}

// encode encodes the result twice, as text and as structured content, as MCP requires.
func (o *toolResult) encode() (jsontext.Value, error) {
	b := make([]byte, 0, 3*len(o.structured)+80)
	b, err := jsontext.AppendQuote(append(b, `{"content":[{"type":"text","text":`...), o.structured)
	if err != nil {
		return nil, err
	}
	b = append(append(b, `}],"structuredContent":`...), o.structured...)
	if o.isError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}

// registerTools offers every tool (docs/rules/agents.md#tools).
func (l *Lane) registerTools() {
	for _, op := range slices.Concat(tools.ToolOnly, tools.Operations) {
		l.register(op)
	}
	l.registerLongPoll(l.waitForEvent())
	if l.gate.Venue.Virtual != nil {
		l.registerLongPoll(tools.AdvanceClock)
	}
}
