package tools

// CoreToolset names the tools of the toolset core: what an agent needs to trade, few enough
// to leave room in a model's context (docs/rules/agents.md#toolsets). Its tools and their
// hints name no tool outside of it.
var CoreToolset = []string{
	"get_account",
	"list_series",
	"get_market",
	"get_orderbook",
	"preview_order",
	"place_order",
	"cancel_order",
	"cancel_all_orders",
	"arm_deadman",
	"redeem_pairs",
	"list_orders",
	"list_positions",
	"get_pnl",
	"wait_for_event",
	"get_price_history",
	"submit_forecast",
	"get_venue",
	"list_approvals",
}

// MaxCoreTools bounds the toolset core.
const MaxCoreTools = 18
