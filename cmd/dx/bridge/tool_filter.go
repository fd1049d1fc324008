package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/schemas"
	"duplex/tools"
)

// ToolFilter restricts the tools that the key's scopes allow. A tool must pass all of it.
type ToolFilter struct {
	ReadOnly bool     // only tools that change nothing
	Core     bool     // only the toolset core
	Tools    []string // only these; empty means all

	OutputSchemas bool // list the tools with their output schemas, which a model's context holds and few hosts use
}

func (n *ToolFilter) isSet() bool { return n.ReadOnly || n.Core || len(n.Tools) > 0 }

func (n *ToolFilter) allows(name string, readOnly bool) bool {
	return (readOnly || !n.ReadOnly) && (!n.Core || slices.Contains(tools.CoreToolset, name)) && (len(n.Tools) == 0 || slices.Contains(n.Tools, name))
}

// errorResponse returns the result of a call of a tool outside the filter: the venue's
// error for a key without the scope, with the flags that exclude it.
func (n *ToolFilter) errorResponse(m *message, readOnly bool) []byte {
	r := schemas.ToolErrorOf(schemas.ErrorOf("missing_scope"))
	var excludedBy, instead []string
	if n.ReadOnly && !readOnly {
		excludedBy, instead = append(excludedBy, "--read-only"), append(instead, "without --read-only")
	}
	if n.Core && !slices.Contains(tools.CoreToolset, m.tool()) {
		excludedBy, instead = append(excludedBy, "--toolset core"), append(instead, "with --toolset all")
	}
	if len(n.Tools) > 0 && !slices.Contains(n.Tools, m.tool()) {
		excludedBy, instead = append(excludedBy, "--tools "+strings.Join(n.Tools, ",")), append(instead, "with "+m.tool()+" in --tools")
	}
	r.Hint = "This tool is not offered here: the bridge was started with " + strings.Join(excludedBy, " and ") + ". Start dx mcp " + strings.Join(instead, " and ") + " to offer it."
	if n.allows(tools.GetAccount.Name, true) {
		r.Next = &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: map[string]any{}}
	}
	return toolErrorResponse(m, &r)
}

// unknownToolResponse returns the venue's error for a name that is no tool, with the nearest of the tools that are
// offered. A bridge with a filter does not send such a call: a newer venue could have a tool of the name.
func (n *ToolFilter) unknownToolResponse(m *message, c *toolCatalog) []byte {
	shown := fmt.Sprintf("%.80s", schemas.ForTerminal(m.tool()))
	return errorResponse(m.id, codeParams, "Invalid params: "+tools.UnknownTool(shown, c.offered(n)), mustEncode(schemas.ErrorOf("schema_violation")))
}

// list updates the catalog from the response to tools/list, and returns the response for the host: without the
// tools outside the filter, and without output schemas unless they are wanted.
func (n *ToolFilter) list(c *toolCatalog, answer jsontext.Value) jsontext.Value {
	members := object(answer)
	l, ok := parseToolList(members["result"])
	if !ok {
		return answer
	}
	c.update(l)
	if !n.isSet() && n.OutputSchemas {
		return answer
	}
	n.filter(l)
	return envelope(members["id"], "result", mustMarshal(l))
}

// filter removes the tools outside the filter from a list, and the output schemas of the others.
func (n *ToolFilter) filter(l *toolList) {
	kept := l.Tools[:0]
	for _, v := range l.Tools {
		if a := parseToolInfo(v); !n.allows(a.Name, a.Annotations.ReadOnly) {
			continue
		}
		if !n.OutputSchemas {
			v = withoutOutputSchema(v)
		}
		kept = append(kept, v)
	}
	l.Tools = kept
}

// withoutOutputSchema returns the definition of a tool without its output schema.
func withoutOutputSchema(definition jsontext.Value) jsontext.Value {
	var d struct {
		OutputSchema jsontext.Value `json:"outputSchema,omitzero"`
		More         jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(definition, &d); err != nil {
		return definition // not an object
	}
	d.OutputSchema = nil
	return mustMarshal(&d)
}

// mustMarshal encodes a value that was decoded from JSON, which always succeeds.
func mustMarshal(v any) jsontext.Value {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
