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

// tool is an operation as this lane offers it.
type tool struct {
	facts *tools.Facts
	shown jsontext.Value // its definition, as tools/list shows it
	waits bool           // its call may take long, and is parked
	do    func(*call, jsontext.Value) *outcome
}

// outcome is what a call of a tool came to.
type outcome struct {
	structured jsontext.Value
	refused    bool
	fault      *protocolFault // instead of a result: the key is gone
}

// listSize is the default page of lists here; REST's is larger (contract mcp, Tools).
const listSize = 20

// offer is the one binder: it describes an operation and serves it.
func offer[In, Out any](l *Lane, op *tools.Op[In, Out]) *tool {
	t := &tool{facts: &op.Facts, shown: define(&op.Facts, reflect.TypeFor[In](), reflect.TypeFor[Out]())}
	t.do = func(c *call, arguments jsontext.Value) *outcome {
		ctx, cancel := context.WithTimeout(c.ctx, l.gate.Budget()+t.patience())
		defer cancel()
		var in *In
		out, err := gate.Run(ctx, l.gate, c.Call, op, func(into *In) error {
			in = into
			return arguing(arguments, into)
		})
		if err != nil {
			return l.refused(c, t, spoken(in, arguments, op.Once && l.gate.ReplayGuard), err)
		}
		b, err := gate.Encode(&out)
		if err != nil { // our own types always encode; text from outside was checked
			panic(err)
		}
		return &outcome{structured: b}
	}
	l.tools = append(l.tools, t)
	l.byName[op.Name] = t
	return t
}

// await offers a tool whose calls may take long.
func await[In, Out any](l *Lane, op *tools.Op[In, Out]) { offer(l, op).waits = true }

// Offered lists the facts of every tool, in the order of tools/list.
func (l *Lane) Offered() []*tools.Facts {
	out := make([]*tools.Facts, len(l.tools))
	for i, t := range l.tools {
		out[i] = t.facts
	}
	return out
}

// patience is what a call may take beyond the budget of a request.
func (t *tool) patience() time.Duration {
	if t.waits {
		return waitMax
	}
	return 0
}

// arguing reads the arguments. A list asked for without a limit is short.
func arguing(arguments jsontext.Value, in any) error {
	if f := schemas.DecodeArguments(arguments, in); f != nil {
		return f
	}
	if p, ok := in.(interface{ SetDefault(int) }); ok {
		p.SetDefault(listSize)
	}
	return nil
}

// spoken is what a refused call asked for; nil where it was refused before it was read.
// A repeat that the door knows is not read at all, and is taught what the first was.
func spoken[In any](in *In, arguments jsontext.Value, repeat bool) any {
	switch {
	case in != nil:
		return in
	case !repeat:
		return nil
	}
	in = new(In)
	_ = arguing(arguments, in) // its fault is the first answer's
	return in
}

// listTools shows the tools that the key may call.
func (l *Lane) listTools(c *call) (jsontext.Value, *protocolFault) {
	if f := onePage(c); f != nil {
		return nil, f
	}
	if f := l.admit(c); f != nil {
		return nil, f
	}
	out := struct {
		Tools []jsontext.Value `json:"tools"`
	}{[]jsontext.Value{}}
	for _, t := range l.tools {
		if c.Key.Scopes.Has(t.facts.Scope) {
			out.Tools = append(out.Tools, t.shown)
		}
	}
	return l.finish(c, out, forKey), nil
}

// target is which tool is called, and with what.
type target struct {
	tool      *tool
	arguments jsontext.Value
	fault     *protocolFault // where it names none
}

func (l *Lane) target(c *call) (out target) {
	name, ok := text(c.said.Name)
	out.tool, out.arguments = l.byName[name], c.said.Args
	switch {
	case !ok:
		out.fault = badParams("tools/call names no tool")
	case out.arguments != nil && out.arguments.Kind() != '{':
		out.fault = badParams("arguments must be an object")
	case out.tool == nil:
		out.fault = badParams("unknown tool " + visible(name))
	}
	return out
}

// parkTool lets a call that waits do so before a clerk has it, so that each costs
// one goroutine and no more.
func (l *Lane) parkTool(c *call) {
	if c.target = l.target(c); c.target.fault == nil && c.target.tool.waits {
		c.parked = c.target.tool.do(c, c.target.arguments)
	}
}

// callTool answers tools/call: a refused operation is a result like any other.
func (l *Lane) callTool(c *call) (jsontext.Value, *protocolFault) {
	if f := c.target.fault; f != nil {
		if paid := l.admit(c); paid != nil {
			return nil, paid
		}
		return nil, f
	}
	o := c.parked
	if o == nil {
		o = c.target.tool.do(c, c.target.arguments)
	}
	if o.fault != nil {
		return nil, o.fault
	}
	b, err := o.result()
	if err != nil { // our own types always encode; text from outside was checked
		panic(err)
	}
	return l.whole(c, b, nil), nil
}

// result says it twice: as text, for those who read, and as what it is.
func (o *outcome) result() (jsontext.Value, error) {
	b := make([]byte, 0, 3*len(o.structured)+80)
	b, err := jsontext.AppendQuote(append(b, `{"content":[{"type":"text","text":`...), o.structured)
	if err != nil {
		return nil, err
	}
	b = append(append(b, `}],"structuredContent":`...), o.structured...)
	if o.refused {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}
