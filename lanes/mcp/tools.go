package mcp

import (
	"context"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// tool is an operation offered as a tool.
type tool struct {
	spec       *tools.Spec
	definition jsontext.Value // its definition, as tools/list shows it
	longPoll   bool           // a call may block up to maxWait
	do         func(*call, jsontext.Value) *toolResult
}

// toolResult is the result of a tool call.
type toolResult struct {
	structured jsontext.Value
	isError    bool
	fault      *protocolFault // instead of a result, if the key was revoked
}

// defaultPageSize is the default page size of this lane; REST's is larger
// (docs/rules/limits.md#page-size).
const defaultPageSize = 20

// registerTool offers an operation as a tool.
func registerTool[In, Out any](l *Lane, op *tools.Op[In, Out]) *tool {
	t := &tool{spec: &op.Spec, definition: toolDefinition(&op.Spec, reflect.TypeFor[In](), reflect.TypeFor[Out]())}
	t.do = func(c *call, arguments jsontext.Value) *toolResult {
		ctx, cancel := context.WithTimeout(c.ctx, l.gate.Budget()+t.extraTime(l.gate.Venue))
		defer cancel()
		var in *In
		out, err := gate.Run(ctx, l.gate, c.Call, op, func(into *In) error {
			in = into
			return decodeArguments(arguments, into)
		})
		if err != nil {
			return l.errorResult(c, t, inputForHints(in, arguments, op.Deduplicated && l.gate.ReplayGuard), err)
		}
		b, err := l.encodeOutput(c, t, in, &out)
		if err != nil { // outputs always encode: their text was checked to be UTF-8
			panic(err)
		}
		return &toolResult{structured: b}
	}
	l.tools = append(l.tools, t)
	l.byName[op.Name] = t
	return t
}

// registerLongPoll offers an operation that may block up to maxWait.
func registerLongPoll[In, Out any](l *Lane, op *tools.Op[In, Out]) {
	registerTool(l, op).longPoll = true
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
	if p, ok := in.(interface{ SetDefault(int) }); ok {
		p.SetDefault(defaultPageSize)
	}
	return nil
}

// inputForHints returns the input of a rejected call, or nil if the call was rejected
// before it was decoded. The gate rejects an exact repeat without decoding it; such a call
// is decoded here, so that it gets the hints of the first.
func inputForHints[In any](in *In, arguments jsontext.Value, repeat bool) any {
	switch {
	case in != nil:
		return in
	case !repeat:
		return nil
	}
	in = new(In)
	_ = decodeArguments(arguments, in) // a fault was already returned for the first call
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
		out.fault = badParams("unknown tool " + printable(name))
	}
	return out
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
	registerTool(l, tools.PlaceOrder)
	registerTool(l, tools.PlaceOrders)
	registerTool(l, tools.PreviewOrder)
	registerTool(l, tools.CancelOneOrder)
	registerTool(l, tools.CancelOrders)
	registerTool(l, tools.CancelAllOrders)
	registerTool(l, tools.DecreaseOrder)
	registerTool(l, tools.ReplaceOrder)
	registerTool(l, tools.RedeemPairs)
	registerTool(l, tools.ArmDeadman)
	registerTool(l, tools.DisarmDeadman)
	registerTool(l, tools.ListOrders)
	registerTool(l, tools.GetOrder)
	registerTool(l, tools.ListFills)
	registerTool(l, tools.GetAccount)
	registerTool(l, tools.GetBalance)
	registerTool(l, tools.ListPositions)
	registerTool(l, tools.GetPnL)
	registerTool(l, tools.ListSettlements)
	registerTool(l, tools.ListLedger)
	registerTool(l, tools.ListPortfolioRounds)
	registerTool(l, tools.SubmitForecast)
	registerTool(l, tools.ListForecasts)
	registerTool(l, tools.GetLimits)
	registerTool(l, tools.ListSeries)
	registerTool(l, tools.ListMarkets)
	registerTool(l, tools.GetMarket)
	registerTool(l, tools.GetOrderbook)
	registerTool(l, tools.ListTrades)
	registerTool(l, tools.ListRounds)
	registerTool(l, tools.GetRound)
	registerTool(l, tools.GetRoundEvidence)
	registerTool(l, tools.GetRoundHistory)
	registerTool(l, tools.GetOraclePrice)
	registerTool(l, tools.GetPriceHistory)
	registerTool(l, tools.GetVenue)
	registerLongPoll(l, l.waitForEvent())
	registerTool(l, tools.RequestWithdrawal)
	registerTool(l, tools.ListWithdrawals)
	registerTool(l, tools.ListDeposits)
	registerTool(l, tools.GetDepositAddress)
	if l.gate.Venue.Virtual != nil {
		registerLongPoll(l, tools.AdvanceClock)
	}
}
