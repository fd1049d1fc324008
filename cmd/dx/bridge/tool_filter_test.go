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
					p := httptest.NewServer(Proxy(c, slog.New(slog.DiscardHandler), wanted))
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
