package tools

import (
	"slices"
	"strings"

	"duplex/internal/edits"
)

// WaitForEvent is the name of the tool that the agent lane adds to the operations.
const WaitForEvent = "wait_for_event"

// ToolNames returns the name of every tool of the agent lane, with those that only an arena has.
func ToolNames() (names []string) {
	for _, op := range slices.Concat(ToolOnly, Operations, []Operation{AdvanceClock}) {
		names = append(names, op.Describe().Name)
	}
	return append(names, WaitForEvent)
}

// toolAliases lists, for names that models call without having read the list, the tools that they mean, the likeliest
// first. Names are in lower case and without separators. A call by an alias is never run; its error names the tool.
var toolAliases = map[string]string{
	"buy":            "place_order",
	"sell":           "place_order",
	"order":          "place_order",
	"trade":          "place_order",
	"bet":            "place_order",
	"submitorder":    "place_order",
	"createorder":    "place_order",
	"neworder":       "place_order",
	"sendorder":      "place_order",
	"addorder":       "place_order",
	"openorder":      "place_order",
	"marketorder":    "place_order",
	"limitorder":     "place_order",
	"buycontracts":   "place_order",
	"sellcontracts":  "place_order",
	"submitorders":   "place_orders place_order",
	"createorders":   "place_orders place_order",
	"batchorders":    "place_orders place_order",
	"simulateorder":  "preview_order",
	"dryrun":         "preview_order",
	"quote":          "preview_order",
	"preview":        "preview_order",
	"cancel":         "cancel_order",
	"deleteorder":    "cancel_order",
	"removeorder":    "cancel_order",
	"cancelall":      "cancel_all_orders",
	"amendorder":     "replace_order cancel_order",
	"modifyorder":    "replace_order cancel_order",
	"editorder":      "replace_order cancel_order",
	"updateorder":    "replace_order cancel_order",
	"reduceorder":    "decrease_order cancel_order",
	"openorders":     "list_orders",
	"orderstatus":    "get_order list_orders",
	"getorderstatus": "get_order list_orders",
	"getorder":       "get_order list_orders",
	"portfolio":      "list_positions",
	"getportfolio":   "list_positions",
	"holdings":       "list_positions",
	"cash":           "get_balance get_account",
	"balance":        "get_balance get_account",
	"balances":       "get_balance get_account",
	"getbalance":     "get_balance get_account",
	"getbalances":    "get_balance get_account",
	"account":        "get_account",
	"profit":         "get_pnl",
	"performance":    "get_pnl",
	"markets":        "list_markets list_series",
	"getmarkets":     "list_markets list_series",
	"listmarkets":    "list_markets list_series",
	"searchmarkets":  "list_markets list_series",
	"rounds":         "list_rounds list_series",
	"listrounds":     "list_rounds list_series",
	"book":           "get_orderbook",
	"depth":          "get_orderbook",
	"getbook":        "get_orderbook",
	"ticker":         "get_market",
	"price":          "get_oracle_price list_series",
	"getprice":       "get_oracle_price list_series",
	"spotprice":      "get_oracle_price list_series",
	"getindex":       "get_oracle_price list_series",
	"index":          "get_oracle_price list_series",
	"oracleprice":    "get_oracle_price list_series",
	"candles":        "get_price_history",
	"klines":         "get_price_history",
	"prices":         "get_price_history",
	"trades":         "list_trades",
	"mytrades":       "list_fills",
	"redeem":         "redeem_pairs",
	"merge":          "redeem_pairs",
	"predict":        "submit_forecast",
	"forecast":       "submit_forecast",
	"prediction":     "submit_forecast",
	"wait":           WaitForEvent,
	"waitforevents":  WaitForEvent,
	"subscribe":      WaitForEvent,
	"poll":           WaitForEvent,
	"deadman":        "arm_deadman",
	"killswitch":     "arm_deadman",
	"withdraw":       "request_withdrawal",
	"deposit":        "get_deposit_address",
	"time":           "get_venue",
	"gettime":        "get_venue",
	"status":         "get_venue",
	"getstatus":      "get_venue",
	"fees":           "get_venue",
}

// NearestTool returns the tool that a caller of an unknown name probably means, or "" if no name is near. It prefers
// one of offered, which may be nil, to another tool that is meant as likely.
func NearestTool(name string, offered []string) string {
	meant := meantTools(name)
	for _, tool := range meant {
		if slices.Contains(offered, tool) {
			return tool
		}
	}
	if len(meant) > 0 {
		return meant[0]
	}
	return ""
}

// UnknownTool returns the text of the error for an unknown name, which must be printable, with the nearest tool.
func UnknownTool(name string, offered []string) string {
	if nearest := NearestTool(name, offered); nearest != "" && nearest != name { // a tool of other venues is no advice
		return "unknown tool " + name + ": the nearest is " + nearest
	}
	return "unknown tool " + name + "; tools/list names the tools"
}

// meantTools returns the tools that an unknown name may mean, the likeliest first.
func meantTools(name string) (meant []string) {
	word := plainName(name)
	if len(word) > maxToolName {
		return nil
	}
	if alias := strings.Fields(toolAliases[word]); len(alias) > 0 {
		return alias
	}
	nearest, least := "", max(1, len(word)/3)+1
	for _, tool := range ToolNames() {
		plain := plainName(tool)
		switch n := edits.Between(word, plain); {
		case toolNoun(word) == toolNoun(plain):
			meant = append(meant, tool)
		case n < least:
			nearest, least = tool, n
		}
	}
	if meant == nil && nearest != "" {
		meant = []string{nearest}
	}
	return meant
}

// maxToolName bounds the names that are compared. No tool's is nearly as long.
const maxToolName = 64

// plainName returns a name in lower case, without separators and without the server's name that hosts put before it,
// such as mcp__duplex__.
func plainName(name string) string {
	name = name[strings.LastIndexAny(name, ".:/")+1:]
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// toolNoun returns a plain name without the verb of a read.
func toolNoun(plain string) string {
	for _, verb := range []string{"get", "list", "fetch", "show", "read", "view", "query"} {
		if noun, ok := strings.CutPrefix(plain, verb); ok && noun != "" {
			return noun
		}
	}
	return plain
}
