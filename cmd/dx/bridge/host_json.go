package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// entry is a server in the JSON config of a host.
type entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

func (h *Host) entry(s *Server) entry {
	e := entry{h.kind, s.Command, s.Args, map[string]string{}}
	for k, v := range s.Env {
		e.Env[k] = v
	}
	for _, name := range s.PassEnv {
		e.Env[name] = h.env(name)
	}
	return e
}

// mergeJSON sets list.name in JSON, which may have comments and trailing commas.
func mergeJSON(old []byte, list, name string, e entry) ([]byte, error) {
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
	step := indentOf(&root)
	switch at := root.Find(pointer(list)); {
	case at == nil:
		if err := setMember(&root, "", list, "{}", step); err != nil {
			return nil, err
		}
	case at.Value.Kind() != '{':
		return nil, fmt.Errorf("%s is not an object", list)
	}
	text, err := json.MarshalIndent(e, step+step, step)
	if err != nil {
		return nil, err
	}
	if err := setMember(&root, pointer(list), name, string(text), step); err != nil {
		return nil, err
	}
	return root.Pack(), nil
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
