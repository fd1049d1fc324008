package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"duplex/core"
)

// extended has the members that each tool adds to the answer of its route, as
// docs/rules/agents.md#added-members lists them, and the member that holds its rows.
var extended = map[string]struct {
	rows    string
	members []string
}{
	"place_order":     {"", []string{"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"}},
	"place_orders":    {"results", []string{"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"}},
	"preview_order":   {"", []string{"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"}},
	"replace_order":   {"", []string{"series", "round_number", "strike_decimal", "cost", "proceeds", "avg_price"}},
	"submit_forecast": {"", []string{"series", "round_number", "strike_decimal", "p", "p_percent"}},
	"get_order":       {"", []string{"series", "round_number", "strike_decimal"}},
	"get_market":      {"", []string{"series", "round_number", "strike_decimal", "asset"}},
	"list_markets":    {"markets", []string{"series", "round_number", "strike_decimal", "asset"}},
	"list_positions":  {"positions", []string{"series", "round_number", "strike_decimal"}},
	"get_pnl":         {"positions", []string{"series", "round_number", "strike_decimal"}},
	"list_orders":     {"orders", []string{"series", "round_number"}},
	"list_fills":      {"fills", []string{"series", "round_number", "cost", "proceeds"}},
}

// pageRows has the member that holds the rows of each page.
var pageRows = map[string]string{
	"list_orders": "orders", "list_fills": "fills", "list_positions": "positions", "list_settlements": "settlements", "list_ledger": "ledger",
	"list_deposits": "deposits", "list_portfolio_rounds": "rounds", "list_forecasts": "forecasts", "list_markets": "markets", "list_trades": "trades",
	"list_rounds": "rounds", "list_withdrawals": "withdrawals", "get_price_history": "rows", "get_round_history": "rows", "get_round_evidence": "ticks", "list_approvals": "approvals",
}

// term returns the arguments of a buy in the first round of a market.
func term(id, market int, outcome string, tick, qty int) string {
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":%d,"generation":1,"side":"buy","outcome":%q,"tick":%d,"qty":%d}`, id, market, outcome, tick, qty)
}

func parsed(t testing.TB, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, s)
	}
	return v
}

// asTool returns what a tool answers where its route answers rest: with the members that
// it adds, which are worked out from the routes of rounds and series, and without the
// defaults of rows. sent is the order or forecast of a write, else nil.
func (d *testVenue) asTool(tool, rest string, sent any) any {
	d.T.Helper()
	answer := parsed(d.T, rest)
	x, page := extended[tool], pageRows[tool]
	rows := []any{answer}
	if name := cmp.Or(page, x.rows); name != "" {
		rows = answer.(map[string]any)[name].([]any)
	}
	facts := d.readRounds()
	for _, r := range rows {
		r := r.(map[string]any)
		if x.members != nil && r["error"] == nil {
			about, _ := sent.(map[string]any)
			if about == nil {
				about = r
			}
			all := facts.of(about, r)
			for _, m := range x.members {
				if v, ok := all[m]; ok {
					r[m] = v
				}
			}
		}
		if page != "" {
			for m, v := range r {
				if v == nil || v == 0.0 || v == "0" || v == "" || v == false {
					delete(r, m)
				}
			}
		}
	}
	return answer
}

// roundFacts are the rounds and series of a venue.
type roundFacts struct{ rounds, series []any }

func (d *testVenue) readRounds() roundFacts {
	d.T.Helper()
	_, rounds := d.Call(d.alice, "GET", "/v1/rounds?limit=1000", "")
	_, series := d.Call(d.alice, "GET", "/v1/series", "")
	return roundFacts{parsed(d.T, rounds).(map[string]any)["rounds"].([]any), parsed(d.T, series).(map[string]any)["series"].([]any)}
}

// of returns every member that can be added to a row. It adds the prices of fills to the row.
func (f roundFacts) of(about, row map[string]any) map[string]any {
	out := map[string]any{}
	for _, r := range f.rounds {
		r := r.(map[string]any)
		if r["market_id"] != about["market_id"] || r["generation"] != about["generation"] {
			continue
		}
		out["round_number"] = r["round_number"]
		digits := fmt.Sprintf("%09s", r["strike"].(string))
		whole, fraction := digits[:len(digits)-8], strings.TrimRight(digits[len(digits)-8:], "0")
		out["strike_decimal"] = whole + "." + fraction + strings.Repeat("0", max(0, 2-len(fraction)))
		for _, s := range f.series {
			if s := s.(map[string]any); s["category"] == r["category"] {
				out["series"], out["asset"] = s["name"], s["asset"]
			}
		}
	}
	if p, ok := about["p"].(float64); ok {
		out["p"], out["p_percent"] = p, strconv.FormatFloat(p/100, 'f', 2, 64)
	}
	fills, placed := row["fills"].([]any)
	if row["tick_yes"] != nil {
		fills = []any{row}
	}
	if !placed && fills == nil {
		return out
	}
	sum, qty := 0.0, 0.0
	for _, x := range fills {
		x := x.(map[string]any)
		price := x["tick_yes"].(float64)
		if about["outcome"] == "no" {
			price = 10_000 - price
		}
		x["price"], sum, qty = price, sum+price*x["qty"].(float64), qty+x["qty"].(float64)
	}
	fee, _ := strconv.ParseFloat(row["fee"].(string), 64)
	if about["side"] == "buy" {
		out["cost"] = strconv.FormatFloat(sum+fee, 'f', 0, 64)
	} else {
		out["proceeds"] = strconv.FormatFloat(sum-fee, 'f', 0, 64)
	}
	if placed && qty > 0 {
		out["avg_price"] = float64(int64(sum) / int64(qty))
	}
	return out
}

// TestAddedMembers tests the members that tools add, by figures worked out by hand.
func TestAddedMembers(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.Call(d.bob, "POST", "/v1/portfolio/orders", term(1, 1, "yes", 4000, 3)) // NO at 6000
	d.Call(d.bob, "POST", "/v1/portfolio/orders", term(2, 1, "yes", 3900, 7)) // NO at 6100
	buy := term(1, 1, "no", 6200, 8)
	preview := string(d.callTool(d.alice, "preview_order", buy).StructuredContent)
	placed := string(d.callTool(d.alice, "place_order", buy).StructuredContent)
	fee, err := strconv.Atoi(at(t, placed, "fee").(string))
	if err != nil || fee == 0 {
		t.Fatalf("place_order: %s, want a fee", placed)
	}
	const paid = 3*6000 + 5*6100
	for tool, answer := range map[string]string{"preview_order": preview, "place_order": placed} {
		checkMembers(t, tool, answer, map[string]any{"series": "btc-60s", "round_number": "1", "cost": strconv.Itoa(paid + fee), "proceeds": nil, "avg_price": float64(paid / 8)})
		if fills := at(t, answer, "fills").([]any); len(fills) != 2 || fills[0].(map[string]any)["price"] != 6000.0 || fills[1].(map[string]any)["price"] != 6100.0 {
			t.Errorf("%s: fills %v, want the prices 6000 and 6100", tool, fills)
		}
		if at(t, answer, "strike_decimal") == nil {
			t.Errorf("%s has no strike_decimal: %s", tool, answer)
		}
	}
	sell := strings.Replace(term(2, 1, "no", 3000, 2), "buy", "sell", 1)
	d.Call(d.bob, "POST", "/v1/portfolio/orders", term(3, 1, "no", 5500, 5))
	sold := string(d.callTool(d.alice, "place_order", sell).StructuredContent)
	fee, err = strconv.Atoi(at(t, sold, "fee").(string))
	if err != nil {
		t.Fatal(err)
	}
	checkMembers(t, "a sale", sold, map[string]any{"status": "executed", "proceeds": strconv.Itoa(2*5500 - fee), "cost": nil, "avg_price": 5500.0})
	resting := string(d.callTool(d.alice, "place_order", term(3, 1, "no", 1000, 2)).StructuredContent)
	checkMembers(t, "a resting order", resting, map[string]any{"cost": "0", "avg_price": nil, "series": "btc-60s"})
	moved := string(d.callTool(d.alice, "replace_order", fmt.Sprintf(`{"order_id":%q,"client_order_id":"4","tick":6100}`, at(t, resting, "order_id"))).StructuredContent)
	checkMembers(t, "a replace", moved, map[string]any{"status": "executed", "avg_price": 6100.0, "round_number": "1"})
	forecast := string(d.callTool(d.alice, "submit_forecast", `{"market_id":1,"generation":1,"p":6205}`).StructuredContent)
	checkMembers(t, "a forecast", forecast, map[string]any{"series": "btc-60s", "round_number": "1", "p": 6205.0, "p_percent": "62.05"})
	checkMembers(t, "get_market", string(d.callTool(d.alice, "get_market", `{"market_id":1}`).StructuredContent), map[string]any{"asset": "BTC", "series": "btc-60s"})
	events := string(d.callTool(d.alice, "wait_for_event", `{"after_seq":"0","timeout_ms":0,"kinds":["fill"]}`).StructuredContent)
	if first := at(t, events, "events").([]any); len(first) == 0 || first[0].(map[string]any)["msg"].(map[string]any)["price"] != 6000.0 {
		t.Errorf("the first fill event of %s, want the price 6000", events)
	}
}

// TestEndedRounds tests that an order and a fill keep the names of their round after its
// slot has another one, and that a row without a round has none.
func TestEndedRounds(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.Call(d.bob, "POST", "/v1/portfolio/orders", term(1, 1, "no", 5000, 3))
	d.callTool(d.alice, "place_order", term(1, 1, "yes", 5000, 3))
	d.Call(d.alice, "POST", "/v1/portfolio/orders", term(2, 31, "yes", 5000, 3)) // rejected: no such market
	d.Submit(&core.VoidMarket{Market: 1})
	for tool, x := range pageRows {
		if tool != "list_orders" && tool != "list_fills" {
			continue
		}
		rows := at(t, string(d.callTool(d.alice, tool, `{}`).StructuredContent), x).([]any)
		for _, r := range rows {
			r := r.(map[string]any)
			series, number := any("btc-60s"), any("1")
			if r["market_id"] == 31.0 {
				series, number = nil, nil
			}
			if r["series"] != series || r["round_number"] != number {
				t.Errorf("%s: %v, want the series %v and the round %v", tool, r, series, number)
			}
		}
	}
}
