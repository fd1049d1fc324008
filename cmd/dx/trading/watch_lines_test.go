package trading

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"duplex/client"
)

// Every message type in the event lane's document has a line.
func TestWatchLines(t *testing.T) {
	text, err := os.ReadFile("../../../lanes/ws/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples map[string]struct {
		Type string
		Msg  json.RawMessage
	}
	if err := json.Unmarshal(text, &examples); err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{
		"orderbook_snapshot": "1: book of round 1: YES 10 @ 47¢ and 0 more levels, NO no bids",
		"orderbook_delta":    "1: YES @ 47¢: -4, now 6",
		"trade":              "1: trade: 4, YES @ 47¢, taker: buy NO (mint)",
		"oracle":             "BTC: 66,000.00 from 3 sources",
		"round":              "1: round 1, btc-60s: void, strike 65,000.00",
		"draining":           "-: the venue stops, and closes this stream at 03:15:06 UTC",
		"user_snapshot":      "-: account: $9,995.30 free, $4.70 reserved, 1 order, 0 positions",
		"user_order":         "1: order 14, buy 10 YES @ 47¢: partially_filled, 4 filled, 6 remaining",
		"user_fill":          "1: fill of order 14 as maker: buy 4 YES, YES @ 47¢ (mint), fee $0.00",
		"user_balance":       "-: balance: $9,995.30 free, $2.82 reserved, +$0.00 (fill)",
		"user_position":      "1: position: 4 YES, 0 NO, cost $1.88",
		"user_settlement":    "1: settlement of round 1, void: $2.00 for 4 YES, 0 NO",
		"user_deposit":       "-: deposit again of $0.05",
		"user_withdrawal":    "-: withdrawal 19 of $25.00 to bank-7: pending",
		"user_transfer":      "-: transfer of $0.50 from account 1 to account 3",
		"user_account":       "-: account halted, mandate rev 1",
		"user_deadman":       "-: dead-man switch armed, 60,000 ms",
		"user_group":         "-: group 7 may fill 100 contracts in 5,000 ms, 0 now",
		"user_key_revoked":   "-: key K revoked",
		"user_approval":      "1: approval 24 of scout, buy 2 YES @ 47¢, at most $0.9526: waits for its owner",
	}
	for name, e := range examples {
		if kind := e.Type; kind != name && kind != "user" { // a command, or its response
			continue
		}
		if name == "subscribed" || name == "unsubscribed" {
			continue
		}
		of, what, err := describeEvent(&client.StreamEvent{Type: e.Type, Msg: e.Msg})
		if rest, ok := strings.CutPrefix(what, "key "); ok {
			what = "key K" + rest[strings.LastIndex(rest, " "):]
		}
		if got := of + ": " + what; err != nil || got != lines[name] {
			t.Errorf("%s: %q, %v; want %q", name, got, err, lines[name])
		}
		delete(lines, name)
	}
	for name := range lines {
		t.Errorf("the document has no example %s", name)
	}
}

// Cases that the document's examples do not contain.
func TestWatchLinesBeyond(t *testing.T) {
	for _, c := range []struct{ typ, msg, want string }{
		{"orderbook_delta", `{"market_id":3,"changes":[{"outcome":"yes","tick":4710,"delta":5,"qty":5},{"outcome":"no","tick":100,"delta":-1,"qty":0}]}`, "3: YES @ 47.1¢: +5, now 5, NO @ 1¢: -1, now 0"},
		{"round", `{"market_id":3,"round_number":"9","category":5,"status":"settled","strike":"100000000","settle_price":"250000000","winner":"yes","paused":true}`, "3: round 9, gold-5m: settled, strike 1.00, settles at 2.50, YES wins, paused"},
		{"oracle", `{"feed":9,"price":"100000000","fresh_source_count":0}`, "9: 1.00 from 0 sources"},
		{"user", `{"event":"order","order":{"client_order_id":"7","market_id":3,"side":"sell","outcome":"no","qty":2,"status":"rejected","reason":"insufficient_position"}}`, "3: order client_order_id 7, sell 2 NO at market: rejected, 0 filled, 0 remaining, insufficient position"},
		{"user", `{"event":"order","order":{"order_id":"8","client_order_id":"7","market_id":3,"side":"buy","outcome":"yes","tick":5347,"qty":2,"filled_qty":2,"status":"executed"}}`, "3: order 8, buy 2 YES @ 53.47¢: executed, 2 filled, 0 remaining"},
		{"user", `{"event":"balance","cash":"12345","reserved":"0","change":"-250","cause":"fill"}`, "-: balance: $1.2345 free, $0.00 reserved, -$0.0250 (fill)"},
		{"user", `{"event":"settlement","market_id":3,"round_number":"9","winner":"no","no_qty":2,"payout":"20000"}`, "3: settlement of round 9, NO wins: $2.00 for 0 YES, 2 NO"},
		{"user", `{"event":"approval","approval":{"approval_id":"9","agent":"bot","status":"waiting","market_id":3,"side":"buy","outcome":"yes","type":"limit","tif":"gtc","tick":4700,"qty":10,"cost":"49300"}}`, "3: approval 9 of bot, buy 10 YES @ 47¢, at most $4.93: waits for its owner"},
		{"user", `{"event":"approval","approval":{"approval_id":"9","agent":"bot","status":"canceled","reason":"round_closed","market_id":3,"side":"buy","outcome":"no","type":"market","tick":5300,"qty":1,"cost":"5500"}}`, "3: approval 9 of bot, buy 1 NO at market, worst 53¢, at most $0.55: it was canceled: the round ended"},
		{"user", `{"event":"deadman","fired":true}`, "-: dead-man switch fired"},
		{"user", `{"event":"deadman","armed":true,"timeout_ms":5000,"group_id":7}`, "-: dead-man switch of group 7 armed, 5,000 ms"},
		{"user", `{"event":"deadman"}`, "-: dead-man switch disarmed"},
		{"user", `{"event":"group","change":"tripped","group":{"group_id":7,"fill_limit":100,"window_ms":5000,"filled":120,"tripped":true}}`, "-: group 7 has tripped: 120 of 100 contracts in 5,000 ms"},
		{"user", `{"event":"group","change":"reset","group":{"group_id":7}}`, "-: group 7 is reset"},
		{"user", `{"event":"group","change":"deleted","group":{"group_id":7}}`, "-: group 7 has no bound"},
		{"user", `{"event":"gift"}`, `-: {"event":"gift"}`},
	} {
		of, what, err := describeEvent(&client.StreamEvent{Type: c.typ, Msg: []byte(c.msg)})
		if got := of + ": " + what; err != nil || got != c.want {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
	if _, _, err := describeEvent(&client.StreamEvent{Type: "trade", Msg: []byte("[]")}); err == nil {
		t.Error("a trade message that is a list was accepted")
	}
}
