package bridge

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"duplex/client"
)

// TestListsHaveNoOutputSchemas tests that lists of tools have output schemas only if they are wanted: over pipes and
// through the proxy, from one node and from several. Nothing else of a definition changes.
func TestListsHaveNoOutputSchemas(t *testing.T) {
	d := open(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	_, answer, err := roundTrip(t.Context(), d.client(), mustParse(t, list), legacy)
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := at(t, string(answer), "result", "tools").([]any)
	for name, c := range map[string]*client.Client{"one node": d.client(), "several nodes": d.clientOf([]*frontNode{d.newFront(nil), d.newFront(nil)})} {
		for _, wanted := range []bool{false, true} {
			for through, answer := range map[string]string{
				"stdio": start(t, c, ToolFilter{OutputSchemas: wanted}).ask("%s", list),
				"proxy": func() string {
					p := httptest.NewServer(Proxy(c, wanted, Commands{}, slog.New(slog.DiscardHandler)))
					defer p.Close()
					return wholeOf(t, p.URL, list)
				}(),
			} {
				tools, _ := at(t, answer, "result", "tools").([]any)
				if len(tools) != len(whole) || len(tools) == 0 {
					t.Fatalf("%s, %s: %d tools, want %d", name, through, len(tools), len(whole))
				}
				for i, v := range tools {
					got, want := v.(map[string]any), whole[i].(map[string]any)
					if _, has := got["outputSchema"]; has != wanted || got["name"] != want["name"] || got["inputSchema"] == nil || got["annotations"] == nil || got["description"] != want["description"] {
						t.Errorf("%s, %s, %s: output schema %t, want %t, in %v", name, through, want["name"], has, wanted, got)
					}
				}
				if strings.Contains(answer, "outputSchema") != wanted {
					t.Errorf("%s, %s: %.200s", name, through, answer)
				}
			}
		}
	}
}

func mustParse(t *testing.T, text string) *message {
	t.Helper()
	m, ok := parse([]byte(text))
	if !ok {
		t.Fatalf("%s is not JSON", text)
	}
	return &m
}

// wholeOf posts a request of the modern revision without a name and returns the response.
func wholeOf(t *testing.T, url, request string) string {
	t.Helper()
	return whole(t, post(t, t.Context(), url, request, "MCP-Protocol-Version", modern, "Mcp-Method", mustParse(t, request).method))
}

// TestNamesBehindAFilter tests that a tool outside of a filter is rejected with the flags that exclude it, and that a
// name of no tool is an unknown tool, with the nearest one that is offered.
func TestNamesBehindAFilter(t *testing.T) {
	d := open(t)
	for _, x := range []struct {
		name   string
		filter ToolFilter
		hints  map[string]string // tool: the end of the hint
		names  map[string]string // no tool: the nearest
	}{
		{"core", ToolFilter{Core: true}, map[string]string{"get_round": "Start dx mcp with --toolset all to offer it.", "advance_clock": "Start dx mcp with --toolset all to offer it."},
			map[string]string{"place_ordr": "place_order", "buy": "place_order", "markets": "list_series", "get_balances": "get_account", "get_price": "list_series"}},
		{"read only", ToolFilter{ReadOnly: true}, map[string]string{"place_order": "Start dx mcp without --read-only to offer it."}, map[string]string{"get_orders": "list_orders", "markets": "list_markets"}},
		{"tools", ToolFilter{Tools: []string{"get_venue"}}, map[string]string{"place_order": "Start dx mcp with place_order in --tools to offer it."}, map[string]string{"get_time": "get_venue"}},
		{"all", ToolFilter{Core: true, ReadOnly: true, Tools: []string{"get_venue"}},
			map[string]string{"get_account": "Start dx mcp with get_account in --tools to offer it.", "replace_order": "Start dx mcp without --read-only and with --toolset all and with replace_order in --tools to offer it."}, nil},
		{"none", ToolFilter{}, nil, map[string]string{"place_ordr": "place_order", "markets": "list_markets"}}, // the venue's own answer
	} {
		h := start(t, d.client(), x.filter)
		for tool, hint := range x.hints {
			answer := h.ask(call("1", tool, "{}"))
			holds(t, answer, "id", 1.0, "result.isError", true, "result.structuredContent.error.code", "missing_scope")
			if got, _ := at(t, answer, "result", "structuredContent", "hint").(string); !strings.HasSuffix(got, ". "+hint) {
				t.Errorf("%s: %s: %q, want %q", x.name, tool, got, hint)
			}
		}
		for name, tool := range x.names {
			holds(t, h.ask(call("2", name, "{}")), "id", 2.0, "error.code", -32602.0, "error.data.code", "schema_violation", "error.message", "Invalid params: unknown tool "+name+": the nearest is "+tool)
		}
		holds(t, h.ask(call("3", "rm", "{}")), "error.message", "Invalid params: unknown tool rm; tools/list names the tools")
		holds(t, h.ask(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":7,%s}}`, meta), "id", 4.0, "error.code", -32602.0)
		h.end()
	}
}
