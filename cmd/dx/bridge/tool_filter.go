package bridge

import (
	"slices"
	"strings"

	"duplex/schemas"
	"duplex/tools"
)

// ToolFilter restricts the tools that the key's scopes allow. A tool must pass all of it.
type ToolFilter struct {
	ReadOnly bool     // only tools that change nothing
	Core     bool     // only the toolset core
	Tools    []string // only these; empty means all
}

func (n *ToolFilter) isSet() bool { return n.ReadOnly || n.Core || len(n.Tools) > 0 }

func (n *ToolFilter) allows(name string, readOnly bool) bool {
	return (readOnly || !n.ReadOnly) && (!n.Core || slices.Contains(tools.CoreToolset, name)) && (len(n.Tools) == 0 || slices.Contains(n.Tools, name))
}

// errorResponse returns the result of a call of a tool outside the filter: the venue's
// error for a key without the scope.
func (n *ToolFilter) errorResponse(m *message) []byte {
	r := schemas.ToolErrorOf(schemas.ErrorOf("missing_scope"))
	var bounds []string
	if n.ReadOnly {
		bounds = append(bounds, "--read-only")
	}
	if n.Core {
		bounds = append(bounds, "--toolset core")
	}
	if len(n.Tools) > 0 {
		bounds = append(bounds, "--tools "+strings.Join(n.Tools, ","))
	}
	r.Hint = "This tool is not offered here: the bridge was started with " + strings.Join(bounds, " and ") + "."
	return toolErrorResponse(m, &r)
}

// filter removes the tools outside the filter from a list.
func (n *ToolFilter) filter(l *toolList) {
	kept := l.Tools[:0]
	for _, v := range l.Tools {
		if a := parseToolInfo(v); n.allows(a.Name, a.Annotations.ReadOnly) {
			kept = append(kept, v)
		}
	}
	l.Tools = kept
}
