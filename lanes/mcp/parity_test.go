package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
	"duplex/tools"
)

// operations returns the operations of REST, by name.
func operations(t *testing.T) (map[string]*huma.Operation, *huma.OpenAPI) {
	t.Helper()
	h := lanetest.New(t)
	api := rest.Mount(h.Routes, h.Gate, "test").OpenAPI()
	out := map[string]*huma.Operation{}
	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op != nil {
				out[op.OperationID] = op
			}
		}
	}
	return out, api
}

// definition is a tool as it is listed.
type definition struct {
	Name, Title, Description  string
	InputSchema, OutputSchema property
	Annotations               map[string]*bool
}

type property struct {
	Type, Description    string
	Enum                 []any
	Pattern              string
	Minimum, Maximum     *float64
	MinProperties        int
	Properties           map[string]property
	Required             []string
	AdditionalProperties *bool
	Items                *property
	AnyOf                []property
}

func (d *testVenue) definitions(k lanetest.Key) map[string]definition {
	d.T.Helper()
	status, body := d.ask(k, "1", "tools/list", "")
	var list struct{ Result struct{ Tools []definition } }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 {
		d.T.Fatalf("tools/list: %d %s, want 200 and a list", status, body)
	}
	out := map[string]definition{}
	for _, x := range list.Result.Tools {
		out[x.Name] = x
	}
	return out
}

// TestToolsAreTheRoutes tests that every tool with a path has its route, with the same
// description, input and output.
func TestToolsAreTheRoutes(t *testing.T) {
	t.Parallel()
	routes, api := operations(t)
	d := newTestVenue(t)
	shown := d.definitions(d.alice)
	for name, tool := range shown {
		op, facts := routes[name], d.lane.byName[name].spec
		if op == nil {
			if facts.Path != "" {
				t.Errorf("%s is a tool and no route", name)
			}
			continue
		}
		if want := fmt.Sprintf("%s\n\nScope `%s`, bucket `%s`.", tool.Description, facts.Scope, facts.Bucket); tool.Title != op.Summary || want != op.Description {
			t.Errorf("%s: REST says %q %q", name, op.Summary, op.Description)
		}
		in := inputOf(api, op)
		if name == "cancel_order" { // a tool of two routes, which takes what either takes
			maps.Copy(in.Properties, inputOf(api, routes["cancel_order_by_client_order_id"]).Properties)
			in.Required = nil
		}
		sameInput(t, name, tool.InputSchema, in)
		if name != "replace_order" { // its schema names place_order
			sameOutput(t, name, tool.OutputSchema, outputOf(api, op))
		}
	}
}

func resolved(api *huma.OpenAPI, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return api.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// inputOf joins the path, query and body fields of a route.
func inputOf(api *huma.OpenAPI, op *huma.Operation) *huma.Schema {
	all := &huma.Schema{Properties: map[string]*huma.Schema{}}
	for _, p := range op.Parameters {
		all.Properties[p.Name] = p.Schema
		if p.Required {
			all.Required = append(all.Required, p.Name)
		}
	}
	if op.RequestBody != nil {
		body := resolved(api, op.RequestBody.Content["application/json"].Schema)
		maps.Copy(all.Properties, body.Properties)
		all.Required = append(all.Required, body.Required...)
	}
	return all
}

// outputOf joins the members of all results of a route.
func outputOf(api *huma.OpenAPI, op *huma.Operation) *huma.Schema {
	var out *huma.Schema
	for status, r := range op.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		s := resolved(api, r.Content["application/json"].Schema)
		if out == nil {
			out = &huma.Schema{Type: s.Type, Properties: map[string]*huma.Schema{}}
		}
		maps.Copy(out.Properties, s.Properties)
	}
	return out
}

func sameInput(t *testing.T, name string, tool property, route *huma.Schema) {
	t.Helper()
	if tool.AdditionalProperties == nil || *tool.AdditionalProperties {
		t.Errorf("%s: the input schema is open", name)
	}
	members := maps.Clone(tool.Properties)
	if name == "place_order" || name == "preview_order" { // what a tool alone takes, and requires
		delete(members, "dollars")
		delete(members, "expires_in_ms")
		route.Required = append(slices.DeleteFunc(slices.Clone(route.Required), func(x string) bool { return x == "qty" }), "generation")
	}
	if got, want := slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(route.Properties)); !slices.Equal(got, want) {
		t.Errorf("%s takes %v, the route %v", name, got, want)
	}
	if got, want := slices.Sorted(slices.Values(tool.Required)), slices.Sorted(slices.Values(route.Required)); !slices.Equal(got, want) {
		t.Errorf("%s wants %v, the route %v", name, got, want)
	}
	for member, p := range tool.Properties {
		r := route.Properties[member]
		if r == nil {
			continue
		}
		// A tool may leave out a bound that teaches nothing, and never has another one.
		for bound, same := range map[string]bool{
			"type":    p.Type == r.Type || p.Type == "string" && r.Type == "array", // comma-separated
			"enum":    p.Enum == nil || slices.Equal(p.Enum, r.Enum),
			"pattern": p.Pattern == "" || p.Items != nil || p.Pattern == r.Pattern,
			"minimum": p.Minimum == nil || reflect.DeepEqual(p.Minimum, r.Minimum),
			"maximum": p.Maximum == nil || reflect.DeepEqual(p.Maximum, r.Maximum),
		} {
			if !same {
				t.Errorf("the %s of %s.%s: the tool has %+v, the route %+v", bound, name, member, p, r)
			}
		}
	}
}

// sameOutput compares the members of a result with those of the route, which has no hints
// and nothing that tools add.
func sameOutput(t *testing.T, name string, tool property, route *huma.Schema) {
	t.Helper()
	if route.Type == "array" { // place_orders returns {results:[…]}
		route = &huma.Schema{Properties: map[string]*huma.Schema{"results": route}}
	}
	members := maps.Clone(tool.Properties)
	if members == nil {
		members = maps.Clone(tool.AnyOf[0].Properties)
	}
	delete(members, "hint")
	delete(members, "next")
	if x := extended[name]; x.rows == "" {
		for _, m := range x.members {
			if members[m].Type == "" {
				t.Errorf("%s does not say that it answers %s", name, m)
			}
			if route.Properties[m] == nil {
				delete(members, m)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(members)), slices.Sorted(maps.Keys(route.Properties)); !slices.Equal(got, want) {
		t.Errorf("%s answers %v, the route %v", name, got, want)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	destructive := []string{"cancel_order", "cancel_orders", "cancel_all_orders", "decrease_order", "replace_order", "put_quotes", "redeem_pairs", "request_withdrawal"}
	for name, x := range d.definitions(d.alice) {
		if len(x.Annotations) != 4 || x.Title == "" || len(x.Description) < 40 {
			t.Errorf("%s: %+v, want four annotations, a title and a description of 40 characters", name, x)
		}
		reads := strings.HasPrefix(name, "get_") || strings.HasPrefix(name, "list_") || name == "preview_order" || name == "wait_for_event"
		for hint, want := range map[string]bool{"readOnlyHint": reads, "destructiveHint": slices.Contains(destructive, name), "openWorldHint": name == "request_withdrawal"} {
			if got := x.Annotations[hint]; got == nil || *got != want {
				t.Errorf("%s: %s is not %v", name, hint, want)
			}
		}
		if h := x.Annotations["idempotentHint"]; h == nil || reads && !*h {
			t.Errorf("%s: idempotentHint", name)
		}
	}
}

// trade adds rows to every list.
func (d *testVenue) trade() (resting string) {
	d.T.Helper()
	for i := range 30 {
		d.Call(d.alice, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":%d,"qty":10,"post_only":true}`, 100+i, 1000+100*i))
		d.Call(d.bob, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"no","tick":%d,"qty":3}`, 100+i, 10000-(1000+100*i)))
	}
	for _, p := range []int{0, 6200, 10_000} {
		if status, body := d.Call(d.alice, "POST", "/v1/forecasts", fmt.Sprintf(`{"market_id":1,"generation":1,"p":%d}`, p)); status != 201 {
			d.T.Fatalf("forecast: %d %s", status, body)
		}
	}
	_, placed := d.Call(d.alice, "POST", "/v1/portfolio/orders", order(999, ""))
	d.Call(d.alice, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"5","destination":"d"}`)
	return at(d.T, placed, "order_id").(string)
}

// TestReadsAnswerAsREST tests that every read returns what REST returns, with the members
// that tools add and without the defaults of rows, within the bound of tokens.
func TestReadsAnswerAsREST(t *testing.T) {
	t.Parallel()
	d := generous(t)
	id := d.trade()
	for _, x := range []struct{ tool, arguments, target string }{
		{"list_orders", `{}`, "/v1/portfolio/orders?limit=20"},
		{"list_orders", `{"order_id":"` + id + `"}`, "/v1/portfolio/orders?limit=20&order_id=" + id},
		{"list_series", `{}`, "/v1/series"},
		{"list_series", `{"category":3}`, "/v1/series?category=3"},
		{"list_orders", `{"status":"executed,resting","limit":3}`, "/v1/portfolio/orders?status=executed,resting&limit=3"},
		{"get_order", `{"order_id":"` + id + `"}`, "/v1/portfolio/orders/" + id},
		{"list_fills", `{}`, "/v1/portfolio/fills?limit=20"},
		{"get_balance", `{}`, "/v1/portfolio/balance"},
		{"get_balance", `null`, "/v1/portfolio/balance"},
		{"get_balance", `{"min_seq":null}`, "/v1/portfolio/balance"},
		{"list_positions", `{}`, "/v1/portfolio/positions?limit=20"},
		{"get_pnl", `{}`, "/v1/portfolio/pnl"},
		{"list_settlements", `{}`, "/v1/portfolio/settlements?limit=20"},
		{"list_ledger", `{}`, "/v1/portfolio/ledger?limit=20"},
		{"list_ledger", `{"kind":"fill,fee","market_id":1,"limit":3}`, "/v1/portfolio/ledger?kind=fill,fee&market_id=1&limit=3"},
		{"list_portfolio_rounds", `{}`, "/v1/portfolio/rounds?limit=20"},
		{"list_portfolio_rounds", `{"category":1}`, "/v1/portfolio/rounds?limit=20&category=1"},
		{"list_forecasts", `{}`, "/v1/forecasts?limit=20"},
		{"list_forecasts", `{"market_id":1,"limit":1}`, "/v1/forecasts?limit=1&market_id=1"},
		{"list_deposits", `{}`, "/v1/deposits?limit=20"},
		{"list_markets", `{}`, "/v1/markets?limit=20"},
		{"get_market", `{"market_id":1}`, "/v1/markets/1"},
		{"get_orderbook", `{"market_id":1}`, "/v1/markets/1/orderbook"},
		{"get_orderbook", `{"market_id":1,"depth":2}`, "/v1/markets/1/orderbook?depth=2"},
		{"list_trades", `{"market_id":1}`, "/v1/markets/1/trades?limit=20"},
		{"list_rounds", `{}`, "/v1/rounds?limit=20"},
		{"get_round", `{"market_id":1}`, "/v1/rounds/1"},
		{"get_oracle_price", `{"feed":0}`, "/v1/oracle/price?feed=0"},
		{"get_price_history", `{}`, "/v1/oracle/history?limit=20"},
		{"get_price_history", `{"feed":0,"step_secs":60,"from_ts":"1","limit":3}`, "/v1/oracle/history?feed=0&step_secs=60&from_ts=1&limit=3"},
		{"get_round_history", `{"market_id":1}`, "/v1/rounds/1/history?limit=20"},
		{"list_withdrawals", `{}`, "/v1/withdrawals?limit=20"},
		{"get_deposit_address", `{}`, "/v1/deposits/address"},
	} {
		var status int
		var rest string
		var want any
		var got result
		for range 20 { // a clock tick may fall between the two
			status, rest = d.Call(d.alice, "GET", x.target, "")
			got = d.callTool(d.alice, x.tool, x.arguments)
			if want = d.asTool(x.tool, rest, nil); got.IsError || reflect.DeepEqual(parsed(t, string(got.StructuredContent)), want) {
				break
			}
		}
		if status != 200 || got.IsError || !reflect.DeepEqual(parsed(t, string(got.StructuredContent)), want) {
			t.Errorf("%s %s:\n%s\nwant:\n%v\nREST %d:\n%s", x.tool, x.arguments, got.StructuredContent, want, status, rest)
		}
		if n := len(got.StructuredContent) / 4; n > 2000 {
			t.Errorf("%s %s: %d tokens", x.tool, x.arguments, n)
		}
	}
	for tool, names := range map[string][]string{
		"get_limits": {"write", "scopes"}, "get_venue": {"environment", "oracle", "fees", "retention", "schedule"},
	} {
		got := d.callTool(d.alice, tool, `{}`)
		for _, n := range names {
			if got.IsError || at(t, string(got.StructuredContent), n) == nil {
				t.Errorf("%s has no %s: %s", tool, n, got.StructuredContent)
			}
		}
		if n := len(got.StructuredContent) / 4; n > 2000 {
			t.Errorf("%s: %d tokens", tool, n)
		}
	}
}

// maxHistoryTokens bounds a default page of price history: 20 rows.
const maxHistoryTokens = 800

// TestHistoryTokens tests that a full page of price history is short.
func TestHistoryTokens(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.trade()
	for tool, arguments := range map[string]string{"get_price_history": `{"feed":0}`, "get_round_history": `{"market_id":1}`} {
		var rows []any
		var r result
		for seconds := 0; len(rows) < 20 && seconds < 120; seconds++ {
			d.AdvanceClock(time.Second)
			d.PostIndex(6_512_345_678_901)
			r = d.callTool(d.alice, tool, arguments)
			rows, _ = at(t, string(r.StructuredContent), "rows").([]any)
		}
		if n := len(r.StructuredContent) / 4; r.IsError || len(rows) != 20 || n > maxHistoryTokens {
			t.Errorf("%s: %d rows in %d tokens: %s", tool, len(rows), n, r.StructuredContent)
		} else {
			t.Logf("%s: %d rows in %d tokens", tool, len(rows), n)
		}
	}
}

// generous starts a venue with high rate limits.
func generous(t testing.TB) *testVenue {
	d := newTestVenue(t)
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap = 10_000, 10_000
	return d
}

// TestErrorsAreREST tests that a rejected call has the error of REST, and changes nothing.
func TestErrorsAreREST(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.trade()
	reader := d.NewKey(1, core.ScopeRead)
	for _, x := range []struct{ tool, arguments, method, target, body string }{
		{"place_order", order(1, `,"x":1`), "POST", "/v1/portfolio/orders", order(1, `,"x":1`)},
		{"place_order", `{}`, "POST", "/v1/portfolio/orders", `{}`},
		{"place_order", order(100, ""), "POST", "/v1/portfolio/orders", order(100, "")},
		{"place_order", order(2, `,"post_only":"yes"`), "POST", "/v1/portfolio/orders", order(2, `,"post_only":"yes"`)},
		{"place_order", order(3, `,"generation":4000`), "POST", "/v1/portfolio/orders", order(13, `,"generation":4000`)},
		{"place_order", strings.Replace(order(4, ""), `"qty":10`, `"qty":1000000`, 1), "POST", "/v1/portfolio/orders", strings.Replace(order(14, ""), `"qty":10`, `"qty":1000000`, 1)},
		{"place_order", strings.Replace(order(5, ""), `"market_id":1`, `"market_id":31`, 1), "POST", "/v1/portfolio/orders", strings.Replace(order(15, ""), `"market_id":1`, `"market_id":31`, 1)},
		{"place_order", order(7, `,"generation":0`), "POST", "/v1/portfolio/orders", order(7, `,"generation":0`)},
		{"place_orders", `{"orders":[` + order(7, `,"generation":0`) + `]}`, "POST", "/v1/portfolio/orders/batch", `{"orders":[` + order(7, `,"generation":0`) + `]}`},
		{"preview_order", order(7, `,"generation":0`), "POST", "/v1/portfolio/orders/preview", order(7, `,"generation":0`)},
		{"place_orders", `{"orders":[]}`, "POST", "/v1/portfolio/orders/batch", `{"orders":[]}`},
		{"preview_order", strings.Replace(order(6, ""), "5000", "5050", 1), "POST", "/v1/portfolio/orders/preview", strings.Replace(order(6, ""), "5000", "5050", 1)},
		{"cancel_order", `{"order_id":"7777777"}`, "DELETE", "/v1/portfolio/orders/7777777", ""},
		{"cancel_order", `{"client_order_id":"7777777"}`, "DELETE", "/v1/portfolio/orders/by-client-order-id/7777777", ""},
		{"decrease_order", `{"order_id":"1"}`, "POST", "/v1/portfolio/orders/1/decrease", `{}`},
		{"replace_order", `{"order_id":"1","client_order_id":"8","tick":5050,"qty":1}`, "POST", "/v1/portfolio/orders/1/replace", `{"client_order_id":"8","tick":5050,"qty":1}`},
		{"arm_deadman", `{"timeout_ms":5}`, "POST", "/v1/portfolio/deadman", `{"timeout_ms":5}`},
		{"redeem_pairs", `{"market_id":1,"qty":999}`, "POST", "/v1/portfolio/redeem", `{"market_id":1,"qty":999}`},
		{"submit_forecast", `{"market_id":1,"generation":77,"p":100}`, "POST", "/v1/forecasts", `{"market_id":1,"generation":77,"p":100}`},
		{"submit_forecast", `{"market_id":1,"generation":1,"p":10001}`, "POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":10001}`},
		{"list_orders", `{"limit":0}`, "GET", "/v1/portfolio/orders?limit=0", ""},
		{"list_orders", `{"cursor":"zz"}`, "GET", "/v1/portfolio/orders?cursor=zz", ""},
		{"get_market", `{"market_id":31}`, "GET", "/v1/markets/31", ""},
		{"get_round", `{"market_id":31}`, "GET", "/v1/rounds/31", ""},
		{"get_order", `{"order_id":"7777777"}`, "GET", "/v1/portfolio/orders/7777777", ""},
		{"get_oracle_price", `{"feed":"eur"}`, "GET", "/v1/oracle/price?feed=eur", ""},
	} {
		before := d.hash()
		got := d.callTool(d.alice, x.tool, x.arguments)
		_, want := d.Call(d.alice, x.method, x.target, x.body)
		sameRefusal(t, x.tool+" "+x.arguments, got, want)
		if x.method == "GET" && before != d.hash() {
			t.Errorf("%s %s changed something", x.tool, x.arguments)
		}
	}
	got := d.callTool(reader, "place_order", order(8, ""))
	_, want := d.Call(reader, "POST", "/v1/portfolio/orders", order(8, ""))
	sameRefusal(t, "without the scope", got, want)
}

// sameRefusal tests that a tool is refused with the error of its route. The field that REST has in it is beside it.
func sameRefusal(t *testing.T, what string, got result, rest string) {
	t.Helper()
	of := at(t, rest, "error").(map[string]any)
	if field := of["field"]; field != nil && at(t, string(got.StructuredContent), "field") != field {
		t.Errorf("%s: %s, want the field %v of REST", what, got.StructuredContent, field)
	}
	delete(of, "field")
	delete(of, "hint")
	want, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	have, err := json.Marshal(at(t, string(got.StructuredContent), "error"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(got.StructuredContent)
	if !got.IsError || string(have) != string(want) {
		t.Errorf("%s: %s, want the error of REST: %s", what, text, rest)
	}
	if at(t, text, "hint") == "" || at(t, text, "outcome") != "not_done" || at(t, text, "retryable") == nil {
		t.Errorf("%s: %s, want a hint, not_done and retryable", what, text)
	}
}

func (d *testVenue) hash() string {
	d.T.Helper()
	b := d.callTool(d.alice, "get_balance", `{}`)
	return fmt.Sprint(at(d.T, string(b.StructuredContent), "cash"), at(d.T, string(b.StructuredContent), "reserved"))
}

// TestWritesAnswerAsREST tests that writes have the effect of REST's, and the same response
// except for its numbers and the members that tools add.
func TestWritesAnswerAsREST(t *testing.T) {
	t.Parallel()
	d := generous(t)
	shape := func(s string) string { return fmt.Sprint(shapeOf(parsed(t, s))) }
	like := func(tool, byREST, sent string) string {
		return fmt.Sprint(shapeOf(d.asTool(tool, byREST, parsed(t, sent))))
	}
	// both sends a write over REST and another one over this lane, and compares the shapes of the responses.
	both := func(method, target, body, tool, arguments string) (byREST, got string) {
		t.Helper()
		_, byREST = d.Call(d.alice, method, target, body)
		got = string(d.callTool(d.alice, tool, arguments).StructuredContent)
		sent := body
		if tool == "replace_order" { // its market and side are those of the first order
			sent = term(0, 1, "yes", 5000, 10)
		}
		if sent == "" {
			sent = "{}"
		}
		if shape(got) != like(tool, byREST, sent) {
			t.Errorf("%s: %s and %s", tool, byREST, got)
		}
		return byREST, got
	}
	const orders = "/v1/portfolio/orders"
	place := func(id int) (string, string) {
		return both("POST", orders, term(id, 1, "yes", 5000, 10), "place_order", term(id+1, 1, "yes", 5000, 10))
	}
	id := func(s string) string { return at(t, s, "order_id").(string) }
	a, b := place(1)
	if _, got := both("POST", orders+"/"+id(a)+"/decrease", `{"reduce_to":4}`, "decrease_order", `{"order_id":"`+id(b)+`","reduce_to":4}`); at(t, got, "remaining_qty") != 4.0 {
		t.Errorf("decrease: %s", got)
	}
	a, b = both("POST", orders+"/"+id(a)+"/replace", `{"client_order_id":"901","tick":4900,"qty":4}`, "replace_order", `{"order_id":"`+id(b)+`","client_order_id":"902","tick":4900,"qty":4}`)
	if at(t, b, "queue_ahead") != 4.0 {
		t.Errorf("replace: %s", b)
	}
	if _, got := both("DELETE", orders+"/"+id(a), "", "cancel_order", `{"order_id":"`+id(b)+`"}`); at(t, got, "canceled_qty") != 4.0 {
		t.Errorf("cancel: %s", got)
	}
	place(903)
	if _, got := both("DELETE", orders+"/by-client-order-id/903", "", "cancel_order", `{"client_order_id":"904"}`); at(t, got, "canceled_qty") != 10.0 {
		t.Errorf("cancel by client_order_id: %s", got)
	}
	for _, arguments := range []string{`{}`, `{"order_id":"1","client_order_id":"904"}`} {
		if got := d.callTool(d.alice, "cancel_order", arguments); !got.IsError || at(t, string(got.StructuredContent), "error", "code") != "schema_violation" {
			t.Errorf("cancel %s: %s", arguments, got.StructuredContent)
		}
	}
	if got := string(d.callTool(d.alice, "cancel_order", `{"client_order_id":"904"}`).StructuredContent); at(t, got, "error", "code") != "unknown_order" || at(t, got, "next", "arguments", "client_order_id") != "904" {
		t.Errorf("a second cancel: %s", got)
	}
	twice := func(id int) string {
		one := term(id, 1, "yes", 5000, 10)
		return `{"orders":[` + one + `,` + one + `]}`
	}
	_, byREST := d.Call(d.alice, "POST", orders+"/batch", twice(11))
	if got := string(d.callTool(d.alice, "place_orders", twice(12)).StructuredContent); shape(withoutHints(t, got)) != like("place_orders", withoutHints(t, `{"results":`+byREST+`}`), term(0, 1, "yes", 5000, 10)) {
		t.Errorf("batch: %s and %s", byREST, got)
	}
	_, byREST = d.Call(d.alice, "DELETE", orders+"/batch", `{"order_ids":["1","2"]}`)
	if got := string(d.callTool(d.alice, "cancel_orders", `{"order_ids":["1","2"]}`).StructuredContent); shape(withoutHints(t, got)) != shape(withoutHints(t, byREST)) {
		t.Errorf("cancel batch: %s and %s", byREST, got)
	}
	preview := term(13, 1, "yes", 5000, 10)
	both("POST", orders+"/preview", preview, "preview_order", preview)
	both("POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":6205}`, "submit_forecast", `{"market_id":1,"generation":1,"p":6205}`)
	if a, b := both("POST", "/v1/portfolio/deadman", `{"timeout_ms":60000}`, "arm_deadman", `{"timeout_ms":60000}`); a != b {
		t.Errorf("arm: %s and %s", a, b)
	}
	if a, b := both("DELETE", "/v1/portfolio/deadman", "", "disarm_deadman", `{}`); a != b {
		t.Errorf("disarm: %s and %s", a, b)
	}
	both("DELETE", orders, "", "cancel_all_orders", `{}`)
	both("POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"5","destination":"d"}`, "request_withdrawal", `{"client_withdrawal_id":"v","amount":"5","destination":"d"}`)
}

// withoutHints removes everything but the error, without its field and hint, from the rejected items of a batch.
func withoutHints(t *testing.T, answer string) string {
	t.Helper()
	var list struct {
		Results []map[string]json.RawMessage `json:"results"`
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatal(err)
	}
	for i, item := range list.Results {
		if e := item["error"]; e != nil {
			var bare schemas.Error
			if err := json.Unmarshal(e, &bare); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(bare.Bare())
			if err != nil {
				t.Fatal(err)
			}
			list.Results[i] = map[string]json.RawMessage{"error": b}
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// shapeOf returns the members and kinds of a value, without numbers and texts.
func shapeOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = shapeOf(x)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, shapeOf(x))
		}
		return out
	default:
		return reflect.TypeOf(v)
	}
}

// TestOneBucketForBothLanes tests that both lanes charge the same bucket at the same cost.
func TestOneBucketForBothLanes(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.FreezeClock() // no token is refilled
	var orders []string
	for i := range 20 {
		orders = append(orders, order(100+i, ""))
	}
	batch := `{"orders":[` + strings.Join(orders, ",") + `]}`
	spent := 0
	for {
		status, _, body := d.Send(d.SignedRequest(d.bob, "POST", "/v1/portfolio/orders/batch", []byte(batch)))
		if status == 429 {
			break
		}
		if spent++; spent > 50 {
			t.Fatalf("the bucket never empties: %s", body)
		}
	}
	got := d.callTool(d.bob, "place_orders", batch)
	if !got.IsError || at(t, string(got.StructuredContent), "error", "code") != "rate_limited" || at(t, string(got.StructuredContent), "retry_after_ms") == nil {
		t.Errorf("place_orders with an empty bucket: %s, want rate_limited with retry_after_ms", got.StructuredContent)
	}
	if got := d.callTool(d.bob, "get_balance", `{}`); got.IsError {
		t.Errorf("another bucket: %s", got.StructuredContent)
	}
}

// TestKeysShareTheAccountRate tests that eight keys of an account place no more orders than --account-rate
// over the lanes together (docs/rules/limits.md#account-rate).
func TestKeysShareTheAccountRate(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.Venue.Config.AccountRate = 30
	d.FreezeClock() // no token is refilled
	placed, limited := 0, 0
	for i := range 8 {
		k := d.NewKey(1, core.ScopeRead|core.ScopeTrade)
		for j := range 5 {
			id := 100 + 10*i + 2*j
			switch status, _, body := d.Send(d.SignedRequest(k, "POST", "/v1/portfolio/orders", []byte(order(id, "")))); status {
			case 201:
				placed++
			case 429:
				limited++
			default:
				t.Fatalf("POST /v1/portfolio/orders: %d %s, want 201 or 429", status, body)
			}
			if got := d.callTool(k, "place_order", order(id+1, "")); !got.IsError {
				placed++
			} else if at(t, string(got.StructuredContent), "error", "code") == "rate_limited" {
				limited++
			}
		}
		if status, _, body := d.Send(d.SignedRequest(k, "GET", "/v1/account/limits", nil)); status != 200 || at(t, string(body), "write", "sustained_rate_per_s") != 20.0 {
			t.Errorf("limits: %d %s", status, body)
		}
	}
	if placed != 30 || limited != 50 {
		t.Errorf("%d orders placed and %d limited, want 30 and 50", placed, limited)
	}
}

// TestListsFollowTheScopes tests that tools/list has the tools that the key may call, in a
// fixed order, and that the others return missing_scope.
func TestListsFollowTheScopes(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	reader := d.NewKey(1, core.ScopeRead)
	all, some := d.definitions(d.alice), d.definitions(reader)
	if len(all) != len(d.lane.tools) {
		t.Errorf("%d of %d", len(all), len(d.lane.tools))
	}
	for name := range all {
		_, shown := some[name]
		if may := d.lane.byName[name].spec.Scope == core.ScopeRead; may != shown {
			t.Errorf("%s: shown is %v", name, shown)
		}
		if shown {
			continue
		}
		if got := d.callTool(reader, name, `{}`); !got.IsError || at(t, string(got.StructuredContent), "error", "code") != "missing_scope" {
			t.Errorf("%s without its scope: %s, want missing_scope", name, got.StructuredContent)
		}
	}
	_, first := d.ask(d.alice, "1", "tools/list", "")
	if _, again := d.ask(d.alice, "1", "tools/list", ""); first != again {
		t.Error("two lists differ")
	}
}

// mirrored is a mirror, as far as get_venue needs it.
type mirrored struct {
	tools.History
	open bool
}

func (m mirrored) Since() (uint64, bool)  { return 7, m.open }
func (mirrored) Written() (uint64, int64) { return 9, 0 }

// TestVenueShowsTheMirror checks that get_venue says, as the route of the retention does, what the mirror
// holds: nothing until its database is open, as after a start, but never that there is no mirror.
func TestVenueShowsTheMirror(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	for want, history := range map[string]tools.History{
		`"history":null`: nil, `"history":{"since_seq":"7","as_of_seq":"9"}`: mirrored{open: true}, `"history":{"since_seq":"0","as_of_seq":"0"}`: mirrored{},
	} {
		d.lane.gate.Venue.History = history
		text := string(d.callTool(d.alice, "get_venue", "{}").StructuredContent)
		_, route := d.Call(d.alice, "GET", "/v1/exchange/retention", "")
		if !strings.Contains(text, want) || !strings.Contains(route, want) {
			t.Errorf("get_venue returns %s and REST %s, want %s in both", text, route, want)
		}
	}
}
