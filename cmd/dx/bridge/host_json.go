package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// variables returns the variables of the host's entry.
func (h *Host) variables(s *Server) map[string]string {
	all := maps.Clone(s.Env)
	for _, name := range s.PassEnv {
		if all == nil {
			all = map[string]string{}
		}
		all[name] = h.env(name)
	}
	return all
}

// mergeJSON sets a server in JSON, which may have comments and trailing commas.
func (h *Host) mergeJSON(old []byte, s *Server) ([]byte, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		old = []byte("{}\n")
	}
	root, err := hujson.Parse(old)
	if err != nil {
		return nil, err
	}
	if root.Value.Kind() != '{' {
		return nil, fmt.Errorf("not a JSON object")
	}
	if at := root.Find(pointer(h.list)); at != nil && at.Value.Kind() != '{' {
		return nil, fmt.Errorf("%s is not an object", h.list)
	}
	e := editor{root: &root, step: indentOf(&root)}
	e.object("", h.list)
	list := pointer(h.list)
	e.object(list, s.Name)
	entry := list + pointer(s.Name)
	if h.kind != "" {
		e.set(entry, "type", h.kind)
	}
	e.set(entry, "command", s.Command)
	e.set(entry, "args", s.Args)
	env := h.variables(s)
	if len(env) > 0 {
		e.object(entry, "env")
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(env)), Variables...)))) {
		if value, ok := env[name]; ok {
			e.set(entry+"/env", name, value)
		} else {
			e.remove(entry+"/env", name)
		}
	}
	if x := root.Find(entry + "/env"); x != nil && x.Value.Kind() == '{' && len(x.Value.(*hujson.Object).Members) == 0 {
		e.remove(entry, "env")
	}
	return root.Pack(), e.err
}

// editor changes members of a document. It keeps the first error.
type editor struct {
	root *hujson.Value
	step string // the indent
	err  error
}

// object makes a member an object, unless it is one.
func (e *editor) object(at, name string) {
	if x := e.root.Find(at + pointer(name)); e.err == nil && (x == nil || x.Value.Kind() != '{') {
		e.err = setMember(e.root, at, name, "{}", e.step)
	}
}

func (e *editor) set(at, name string, value any) {
	text, err := json.MarshalIndent(value, strings.Repeat(e.step, strings.Count(at, "/")+1), e.step)
	if e.err = errors.Join(e.err, err); e.err == nil {
		e.err = setMember(e.root, at, name, string(text), e.step)
	}
}

func (e *editor) remove(at, name string) {
	if e.err == nil && e.root.Find(at+pointer(name)) != nil {
		path, _ := json.Marshal(at + pointer(name)) // a string
		e.err = e.root.Patch(fmt.Appendf(nil, `[{"op":"remove","path":%s}]`, path))
	}
}

// setMember adds or replaces a member of the object at a pointer, on a line of its own.
func setMember(root *hujson.Value, at, name, value, step string) error {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": at + pointer(name), "value": nil}})
	if err != nil {
		return err
	}
	// Insert the value as text, to keep its layout.
	if err := root.Patch(bytes.Replace(patch, []byte(`"value":null`), []byte(`"value":`+value), 1)); err != nil {
		return err
	}
	object := root.Find(at).Value.(*hujson.Object)
	outer := strings.Repeat(step, strings.Count(at, "/"))
	for i := range object.Members {
		m := &object.Members[i]
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		m.Name.BeforeExtra = ownLine(m.Name.BeforeExtra, outer+step)
		if len(m.Value.BeforeExtra) == 0 {
			m.Value.BeforeExtra = hujson.Extra(" ")
		}
	}
	if last := &object.Members[len(object.Members)-1]; last.Value.AfterExtra == nil || !bytes.Contains(object.AfterExtra, []byte("\n")) {
		object.AfterExtra = ownLine(object.AfterExtra, outer)
	}
	return nil
}

// ownLine appends a line break and an indent to extra.
func ownLine(extra hujson.Extra, indent string) hujson.Extra {
	text := strings.TrimRight(string(extra), " \t")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return hujson.Extra(text + indent)
}

// indentOf returns the indent of the file's members.
func indentOf(root *hujson.Value) string {
	if o := root.Value.(*hujson.Object); len(o.Members) > 0 {
		before := string(o.Members[0].Name.BeforeExtra)
		if i := strings.LastIndex(before, "\n"); i >= 0 && strings.Trim(before[i+1:], " \t") == "" && before[i+1:] != "" {
			return before[i+1:]
		}
	}
	return "  "
}

// pointer returns one step of a JSON pointer (RFC 6901).
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
