package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// demand checks that the page called name has an anchor, made of prefix and the word, for each
// word in of. Unless the prefix is empty, the page must have no other anchor with that prefix.
func demand(t *testing.T, what, name, prefix string, of []string) {
	t.Helper()
	anchors := open(t, name).anchors
	if len(of) == 0 {
		t.Errorf("the program has no %s", what)
	}
	for _, x := range of {
		if anchors[prefix+x] == 0 {
			t.Errorf("%s %s has no anchor %s#%s", what, x, name, prefix+x)
		}
	}
	for id := range anchors {
		if x, ours := strings.CutPrefix(id, prefix); prefix != "" && ours && !slices.Contains(of, x) {
			t.Errorf("%s#%s is about a %s that the program does not have", name, id, what)
		}
	}
}

// TestWordsOfTheCore checks that the rulebook lists each reason, status, scope, bucket, cause
// and path of the program.
func TestWordsOfTheCore(t *testing.T) {
	demand(t, "reason of an order", "rules/orders.md", "reason-", core.Reasons())
	demand(t, "status of an order", "rules/orders.md", "status-", core.OrderStatuses())
	demand(t, "status of a round", "rules/rounds.md", "status-", lanetest.Named(core.NeverOpened))
	demand(t, "scope", "rules/accounts.md", "scope-", core.Scopes(255).Names())
	demand(t, "rule of a mandate", "rules/agent-accounts.md", "rule-", core.MandateRules())
	demand(t, "bucket", "rules/limits.md", "bucket-", lanetest.Named(tools.Read))
	account := read(t, "rules/events.md")
	for _, cause := range lanetest.Named(core.CauseOrder) {
		if !strings.Contains(account, "`"+cause+"`") {
			t.Errorf("events.md does not name the cause %s", cause)
		}
	}
	paths := read(t, "rules/prices.md")
	for _, path := range lanetest.Named(core.Direct) {
		if !strings.Contains(paths, "\n| `"+path+"` |") {
			t.Errorf("prices.md has no row for the path %s", path)
		}
	}
}

// TestErrorCodes checks that errors.md has a section for each error code, with the facts of
// schemas.ErrorTable.
func TestErrorCodes(t *testing.T) {
	demand(t, "error code", "rules/errors.md", "", schemas.Codes())
	demand(t, "retry rule", "rules/errors.md", "retry-", []string{string(schemas.Never), string(schemas.Safe), string(schemas.Unknown)})
	text := read(t, "rules/errors.md")
	for _, m := range schemas.ErrorTable {
		num, ws := "null", ""
		if m.Num != nil {
			num = fmt.Sprint(*m.Num)
		}
		if m.WS != 0 {
			ws = fmt.Sprintf(" · wscode [%d](events.md#wscodes)", m.WS)
		}
		facts := fmt.Sprintf("\n### %s\n\nHTTP %d · num %s · origin %s · retry [%s](#retry)%s\n", m.Code, m.HTTP, num, m.Origin, m.Retry, ws)
		if !strings.Contains(text, facts) {
			t.Errorf("errors.md must have%s", facts)
		}
	}
	if n := strings.Count(text, "\n### "); n != len(schemas.ErrorTable) {
		t.Errorf("errors.md has %d codes, the program %d", n, len(schemas.ErrorTable))
	}
}

// lanes mounts the REST and agent lanes of a venue and returns the routes and tools they publish.
func lanes(t *testing.T) (routes *huma.OpenAPI, offered []*tools.Spec) {
	h := lanetest.New(t)
	agents := mcp.Mount(h.Routes, h.Gate, "test")
	t.Cleanup(agents.Close)
	return rest.Mount(h.Routes, h.Gate, "test").OpenAPI(), agents.ToolSpecs()
}

var (
	scoped   = regexp.MustCompile("Scope `(\\w+)`, bucket `(\\w+)`")
	anchored = regexp.MustCompile(`(?m)^(?:\| )?<a id="([a-z_-]+)"></a>.*$`)
)

// TestRoutesAndTools checks that rest.md and agents.md list exactly the program's REST routes
// and tools, each with its anchor, and each route with its scope, bucket and status.
func TestRoutesAndTools(t *testing.T) {
	routes, offered := lanes(t)
	text, known := read(t, "rules/rest.md"), []string{}
	for path, item := range routes.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			m := scoped.FindStringSubmatch(op.Description)
			if m == nil {
				t.Fatalf("the description of %s does not name its scope and bucket", op.OperationID)
			}
			status := "200"
			for _, s := range slices.Backward(slices.Sorted(maps.Keys(op.Responses))) {
				if s[0] == '2' {
					status = s // the lowest
				}
			}
			known = append(known, op.OperationID)
			if line := fmt.Sprintf("\n<a id=\"%s\"></a>`%s %s` · scope `%s` · bucket `%s` · %s", op.OperationID, op.Method, path, m[1], m[2], status); !strings.Contains(text, line) {
				t.Errorf("rest.md must have%s", line)
			}
		}
	}
	for _, m := range anchored.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("rest.md has a route %s that the program does not have", m[1])
		}
	}
	agents := read(t, "rules/agents.md")
	for _, f := range offered {
		row := fmt.Sprintf("\n| <a id=\"%s\"></a>[`%s`](rest.md#%s) |", f.Name, f.Name, f.Name)
		if f.Path == "" {
			row = fmt.Sprintf("\n| <a id=\"%s\"></a>`%s` |", f.Name, f.Name)
		}
		if !strings.Contains(agents, row) {
			t.Errorf("agents.md must have%s", row)
		}
		if link := fmt.Sprintf("tool [`%s`](agents.md#%s)", f.Name, f.Name); f.Path != "" && !strings.Contains(text, link) {
			t.Errorf("rest.md must have %s", link)
		}
	}
	_, list, _ := strings.Cut(agents, "\n## Tools\n")
	list, _, _ = strings.Cut(list, "\n## ")
	if n := strings.Count(list, "\n| <a"); n != len(offered) {
		t.Errorf("agents.md has %d tools, the program %d", n, len(offered))
	}
}

// TestWordsOfTheEventLane checks that events.md has an anchor for each channel, command, event,
// error code and close code.
func TestWordsOfTheEventLane(t *testing.T) {
	const page = "rules/events.md"
	demand(t, "channel", page, "channel-", schemas.WSChannels)
	text := read(t, page)
	for _, f := range schemas.WSErrorTable {
		if row := fmt.Sprintf("\n| <a id=\"wscode-%d\"></a><a id=\"wscode-%s\"></a>%d | `%s` | %s |", f.Code, f.Name, f.Code, f.Name, f.Retry); !strings.Contains(text, row) {
			t.Errorf("events.md must have%s", row)
		}
	}
	var doc struct {
		Info       struct{ Description string }
		Operations map[string]struct{ Action string }
		Components struct {
			Messages map[string]struct{ Name string }
		}
	}
	if err := json.Unmarshal(ws.AsyncAPI("test", "http://127.0.0.1"), &doc); err != nil {
		t.Fatal(err)
	}
	var commands, events, closes []string
	for name, op := range doc.Operations {
		if op.Action == "receive" {
			commands = append(commands, name)
		}
	}
	for name := range doc.Components.Messages {
		if event, ok := strings.CutPrefix(name, "user_"); ok && event != "snapshot" {
			events = append(events, event)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^- (\d{4}):`).FindAllStringSubmatch(doc.Info.Description, -1) {
		closes = append(closes, m[1])
	}
	demand(t, "command", page, "", commands)
	demand(t, "event", page, "event-", events)
	anchors := open(t, page).anchors
	for _, code := range closes {
		if anchors["close-"+code] == 0 {
			t.Errorf("events.md has no anchor close-%s", code)
		}
	}
	if len(commands) == 0 || len(closes) == 0 {
		t.Errorf("%d commands, %d close codes", len(commands), len(closes))
	}
}

// matches returns the matches of a pattern in a source file, with their groups. It fails the
// test if there are none, because then the pattern no longer fits the code.
func matches(t *testing.T, file, pattern string) [][]string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, "../"+file), -1)
	if len(found) == 0 {
		t.Errorf("%s has no match for %s", file, pattern)
	}
	return found
}

// TestRoutesOfTheOtherListeners checks that the rulebook has an anchor for each route of the
// accounts service and of the operator's listener, and for each method of the agent lane.
func TestRoutesOfTheOtherListeners(t *testing.T) {
	const mounted = `register\(l, m, "(\w+)", "([A-Z]+ [^"]+)"`
	accounts, operation := read(t, "rules/accounts.md"), read(t, "rules/operation.md")
	for _, m := range matches(t, "lanes/portal/accounts.go", mounted) {
		if row := fmt.Sprintf("\n| <a id=\"%s\"></a>`%s` |", m[1], m[2]); !strings.Contains(accounts, row) {
			t.Errorf("accounts.md must have%s", row)
		}
	}
	for _, m := range matches(t, "lanes/admin/routes.go", mounted) {
		if row := fmt.Sprintf("\n| <a id=\"admin-%s\"></a>`%s` |", m[1], m[2]); !strings.Contains(operation, row) {
			t.Errorf("operation.md must have%s", row)
		}
	}
	var methods []string
	for _, m := range matches(t, "lanes/mcp/methods.go", `(?m)^\t\t"([a-z/]+)": +\{answer`) {
		methods = append(methods, strings.ReplaceAll(m[1], "/", "-"))
	}
	demand(t, "method", "rules/agents.md", "method-", methods)
}
