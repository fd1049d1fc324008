package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/tools"
)

// The bounds of docs/rules/agents.md#toolsets, in tokens of 4 characters.
const (
	maxAllTokens       = 10_200
	maxCoreTokens      = 4600
	maxCoreInputTokens = 3300 // without output schemas
)

// TestToolsetsAreSmall bounds the tokens of all definitions, and the tools and tokens of the
// toolset core, each of which must exist, with and without output schemas.
func TestToolsetsAreSmall(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	all, small, inputs := 0, 0, 0
	for _, x := range d.lane.tools {
		all += len(x.definition)
		if slices.Contains(tools.CoreToolset, x.spec.Name) {
			small += len(x.definition)
			inputs += len(withoutOutput(t, x.definition))
		}
	}
	t.Logf("all: %d tools, %d tokens; core: %d tools, %d tokens, %d without output schemas", len(d.lane.tools), all/4, len(tools.CoreToolset), small/4, inputs/4)
	if all/4 > maxAllTokens || small/4 > maxCoreTokens || inputs/4 > maxCoreInputTokens || len(tools.CoreToolset) > tools.MaxCoreTools {
		t.Errorf("all: %d tokens; core: %d tools, %d tokens, %d without output schemas", all/4, len(tools.CoreToolset), small/4, inputs/4)
	}
	holdsFigure(t, fmt.Sprintf("| `all` | %d | %s |", len(d.lane.tools), hundreds(all/4)))
	holdsFigure(t, fmt.Sprintf("| `core` | %d | %s |", len(tools.CoreToolset), hundreds(small/4)))
	holdsFigure(t, fmt.Sprintf("| `core` without output schemas | %d | %s |", len(tools.CoreToolset), hundreds(inputs/4)))
	holdsFigure(t, "The core: `"+strings.Join(tools.CoreToolset, "`, `")+"`.")
	for name, in := range map[string]bool{"get_account": true, "get_price_history": true, "submit_forecast": true, "get_balance": false} { // get_account has the cash
		if slices.Contains(tools.CoreToolset, name) != in {
			t.Errorf("core has %s: %v", name, !in)
		}
	}
	for _, name := range tools.CoreToolset {
		if d.lane.byName[name] == nil {
			t.Errorf("core has %s, which is no tool", name)
		}
	}
}

// withoutOutput returns a tool's definition without its output schema.
func withoutOutput(t testing.TB, definition []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(definition, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "outputSchema")
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestToolsOfDoctor tests that the guide's output of dx mcp doctor has the number of tools that a key
// with the scopes read and trade is offered.
func TestToolsOfDoctor(t *testing.T) {
	t.Parallel()
	offered, reads := 0, 0
	for _, x := range newTestVenue(t).lane.tools {
		if x.spec.Scope == core.ScopeWithdraw {
			continue
		}
		if offered++; x.spec.ReadOnly() {
			reads++
		}
	}
	text, err := os.ReadFile("../../docs/guides/agents.md")
	if want := fmt.Sprintf("tools: %d, of which %d change nothing", offered, reads); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the guide has no %q (%v)", want, err)
	}
}

// hundreds writes n, rounded up to hundreds, as the pages do.
func hundreds(n int) string {
	n = (n + 99) / 100 * 100
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// holdsFigure tests that the rulebook has a figure.
func holdsFigure(t *testing.T, figure string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/rules/agents.md")
	if err != nil || !strings.Contains(string(page), figure) {
		t.Errorf("docs/rules/agents.md does not say: %s (%v)", figure, err)
	}
}

// TestInputSchemas tests that no input schema has a combination at its top, because several
// model APIs reject the tool or the whole list, and that place_order requires max_cost for
// a market buy.
func TestInputSchemas(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	for _, x := range d.lane.tools {
		var tool struct{ InputSchema map[string]json.RawMessage }
		if err := json.Unmarshal(x.definition, &tool); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"anyOf", "oneOf", "allOf", "if", "not"} {
			if tool.InputSchema[word] != nil {
				t.Errorf("%s: %s at the top of the input schema", x.spec.Name, word)
			}
		}
		if x.spec.Name == tools.PlaceOrder.Name && string(tool.InputSchema["dependentSchemas"]) != marketBuyNeedsMaxCost {
			t.Errorf("dependentSchemas of place_order: %s, want %s", tool.InputSchema["dependentSchemas"], marketBuyNeedsMaxCost)
		}
	}
}

// outputSchemas has the compiled output schemas by the names of tools. Every venue of a test has the same.
var outputSchemas sync.Map

// checkOutput checks a result against the output schema of its tool.
func (d *testVenue) checkOutput(tool string, result json.RawMessage) {
	d.T.Helper()
	x := d.lane.byName[tool]
	if x == nil || len(result) == 0 {
		return
	}
	schema, known := outputSchemas.Load(tool)
	if !known {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(x.definition))
		c := jsonschema.NewCompiler()
		if err = errors.Join(err, c.AddResource("tool", doc)); err == nil {
			schema, err = c.Compile("tool#/outputSchema")
		}
		if err != nil {
			d.T.Errorf("the output schema of %s does not compile: %v", tool, err)
			return
		}
		outputSchemas.Store(tool, schema)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(result))
	if err == nil {
		err = schema.(*jsonschema.Schema).Validate(v)
	}
	if err != nil {
		d.T.Errorf("%s: the result does not match the output schema: %v\n%s", tool, err, result)
	}
}

// TestOutputSchemasAreClosed tests that the output schema of a single result is closed and
// says what it requires, that the one of a page names its rows and the cursor, and that
// each allows an error.
func TestOutputSchemasAreClosed(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	refused := d.callTool(d.alice, "get_market", `{"market_id":31}`).StructuredContent
	for name, x := range d.definitions(d.alice) {
		s := x.OutputSchema
		d.checkOutput(name, refused)
		switch rows := pageRows[name]; {
		case s.Type != "object":
			t.Errorf("the output schema of %s is no object", name)
		case rows != "":
			if s.Properties[rows].Type != "array" || s.Properties["cursor"].Type != "string" || s.Properties["as_of_seq"].Type != "string" {
				t.Errorf("the output schema of %s has no rows %s, cursor and as_of_seq", name, rows)
			}
		case name == "replace_order":
			if s.Description != "As in place_order" {
				t.Errorf("the output schema of %s does not name place_order", name)
			}
		default:
			checkClosed(t, name, s)
		}
	}
}

func checkClosed(t *testing.T, name string, s property) {
	t.Helper()
	if len(s.AnyOf) != 2 {
		t.Errorf("the output schema of %s is not of two kinds", name)
		return
	}
	ok, failed := s.AnyOf[0], s.AnyOf[1]
	if ok.AdditionalProperties == nil || *ok.AdditionalProperties {
		t.Errorf("the output schema of %s is not closed: %+v", name, ok)
	}
	if len(ok.Required) == 0 && ok.MinProperties == 0 {
		t.Errorf("the output schema of %s requires nothing: %+v", name, ok)
	}
	if len(failed.Required) == 0 || failed.Required[0] != "error" {
		t.Errorf("the output schema of %s has no error: %+v", name, failed)
	}
}

// maxNaiveTokens bounds all characters that the naive agent sends and receives, 4 a token.
const maxNaiveTokens = 5000

// TestNaiveAgent trades BTC 60 s with what tools/list says alone: at once with dollars, and with the typical
// mistake of a market buy without max_cost, where it follows the error's next call. Both have a fill within
// the bounds of docs/rules/agents.md#toolsets.
func TestNaiveAgent(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		figure   string
		maxCalls int // after tools/list
		forgets  bool
	}{
		{"a first fill after %d calls and %s tokens", 2, false},
		{"forgets `max_cost` in its first order, %d calls and %s tokens", 4, true},
	} {
		d := generous(t)
		d.trade()
		d.Call(d.bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"7","market_id":1,"side":"buy","outcome":"no","tick":4500,"qty":50}`)
		n := &naive{testVenue: d, key: d.NewKey(1, readTrade)}
		n.listTools()
		series, _ := n.call("list_series", map[string]any{"category": 1})
		live := dig(t, series, "series", 0, "live").(map[string]any)
		order := map[string]any{"client_order_id": "1", "market_id": live["market_id"], "generation": live["generation"], "side": "buy", "outcome": "yes", "dollars": 5}
		if x.forgets {
			delete(order, "dollars")
			order["type"], order["qty"] = "market", 5
			refused, ok := n.call("place_order", order)
			if ok || dig(t, refused, "next", "tool") != "preview_order" {
				t.Fatalf("without max_cost: %v", refused)
			}
			order = dig(t, refused, "next", "arguments").(map[string]any)
			if preview, ok := n.call("preview_order", order); !ok || preview["status"] != "executed" {
				t.Fatalf("preview: %v", preview)
			}
		}
		placed, ok := n.call("place_order", order)
		if filled, _ := placed["filled_qty"].(float64); !ok || filled < 5 || placed["cost"] == nil || placed["series"] != "btc-60s" {
			t.Fatalf("placed: %v", placed)
		}
		calls := n.calls - 1
		t.Logf("first fill: %d calls, %d tokens, %d of them the tool list", calls, n.chars/4, n.list/4)
		holdsFigure(t, fmt.Sprintf(x.figure, calls, hundreds(n.chars/4)))
		if calls > x.maxCalls || n.chars/4 > maxNaiveTokens {
			t.Errorf("first fill: %d calls, %d tokens", calls, n.chars/4)
		}
	}
}

// naive is an agent that knows nothing of the venue.
type naive struct {
	*testVenue
	key   lanetest.Key
	calls int
	chars int // sent and received
	list  int // of them the tool list
}

// ask sends a request on a revision that hosts use and counts it.
func (n *naive) ask(method, params string) string {
	n.T.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, n.calls, method, params)
	status, _, answer := n.post(n.key, body, "MCP-Protocol-Version", legacy)
	if status != 200 {
		n.T.Fatalf("%s: %d %s, want 200", body, status, answer)
	}
	n.calls++
	n.chars += len(body) + len(answer)
	return answer
}

// listTools reads the tools of the toolset core, as `dx mcp --toolset core` lists them.
func (n *naive) listTools() {
	n.T.Helper()
	answer := n.ask("tools/list", "{}")
	var list struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		n.T.Fatal(err)
	}
	n.chars -= len(answer)
	for _, x := range list.Result.Tools {
		var tool struct{ Name string }
		if json.Unmarshal(x, &tool) == nil && slices.Contains(tools.CoreToolset, tool.Name) {
			n.list += len(withoutOutput(n.T, x)) + 1
		}
	}
	n.list += len(`{"jsonrpc":"2.0","id":0,"result":{"tools":[]}}`)
	n.chars += n.list
}

// call calls a tool and returns its structured content, and whether it is no error.
func (n *naive) call(tool string, arguments map[string]any) (map[string]any, bool) {
	n.T.Helper()
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		n.T.Fatal(err)
	}
	var answer struct {
		Result struct {
			StructuredContent map[string]any
			IsError           bool
		}
	}
	if err := json.Unmarshal([]byte(n.ask("tools/call", string(params))), &answer); err != nil {
		n.T.Fatal(err)
	}
	return answer.Result.StructuredContent, !answer.Result.IsError
}

// dig returns a nested value by names and indices.
func dig(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}
