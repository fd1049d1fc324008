package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
)

// buyOf returns the arguments of a limit buy of 5 YES at 4700, with members replaced, added, or left out ("-").
func buyOf(members ...string) string {
	list := []string{"client_order_id", `"900"`, "market_id", "1", "generation", "1", "side", `"buy"`, "outcome", `"yes"`, "tick", "4700", "qty", "5"}
	for i := 0; i < len(members); i += 2 {
		at := slices.Index(list, members[i])
		if at < 0 {
			list = append(list, members[i], members[i+1])
		} else {
			list[at+1] = members[i+1]
		}
	}
	var out []string
	for i := 0; i < len(list); i += 2 {
		if list[i+1] != "-" {
			out = append(out, fmt.Sprintf("%q:%s", list[i], list[i+1]))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// mistake is a call that a model makes, and the refusal that leads on from it.
type mistake struct {
	tool, arguments  string
	code, field, got string // got "" if the argument is absent
	next             string // the tool
	with             string // members of its arguments, as JSON
}

// mistakes are calls that models made in half an hour of trading, and their kinds. In the venue market 1 is
// the round of btc-60s, generation 1, with bids for YES up to 4500 and offers from 5500, and the account
// holds 10 YES and 4 NO, has $9,000 and an order of client_order_id 1.
var mistakes = []mistake{
	// Prices in another unit or form.
	{"place_order", buyOf("tick", "0.47"), "schema_violation", "tick", "0.47", "preview_order", `{"tick":4700,"qty":5}`},
	{"place_order", buyOf("tick", "47"), "bad_price_tick", "tick", "47", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", `"47 cents"`), "schema_violation", "tick", `"47 cents"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", `"47c"`), "schema_violation", "tick", `"47c"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", `"$0.47"`), "schema_violation", "tick", `"$0.47"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", `"47%"`), "schema_violation", "tick", `"47%"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", `"4700"`), "schema_violation", "tick", `"4700"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", `"0.47"`), "schema_violation", "tick", `"0.47"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", "4700.0"), "schema_violation", "tick", "4700.0", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", "4750"), "bad_price_tick", "tick", "4750", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", "395"), "bad_price_tick", "tick", "395", "preview_order", `{"tick":390}`},
	{"place_order", buyOf("tick", "0"), "bad_price_tick", "tick", "0", "preview_order", `{"tick":100}`},
	{"place_order", buyOf("tick", "10000"), "bad_price_tick", "tick", "10000", "preview_order", `{"tick":9990}`},
	{"place_order", buyOf("tick", "-4700"), "bad_price_tick", "tick", "-4700", "preview_order", `{"tick":100}`},
	{"place_order", buyOf("tick", "null"), "schema_violation", "tick", "", "get_orderbook", `{"market_id":1}`},
	{"place_order", buyOf("tick", "-"), "schema_violation", "tick", "", "get_orderbook", `{"market_id":1}`},
	{"place_order", buyOf("tick", "-", "price", "47"), "unknown_field", "price", "47", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", "-", "limit_price", "0.47"), "unknown_field", "limit_price", "0.47", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", "-", "price_cents", "47"), "unknown_field", "price_cents", "47", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("side", `"sell"`, "tick", "4750"), "bad_price_tick", "tick", "4750", "preview_order", `{"tick":4800,"side":"sell"}`},
	// Quantities.
	{"place_order", buyOf("qty", "0"), "bad_qty", "qty", "0", "get_account", `{}`},
	{"place_order", buyOf("qty", "-5"), "bad_qty", "qty", "-5", "get_account", `{}`},
	{"place_order", buyOf("qty", "2.5"), "schema_violation", "qty", "2.5", "preview_order", `{"qty":2}`},
	{"place_order", buyOf("qty", `"5 contracts"`), "schema_violation", "qty", `"5 contracts"`, "preview_order", `{"qty":5}`},
	{"place_order", buyOf("qty", "1000001"), "bad_qty", "qty", "1000001", "preview_order", `{}`},
	{"place_order", buyOf("qty", "900000"), "insufficient_balance", "qty", "900000", "preview_order", `{}`},
	{"place_order", buyOf("qty", "-", "quantity", "5"), "unknown_field", "quantity", "5", "preview_order", `{"qty":5}`},
	{"place_order", buyOf("qty", "-", "size", `"5"`), "unknown_field", "size", `"5"`, "preview_order", `{"qty":5}`},
	{"place_order", buyOf("qty", "-"), "schema_violation", "qty", "", "list_series", `{}`},
	{"place_order", buyOf("qty", "null"), "schema_violation", "qty", "", "list_series", `{}`},
	// The round.
	{"place_order", buyOf("generation", "-"), "schema_violation", "generation", "", "place_order", `{"generation":1,"tick":4700,"qty":5}`},
	{"place_order", buyOf("generation", "null"), "schema_violation", "generation", "", "place_order", `{"generation":1}`},
	{"preview_order", buyOf("generation", "-"), "schema_violation", "generation", "", "preview_order", `{"generation":1}`},
	{"place_order", buyOf("generation", "-", "tick", "4750"), "schema_violation", "generation", "", "preview_order", `{"generation":1,"tick":4700}`},
	{"place_order", buyOf("generation", "-", "qty", "1000001"), "bad_qty", "qty", "1000001", "preview_order", `{"generation":1}`},
	{"place_order", buyOf("generation", "-", "qty", "900000"), "schema_violation", "generation", "", "preview_order", `{"generation":1}`},
	{"place_order", buyOf("generation", "-", "client_order_id", "-"), "client_order_id_required", "client_order_id", "", "preview_order", `{"generation":1}`},
	{"place_order", buyOf("generation", "-", "tick", "47"), "schema_violation", "generation", "", "preview_order", `{"generation":1,"tick":4700}`},
	{"place_order", buyOf("generation", "-", "tick", "-", "qty", "-", "dollars", "5"), "schema_violation", "generation", "", "place_order", `{"generation":1,"dollars":5}`},
	{"place_order", buyOf("generation", "0"), "schema_violation", "generation", "0", "preview_order", `{"generation":1}`},
	{"place_order", buyOf("generation", "7"), "stale_generation", "generation", "7", "list_series", `{}`},
	{"preview_order", buyOf("generation", "7"), "stale_generation", "generation", "7", "list_series", `{}`},
	{"place_order", buyOf("generation", "-", "market_id", "31"), "schema_violation", "generation", "", "list_series", `{}`},
	{"place_order", buyOf("market_id", "31"), "unknown_market", "market_id", "31", "list_series", `{}`},
	{"place_order", buyOf("market_id", `"btc-60s"`), "schema_violation", "market_id", `"btc-60s"`, "preview_order", `{"market_id":1}`},
	{"place_order", buyOf("market_id", `"BTC"`), "schema_violation", "market_id", `"BTC"`, "preview_order", `{"market_id":1}`},
	{"place_order", buyOf("market_id", `"eth-60s"`), "schema_violation", "market_id", `"eth-60s"`, "list_series", `{}`},
	{"place_order", buyOf("market_id", "-", "ticker", `"btc-60s"`), "unknown_field", "ticker", `"btc-60s"`, "preview_order", `{"market_id":1}`},
	{"place_order", buyOf("market_id", "-", "generation", "-"), "schema_violation", "market_id", "", "list_series", `{}`},
	// Side, outcome and other words.
	{"place_order", buyOf("side", `"yes"`, "outcome", `"buy"`), "schema_violation", "side", `"yes"`, "preview_order", `{"side":"buy","outcome":"yes"}`},
	{"place_order", buyOf("side", `"buy_no"`, "outcome", "-"), "schema_violation", "side", `"buy_no"`, "preview_order", `{"side":"buy","outcome":"no"}`},
	{"place_order", buyOf("side", `"long"`), "schema_violation", "side", `"long"`, "preview_order", `{"side":"buy"}`},
	{"place_order", buyOf("side", `"no"`, "outcome", "-"), "schema_violation", "side", `"no"`, "preview_order", `{"side":"buy","outcome":"no"}`},
	{"place_order", buyOf("outcome", `"up"`), "schema_violation", "outcome", `"up"`, "preview_order", `{"outcome":"yes"}`},
	{"place_order", buyOf("outcome", "true"), "schema_violation", "outcome", "true", "preview_order", `{"outcome":"yes"}`},
	{"place_order", buyOf("outcome", "-"), "schema_violation", "outcome", "", "list_series", `{}`},
	{"place_order", buyOf("side", "-"), "schema_violation", "side", "", "list_series", `{}`},
	{"place_order", buyOf("side", "null"), "schema_violation", "side", "null", "list_series", `{}`},
	{"place_order", buyOf("type", `"limit_order"`), "schema_violation", "type", `"limit_order"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tif", `"good_till_cancel"`), "schema_violation", "tif", `"good_till_cancel"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("time_in_force", `"ioc"`), "unknown_field", "time_in_force", `"ioc"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("post_only", "1"), "schema_violation", "post_only", "1", "preview_order", `{"post_only":true}`},
	{"place_order", buyOf("post_only", `"yes"`), "schema_violation", "post_only", `"yes"`, "preview_order", `{"post_only":true}`},
	{"place_order", buyOf("post_only", "true", "tif", `"ioc"`), "schema_violation", "post_only", "true", "preview_order", `{"post_only":true}`},
	{"place_order", buyOf("leverage", "5"), "unknown_field", "leverage", "5", "preview_order", `{"tick":4700,"qty":5}`},
	{"place_order", buyOf("stop_loss", "3000"), "unknown_field", "stop_loss", "3000", "preview_order", `{"tick":4700,"qty":5}`},
	// Ids.
	{"place_order", buyOf("client_order_id", `"my-order"`), "schema_violation", "client_order_id", `"my-order"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("client_order_id", "-"), "client_order_id_required", "client_order_id", "", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("client_order_id", `"0"`), "client_order_id_required", "client_order_id", `"0"`, "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("client_order_id", "-1"), "schema_violation", "client_order_id", "-1", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("client_order_id", `"1"`), "duplicate_client_order_id", "client_order_id", `"1"`, "list_orders", `{}`},
	{"preview_order", buyOf("client_order_id", `"1"`), "duplicate_client_order_id", "client_order_id", `"1"`, "list_orders", `{}`},
	// Market orders and money.
	{"place_order", buyOf("type", `"market"`, "tick", "-"), "schema_violation", "max_cost", "", "preview_order", `{"type":"market","qty":5,"worst_tick":5500}`},
	{"place_order", buyOf("type", `"market"`, "max_cost", `"50000"`), "schema_violation", "tick", "4700", "preview_order", `{"worst_tick":4700}`},
	{"place_order", buyOf("type", `"market"`, "tick", "-", "max_cost", "50000"), "schema_violation", "max_cost", "50000", "preview_order", `{"max_cost":"50000"}`},
	{"place_order", buyOf("type", `"market"`, "tick", "-", "max_cost", `"$5"`), "schema_violation", "max_cost", `"$5"`, "preview_order", `{"max_cost":"50000"}`},
	{"place_order", buyOf("type", `"market"`, "tick", "-", "max_cost", `"50000"`, "tif", `"ioc"`), "schema_violation", "tif", `"ioc"`, "preview_order", `{"max_cost":"50000"}`},
	{"place_order", buyOf("tick", "-", "worst_tick", "4700"), "schema_violation", "tick", "", "preview_order", `{"tick":4700}`},
	{"place_order", buyOf("tick", "-", "qty", "-", "dollars", `"$5"`), "schema_violation", "dollars", `"$5"`, "preview_order", `{"type":"market","max_cost":"50000","qty":8}`},
	{"place_order", buyOf("tick", "-", "qty", "-", "dollars", "0.01"), "schema_violation", "dollars", "0.01", "list_series", `{}`},
	{"place_order", buyOf("tick", "-", "dollars", "5"), "schema_violation", "dollars", "5", "preview_order", `{"type":"market"}`},
	{"place_order", buyOf("side", `"sell"`, "tick", "-", "dollars", "5", "qty", "-"), "schema_violation", "dollars", "5", "list_series", `{}`},
	{"place_order", buyOf("tif", `"gtt"`), "schema_violation", "expiry_ts", "", "preview_order", `{"tif":"gtt"}`},
	{"place_order", buyOf("tif", `"gtt"`, "expiry_ts", `"1"`), "bad_expiry", "expiry_ts", `"1"`, "preview_order", `{"tif":"gtt"}`},
	{"place_order", buyOf("tif", `"gtt"`, "expires_in_ms", "60"), "schema_violation", "expires_in_ms", "60", "preview_order", `{"tif":"gtt"}`},
	{"place_order", buyOf("expires_in_ms", "60000", "tif", `"gtc"`), "schema_violation", "expires_in_ms", "60000", "preview_order", `{"tif":"gtt"}`},
	{"place_order", buyOf("expires_in_ms", "60000", "tif", `"ioc"`), "schema_violation", "expires_in_ms", "60000", "preview_order", `{"tif":"ioc"}`},
	{"place_order", buyOf("expires_in_ms", `"soon"`), "schema_violation", "expires_in_ms", `"soon"`, "list_series", `{}`},
	{"place_order", buyOf("expires_in_ms", "-1"), "schema_violation", "expires_in_ms", "-1", "list_series", `{}`},
	{"place_order", buyOf("expires_in_ms", `"60s"`), "schema_violation", "expires_in_ms", `"60s"`, "preview_order", `{"tif":"gtt"}`},
	{"place_order", buyOf("expires_in_ms", `"500ms"`), "schema_violation", "expires_in_ms", `"500ms"`, "list_series", `{}`},
	{"place_order", buyOf("group_id", `"mm"`), "schema_violation", "group_id", `"mm"`, "list_series", `{}`},
	{"place_order", buyOf("reduce_only", `"maybe"`), "schema_violation", "reduce_only", `"maybe"`, "list_series", `{}`},
	{"place_order", buyOf("stp_maker", `"taker"`), "schema_violation", "stp_maker", `"taker"`, "list_series", `{}`},
	{"place_order", buyOf("qty", `"2,5"`), "schema_violation", "qty", `"2,5"`, "list_series", `{}`},
	{"place_order", buyOf("side", `"close"`), "schema_violation", "side", `"close"`, "list_series", `{}`},
	// A worst_tick in cents would be no bound.
	{"place_order", buyOf("side", `"sell"`, "type", `"market"`, "tick", "-", "worst_tick", "40"), "schema_violation", "worst_tick", "40", "preview_order", `{"worst_tick":4000}`},
	{"place_order", buyOf("tick", "-", "qty", "-", "dollars", "5", "worst_tick", "60"), "schema_violation", "worst_tick", "60", "preview_order", `{"worst_tick":6000}`},
	{"place_orders", `{"orders":[` + buyOf("side", `"sell"`, "type", `"market"`, "tick", "-", "worst_tick", "40") + `]}`, "schema_violation", "orders[0].worst_tick", "40", "preview_order", `{"worst_tick":4000}`},
	// What is not held.
	{"place_order", buyOf("side", `"sell"`, "tick", "6000", "qty", "50"), "insufficient_position", "qty", "50", "preview_order", `{"qty":10,"side":"sell"}`},
	{"place_order", buyOf("side", `"sell"`, "tick", "6000", "market_id", "3"), "insufficient_position", "qty", "5", "list_positions", `{"market_id":3}`},
	{"place_order", buyOf("reduce_only", "true", "qty", "50"), "reduce_only_violation", "qty", "50", "preview_order", `{"qty":4,"reduce_only":true}`},
	{"redeem_pairs", `{"market_id":1,"qty":5}`, "insufficient_position", "qty", "5", "redeem_pairs", `{"market_id":1,"qty":4}`},
	{"redeem_pairs", `{"market_id":3,"qty":5}`, "insufficient_position", "qty", "5", "list_positions", `{"market_id":3}`},
	{"redeem_pairs", `{"market_id":1,"qty":0}`, "bad_qty", "qty", "0", "list_positions", `{}`},
	{"redeem_pairs", `{"market_id":1}`, "schema_violation", "qty", "", "list_positions", `{}`},
	// Forecasts.
	{"submit_forecast", `{"market_id":1,"generation":1,"p":60}`, "schema_violation", "p", "60", "submit_forecast", `{"market_id":1,"generation":1,"p":6000}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":0.6}`, "schema_violation", "p", "0.6", "submit_forecast", `{"p":6000}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":"62%"}`, "schema_violation", "p", `"62%"`, "submit_forecast", `{"p":6200}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":1}`, "schema_violation", "p", "1", "submit_forecast", `{"p":100}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":62.5}`, "schema_violation", "p", "62.5", "submit_forecast", `{"p":6250}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":"0,6"}`, "schema_violation", "p", `"0,6"`, "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":"not 60"}`, "schema_violation", "p", `"not 60"`, "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":0.99999}`, "schema_violation", "p", "0.99999", "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":"1,000"}`, "schema_violation", "p", `"1,000"`, "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":1.0}`, "schema_violation", "p", "1.0", "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":9,"p":60}`, "schema_violation", "p", "60", "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":10001}`, "schema_violation", "p", "10001", "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"p":"likely"}`, "schema_violation", "p", `"likely"`, "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"p":6000}`, "schema_violation", "generation", "", "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":7,"p":6000}`, "stale_generation", "generation", "7", "list_series", `{}`},
	{"submit_forecast", `{"market_id":1,"generation":1,"probability":0.6}`, "unknown_field", "probability", "0.6", "list_series", `{}`},
	// Cancels, decreases and replaces.
	{"cancel_order", `{}`, "schema_violation", "order_id", "", "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_order", `{"order_id":"7777777"}`, "unknown_order", "order_id", `"7777777"`, "list_orders", `{}`},
	{"cancel_order", `{"client_order_id":7777777}`, "unknown_order", "client_order_id", "7777777", "list_orders", `{}`},
	{"cancel_order", `{"order_id":"abc"}`, "schema_violation", "order_id", `"abc"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_order", `{"id":"5"}`, "unknown_field", "id", `"5"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_orders", `{"order_ids":"5"}`, "schema_violation", "order_ids", `"5"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_orders", `{"order_ids":["5","abc"]}`, "schema_violation", "order_ids[1]", `"abc"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_all_orders", `{"market_id":"btc"}`, "schema_violation", "market_id", `"btc"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_all_orders", `{"group":"a"}`, "unknown_field", "group", `"a"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"cancel_all_orders", `{"series":"btc-60s"}`, "unknown_field", "series", `"btc-60s"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"decrease_order", `{"order_id":"7777777","reduce_by":1}`, "unknown_order", "order_id", `"7777777"`, "list_orders", `{}`},
	{"decrease_order", `{"order_id":"7777777"}`, "schema_violation", "reduce_by", "", "list_orders", `{}`},
	{"decrease_order", `{"order_id":"7777777","reduce_by":0}`, "invalid_decrease", "reduce_by", "0", "list_orders", `{}`},
	{"replace_order", `{"order_id":"RESTING","client_order_id":"901","tick":4050}`, "bad_price_tick", "tick", "4050", "replace_order", `{"tick":4000}`},
	{"replace_order", `{"order_id":"RESTING","client_order_id":"901","tick":41}`, "bad_price_tick", "tick", "41", "preview_order", `{"tick":4100}`},
	{"replace_order", `{"order_id":"RESTING","client_order_id":"901","tick":0.41}`, "schema_violation", "tick", "0.41", "preview_order", `{"tick":4100}`},
	{"replace_order", `{"order_id":"7777777","client_order_id":"901","tick":4100}`, "unknown_order", "order_id", `"7777777"`, "list_orders", `{}`},
	{"replace_order", `{"order_id":"RESTING","client_order_id":"1","tick":4100}`, "duplicate_client_order_id", "client_order_id", `"1"`, "list_orders", `{}`},
	{"replace_order", `{"order_id":"RESTING","client_order_id":"901","tick":5550,"post_only":true}`, "bad_price_tick", "tick", "5550", "preview_order", `{"tick":5500,"post_only":true}`},
	{"place_order", buyOf("generation", "-", "tick", "6000", "post_only", "true"), "schema_violation", "generation", "", "preview_order", `{"tick":6000,"post_only":true}`},
	{"arm_deadman", `{"timeout_ms":5}`, "invalid_timeout", "timeout_ms", "5", "get_account", `{}`},
	{"arm_deadman", `{"seconds":5}`, "unknown_field", "seconds", "5", "get_account", `{}`},
	{"request_withdrawal", `{"client_withdrawal_id":"w","amount":5,"destination":"d"}`, "schema_violation", "amount", "5", "get_account", `{}`},
	{"request_withdrawal", `{"client_withdrawal_id":"w","amount":"0","destination":"d"}`, "bad_amount", "amount", `"0"`, "get_account", `{}`},
	{"request_withdrawal", `{"client_withdrawal_id":"w","amount":"100000001","destination":"d"}`, "insufficient_balance", "amount", `"100000001"`, "get_account", `{}`},
	// Batches.
	{"place_orders", `{"orders":[` + buyOf("generation", "-") + `,` + buyOf("client_order_id", `"901"`) + `]}`, "schema_violation", "orders[0].generation", "", "place_orders", `{}`},
	{"place_orders", `{"orders":[` + buyOf() + `,` + buyOf("client_order_id", `"901"`, "tick", "0.47") + `]}`, "schema_violation", "orders[1].tick", "0.47", "preview_order", `{"tick":4700}`},
	{"place_orders", `{"orders":[]}`, "schema_violation", "orders", `"0 items"`, "list_series", `{}`},
	{"place_orders", `{"tick":4700}`, "unknown_field", "tick", "4700", "list_series", `{}`},
	// Reads.
	{"list_orders", `{"status":"open"}`, "schema_violation", "status", `"open"`, "list_orders", `{"status":"resting,partially_filled"}`},
	{"list_orders", `{"status":"filled"}`, "schema_violation", "status", `"filled"`, "list_orders", `{"status":"executed"}`},
	{"list_orders", `{"limit":5000}`, "schema_violation", "limit", "5000", "list_orders", `{"limit":1000}`},
	{"list_orders", `{"cursor":"zz"}`, "bad_cursor", "cursor", `"zz"`, "list_orders", `{}`},
	{"list_orders", `{"market":"btc-60s"}`, "unknown_field", "market", `"btc-60s"`, "list_orders", `{"market_id":1}`},
	{"list_orders", `{"colour":"red"}`, "unknown_field", "colour", `"red"`, "list_orders", `{}`},
	{"get_market", `{"market_id":"btc-60s"}`, "schema_violation", "market_id", `"btc-60s"`, "get_market", `{"market_id":1}`},
	{"get_market", `{"market_id":31}`, "unknown_market", "market_id", "31", "list_series", `{}`},
	{"get_orderbook", `{"ticker":"btc-60s"}`, "unknown_field", "ticker", `"btc-60s"`, "get_orderbook", `{"market_id":1}`},
	{"get_orderbook", `{}`, "schema_violation", "market_id", "", "list_series", `{}`},
	{"get_round", `{"market_id":31}`, "round_not_found", "market_id", "31", "list_series", `{}`},
	{"list_series", `{"category":"btc-60s"}`, "schema_violation", "category", `"btc-60s"`, "list_series", `{"category":1}`},
	{"list_series", `{"category":99}`, "schema_violation", "category", "99", "list_series", `{}`},
	{"get_price_history", `{"feed":"BTC"}`, "schema_violation", "feed", `"BTC"`, "get_price_history", `{"feed":0}`},
	{"get_oracle_price", `{"feed":"gold"}`, "schema_violation", "feed", `"gold"`, "get_oracle_price", `{"feed":1}`},
	{"wait_for_event", `{}`, "schema_violation", "after_seq", "", "wait_for_event", `{}`},
	{"wait_for_event", `{"after_seq":"0","kinds":["fills"]}`, "schema_violation", "kinds[0]", `"fills"`, "wait_for_event", `{"kinds":["fill"]}`},
	{"wait_for_event", `{"after_seq":"0","timeout_ms":60000}`, "invalid_timeout", "timeout_ms", "60000", "wait_for_event", `{"timeout_ms":25000}`},
	{"get_order", `{"order_id":"7777777"}`, "unknown_order", "order_id", `"7777777"`, "list_orders", `{}`},
}

// TestMistakes makes each mistake. It is refused with its field, its value as sent and
// a next call; the account is as before; and next can be made as it stands. A write among them does no more
// than what was sent.
func TestMistakes(t *testing.T) {
	t.Parallel()
	shared, first := mistaken(t)
	for i, m := range mistakes {
		t.Run(m.tool+" "+m.arguments, func(t *testing.T) {
			d, resting := shared, first
			if next := d.lane.byName[m.next]; next == nil || !next.spec.ReadOnly() {
				d, resting = mistaken(t)
			}
			d.T = t
			arguments := strings.NewReplacer("RESTING", resting, `"900"`, fmt.Sprintf(`"%d"`, 9000+2*i), `"901"`, fmt.Sprintf(`"%d"`, 9001+2*i)).Replace(m.arguments)
			before := d.accountOf(d.alice)
			r := d.callTool(d.alice, m.tool, arguments)
			text := string(r.StructuredContent)
			if !r.IsError {
				t.Fatalf("%s, want %s", text, m.code)
			}
			if after := d.accountOf(d.alice); after != before {
				t.Errorf("the account was\n%s\nand is\n%s", before, after)
			}
			var e struct {
				Error   struct{ Code string }
				Field   string
				Got     json.RawMessage
				Outcome string
				Next    struct {
					Tool      string
					Arguments map[string]json.RawMessage
				}
			}
			if err := json.Unmarshal(r.StructuredContent, &e); err != nil {
				t.Fatal(err)
			}
			if e.Error.Code != m.code || e.Field != m.field || string(e.Got) != m.got || e.Next.Tool != m.next || e.Outcome != "not_done" {
				t.Errorf("%s\nwant %s of %s, got %s, next %s", text, m.code, m.field, m.got, m.next)
			}
			var with map[string]json.RawMessage
			if err := json.Unmarshal([]byte(m.with), &with); err != nil {
				t.Fatal(err)
			}
			for name, want := range with {
				if string(e.Next.Arguments[name]) != string(want) {
					t.Errorf("next has %s %s, want %s: %s", name, e.Next.Arguments[name], want, text)
				}
			}
			if sent := at(t, arguments, "client_order_id"); m.next == "place_order" && string(e.Next.Arguments["client_order_id"]) != fmt.Sprintf("%q", sent) {
				t.Errorf("next has another id than %v, which is free: %s", sent, text)
			}
			if e.Next.Tool == "wait_for_event" { // nothing is to come
				e.Next.Arguments["timeout_ms"] = json.RawMessage("0")
			}
			b, err := json.Marshal(e.Next.Arguments)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.callTool(d.alice, e.Next.Tool, string(b)); got.IsError {
				t.Errorf("next %s %s is refused: %s", e.Next.Tool, b, got.StructuredContent)
			}
		})
	}
	if len(mistakes) < 88 {
		t.Errorf("%d mistakes, want at least 88", len(mistakes))
	}
}

// mistaken returns the venue of the mistakes and the order of client_order_id 1.
func mistaken(t *testing.T) (d *testVenue, resting string) {
	t.Helper()
	d = generous(t)
	d.Venue.Config.ReadRate = 100_000
	place := func(k lanetest.Key, arguments string) string {
		t.Helper()
		r := d.callTool(k, "place_order", arguments)
		if r.IsError {
			t.Fatalf("%s: %s", arguments, r.StructuredContent)
		}
		return at(t, string(r.StructuredContent), "order_id").(string)
	}
	place(d.bob, buyOf("client_order_id", `"1"`, "outcome", `"no"`, "tick", "5000", "qty", "10"))
	place(d.alice, buyOf("client_order_id", `"2"`, "tick", "5000", "qty", "10")) // holds 10 YES
	place(d.bob, buyOf("client_order_id", `"2"`, "tick", "5000", "qty", "4"))
	place(d.alice, buyOf("client_order_id", `"3"`, "outcome", `"no"`, "tick", "5000", "qty", "4")) // holds 4 NO
	place(d.bob, buyOf("client_order_id", `"4"`, "tick", "4500", "qty", "100"))
	place(d.bob, buyOf("client_order_id", `"5"`, "outcome", `"no"`, "tick", "4500", "qty", "100")) // YES from 5500
	return d, place(d.alice, buyOf("client_order_id", `"1"`, "tick", "4000", "qty", "5"))
}

// accountOf returns what an account has: cash, contracts, orders that were not rejected, and forecasts.
func (d *testVenue) accountOf(k lanetest.Key) string {
	d.T.Helper()
	var all []string
	for _, target := range []string{
		"/v1/portfolio/balance", "/v1/portfolio/positions", "/v1/portfolio/orders?status=resting,partially_filled,executed,canceled,expired", "/v1/forecasts",
		"/v1/withdrawals", "/v1/portfolio/fills", "/v1/portfolio/deadman",
	} {
		status, body := d.Call(k, "GET", target, "")
		if status != 200 {
			d.T.Fatalf("%s: %d %s", target, status, body)
		}
		body, _, _ = strings.Cut(body, `,"as_of_seq"`)
		all = append(all, body)
	}
	return strings.Join(all, "\n")
}

// TestRepeatsWithDollars checks that a repeat of an order with dollars, or with an expiry from now, agrees
// with the first, whatever the book and the clock give then.
func TestRepeatsWithDollars(t *testing.T) {
	t.Parallel()
	d, _ := mistaken(t)
	for _, arguments := range []string{
		buyOf("client_order_id", `"20"`, "tick", "-", "qty", "-", "dollars", "5"),
		buyOf("client_order_id", `"21"`, "expires_in_ms", "20000"),
	} {
		first := d.callTool(d.alice, "place_order", arguments)
		if first.IsError {
			t.Fatalf("%s: %s", arguments, first.StructuredContent)
		}
		d.AdvanceClock(time.Second)
		d.Submit(&core.CancelAll{User: 2})
		again := string(d.callTool(d.alice, "place_order", arguments).StructuredContent)
		checkMembers(t, "the same "+arguments, again, map[string]any{
			"error.code": "duplicate_client_order_id", "replayed": true, "outcome": "done", "order.order_id": at(t, string(first.StructuredContent), "order_id"),
		})
	}
	other := string(d.callTool(d.alice, "place_order", buyOf("client_order_id", `"20"`, "tick", "-", "qty", "-", "dollars", "6")).StructuredContent)
	if differs := fmt.Sprint(at(t, other, "differs")); differs != "[dollars]" {
		t.Errorf("with other dollars: differs is %s in %s", differs, other)
	}
}

// TestDollarsBuyWhatTheyCan checks the quantity of an order with dollars over two prices of the book: one
// contract more would cost more than the dollars, fees included.
func TestDollarsBuyWhatTheyCan(t *testing.T) {
	t.Parallel()
	d, _ := mistaken(t)
	d.callTool(d.bob, "place_order", buyOf("client_order_id", `"6"`, "outcome", `"no"`, "tick", "4000", "qty", "100")) // YES from 6000
	var rate core.Rate
	d.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { rate = v.Fees().Taker })
	cost := func(qty int64) core.Pips { // 100 at 5500, the rest at 6000
		first := min(qty, 100)
		return core.Pips(first*5500+(qty-first)*6000) + core.Fee(rate, core.Qty(first), 5500) + core.Fee(rate, core.Qty(qty-first), 6000)
	}
	for i, dollars := range []int64{1, 20, 57, 58, 70, 110} {
		arguments := buyOf("client_order_id", fmt.Sprintf(`"%d"`, 30+i), "tick", "-", "qty", "-", "dollars", fmt.Sprint(dollars))
		r := string(d.callTool(d.alice, "preview_order", arguments).StructuredContent)
		var qty int64
		fills, _ := at(t, r, "fills").([]any)
		for _, f := range fills {
			qty += int64(f.(map[string]any)["qty"].(float64))
		}
		if budget := core.Pips(dollars * dollar); at(t, r, "status") != "executed" || cost(qty) > budget || cost(qty+1) <= budget {
			t.Errorf("$%d buy %d for %d pips: %s", dollars, qty, cost(qty), r)
		}
	}
	text := string(d.callTool(d.alice, "place_order", buyOf("client_order_id", `"40"`, "tick", "-", "qty", "-", "dollars", "0.50")).StructuredContent)
	if limit := at(t, text, "limit"); limit != fmt.Sprintf("at least $%s, which one contract costs now", strings.TrimSuffix(fmt.Sprintf("%.4f", float64(cost(1))/dollar), "0")) {
		t.Errorf("$0.50: the limit %v in %s", limit, text)
	}
}
