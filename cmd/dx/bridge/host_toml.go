package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// serversTable is the table with the servers.
const serversTable = "mcp_servers"

// mergeTOML adds or replaces the table of a server. It edits the text, because go-toml
// would drop comments, and then checks that no other server has changed.
func mergeTOML(old []byte, s *Server) ([]byte, error) {
	before, err := tables(old)
	if err != nil {
		return nil, err
	}
	servers, _ := before[serversTable].(map[string]any)
	entry, _ := servers[s.Name].(map[string]any)
	fragment, err := table(s, entry)
	if err != nil {
		return nil, err
	}
	kept, at, err := cutTables(old, s.Name)
	if err != nil {
		return nil, err
	}
	head := bytes.Clone(kept[:at])
	for at == len(kept) && at > 0 && !bytes.HasSuffix(head, []byte("\n\n")) {
		head = append(head, '\n')
	}
	merged := bytes.Join([][]byte{head, fragment, kept[at:]}, nil)
	after, err := tables(merged)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot add a server to this file: %s is a value in one line, and not a table that another one can be added to", serversTable), err)
	}
	if !reflect.DeepEqual(without(before, s.Name), without(after, s.Name)) {
		return nil, errors.New("the change would touch more than one server")
	}
	return merged, nil
}

func tables(text []byte) (all map[string]any, err error) {
	return all, toml.Unmarshal(text, &all)
}

// without returns the config without a server, and without the list if it becomes empty.
func without(all map[string]any, name string) map[string]any {
	rest := map[string]any{}
	for k, v := range all {
		if servers, ok := v.(map[string]any); ok && k == serversTable {
			delete(servers, name)
			if len(servers) == 0 {
				continue
			}
		}
		rest[k] = v
	}
	return rest
}

// table returns the text of a server, with what the user has added to the old one.
func table(s *Server, old map[string]any) ([]byte, error) {
	var b bytes.Buffer
	enc := toml.NewEncoder(&b)
	enc.SetTablesInline(true)
	own := struct {
		Command string         `toml:"command"`
		Args    []string       `toml:"args"`
		Env     map[string]any `toml:"env,omitempty"`
		Pass    []any          `toml:"env_vars,omitempty"`
	}{Command: s.Command, Args: s.Args, Env: map[string]any{}}
	isOwn := func(name any) bool { n, ok := name.(string); return ok && slices.Contains(Variables, n) }
	if env, ok := old["env"].(map[string]any); ok {
		own.Env = env
	}
	maps.DeleteFunc(own.Env, func(name string, _ any) bool { return isOwn(name) })
	for name, value := range s.Env {
		own.Env[name] = value
	}
	if pass, ok := old["env_vars"].([]any); ok {
		own.Pass = slices.DeleteFunc(pass, isOwn)
	}
	for _, name := range s.PassEnv {
		own.Pass = append(own.Pass, name)
	}
	maps.DeleteFunc(old, func(name string, _ any) bool {
		return slices.Contains([]string{"command", "args", "env", "env_vars"}, name)
	})
	err := enc.Encode(own)
	if len(old) > 0 {
		err = errors.Join(err, enc.Encode(old))
	}
	return append([]byte("["+serversTable+"."+s.Name+"]\n"), b.Bytes()...), err
}

// cutTables removes the tables of a server from the text and returns their position, or
// the end of the text if there are none.
func cutTables(text []byte, name string) (kept []byte, at int, err error) {
	at = -1
	var p unstable.Parser
	p.Reset(text)
	mine, from := false, 0
	upTo := func(offset int) {
		if !mine {
			kept = append(kept, text[from:offset]...)
		}
		from = offset
	}
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		path, start := header(&p, e)
		begin := bytes.LastIndexByte(text[:start], '\n') + 1
		if mine {
			begin = commentStart(text, begin)
		}
		upTo(begin)
		mine = len(path) > 1 && path[0] == serversTable && path[1] == name
		if mine && at < 0 {
			at = len(kept)
		}
	}
	upTo(len(text))
	if at < 0 {
		at = len(kept)
	}
	return kept, at, p.Error()
}

// commentStart returns the start of the comments directly above a line.
func commentStart(text []byte, begin int) int {
	for begin > 0 {
		before := bytes.LastIndexByte(text[:begin-1], '\n') + 1
		if line := bytes.TrimSpace(text[before:begin]); len(line) > 0 && line[0] != '#' {
			break
		}
		begin = before
	}
	return begin
}

// header returns the name of a table and its position in the text.
func header(p *unstable.Parser, e *unstable.Node) (path []string, start int) {
	start = -1
	for k := e.Key(); k.Next(); {
		path = append(path, string(k.Node().Data))
		if start < 0 {
			start = int(k.Node().Raw.Offset)
		}
	}
	return path, start
}
