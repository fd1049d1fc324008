package bridge

import (
	"slices"
	"strings"

	"duplex/schemas"
)

// Narrow is what a host may use of what the key allows. It never widens that.
type Narrow struct {
	ReadOnly bool     // only tools that change nothing
	Tools    []string // only these; none: all
}

func (n *Narrow) narrows() bool { return n.ReadOnly || len(n.Tools) > 0 }

func (n *Narrow) allows(name string, readOnly bool) bool {
	return (readOnly || !n.ReadOnly) && (len(n.Tools) == 0 || slices.Contains(n.Tools, name))
}

// refuse answers a call of a tool that is not allowed here, as the venue does for a
// key without the scope.
func (n *Narrow) refuse(m *message) []byte {
	r := schemas.RefusalOf(schemas.ErrorOf("missing_scope"))
	var bounds []string
	if n.ReadOnly {
		bounds = append(bounds, "--read-only")
	}
	if len(n.Tools) > 0 {
		bounds = append(bounds, "--tools "+strings.Join(n.Tools, ","))
	}
	r.Hint = "This tool is not offered here: the bridge was started with " + strings.Join(bounds, " and ") + "."
	return refusal(m, &r)
}

// filter leaves of a list what is allowed.
func (n *Narrow) filter(l *listed) {
	kept := l.Tools[:0]
	for _, v := range l.Tools {
		if a := tool(v); n.allows(a.Name, a.Annotations.ReadOnly) {
			kept = append(kept, v)
		}
	}
	l.Tools = kept
}
