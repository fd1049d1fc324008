package tools

import (
	"slices"
	"strings"
	"testing"
)

// TestNearestTool tests the names that models try: mistyped, of other venues, and with another verb.
func TestNearestTool(t *testing.T) {
	core := map[string]string{"get_markets": "list_series", "markets": "list_series", "get_balances": "get_account", "getbalance": "get_account", "modify_order": "cancel_order", "get_price": "list_series"}
	for name, want := range map[string]string{
		"place_ordr": "place_order", "PlaceOrder": "place_order", "place-order": "place_order", "mcp__duplex__place_order": "place_order", "duplex.place_order": "place_order",
		"buy": "place_order", "sell": "place_order", "submit_order": "place_order", "create_order": "place_order",
		"get_positions": "list_positions", "positions": "list_positions", "get_orders": "list_orders", "orders": "list_orders", "list_order": "get_order",
		"cancel_all": "cancel_all_orders", "get_markets": "list_markets", "markets": "list_markets",
		"order_book": "get_orderbook", "get_order_book": "get_orderbook", "fetch_orderbook": "get_orderbook", "forecast": "submit_forecast",
		"get_price": "get_oracle_price", "redeem": "redeem_pairs", "get_balances": "get_balance", "getbalance": "get_balance", "get_fills": "list_fills",
		"modify_order": "replace_order", "wait_for_events": "wait_for_event", "pnl": "get_pnl", "list_account": "get_account",
		"": "", "rm": "", "execute_sql": "", "größe": "", strings.Repeat("place_order", 1000): "",
	} {
		if got := NearestTool(name, nil); got != want {
			t.Errorf("%.40q: %q, want %q", name, got, want)
		}
		if inCore := core[name]; inCore != "" {
			if got := NearestTool(name, CoreToolset); got != inCore {
				t.Errorf("%q in the toolset core: %q, want %q", name, got, inCore)
			}
		}
	}
}

// TestToolAliases tests that the aliases are of tools, and are no tools.
func TestToolAliases(t *testing.T) {
	names := ToolNames()
	for _, name := range names {
		if len(name)*2 > maxToolName {
			t.Errorf("%s is more than half as long as maxToolName", name)
		}
	}
	for alias, meant := range toolAliases {
		if alias != plainName(alias) || slices.Contains(names, alias) || meant == "" {
			t.Errorf("%s is no alias", alias)
		}
		for tool := range strings.FieldsSeq(meant) {
			if !slices.Contains(names, tool) {
				t.Errorf("%s is an alias of %s, which is no tool", alias, tool)
			}
		}
	}
}
