package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
)

// statuses are those of the codes that a caller here may be told (contract core,
// Reject registry).
var statuses = map[string]int{
	"unknown_market": 404, "insufficient_balance": 403, "insufficient_position": 403, "duplicate_client_order_id": 409, "bad_price_tick": 400, "bad_qty": 400,
	"per_market_limit": 403, "market_not_trading": 409, "market_paused": 409, "unknown_order": 404, "invalid_decrease": 400, "client_order_id_required": 400,
	"reduce_only_violation": 403, "user_suspended": 403, "open_order_limit": 403, "bad_expiry": 400, "mandate_violation": 403, "stale_generation": 409,
	"unauthorized": 401, "missing_scope": 403, "rate_limited": 429, "invalid_timeout": 400, "schema_violation": 400, "bad_amount": 400,
	"duplicate_client_withdrawal_id": 409, "round_not_found": 404, "shed": 503, "draining": 503, "sequencing_timeout": 504,
	"unknown_user": 404, "unknown_withdrawal": 404, "duplicate_deposit_id": 409, "invalid_transition": 409,
}

// numbers are the codes of the shared registry.
var numbers = map[string]core.Reject{
	"unknown_market": 256, "insufficient_balance": 257, "insufficient_position": 258, "duplicate_client_order_id": 259, "bad_price_tick": 260, "bad_qty": 261,
	"per_market_limit": 262, "market_not_trading": 263, "market_paused": 264, "unknown_order": 265, "invalid_decrease": 266, "client_order_id_required": 267,
	"reduce_only_violation": 268, "user_suspended": 269, "open_order_limit": 270, "bad_expiry": 271, "mandate_violation": 272, "stale_generation": 273,
}

// refusal is the error of a code.
func refusal(code string, wait any) obj {
	e := obj{"code": code, "num": any(nil), "origin": "gateway", "message": code, "details": wait}
	if n, ok := numbers[code]; ok {
		e["num"], e["origin"] = num(int(n)), "core"
	}
	if code == "rate_limited" {
		e["message"] = "rate limited"
	}
	return e
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// receive reads the answer to a request; nil if none comes.
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

// told is what an answer says, whichever lane it came by.
type told struct {
	code  string // of a refusal of the whole request
	wait  int64  // ms, of an empty bucket
	tree  obj    // the answer
	parts []any  // of a batch
}

// parse reads JSON, with numbers as they are written and no name twice.
func parse(b []byte) (v any, err error) {
	if !jsontext.Value(b).IsValid() {
		return nil, fmt.Errorf("no JSON, or a name twice: %s", b)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// read holds the form of an answer against the contract.
func (r *reply) read(q *request) (t told, err error) {
	for _, name := range []string{"Date", "X-Request-Id"} {
		if len(r.header[name]) != 1 {
			return t, fmt.Errorf("%d without one %s", r.status, name)
		}
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		return t, fmt.Errorf("%d as %q", r.status, got)
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

func (r *reply) readREST(q *request, v any) (t told, err error) {
	if r.status >= 300 {
		body, ok := v.(obj)
		if e, is := body["error"].(obj); ok && is && len(body) == 1 {
			t, err = refused(e)
			if err == nil && statuses[t.code] != r.status {
				err = fmt.Errorf("%s with status %d", t.code, r.status)
			}
			return t, err
		}
		return t, fmt.Errorf("%d with %s", r.status, r.body)
	}
	if want := q.form.status; r.status != want {
		return t, fmt.Errorf("answered %d, not %d: %s", r.status, want, r.body)
	}
	switch v := v.(type) {
	case []any:
		t.parts = v
	case obj:
		t.tree = v
		if q.form.batch {
			t.parts, _ = v["results"].([]any)
		}
	}
	return t, nil
}

// refused reads an error, which must be that of its code.
func refused(e obj) (t told, err error) {
	t.code, _ = e["code"].(string)
	var wait any
	if details, ok := e["details"].(obj); ok && t.code == "rate_limited" {
		ms, _ := details["retry_after_ms"].(string)
		if _, err := fmt.Sscan(ms, &t.wait); err != nil || len(details) != 1 || t.wait < 1 {
			return t, fmt.Errorf("rate_limited with details %v", details)
		}
		wait = details
	}
	if statuses[t.code] == 0 || !reflect.DeepEqual(e, refusal(t.code, wait)) {
		return t, fmt.Errorf("the error is %v", e)
	}
	return t, nil
}

// readTool reads an answer of the agent lane: JSON-RPC around a result that says it
// twice, or around what the door itself refuses.
func (r *reply) readTool(q *request, v any) (t told, err error) {
	m, _ := v.(obj)
	if m["jsonrpc"] != "2.0" {
		return t, fmt.Errorf("no JSON-RPC: %s", r.body)
	}
	if e, ok := m["error"].(obj); ok {
		data, _ := e["data"].(obj)
		if t, err = refused(data); err != nil {
			return t, err
		}
		if t.code != "unauthorized" || r.status != 401 || e["code"] != num(401) || e["message"] != t.code {
			err = fmt.Errorf("%d with the error %v", r.status, e)
		}
		return t, err
	}
	res, _ := m["result"].(obj)
	content, _ := res["content"].([]any)
	if r.status != 200 || m["id"] != num(q.n) || len(content) != 1 {
		return t, fmt.Errorf("%d with %s", r.status, r.body)
	}
	text, _ := content[0].(obj)
	said, _ := text["text"].(string)
	again, err := parse([]byte(said))
	if err != nil || text["type"] != "text" || !reflect.DeepEqual(again, res["structuredContent"]) {
		return t, fmt.Errorf("the text is not the structured content: %s", r.body)
	}
	if q.modern != (res["resultType"] == "complete") {
		return t, fmt.Errorf("resultType is %v", res["resultType"])
	}
	tree, _ := res["structuredContent"].(obj)
	if res["isError"] == true {
		return q.taught(tree)
	}
	if t.tree = tree; q.form.batch {
		t.parts, _ = tree["results"].([]any)
	}
	return t, nil
}

// taught reads a refusal of a tool. Whether to call again, and what is known of the
// outcome, must be what its code means; the rest is teaching.
func (q *request) taught(tree obj) (t told, err error) {
	e, _ := tree["error"].(obj)
	if t, err = refused(e); err != nil {
		return t, err
	}
	safe := t.code == "shed" || t.code == "draining" || t.code == "rate_limited"
	outcome := "not_done"
	if t.code == "sequencing_timeout" {
		outcome = "unknown"
	}
	if hint, _ := tree["hint"].(string); hint == "" || tree["retryable"] != safe || tree["outcome"] != outcome {
		err = fmt.Errorf("%s is taught as %v", t.code, tree)
	}
	return t, err
}

// part reads an element of a batch's answer: a code, or what was done.
func part(v any) (code string, tree obj, err error) {
	tree, ok := v.(obj)
	if !ok {
		return "", nil, fmt.Errorf("an element is %v", v)
	}
	if e, is := tree["error"].(obj); is && len(tree) == 1 {
		t, err := refused(e)
		return t.code, nil, err
	}
	return "", tree, nil
}
