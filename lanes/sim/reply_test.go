package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
)

// statuses holds the HTTP status of each code that can occur here (docs/rules/errors.md#registry).
var statuses = map[string]int{
	"unknown_market": 404, "insufficient_balance": 403, "insufficient_position": 403, "duplicate_client_order_id": 409, "bad_price_tick": 400, "bad_qty": 400,
	"per_market_limit": 403, "market_not_trading": 409, "market_paused": 409, "unknown_order": 404, "invalid_decrease": 400, "client_order_id_required": 400,
	"reduce_only_violation": 403, "user_suspended": 403, "open_order_limit": 403, "bad_expiry": 400, "mandate_violation": 403, "stale_generation": 409, "too_late": 400, "crossed_quote": 400,
	"duplicate_client_request_id": 409, "group_tripped": 403, "unknown_group": 404, "approval_limit": 403,
	"unauthorized": 401, "missing_scope": 403, "rate_limited": 429, "invalid_timeout": 400, "schema_violation": 400, "bad_amount": 400,
	"duplicate_client_withdrawal_id": 409, "round_not_found": 404, "shed": 503, "draining": 503, "sequencing_timeout": 504,
	"unknown_user": 404, "unknown_withdrawal": 404, "duplicate_deposit_id": 409, "invalid_transition": 409,
}

// numbers holds the number of each core code (docs/rules/errors.md#core-codes).
var numbers = map[string]core.Reject{
	"unknown_market": 256, "insufficient_balance": 257, "insufficient_position": 258, "duplicate_client_order_id": 259, "bad_price_tick": 260, "bad_qty": 261,
	"per_market_limit": 262, "market_not_trading": 263, "market_paused": 264, "unknown_order": 265, "invalid_decrease": 266, "client_order_id_required": 267,
	"reduce_only_violation": 268, "user_suspended": 269, "open_order_limit": 270, "bad_expiry": 271, "mandate_violation": 272, "stale_generation": 273, "group_tripped": 274, "too_late": 275, "crossed_quote": 276, "approval_limit": 277,
}

// refusal returns the expected error object of a code.
func refusal(code string, wait any) object {
	e := object{"code": code, "num": any(nil), "origin": "gateway", "message": code, "details": wait}
	if n, ok := numbers[code]; ok {
		e["num"], e["origin"] = num(int(n)), "core"
	}
	if code == "rate_limited" {
		e["message"] = "rate limited"
	}
	return e
}

// reply is a raw answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// receive reads an answer. It returns nil if the connection ends first.
func receive(conn net.Conn) *reply {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	return &reply{resp.StatusCode, resp.Header, body}
}

// replyResult is the content of an answer, independent of the lane.
type replyResult struct {
	code  string // the error code of the whole request; "" for success
	wait  int64  // retry_after_ms of rate_limited
	tree  object // the body
	parts []any  // the elements of a batch
}

// parse parses JSON. It keeps numbers as text and rejects repeated names.
func parse(b []byte) (v any, err error) {
	if !jsontext.Value(b).IsValid() {
		return nil, fmt.Errorf("invalid JSON or a repeated name: %s", b)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// read checks the form of an answer and returns its content.
func (r *reply) read(q *request) (t replyResult, err error) {
	for _, name := range []string{"Date", "X-Request-Id"} {
		if len(r.header[name]) != 1 {
			return t, fmt.Errorf("status %d without exactly one %s", r.status, name)
		}
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		return t, fmt.Errorf("status %d with content type %q", r.status, got)
	}
	v, err := parse(r.body)
	if err != nil {
		return t, err
	}
	if q.tool {
		return r.readTool(q, v)
	}
	return r.readREST(q, v)
}

func (r *reply) readREST(q *request, v any) (t replyResult, err error) {
	if r.status >= 300 {
		body, ok := v.(object)
		if e, is := body["error"].(object); ok && is && len(body) == 1 {
			if strings.HasPrefix(q.operation.target, "/admin/") && e["code"] == "shed" {
				if !reflect.DeepEqual(e["details"], object{"reason": "busy"}) {
					return t, fmt.Errorf("shed does not tell the operator why: %v", e)
				}
				e["details"] = nil
			}
			if strings.HasPrefix(q.operation.target, "/admin/withdrawals/") && e["code"] == "invalid_transition" {
				details, _ := e["details"].(object)
				if details["state"] == "" || details["reason"] == "" || details["state"] == nil || details["reason"] == nil {
					return t, fmt.Errorf("a refused step does not say why: %v", e)
				}
				e["details"] = nil
			}
			t, err = readError(e)
			if err == nil && statuses[t.code] != r.status {
				err = fmt.Errorf("%s with status %d", t.code, r.status)
			}
			return t, err
		}
		return t, fmt.Errorf("status %d with %s", r.status, r.body)
	}
	want := q.operation.status
	if tree, _ := v.(object); tree["status"] == "waiting" { // for the owner
		want = 202
	}
	if r.status != want {
		return t, fmt.Errorf("status %d, want %d: %s", r.status, want, r.body)
	}
	switch v := v.(type) {
	case []any:
		t.parts = q.sides(v)
	case object:
		t.tree = v
		if q.operation.batch {
			t.parts, _ = v["results"].([]any)
		}
	}
	return t, nil
}

// sides returns the elements of a batch's answer: those of quotes are their sides, of the markets and groups sent.
func (q *request) sides(parts []any) []any {
	if q.operation.tool != "put_quotes" || 2*len(parts) != len(q.cmds) {
		return parts
	}
	var sides []any
	for i, x := range parts {
		c, r := q.cmds[2*i].(*core.QuoteSide), x.(object)
		if len(r) != 4 || r["market_id"] != num(c.Market) || r["group_id"] != num(c.Group) {
			return nil
		}
		sides = append(sides, r["bid"], r["ask"])
	}
	return sides
}

// readError reads an error object and checks it against the registry.
func readError(e object) (t replyResult, err error) {
	t.code, _ = e["code"].(string)
	var wait any
	if details, ok := e["details"].(object); ok && t.code == "rate_limited" {
		ms, _ := details["retry_after_ms"].(string)
		if _, err := fmt.Sscan(ms, &t.wait); err != nil || len(details) != 1 || t.wait < 1 {
			return t, fmt.Errorf("rate_limited with details %v", details)
		}
		wait = details
	}
	if t.code == "mandate_violation" {
		t.tree, _ = e["details"].(object)
		wait = e["details"]
	}
	e = maps.Clone(e)
	for _, name := range []string{"field", "hint"} { // of a malformed request
		if text, there := e[name]; there && text == "" {
			return t, fmt.Errorf("the error has an empty %s: %v", name, e)
		}
		delete(e, name)
	}
	if statuses[t.code] == 0 || !reflect.DeepEqual(e, refusal(t.code, wait)) {
		return t, fmt.Errorf("the error is %v", e)
	}
	return t, nil
}

// readTool reads an answer of the agent lane: a JSON-RPC result with the content as text and
// structured, or a JSON-RPC error of the gate.
func (r *reply) readTool(q *request, v any) (t replyResult, err error) {
	m, _ := v.(object)
	if m["jsonrpc"] != "2.0" {
		return t, fmt.Errorf("not JSON-RPC: %s", r.body)
	}
	if e, ok := m["error"].(object); ok {
		data, _ := e["data"].(object)
		hint, _ := data["hint"].(string)
		clock, _ := data["server_time"].(string)
		if hint == "" || len(clock) != 19 { // ns
			return t, fmt.Errorf("a 401 without hint and clock: %v", data)
		}
		delete(data, "hint")
		delete(data, "server_time")
		if t, err = readError(data); err != nil {
			return t, err
		}
		if t.code != "unauthorized" || r.status != 401 || e["code"] != num(401) || e["message"] != t.code {
			err = fmt.Errorf("status %d with the error %v", r.status, e)
		}
		return t, err
	}
	res, _ := m["result"].(object)
	content, _ := res["content"].([]any)
	if r.status != 200 || m["id"] != num(q.n) || len(content) != 1 {
		return t, fmt.Errorf("status %d with %s", r.status, r.body)
	}
	text, _ := content[0].(object)
	encoded, _ := text["text"].(string)
	decoded, err := parse([]byte(encoded))
	if err != nil || text["type"] != "text" || !reflect.DeepEqual(decoded, res["structuredContent"]) {
		return t, fmt.Errorf("the text differs from the structured content: %s", r.body)
	}
	if q.modern != (res["resultType"] == "complete") {
		return t, fmt.Errorf("resultType is %v", res["resultType"])
	}
	tree, _ := res["structuredContent"].(object)
	if res["isError"] == true {
		return q.readToolError(tree)
	}
	if err := q.takeHint(tree); err != nil {
		return t, err
	}
	q.takeAdded(tree)
	if t.tree = tree; q.operation.batch {
		t.parts, _ = tree["results"].([]any)
		t.parts = q.sides(t.parts)
	}
	return t, nil
}

// takeHint removes the hint and the next call of an order that a price canceled, which REST
// does not have, and requires both.
func (q *request) takeHint(tree object) error {
	if tree["status"] == "waiting" && q.operation.tool == "place_order" {
		next, _ := tree["next"].(object)
		if tree["hint"] == "" || next["tool"] != "wait_for_event" {
			return fmt.Errorf("an order that waits without a hint: %v", tree)
		}
		delete(tree, "hint")
		delete(tree, "next")
		return nil
	}
	switch tree["reason"] {
	case "post_only_cross", "fok_infeasible", "ioc_remainder", "max_cost_infeasible":
	default:
		return nil
	}
	if !slices.Contains([]string{"place_order", "replace_order", "preview_order"}, q.operation.tool) {
		return nil
	}
	hint, _ := tree["hint"].(string)
	next, _ := tree["next"].(object)
	if hint == "" || next["tool"] != "get_orderbook" {
		return fmt.Errorf("a canceled order without a hint: %v", tree)
	}
	delete(tree, "hint")
	delete(tree, "next")
	return nil
}

// added has the members that tools add to REST's answer or to its rows. Those of fills in an
// outcome are taken too.
var added = map[string][]string{
	"place_order":    {"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"},
	"place_orders":   {"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"},
	"preview_order":  {"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"},
	"replace_order":  {"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"},
	"list_positions": {"series", "strike_decimal"},
	"list_orders":    {"series", "round_number"},
	"list_fills":     {"series", "price", "cost", "proceeds"},
}

// takeAdded removes the members that the tool adds, so that the answer is that of REST.
func (q *request) takeAdded(tree object) {
	names := added[q.operation.tool]
	if names == nil {
		return
	}
	for _, name := range names {
		if name != "cost" || tree["status"] != "waiting" { // REST has that of an order that waits
			delete(tree, name)
		}
	}
	for name, list := range tree {
		rows, _ := list.([]any)
		for _, r := range rows {
			switch r, _ := r.(object); {
			case name == "fills" && q.operation.tool != "list_fills":
				delete(r, "price")
			case r["error"] == nil:
				q.takeAdded(r)
			}
		}
	}
}

// asPage returns the answer that the agent lane gives instead of the whole list of REST: the
// rows without the members that have the default of their type, and as many as the page
// holds, if the page is full.
func asPage(want, got object) object {
	out := maps.Clone(want)
	for name, v := range want {
		rows, ok := v.([]any)
		if !ok {
			continue
		}
		if page, _ := got[name].([]any); len(page) < len(rows) && got["cursor"] != "" && len(encode(got)) > fullPage {
			rows, out["cursor"] = rows[:len(page)], got["cursor"]
		}
		short := make([]any, len(rows))
		for i, r := range rows {
			r, ok := r.(object)
			if !ok {
				return want
			}
			row := object{}
			for name, v := range r {
				if v != nil && v != "" && v != "0" && v != false && v != num(0) {
					row[name] = v
				}
			}
			short[i] = row
		}
		out[name] = short
	}
	return out
}

// fullPage is the least size of a page of the agent lane that has another one behind it,
// without the members that tools add, in bytes.
const fullPage = 6000

// readToolError reads a tool's error. Its retryable and outcome must match the code, and it
// must have a hint and a next call.
func (q *request) readToolError(tree object) (t replyResult, err error) {
	e, _ := tree["error"].(object)
	if t, err = readError(e); err != nil {
		return t, err
	}
	safe := t.code == "shed" || t.code == "draining" || t.code == "rate_limited"
	if hint, _ := tree["hint"].(string); hint == "" || tree["next"] == nil || tree["retryable"] != safe || !q.outcomeFits(t.code, tree) {
		err = fmt.Errorf("the tool error of %s is %v", t.code, tree)
	}
	return t, err
}

// outcomeFits reports whether the outcome of a tool's error matches its code. The outcome of a
// repeated order is done, or not_done if the first one was rejected; if the venue no longer
// retains the first one, the outcome is unknown.
func (q *request) outcomeFits(code string, tree object) bool {
	switch {
	case code == "sequencing_timeout":
		return tree["outcome"] == "unknown"
	case code != "duplicate_client_order_id" || q.operation.tool == "preview_order":
		return tree["outcome"] == "not_done" && tree["replayed"] == nil
	case tree["replayed"] == true:
		order, shown := tree["order"].(object)
		return tree["outcome"] == "done" && (!shown || order["status"] != "rejected") || tree["outcome"] == "not_done" && (!shown || order["status"] == "rejected")
	default:
		_, shown := tree["order"]
		return tree["outcome"] == "not_done" || tree["outcome"] == "unknown" && !shown
	}
}

// part reads an element of a batch's answer: an error code or a body. On the agent lane an
// error has a tool error's form.
func (q *request) part(v any) (code string, tree object, err error) {
	tree, ok := v.(object)
	if !ok {
		return "", nil, fmt.Errorf("an element of the batch is %v", v)
	}
	e, is := tree["error"].(object)
	switch {
	case is && q.tool:
		t, err := q.readToolError(tree)
		return t.code, t.tree, err
	case is && len(tree) == 1:
		t, err := readError(e)
		return t.code, t.tree, err
	}
	return "", tree, nil
}
