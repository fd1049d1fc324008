package rest

import (
	"fmt"
	"testing"
	"time"

	"duplex/core"
)

// TestForecasts tests docs/rules/forecasts.md over REST: the response, the rejects, the list with its
// pages, and the scores when the round has settled.
func TestForecasts(t *testing.T) {
	h, alice, bob := newServer(t)
	submit := func(body string) (int, string) { return h.Call(alice, "POST", "/v1/forecasts", body) }
	for i, p := range []int{0, 6200, 10_000} {
		status, body := submit(fmt.Sprintf(`{"market_id":1,"generation":1,"p":%d}`, p))
		if status != 201 || field(t, body, "n") != fmt.Sprint(i+1) || field(t, body, "seq") == "0" || field(t, body, "ts") == "0" {
			t.Fatalf("%d %s", status, body)
		}
	}
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"market_id":31,"generation":1,"p":1}`, 404, "unknown_market"},
		{`{"market_id":1,"generation":2,"p":1}`, 409, "stale_generation"},
		{`{"market_id":1,"generation":0,"p":1}`, 400, "schema_violation"},
		{`{"market_id":1,"p":1}`, 400, "schema_violation"},
		{`{"generation":1,"p":1}`, 400, "schema_violation"},
		{`{"market_id":1,"generation":1}`, 400, "schema_violation"},
		{`{"market_id":1,"generation":1,"p":10001}`, 400, "schema_violation"},
		{`{"market_id":1,"generation":1,"p":-1}`, 400, "schema_violation"},
		{`{"market_id":1,"generation":1,"p":0.62}`, 400, "schema_violation"},
		{`{"market_id":1,"generation":1,"p":"62"}`, 400, "schema_violation"},
		{`{"market_id":1,"generation":1,"p":1,"probability":1}`, 400, "unknown_field"},
	} {
		if status, body := submit(c.body); status != c.status || code(body) != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.body, status, body, c.status, c.code)
		}
	}
	if status, body := h.Call(h.NewKey(1, core.ScopeRead), "POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":1}`); status != 403 || code(body) != "missing_scope" {
		t.Errorf("without the scope: %d %s", status, body)
	}
	list := func(query string) []any {
		t.Helper()
		status, body := h.Call(alice, "GET", "/v1/forecasts"+query, "")
		if status != 200 {
			t.Fatalf("%s: %d %s", query, status, body)
		}
		return field(t, body, "forecasts").([]any)
	}
	want := func(rows []any, member string, values ...any) {
		t.Helper()
		if len(rows) != len(values) {
			t.Fatalf("%d rows, want %d", len(rows), len(values))
		}
		for i, r := range rows {
			if got := r.(map[string]any)[member]; got != values[i] {
				t.Errorf("row %d: %s is %v, want %v", i, member, got, values[i])
			}
		}
	}
	rows := list("")
	want(rows, "n", "3", "2", "1")
	want(rows, "p", 10_000.0, 6200.0, 0.0)
	want(rows, "counts", true, false, false)
	want(rows, "winner", nil, nil, nil)
	want(rows, "brier", nil, nil, nil)
	want(list("?market_id=2"), "n")
	want(list("?limit=2"), "n", "3", "2")
	_, body := h.Call(alice, "GET", "/v1/forecasts?limit=2", "")
	want(list("?limit=2&cursor="+field(t, body, "cursor").(string)), "n", "1")
	if _, body := h.Call(bob, "GET", "/v1/forecasts", ""); len(field(t, body, "forecasts").([]any)) != 0 {
		t.Errorf("another account: %s", body)
	}
	h.AdvanceClock(time.Minute)
	h.Submit(&core.Clock{})
	if status, body := submit(`{"market_id":1,"generation":1,"p":5}`); status != 409 || code(body) != "market_not_trading" {
		t.Errorf("after the close: %d %s", status, body)
	}
	h.Submit(&core.ProposePrice{Market: 1, Price: 1, Audit: core.Audit{Who: "operator", Why: "a test"}})
	h.AdvanceClock(time.Minute)
	h.Submit(&core.Clock{})
	rows = list("")
	want(rows, "winner", "no", "no", "no")
	want(rows, "brier", 1e8, 38_440_000.0, 0.0)
	want(rows, "counts", true, false, false)
}
