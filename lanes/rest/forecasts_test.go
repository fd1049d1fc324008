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
	t.Parallel()
	h, alice, bob := newServer(t)
	for i, p := range []int{0, 6200, 10_000} {
		body := wants(h, alice, "POST", "/v1/forecasts", fmt.Sprintf(`{"market_id":1,"generation":1,"p":%d}`, p), 201, "")
		if field(t, body, "n") != fmt.Sprint(i+1) || field(t, body, "seq") == "0" || field(t, body, "ts") == "0" {
			t.Fatal(body)
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
		wants(h, alice, "POST", "/v1/forecasts", c.body, c.status, c.code)
	}
	wants(h, h.NewKey(1, core.ScopeRead), "POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":1}`, 403, "missing_scope")
	list := func(query string) []any {
		t.Helper()
		return field(t, wants(h, alice, "GET", "/v1/forecasts"+query, "", 200, ""), "forecasts").([]any)
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
	wants(h, alice, "POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":5}`, 409, "market_not_trading")
	h.Submit(&core.ProposePrice{Market: 1, Price: 1, Audit: core.Audit{Who: "operator", Why: "a test"}})
	h.AdvanceClock(time.Minute)
	h.Submit(&core.Clock{})
	rows = list("")
	want(rows, "winner", "no", "no", "no")
	want(rows, "brier", 1e8, 38_440_000.0, 0.0)
	want(rows, "counts", true, false, false)
}
