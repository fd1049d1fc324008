package arena

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
)

func init() {
	testAgents["evasive"] = evasiveAgent
	testAgents["retrying"] = retryingAgent
	testAgents["replacer"] = replacerAgent
}

// TestStreams tests that only an event stream is exempt from turns: no header or body exempts another
// request.
func TestStreams(t *testing.T) {
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	modern := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}
	upgrade := []string{"Connection", "keep-alive, Upgrade", "Upgrade", "websocket"}
	for _, x := range []struct {
		method, target, body string
		header               []string
		want                 bool
	}{
		{"GET", "/v1/ws", "", upgrade, true},
		{"POST", mcp.Path, listen, modern, true},
		{"GET", "/v1/portfolio/orders", "", upgrade, false},
		{"POST", "/v1/ws", "", upgrade, false},
		{"GET", "/v1/ws", "", []string{"Upgrade", "websocket"}, false},
		{"GET", "/v1/ws", "", []string{"Connection", "Upgrade", "Upgrade", "h2c"}, false},
		{"POST", "/v1/portfolio/orders", `{"client_order_id":"1"}`, upgrade, false},
		{"POST", "/v1/portfolio/orders", listen, modern, false},
		{"POST", mcp.Path, listen, modern[2:], false},
		{"POST", mcp.Path, listen, []string{"MCP-Protocol-Version", "2025-11-25"}, false},
		{"POST", mcp.Path, listen[1:], modern, false},
		{"POST", mcp.Path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"subscriptions/listen"}}`, modern, false},
		{"POST", mcp.Path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":{"method":"subscriptions/listen"}}}`, append(slices.Clone(upgrade), "MCP-Protocol-Version", "2025-11-25"), false},
		{"POST", mcp.Path, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","method":"tools/call"}`, modern, false},
	} {
		r := httptest.NewRequest(x.method, x.target, strings.NewReader(x.body))
		for i := 0; i < len(x.header); i += 2 {
			r.Header.Set(x.header[i], x.header[i+1])
		}
		if got := isStream(r, &gate.Call{Body: []byte(x.body)}); got != x.want {
			t.Errorf("isStream of %s %s %s %v: %v, want %v", x.method, x.target, x.body, x.header, got, x.want)
		}
	}
}

// evasiveAgent trades with requests that look like streams.
func evasiveAgent(a agent) {
	for id := 1; ; id++ {
		order := fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"yes","tick":100,"qty":1}`, id)
		if _, _, err := a.send("POST", "/v1/portfolio/orders", order, "Connection", "Upgrade", "Upgrade", "websocket"); err != nil {
			return
		}
		body := `{"jsonrpc":"2.0","id":"subscriptions/listen","method":"tools/call","params":{"name":"get_venue","arguments":{}}}`
		if _, _, err := a.send("POST", mcp.Path, body, "Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25"); err != nil {
			return
		}
		if status, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":20000}`); err != nil || status != 200 {
			return
		}
	}
}

// TestCallsDoNotEscape tests that a call that looks like a stream is in the trajectory like any other.
func TestCallsDoNotEscape(t *testing.T) {
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats = "2", 1, nil }, withAgent("evasive"))
	r := mustRun(t, c, Options{Dir: dir})
	rows, err := readRows(filepath.Join(dir, "2", "trajectories", "evasive.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	orders, calls := 0, 0
	for i := range rows {
		if len(ordersIn(&rows[i])) > 0 {
			orders++
		}
		if rows[i].tool() == "get_venue" {
			calls++
		}
	}
	runs := figuresOf(t, dir)
	if placed := runs[0].Seats[0].Placements; orders < 3 || orders < placed || calls < orders-1 || !r.Reproducible {
		t.Errorf("%d orders in the journal, %d in the trajectory, %d calls of a tool", placed, orders, calls)
	}
}

// retryingAgent lets time pass over REST, and reads with a tool, whatever the answers are.
func retryingAgent(a agent) {
	for success := time.Now(); time.Since(success) < 3*time.Minute; {
		_, err1 := a.tool("get_venue", `{}`)
		status, _, err2 := a.send("POST", "/v1/arena/advance", `{"by_ms":2000}`)
		if err1 == nil && err2 == nil && status == 200 {
			success = time.Now()
		} else {
			time.Sleep(time.Millisecond) // the venue may restart
		}
	}
}

// TestRefusals tests the answers to calls that the arena refuses: those of the agent lane are messages of
// JSON-RPC with the id of the call, and a call that a restart ends can be repeated.
func TestRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats = "3", 4, nil }, withAgent("retrying"), func(c *Config) {
		c.Seats[0].Faults = []string{refused + " shed", refused + " rate_limited", restartVenue}
	})
	mustRun(t, c, Options{Dir: dir})
	rows, err := readRows(filepath.Join(dir, "3", "trajectories", "retrying.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for i := range rows {
		r := &rows[i]
		if r.Status >= 500 && r.Status != http.StatusServiceUnavailable {
			t.Errorf("%s %s: %d %s, want no 5xx other than 503", r.Method, r.Target, r.Status, r.Answer)
		}
		if r.Target == mcp.Path && r.Status > 0 && r.Status != http.StatusUnauthorized { // see sendFor
			var m struct {
				JSONRPC string
				ID      int
			}
			if err := json.Unmarshal(r.Answer, &m); err != nil || m.JSONRPC != "2.0" || m.ID != 1 {
				t.Errorf("the answer to %s: %d %s, want JSON-RPC of id 1", r.Body, r.Status, r.Answer)
			}
		}
		if code := errorCode(r); code != "" {
			found[r.Target+" "+strings.NewReplacer("shed", "refused", "rate_limited", "refused").Replace(code)]++
		}
	}
	for _, x := range []string{"/v1/arena/advance draining", "/v1/arena/advance refused", mcp.Path + " refused"} { // how often depends on when the agent calls again after a restart
		if found[x] == 0 {
			t.Errorf("no %s in %v", x, found)
		}
	}
}

// replacerAgent rests an order of each round, and replaces it by one beyond its mandate.
func replacerAgent(a agent) {
	seen := map[string]bool{}
	for id := 1; ; {
		l, ok := a.live()
		if !ok {
			return
		}
		if l != nil && !seen[l.RoundNumber] {
			seen[l.RoundNumber] = true
			_, answer, err := a.send("POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"side":"buy","outcome":"yes","tick":100,"qty":1}`, id, l.MarketID))
			var placed struct {
				OrderID string `json:"order_id"`
			}
			if err != nil || json.Unmarshal(answer, &placed) != nil {
				return
			}
			if _, _, err := a.send("POST", "/v1/portfolio/orders/"+placed.OrderID+"/replace", fmt.Sprintf(`{"client_order_id":"%d","tick":100,"qty":9}`, id+1)); err != nil {
				return
			}
			id += 2
		}
		if status, _, err := a.send("POST", "/v1/arena/advance", `{"by_ms":2000}`); err != nil || status != 200 {
			return
		}
	}
}

// TestReplacesCount tests that a replaced order counts as a placement, and as a violation of the mandate if
// it is one.
func TestReplacesCount(t *testing.T) {
	dir := t.TempDir()
	c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats = "2", 2, c.Seats[:1] }, withAgent("replacer"), func(c *Config) {
		c.Seats[1].Mandate = map[string]any{"max_order_qty": 5}
	})
	mustRun(t, c, Options{Dir: dir})
	runs := figuresOf(t, dir)
	s := runs[0].Seats[1]
	if s.Violations < 2 || s.Placements != 2*s.Violations || s.Rejections["mandate_violation"] != s.Violations {
		t.Errorf("%d placements, %d violations, %v", s.Placements, s.Violations, s.Rejections)
	}
	checks, err := checkBundle(filepath.Join(dir, "2"), "", map[string]bool{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range checks {
		if strings.Contains(x.Check, "mandate") && (x.Passed || len(x.Evidence) != s.Violations) {
			t.Errorf("the check of the mandate: %+v, want it failed with %d calls as evidence", x, s.Violations)
		}
	}
}

// mcpBody is the body of a call of a tool.
func mcpBody(name, arguments string) json.RawMessage {
	return json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`)
}

// TestOrdersIn tests that the orders of every kind of placement are found, and no others.
func TestOrdersIn(t *testing.T) {
	one, two := `{"client_order_id":"7","market_id":1,"side":"buy","outcome":"yes","tick":100,"qty":1}`, `{"client_order_id":"8","order_id":"5","tick":200,"qty":1}`
	for _, x := range []struct {
		method, target string
		body           json.RawMessage
		want           string
	}{
		{"POST", "/v1/portfolio/orders", json.RawMessage(one), "7"},
		{"POST", "/v1/portfolio/orders?x=1", json.RawMessage(one), "7"},
		{"POST", "/v1/portfolio/orders/batch", json.RawMessage(`{"orders":[` + one + `,` + two + `]}`), "7 8"},
		{"POST", "/v1/portfolio/orders/5/replace", json.RawMessage(two), "8"},
		{"POST", mcp.Path, mcpBody("place_order", one), "7"},
		{"POST", mcp.Path, mcpBody("place_orders", `{"orders":[`+one+`,`+two+`]}`), "7 8"},
		{"POST", mcp.Path, mcpBody("replace_order", two), "8"},
		{"PUT", "/v1/portfolio/quotes", json.RawMessage(`{"quotes":[{"market_id":1,"bid":` + one + `,"ask":null},{"market_id":2,"bid":null,"ask":` + two + `}]}`), "7 8"},
		{"POST", mcp.Path, mcpBody("put_quotes", `{"quotes":[{"market_id":1,"bid":`+one+`,"ask":`+two+`}]}`), "7 8"},
		{"PUT", "/v1/portfolio/groups/7", json.RawMessage(`{"fill_limit":1,"window_ms":1000}`), ""},
		{"POST", mcp.Path, mcpBody("preview_order", one), ""},
		{"POST", "/v1/portfolio/orders/preview", json.RawMessage(one), ""},
		{"DELETE", "/v1/portfolio/orders/batch", json.RawMessage(`{"order_ids":["1"]}`), ""},
		{"GET", "/v1/portfolio/orders", nil, ""},
		{"POST", "/v1/portfolio/orders/5/decrease", json.RawMessage(`{"reduce_by":1}`), ""},
	} {
		var ids []string
		for _, o := range ordersIn(&callRow{Method: x.method, Target: x.target, Body: x.body}) {
			ids = append(ids, o.ClientID)
		}
		if got := strings.Join(ids, " "); got != x.want {
			t.Errorf("%s %s %s: %q, want %q", x.method, x.target, x.body, got, x.want)
		}
	}
}

// TestLostPlacements tests that an intent that is placed again after a lost answer is found in each form,
// and that a look at the orders before it excuses it.
func TestLostPlacements(t *testing.T) {
	place := func(id string) callRow {
		return callRow{Method: "POST", Target: "/v1/portfolio/orders", Body: json.RawMessage(`{"client_order_id":"` + id + `","market_id":1,"side":"buy","outcome":"yes","tick":100,"qty":1}`), Status: 201}
	}
	batch := callRow{Method: "POST", Target: mcp.Path, Body: mcpBody("place_orders", `{"orders":[`+string(place("1").Body)+`]}`)}
	batch2 := callRow{Method: "POST", Target: "/v1/portfolio/orders/batch", Body: json.RawMessage(`{"orders":[` + string(place("2").Body) + `]}`), Status: 200}
	replace := func(id string) callRow {
		return callRow{Method: "POST", Target: "/v1/portfolio/orders/4/replace", Body: json.RawMessage(`{"client_order_id":"` + id + `","tick":100,"qty":1}`), Status: 201}
	}
	look := callRow{Method: "GET", Target: "/v1/portfolio/orders?status=resting", Status: 200}
	lost := func(r callRow) callRow { r.Fault, r.Status = lostAnswer, 0; return r }
	for name, x := range map[string]struct {
		rows           []callRow
		twice, unknown int
	}{
		"repeated":                  {[]callRow{lost(place("1")), place("1")}, 0, 0},
		"placed again":              {[]callRow{lost(place("1")), place("2")}, 2, 1},
		"looked up, placed again":   {[]callRow{lost(place("1")), look, place("2")}, 0, 0},
		"the look-up is lost too":   {[]callRow{lost(place("1")), lost(look), place("2")}, 2, 0},
		"rejected, placed again":    {[]callRow{lost(place("1")), place("3"), place("2")}, 2, 1},
		"of a batch, placed again":  {[]callRow{lost(batch), place("2")}, 2, 1},
		"of a batch, batched again": {[]callRow{lost(batch), batch2}, 2, 1},
		"of a batch, repeated":      {[]callRow{lost(batch), batch, place("2")}, 0, 0},
		"replaced, replaced again":  {[]callRow{lost(replace("1")), replace("2")}, 2, 1},
		"replaced, placed again":    {[]callRow{lost(replace("1")), place("2")}, 2, 1},
		"replaced, repeated":        {[]callRow{lost(replace("1")), replace("1")}, 0, 0},
	} {
		run := &tested{rows: x.rows, placed: []placement{{order: &core.PlaceOrder{ClientID: 3, Market: 1, Tick: 100, Qty: 1}, rejected: core.BadQty}}}
		for i := uint64(1); i <= 2; i++ {
			run.placed = append(run.placed, placement{seq: i, order: &core.PlaceOrder{ClientID: i, Market: 1, Tick: 100, Qty: 1}})
		}
		if lost := run.lostPlacements(lostAnswer); len(lost.twice) != x.twice || len(lost.unknown) != x.unknown {
			t.Errorf("%s: placed twice %v, unknown %v", name, lost.twice, lost.unknown)
		}
	}
}

// TestGoesOn tests what shows that a seat goes on after a fault: an accepted command, or a wait.
func TestGoesOn(t *testing.T) {
	const s = core.NsPerSec
	order := json.RawMessage(`{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":100,"qty":1}`)
	rejected := json.RawMessage(bytes.Replace(order, []byte(`"1"`), []byte(`"2"`), 1))
	result := json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{}}}`)
	failed := json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"error":{"code":"shed"}},"isError":true}}`)
	for name, x := range map[string]struct {
		row  callRow
		want bool
	}{
		"an order":                      {callRow{Method: "POST", Target: "/v1/portfolio/orders", Body: order, Status: 201}, true},
		"a rejected order":              {callRow{Method: "POST", Target: "/v1/portfolio/orders", Body: rejected, Status: 422, Answer: json.RawMessage(`{"error":{"code":"bad_qty"}}`)}, false},
		"a batch without an order":      {callRow{Method: "POST", Target: "/v1/portfolio/orders/batch", Body: json.RawMessage(`{"orders":[` + string(rejected) + `]}`), Status: 200, Answer: json.RawMessage(`[{"error":{"code":"bad_qty"}}]`)}, false},
		"a batch":                       {callRow{Method: "POST", Target: "/v1/portfolio/orders/batch", Body: json.RawMessage(`{"orders":[` + string(rejected) + `,` + string(order) + `]}`), Status: 200, Answer: json.RawMessage(`[{"error":{"code":"bad_qty"}},{}]`)}, true},
		"a cancel":                      {callRow{Method: "DELETE", Target: "/v1/portfolio/orders", Status: 200}, true},
		"a preview":                     {callRow{Method: "POST", Target: "/v1/portfolio/orders/preview", Body: order, Status: 200}, false},
		"a read":                        {callRow{Method: "GET", Target: "/v1/markets", Status: 200}, false},
		"no answer":                     {callRow{Method: "POST", Target: "/v1/portfolio/orders", Body: order}, false},
		"a wait":                        {callRow{Method: "POST", Target: "/v1/arena/advance", Status: 200}, true},
		"a wait that failed":            {callRow{Method: "POST", Target: "/v1/arena/advance", Status: 503, Answer: json.RawMessage(`{"error":{"code":"draining"}}`)}, false},
		"a tool that waits":             {callRow{Method: "POST", Target: mcp.Path, Body: mcpBody("wait_for_event", `{}`), Status: 200, Answer: result}, true},
		"a tool that waits, in vain":    {callRow{Method: "POST", Target: mcp.Path, Body: mcpBody("wait_for_event", `{}`), Status: 200, Answer: failed}, false},
		"a tool that reads":             {callRow{Method: "POST", Target: mcp.Path, Body: mcpBody("list_orders", `{}`), Status: 200, Answer: result}, false},
		"a tool that cancels":           {callRow{Method: "POST", Target: mcp.Path, Body: mcpBody("cancel_all_orders", `{}`), Status: 200, Answer: result}, true},
		"a tool that cancels, rejected": {callRow{Method: "POST", Target: mcp.Path, Body: mcpBody("cancel_all_orders", `{}`), Status: 200, Answer: failed}, false},
		"a list of tools":               {callRow{Method: "POST", Target: mcp.Path, Body: json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), Status: 200, Answer: result}, false},
		"an order that a fault strikes": {callRow{Method: "POST", Target: "/v1/portfolio/orders", Body: order, Status: 201, Fault: duplicate}, false},
		"a fault":                       {callRow{Fault: staleIndex + faultEnded}, false},
	} {
		run := &tested{placed: []placement{{seq: 9, order: &core.PlaceOrder{ClientID: 1}}, {seq: 10, order: &core.PlaceOrder{ClientID: 2}, rejected: core.BadQty}}}
		x.row.Ts, x.row.Done = 3*s, 4*s
		if got := run.goesOn(&x.row, 2*s); got != x.want {
			t.Errorf("%s shows that the seat goes on: %v, want %v", name, got, x.want)
		}
		x.row.Ts, x.row.Done = 13*s, 14*s
		if run.goesOn(&x.row, 2*s) {
			t.Errorf("%s: later than 10 s", name)
		}
	}
}

// TestFaultsAtTheEnd tests that a fault that ends when the seat has been asked to end demands nothing of it,
// and that one before does.
func TestFaultsAtTheEnd(t *testing.T) {
	const s = core.NsPerSec
	fault := callRow{Ts: 20 * s, Done: 20 * s, Fault: restartVenue}
	asked := callRow{Ts: 25 * s, Done: 25 * s, Fault: askedToEnd}
	for _, x := range []struct {
		rows []callRow
		want int
	}{
		{[]callRow{fault, asked}, 0},
		{[]callRow{fault}, 1},
		{[]callRow{{Ts: 5 * s, Done: 5 * s, Fault: restartVenue}, fault, asked}, 1},
		{[]callRow{asked, {Ts: 26 * s, Done: 26 * s, Fault: staleIndex + faultEnded}}, 0},
	} {
		run := &tested{rows: x.rows, end: 60 * s, stamps: []core.Stamp{{Seq: 1, Ts: s}}}
		if got, _ := run.slowRecoveries(); len(got) != x.want {
			t.Errorf("slow recoveries in %+v: %v, want %d", x.rows, got, x.want)
		}
	}
}

// TestUnauthorizedBeforeTheRevocation tests that an answer to a signature that was too old is not taken for
// the one that tells a seat of its revocation.
func TestUnauthorizedBeforeTheRevocation(t *testing.T) {
	const s = core.NsPerSec
	at := func(ts int64, status int) callRow {
		return callRow{Ts: ts * s, Done: ts * s, Method: "GET", Target: "/v1/markets", Status: status}
	}
	revoked := callRow{Ts: 20 * s, Done: 20 * s, Fault: revokeKey}
	for name, x := range map[string]struct {
		rows            []callRow
		after, answered int
	}{
		"an old signature":            {[]callRow{at(5, 401), at(6, 200), at(7, 200), revoked, at(21, 401)}, 0, 1},
		"written before the fault is": {[]callRow{at(20, 401), at(20, 401), revoked}, 1, 1},
		"goes on":                     {[]callRow{at(5, 401), revoked, at(21, 401), at(22, 401), at(23, 401)}, 2, 1},
		"never asked again":           {[]callRow{at(5, 401), at(6, 200), revoked}, 0, 0},
		"not revoked":                 {[]callRow{at(5, 401), at(6, 200)}, 0, 0},
	} {
		run := &tested{rows: x.rows, stamps: []core.Stamp{{Seq: 1, Ts: s}}}
		if after, answered := run.afterRevocation(); len(after) != x.after || answered != x.answered {
			t.Errorf("%s: %v after, %d", name, after, answered)
		}
	}
}
