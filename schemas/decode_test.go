package schemas

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"duplex/core"

	"pgregory.net/rapid"
)

// Two valid orders. A row of a table changes only the members that matter.
const (
	limitBuy  = `{"client_order_id":"7","market_id":1,"side":"buy","outcome":"yes","tick":4700,"qty":10}`
	marketBuy = `{"client_order_id":"7","market_id":1,"side":"buy","outcome":"yes","type":"market","max_cost":"500","qty":10}`
)

// with sets members of a JSON order. The value "-" removes a member.
func with(order string, members ...string) string {
	var out []string
	rest := strings.Split(strings.Trim(order, "{}"), ",")
	for i := 0; i < len(members); i += 2 {
		for j, m := range rest {
			if strings.HasPrefix(m, `"`+members[i]+`":`) {
				rest = append(rest[:j:j], rest[j+1:]...)
				break
			}
		}
		if members[i+1] != "-" {
			out = append(out, fmt.Sprintf("%q:%s", members[i], members[i+1]))
		}
	}
	return "{" + strings.Join(append(rest, out...), ",") + "}"
}

// verdict returns the code of a fault, or "+" and the reject that the order carries, or "".
func verdict(f *Fault, o PlaceOrder) string {
	switch {
	case f != nil:
		return f.Code
	case o.Fault != core.OK:
		return "+" + o.Fault.String()
	}
	return ""
}

func TestDecodePlaceOrder(t *testing.T) {
	const sv = "schema_violation"
	big := strings.Repeat("9", 40)
	for _, c := range []struct{ body, want string }{
		{limitBuy, ""},
		{marketBuy, ""},
		{" \n\t" + limitBuy + "\r\n ", ""},
		// not one JSON object
		{"", "malformed_json"},
		{"   ", "malformed_json"},
		{"null", "malformed_json"},
		{"[]", "malformed_json"},
		{`"x"`, "malformed_json"},
		{"[" + limitBuy + "]", "malformed_json"},
		{limitBuy + "{}", "malformed_json"},
		{limitBuy + ",", "malformed_json"},
		{limitBuy[:len(limitBuy)-1], "malformed_json"},
		{limitBuy[:len(limitBuy)-1] + ",}", "malformed_json"},
		{limitBuy[:len(limitBuy)-1] + `,"qty":10}`, "malformed_json"},
		{limitBuy[:len(limitBuy)-1] + `,"q\u0074y":10}`, "malformed_json"},
		{limitBuy[:len(limitBuy)-1] + `,"x":{"a":1,"a":1}}`, "malformed_json"},
		{limitBuy[:len(limitBuy)-1] + `,"x":[{"a":1,"a":1}]}`, "malformed_json"},
		{with(limitBuy, "side", "\"\xff\""), "malformed_json"},
		{with(limitBuy, "side", `"\ud800"`), "malformed_json"},
		{with(limitBuy, "qty", "01"), "malformed_json"},
		{with(limitBuy, "qty", "+1"), "malformed_json"},
		{with(limitBuy, "qty", "NaN"), "malformed_json"},
		{"\ufeff" + limitBuy, "malformed_json"},
		{"// x\n" + limitBuy, "malformed_json"},
		{strings.ReplaceAll(limitBuy, `"`, `'`), "malformed_json"},
		// unknown fields come before everything else in the object
		{with(limitBuy, "foo", "1"), "unknown_field"},
		{with(limitBuy, "Qty", "1"), "unknown_field"},
		{with(limitBuy, "QTY", "1", "qty", "0"), "unknown_field"},
		{with(limitBuy, "fault", "1"), "unknown_field"},
		{with(limitBuy, "Fault", "1"), "unknown_field"},
		{with(limitBuy, "", "1"), "unknown_field"},
		{with(limitBuy, "foo", "null"), "unknown_field"},
		{with(limitBuy, "foo", "1", "qty", "0", "side", "1", "client_order_id", "-"), "unknown_field"},
		{with(limitBuy, "qty", `"x"`, "foo", "1"), "unknown_field"},
		{`{"orders":[]}`, "unknown_field"},
		// faults that the core records, in orders that are valid otherwise
		{with(limitBuy, "qty", "0"), "+bad_qty"},
		{with(limitBuy, "qty", "-0"), "+bad_qty"},
		{with(limitBuy, "qty", "-1"), "+bad_qty"},
		{with(limitBuy, "qty", "1000000"), ""},
		{with(limitBuy, "qty", "1000001"), "+bad_qty"},
		{with(limitBuy, "qty", "9223372036854775807"), "+bad_qty"},
		{with(limitBuy, "qty", "9223372036854775808"), "+bad_qty"},
		{with(limitBuy, "qty", "18446744073709551617"), "+bad_qty"},
		{with(limitBuy, "qty", big), "+bad_qty"},
		{with(limitBuy, "qty", "-"+big), "+bad_qty"},
		{with(limitBuy, "tick", "0"), "+bad_price_tick"},
		{with(limitBuy, "tick", "-1"), "+bad_price_tick"},
		{with(limitBuy, "tick", "1"), ""},
		{with(limitBuy, "tick", "9999"), ""},
		{with(limitBuy, "tick", "10000"), "+bad_price_tick"},
		{with(limitBuy, "tick", "4294967297"), "+bad_price_tick"},
		{with(limitBuy, "tick", big), "+bad_price_tick"},
		{with(limitBuy, "client_order_id", "-"), "+client_order_id_required"},
		{with(limitBuy, "client_order_id", `"0"`), "+client_order_id_required"},
		{with(limitBuy, "client_order_id", `"000"`), "+client_order_id_required"},
		{with(limitBuy, "client_order_id", `"007"`), ""},
		{with(limitBuy, "client_order_id", `"\u0037"`), ""},
		{with(limitBuy, "client_order_id", `"18446744073709551615"`), ""},
		{with(limitBuy, "qty", "0", "tick", "0", "client_order_id", "-"), "+bad_qty"},
		{with(limitBuy, "tick", "0", "client_order_id", "-"), "+bad_price_tick"},
		{with(marketBuy, "qty", "0"), "+bad_qty"},
		// the code of a domain ranks before schema_violation
		{with(limitBuy, "qty", "0", "side", `"x"`), "bad_qty"},
		{with(limitBuy, "tick", "0", "side", "-"), "bad_price_tick"},
		{with(limitBuy, "client_order_id", "-", "market_id", `"1"`), "client_order_id_required"},
		{with(limitBuy, "tick", "0", "type", `"market"`), "bad_price_tick"},
		// a field with a faulty value is not absent
		{with(limitBuy, "client_order_id", "7"), sv},
		{with(limitBuy, "client_order_id", "0"), sv},
		{with(limitBuy, "client_order_id", "null"), sv},
		{with(limitBuy, "client_order_id", `""`), sv},
		{with(limitBuy, "client_order_id", `"-7"`), sv},
		{with(limitBuy, "client_order_id", `"+7"`), sv},
		{with(limitBuy, "client_order_id", `" 7"`), sv},
		{with(limitBuy, "client_order_id", `"7.0"`), sv},
		{with(limitBuy, "client_order_id", `"0x7"`), sv},
		{with(limitBuy, "client_order_id", `"1_0"`), sv},
		{with(limitBuy, "client_order_id", `"7a"`), sv},
		{with(limitBuy, "client_order_id", `"٧"`), sv},
		{with(limitBuy, "client_order_id", `"18446744073709551616"`), sv},
		{with(limitBuy, "client_order_id", `["7"]`), sv},
		{with(limitBuy, "client_order_id", `{"a":"7"}`), sv},
		{with(limitBuy, "qty", "-"), sv},
		{with(limitBuy, "qty", "null"), sv},
		{with(limitBuy, "qty", `"10"`), sv},
		{with(limitBuy, "qty", "1.0"), sv},
		{with(limitBuy, "qty", "1e2"), sv},
		{with(limitBuy, "qty", "0.5"), sv},
		{with(limitBuy, "qty", "true"), sv},
		{with(limitBuy, "qty", "[10]"), sv},
		{with(limitBuy, "qty", "{}"), sv},
		{with(limitBuy, "tick", "null"), sv},
		{with(limitBuy, "tick", `"4700"`), sv},
		{with(limitBuy, "tick", "4700.0"), sv},
		{with(limitBuy, "tick", "47e2"), sv},
		{with(limitBuy, "market_id", "-"), sv},
		{with(limitBuy, "market_id", "null"), sv},
		{with(limitBuy, "market_id", `"1"`), sv},
		{with(limitBuy, "market_id", "-1"), sv},
		{with(limitBuy, "market_id", "1.5"), sv},
		{with(limitBuy, "market_id", "0"), ""},
		{with(limitBuy, "market_id", "99999"), ""},
		{with(limitBuy, "market_id", "4294967296"), sv},
		{with(limitBuy, "market_id", big), sv},
		{with(limitBuy, "side", "-"), sv},
		{with(limitBuy, "side", `""`), sv},
		{with(limitBuy, "side", `"BUY"`), sv},
		{with(limitBuy, "side", `"buy "`), sv},
		{with(limitBuy, "side", "null"), sv},
		{with(limitBuy, "side", "1"), sv},
		{with(limitBuy, "side", `"sell"`), ""},
		{with(limitBuy, "side", `"\u0062uy"`), ""},
		{with(limitBuy, "outcome", "-"), sv},
		{with(limitBuy, "outcome", `"maybe"`), sv},
		{with(limitBuy, "outcome", "true"), sv},
		{with(limitBuy, "outcome", `"no"`), ""},
		{with(limitBuy, "type", `"limit"`), ""},
		{with(limitBuy, "type", `""`), sv},
		{with(limitBuy, "type", "null"), sv},
		{with(limitBuy, "type", `"stop"`), sv},
		{with(limitBuy, "tif", `"gtc"`), ""},
		{with(limitBuy, "tif", `"ioc"`), ""},
		{with(limitBuy, "tif", `"fok"`), ""},
		{with(limitBuy, "tif", `"day"`), sv},
		{with(limitBuy, "tif", `""`), sv},
		{with(limitBuy, "tif", "null"), sv},
		{with(limitBuy, "post_only", "true"), ""},
		{with(limitBuy, "post_only", "false"), ""},
		{with(limitBuy, "post_only", "null"), sv},
		{with(limitBuy, "post_only", "1"), sv},
		{with(limitBuy, "post_only", `"true"`), sv},
		{with(limitBuy, "reduce_only", "true", "cancel_on_pause", "true", "stp_maker", "true"), ""},
		{with(limitBuy, "reduce_only", "0"), sv},
		{with(limitBuy, "cancel_on_pause", `"x"`), sv},
		{with(limitBuy, "stp_maker", "[]"), sv},
		{with(limitBuy, "group_id", "0"), ""},
		{with(limitBuy, "group_id", "4294967295"), ""},
		{with(limitBuy, "group_id", "4294967296"), sv},
		{with(limitBuy, "group_id", "-1"), sv},
		{with(limitBuy, "group_id", `"1"`), sv},
		{with(limitBuy, "generation", "1"), ""},
		{with(limitBuy, "generation", "4294967295"), ""},
		{with(limitBuy, "generation", "0"), sv},
		{with(limitBuy, "generation", "-0"), sv},
		{with(limitBuy, "generation", "4294967296"), sv},
		{with(limitBuy, "generation", "-1"), sv},
		{with(limitBuy, "max_cost", `"0"`), ""},
		{with(limitBuy, "max_cost", `"18446744073709551616"`), sv},
		{with(limitBuy, "max_cost", "5"), sv},
		{with(limitBuy, "max_cost", "null"), sv},
		{with(limitBuy, "expiry_ts", `"x"`), sv},
		{with(limitBuy, "expiry_ts", "null"), sv},
		// rules that involve several fields
		{with(limitBuy, "tick", "-"), sv},
		{with(limitBuy, "worst_tick", "5000"), sv},
		{with(limitBuy, "expiry_ts", `"0"`), ""},
		{with(limitBuy, "expiry_ts", `"5"`), sv},
		{with(limitBuy, "expiry_ts", `"5"`, "tif", `"ioc"`), sv},
		{with(limitBuy, "expiry_ts", `"5"`, "tif", `"gtt"`), ""},
		{with(limitBuy, "expiry_ts", `"0"`, "tif", `"gtt"`), ""}, // the core's bad_expiry
		{with(limitBuy, "tif", `"gtt"`), sv},
		{with(limitBuy, "tif", `"gtt"`, "expiry_ts", `"5"`, "post_only", "true"), ""},
		{with(limitBuy, "tif", `"ioc"`, "post_only", "true"), sv},
		{with(limitBuy, "tif", `"ioc"`, "post_only", "false"), ""},
		{with(limitBuy, "tif", `"fok"`, "post_only", "true"), sv},
		{with(limitBuy, "side", `"sell"`, "max_cost", `"0"`), ""},
		{with(limitBuy, "side", `"sell"`, "max_cost", `"1"`), sv},
		{with(marketBuy, "tick", "5000"), sv},
		{with(marketBuy, "tif", `"ioc"`), sv},
		{with(marketBuy, "tif", `"gtc"`), sv},
		{with(marketBuy, "expiry_ts", `"0"`), ""},
		{with(marketBuy, "expiry_ts", `"5"`), sv},
		{with(marketBuy, "post_only", "true"), sv},
		{with(marketBuy, "post_only", "false"), ""},
		{with(marketBuy, "max_cost", "-"), sv},
		{with(marketBuy, "max_cost", `"0"`), sv},
		{with(marketBuy, "worst_tick", "1"), ""},
		{with(marketBuy, "worst_tick", "47"), ""},
		{with(marketBuy, "worst_tick", "9999"), ""},
		{with(marketBuy, "worst_tick", "0"), sv},
		{with(marketBuy, "worst_tick", "10000"), sv},
		{with(marketBuy, "worst_tick", "null"), sv},
		{with(marketBuy, "side", `"sell"`, "max_cost", "-"), ""},
		{with(marketBuy, "side", `"sell"`), sv},
	} {
		var o PlaceOrder
		f := Decode([]byte(c.body), &o)
		if got := verdict(f, o); got != c.want {
			t.Errorf("%s\n got %q want %q (%v)", c.body, got, c.want, f)
		}
		if f != nil && (o.Fault != core.OK || !IsErrorCode(f.Code)) {
			t.Errorf("%s: fault %v, and the order carries %v", c.body, f, o.Fault)
		}
	}
}

func TestDecodeKeepsTheOrder(t *testing.T) {
	var o PlaceOrder
	if f := Decode([]byte(with(limitBuy, "qty", "0", "group_id", "9")), &o); f != nil {
		t.Fatal(f)
	}
	want := PlaceOrder{ClientOrderID: 7, MarketID: 1, Side: "buy", Outcome: "yes", Tick: Ptr(Int(4700)), GroupID: 9, Fault: core.BadQty}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got %+v", o)
	}
}

func TestDecodeBatch(t *testing.T) {
	batch := func(orders ...string) string { return `{"orders":[` + strings.Join(orders, ",") + `]}` }
	many := func(n int) []string { return strings.Split(strings.Repeat(limitBuy+"|", n-1)+limitBuy, "|") }
	badQty, noID := with(limitBuy, "qty", "0"), with(limitBuy, "client_order_id", "-")
	for _, c := range []struct{ body, want, items string }{
		{batch(limitBuy, marketBuy), "", "[ ]"},
		{batch(limitBuy, badQty, noID), "", "[ bad_qty client_order_id_required]"},
		{batch(many(20)...), "", "[                   ]"},
		{batch(many(21)...), "schema_violation", ""},
		{batch(), "schema_violation", ""},
		{`{}`, "schema_violation", ""},
		{`{"orders":null}`, "schema_violation", ""},
		{`{"orders":{}}`, "schema_violation", ""},
		{`{"orders":"x"}`, "schema_violation", ""},
		{batch("null"), "schema_violation", ""},
		{batch(limitBuy, "7"), "schema_violation", ""},
		{batch(limitBuy, "[]"), "schema_violation", ""},
		{batch(badQty, with(limitBuy, "side", `"x"`)), "schema_violation", ""},
		{batch(with(limitBuy, "side", `"x"`, "qty", "0")), "schema_violation", ""},
		{batch(with(limitBuy, "side", "null")), "schema_violation", ""},
		{batch(badQty, with(limitBuy, "tif", `"gtt"`)), "schema_violation", ""},
		{batch(limitBuy, with(limitBuy, "generation", "1")), "", "[ ]"},
		{batch(limitBuy, with(limitBuy, "generation", "0")), "schema_violation", ""},
		{batch(badQty, with(limitBuy, "foo", "1")), "unknown_field", ""},
		{batch(with(limitBuy, "side", "1"), with(limitBuy, "Side", "1")), "unknown_field", ""},
		{`{"orders":[` + limitBuy + `],"x":1}`, "unknown_field", ""},
		{`{"orders":7,"x":1}`, "unknown_field", ""},
		{batch(append(many(21), with(limitBuy, "x", "1"))...), "unknown_field", ""},
		{batch(limitBuy[:len(limitBuy)-1] + `,"qty":10}`), "malformed_json", ""},
		{"[" + limitBuy + "]", "malformed_json", ""},
	} {
		var p PlaceOrders
		f := Decode([]byte(c.body), &p)
		var got, items string
		if f != nil {
			got = f.Code
		} else {
			names := []string{}
			for _, o := range p.Orders {
				names = append(names, o.Fault.String())
			}
			items = "[" + strings.Join(names, " ") + "]"
		}
		if got != c.want || (f == nil && items != c.items) {
			t.Errorf("%.200s\n got %q %s want %q %s (%v)", c.body, got, items, c.want, c.items, f)
		}
	}
}

func TestFaultSaysWhere(t *testing.T) {
	var p PlaceOrders
	f := Decode([]byte(`{"orders":[`+limitBuy+`,`+with(limitBuy, "side", `"b\u001bid"`)+`]}`), &p)
	want := Fault{Code: "schema_violation", Field: "orders[1].side", Got: `"bid"`, Limit: "one of buy, sell"}
	if f == nil || *f != want {
		t.Errorf("got %+v", f)
	}
	f = Decode([]byte(`{"orders":[`+with(limitBuy, "side", `"`+strings.Repeat("é", 100)+`"`)+`]}`), &p)
	if f == nil || f.Got != `"`+strings.Repeat("é", 32)+`…"` {
		t.Errorf("got %+v", f)
	}
}

// TestFaultShowsTheValue tests that a fault shows a value as it was sent, so that numbers
// and strings differ, cuts long values and removes control characters.
func TestFaultShowsTheValue(t *testing.T) {
	long := strings.Repeat("9", 70)
	for name, value := range map[string][2]string{
		"qty": {`"10"`, `"10"`}, "client_order_id": {`1`, `1`}, "market_id": {`1.50`, `1.50`}, "tick": {`1e2`, `1e2`}, "side": {`null`, `null`},
		"outcome": {`true`, `true`}, "post_only": {`["a"]`, `"[\"a\"]"`}, "type": {`{"a":1}`, `"{\"a\":1}"`}, "generation": {`0`, `0`},
		"tif": {`"\u001b[2J"`, `"[2J"`}, "group_id": {long, `"` + long[:64] + `…"`}, "expiry_ts": {`""`, `""`}, "stp_maker": {`-0.0`, `-0.0`},
	} {
		var o PlaceOrder
		f := Decode([]byte(with(limitBuy, name, value[0])), &o)
		if f == nil || f.Field != name || f.Got != value[1] {
			t.Errorf("%s as %s: %+v, want this field and got %s", name, value[0], f, value[1])
		}
	}
	for body, want := range map[string]string{
		`{"after_seq":"1","market_ids":[1,0]}`: `0`, `{"after_seq":"1","kinds":["x"]}`: `"x"`, `{"after_seq":"1","market_ids":1}`: `1`,
	} {
		if f := DecodeArguments([]byte(body), new(WaitForEvent)); f == nil || f.Got != want {
			t.Errorf("%s: %+v, want got %s", body, f, want)
		}
	}
	var o PlaceOrder
	if f := Decode([]byte(with(limitBuy, "side", "-")), &o); f == nil || f.Got != "" {
		t.Errorf("an absent field: %+v", f)
	}
}

// TestNullArguments tests that null is an absent optional member of the arguments of a tool, and of the
// orders of a batch, and a fault everywhere else.
func TestNullArguments(t *testing.T) {
	nulls := limitBuy
	for _, name := range []string{"type", "worst_tick", "tif", "expiry_ts", "max_cost", "group_id", "post_only", "reduce_only", "cancel_on_pause", "stp_maker"} {
		nulls = with(nulls, name, "null")
	}
	named := with(limitBuy, "generation", "3") // the round, which a tool requires
	nulls = with(nulls, "generation", "3")
	for _, c := range []struct {
		into       any
		body, want string
	}{
		{&PlaceOrder{}, nulls, ""},
		{&PlaceOrder{}, with(named, "generation", "null"), "schema_violation"},
		{&PlaceOrder{}, with(named, "tick", "null"), "schema_violation"}, // as if it were absent
		{&PlaceOrder{}, with(with(marketBuy, "generation", "3"), "max_cost", "null"), "schema_violation"},
		{&PlaceOrder{}, with(named, "side", "null"), "schema_violation"},
		{&PlaceOrder{}, with(named, "foo", "null"), "unknown_field"},
		{&PlaceOrders{}, `{"orders":[` + nulls + `]}`, ""},
		{&PlaceOrders{}, `{"orders":[` + with(named, "side", "null") + `]}`, "schema_violation"},
		{&PlaceOrders{}, `{"orders":null}`, "schema_violation"},
		{&PutQuotes{}, `{"quotes":[{"market_id":1,"generation":3,"group_id":7,"bid":{"client_order_id":"1","tick":4700,"qty":null},"ask":null}]}`, "schema_violation"},
		{&PutQuotes{}, `{"quotes":[{"market_id":1,"generation":null,"group_id":7,"bid":null,"ask":null}]}`, "schema_violation"},
		{&PlaceOrders{}, `{"orders":[null]}`, "schema_violation"},
		{&ListOrders{}, `{"status":null,"order_id":null,"client_order_id":null,"market_id":null,"limit":null,"cursor":null,"min_seq":null}`, ""},
		{&CancelOneOrder{}, `{"order_id":"1","client_order_id":null}`, ""},
		{&CancelOneOrder{}, `{"order_id":null,"client_order_id":null}`, "schema_violation"},
		{&DecreaseOrder{}, `{"order_id":"1","reduce_by":null,"reduce_to":1}`, ""},
		{&WaitForEvent{}, `{"after_seq":"1","kinds":null,"market_ids":null,"timeout_ms":null}`, ""},
		{&WaitForEvent{}, `{"after_seq":"1","kinds":[null]}`, "schema_violation"},
		{&WaitForEvent{}, `{"after_seq":null}`, "schema_violation"},
		{&GetPriceHistory{}, `{"feed":null,"from_ts":null,"to_ts":null,"step_secs":null}`, ""},
	} {
		got := ""
		if f := DecodeArguments([]byte(c.body), c.into); f != nil {
			got = f.Code
		}
		if got != c.want {
			t.Errorf("%T %s: %q, want %q", c.into, c.body, got, c.want)
		}
		if f := Decode([]byte(c.body), c.into); f == nil {
			t.Errorf("%T %s: the body of a request has null", c.into, c.body)
		}
	}
	var plain, null PlaceOrder
	if f := DecodeArguments([]byte(named), &plain); f != nil {
		t.Fatal(f)
	}
	if f := DecodeArguments([]byte(nulls), &null); f != nil || !reflect.DeepEqual(plain, null) {
		t.Errorf("%+v, want %+v, %v", null, plain, f)
	}
}

// TestUnknownFieldNamesTheIntendedOne tests that the fault of an unknown member names the
// field that was probably meant, unless the object has that field too.
func TestUnknownFieldNamesTheIntendedOne(t *testing.T) {
	bare := with(limitBuy, "tick", "-", "qty", "-", "market_id", "-", "client_order_id", "-")
	for _, c := range []struct {
		into             any
		body, want, fact string
	}{
		{&PlaceOrder{}, with(bare, "price", "4700"), "tick", "4700"},
		{&PlaceOrder{}, with(bare, "limit_price", "0.47"), "tick", "0.47"},
		{&PlaceOrder{}, with(bare, "quantity", "10"), "qty", "10"},
		{&PlaceOrder{}, with(bare, "size", `"10"`), "qty", `"10"`},
		{&PlaceOrder{}, with(bare, "amount", "10"), "qty", "10"},
		{&PlaceOrder{}, with(bare, "Qty", "10"), "qty", "10"},
		{&PlaceOrder{}, with(bare, "orderType", `"limit"`), "type", `"limit"`},
		{&PlaceOrder{}, with(bare, "order_type", `"limit"`), "type", `"limit"`},
		{&PlaceOrder{}, with(bare, "time_in_force", `"gtc"`), "tif", `"gtc"`},
		{&PlaceOrder{}, with(bare, "market", "1"), "market_id", "1"},
		{&PlaceOrder{}, with(bare, "marketId", "1"), "market_id", "1"},
		{&PlaceOrder{}, with(bare, "id", `"7"`), "client_order_id", `"7"`},
		{&PlaceOrder{}, with(bare, "clientOrderId", `"7"`), "client_order_id", `"7"`},
		{&PlaceOrder{}, with(bare, "foo", "1"), "", "1"},
		{&PlaceOrder{}, with(bare, "", "1"), "", "1"},
		{&PlaceOrder{}, with(bare, "order_ids", "[]"), "", `"[]"`},
		{&PlaceOrder{}, with(limitBuy, "price", "4700"), "", "4700"}, // its tick is there
		{&PlaceOrders{}, `{"orders":[` + limitBuy + `,` + with(bare, "price", "4700") + `]}`, "tick", "4700"},
		{&CancelOrder{}, `{"id":"5"}`, "order_id", `"5"`},
		{&CancelOrders{}, `{"ids":["5"]}`, "order_ids", `"[\"5\"]"`},
		{&GetMarket{}, `{"id":3}`, "market_id", "3"},
		{&Redeem{}, `{"market_id":1,"amount":3}`, "qty", "3"},
		{&RequestWithdrawal{}, `{"qty":"3"}`, "amount", `"3"`},
		{&WaitForEvent{}, `{"since_seq":"3"}`, "after_seq", `"3"`},
		{&WaitForEvent{}, `{"after_seq":"3","market_id":1}`, "market_ids", "1"},
		{&ListOrders{}, `{"state":"resting"}`, "status", `"resting"`},
	} {
		f := DecodeArguments([]byte(c.body), c.into)
		if f == nil || f.Code != "unknown_field" || f.Instead != c.want || f.Got != c.fact {
			t.Errorf("%T %s: %+v, want unknown_field, %q in its place, and got %s", c.into, c.body, f, c.want, c.fact)
		} else if c.want != "" && !strings.HasPrefix(f.Limit, "use "+c.want+", ") {
			t.Errorf("%T %s: the limit is %q, want to use %s", c.into, c.body, f.Limit, c.want)
		}
	}
}

// TestDecodeOthers tests the bodies other than placements.
func TestDecodeOthers(t *testing.T) {
	const sv = "schema_violation"
	for _, c := range []struct {
		into       any
		body, want string
	}{
		{&CancelOrders{}, `{"order_ids":["1","02"]}`, ""},
		{&CancelOrders{}, `{"order_ids":[]}`, ""},
		{&CancelOrders{}, `{}`, sv},
		{&CancelOrders{}, ``, "malformed_json"},
		{&CancelOrders{}, `{"order_ids":null}`, sv},
		{&CancelOrders{}, `{"order_ids":[null]}`, sv},
		{&CancelOrders{}, `{"order_ids":[1]}`, sv},
		{&CancelOrders{}, `{"order_ids":["x"]}`, sv},
		{&CancelOrders{}, `{"order_ids":[""]}`, sv},
		{&CancelOrders{}, `{"order_ids":"1"}`, sv},
		{&CancelOrders{}, `{"order_ids":["1"],"x":1}`, "unknown_field"},
		{&CancelOrders{}, `{"order_ids":[` + strings.Repeat(`"1",`, 19) + `"1"]}`, ""},
		{&CancelOrders{}, `{"order_ids":[` + strings.Repeat(`"1",`, 20) + `"1"]}`, sv},
		{&ArmDeadman{}, `{"timeout_ms":1000}`, ""},
		{&ArmDeadman{}, `{"timeout_ms":60000}`, ""},
		{&ArmDeadman{}, `{"timeout_ms":999}`, "invalid_timeout"},
		{&ArmDeadman{}, `{"timeout_ms":60001}`, "invalid_timeout"},
		{&ArmDeadman{}, `{"timeout_ms":-1}`, "invalid_timeout"},
		{&ArmDeadman{}, `{"timeout_ms":99999999999999999999}`, "invalid_timeout"},
		{&ArmDeadman{}, `{"timeout_ms":5000.0}`, sv},
		{&ArmDeadman{}, `{"timeout_ms":"5000"}`, sv},
		{&ArmDeadman{}, `{"timeout_ms":null}`, sv},
		{&ArmDeadman{}, `{}`, sv},
		{&ArmDeadman{}, `{"timeout_ms":0,"x":1}`, "unknown_field"},
		{&DecreaseOrder{}, `{"reduce_by":1}`, ""},
		{&DecreaseOrder{}, `{"reduce_to":0}`, ""},
		{&DecreaseOrder{}, `{}`, sv},
		{&DecreaseOrder{}, `{"reduce_by":1,"reduce_to":1}`, sv},
		{&DecreaseOrder{}, `{"reduce_by":0,"reduce_to":1}`, sv},
		{&DecreaseOrder{}, `{"reduce_by":0,"reduce_to":-1}`, sv},
		{&DecreaseOrder{}, `{"reduce_by":0,"reduce_to":"1"}`, sv},
		{&DecreaseOrder{}, `{"reduce_by":0}`, "invalid_decrease"},
		{&DecreaseOrder{}, `{"reduce_to":-1}`, "invalid_decrease"},
		{&DecreaseOrder{}, `{"reduce_by":"1"}`, sv},
		{&DecreaseOrder{}, `{"reduce_by":null,"reduce_to":1}`, sv},
		{&DecreaseOrder{}, `{"order_id":"1","reduce_to":1}`, "unknown_field"},
		{&Redeem{}, `{"market_id":1,"qty":1}`, ""},
		{&Redeem{}, `{"market_id":1,"qty":0}`, "bad_qty"},
		{&Redeem{}, `{"market_id":"1","qty":0}`, "bad_qty"},
		{&Redeem{}, `{"market_id":1}`, sv},
		{&Redeem{}, `{"qty":1}`, sv},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"w-1_A","amount":"5","destination":"d"}`, ""},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"","amount":"5","destination":"d"}`, "bad_client_withdrawal_id"},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a b","amount":"5","destination":"d"}`, "bad_client_withdrawal_id"},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a\n","amount":"5","destination":"d"}`, "bad_client_withdrawal_id"},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"` + strings.Repeat("a", 64) + `","amount":"5","destination":"d"}`, ""},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"` + strings.Repeat("a", 65) + `","amount":"5","destination":"d"}`, "bad_client_withdrawal_id"},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a","amount":"0","destination":"d"}`, "bad_amount"},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a","amount":5,"destination":"d"}`, sv},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a","amount":"-5","destination":"d"}`, sv},
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a","amount":"5","destination":""}`, ""}, // the port's bad_destination
		{&RequestWithdrawal{}, `{"client_withdrawal_id":"a","amount":"5"}`, sv},
		{&RequestWithdrawal{}, `{"amount":"5","destination":"d"}`, sv},
		{&CreateKey{}, `{}`, ""},
		{&CreateKey{}, `{"label":"","scopes":["read"]}`, ""},
		{&CreateKey{}, `{"scopes":["read","withdraw"]}`, ""},
		{&CreateKey{}, `{"scopes":["admin"]}`, sv},
		{&CreateKey{}, `{"scopes":[null]}`, sv},
		{&CreateKey{}, `{"scopes":[]}`, sv},
		{&CreateKey{}, `{"scopes":"read"}`, sv},
		{&CreateUser{}, `{"name":"ann","referrer_id":1,"reason":"x"}`, ""},
		{&CreateUser{}, `{"name":""}`, sv},
		{&CreateUser{}, `{"name":"ann","referrer_id":null}`, sv},
		{&Deposit{}, `{"deposit_id":"d","amount":"1"}`, ""},
		{&Deposit{}, `{"deposit_id":"d","amount":"0"}`, "bad_amount"},
		{&Deposit{}, `{"deposit_id":"","amount":"1"}`, sv},
		{&SetFees{}, `{"maker_rate":0,"taker_rate":250,"maker_rebate_pct":0,"referral_pct":0}`, ""},
		{&SetFees{}, `{"maker_rate":0,"taker_rate":250,"maker_rebate_pct":0}`, sv},
		{&SetFees{}, `{"maker_rate":2,"taker_rate":1,"maker_rebate_pct":0,"referral_pct":0}`, sv},
		{&SetFees{}, `{"maker_rate":0,"taker_rate":10001,"maker_rebate_pct":0,"referral_pct":0}`, sv},
		{&SetFees{}, `{"maker_rate":0,"taker_rate":1,"maker_rebate_pct":60,"referral_pct":41}`, sv},
		{&SetSchedule{}, `{"schedule":[]}`, ""},
		{&SetSchedule{}, `{"schedule":[{"kind":"maintenance","start_ts":"1","end_ts":"2"}]}`, ""},
		{&SetSchedule{}, `{"schedule":[{"kind":"maintenance","start_ts":"2","end_ts":"2"}]}`, sv},
		{&SetSchedule{}, `{"schedule":[{"kind":"maintenance","start_ts":"2","end_ts":"3","x":1}]}`, "unknown_field"},
		{&Propose{}, `{"settle_price":"1"}`, ""},
		{&Propose{}, `{"settle_price":"0"}`, sv},
		{&Tick{}, `{"feed":0,"source":"s","price":"1"}`, ""},
		{&Tick{}, `{"source":"s","price":"1"}`, sv},
		{&Tick{}, `{"feed":3,"source":"s","price":"1"}`, sv},
		{&SuspendUser{}, `{}`, ""},
		{&SuspendUser{}, ``, "malformed_json"},
		{&None{}, `{}`, ""},
		{&None{}, `{"x":1}`, "unknown_field"},
		{&WaitForEvent{}, `{"after_seq":"0","kinds":["fill"],"market_ids":[1,2],"timeout_ms":25000}`, ""},
		{&WaitForEvent{}, `{"after_seq":"0","timeout_ms":25001}`, "invalid_timeout"},
		{&WaitForEvent{}, `{"after_seq":"0","market_ids":[null]}`, sv},
		{&WaitForEvent{}, `{"after_seq":"0","market_ids":[1.0]}`, sv},
		{&WaitForEvent{}, `{"after_seq":"0","kinds":["x"]}`, sv},
	} {
		f := Decode([]byte(c.body), c.into)
		if got := verdict(f, PlaceOrder{}); got != c.want {
			t.Errorf("%T %s\n got %q want %q (%v)", c.into, c.body, got, c.want, f)
		}
	}
	if f := DecodeOptional(nil, &SuspendUser{}); f != nil {
		t.Error(f)
	}
}

func TestDecodeArguments(t *testing.T) {
	const sv = "schema_violation"
	for _, c := range []struct {
		into       any
		body, want string
	}{
		{&GetMarket{}, `{"market_id":3,"min_seq":"5"}`, ""},
		{&GetMarket{}, `{"market_id":"3"}`, ""},
		{&GetMarket{}, `{"market_id":0}`, "unknown_market"},
		{&GetMarket{}, `{}`, sv},
		{&GetRound{}, `{"market_id":4294967295}`, ""},
		{&GetRound{}, `{"market_id":4294967296}`, "round_not_found"},
		{&CancelOrder{}, `{"order_id":"5"}`, ""},
		{&CancelOrder{}, `{"order_id":5}`, ""},
		{&DecreaseOrder{}, `{"order_id":"5","reduce_to":1}`, ""},
		{&DecreaseOrder{}, `{"reduce_to":1}`, sv},
		{&ListOrders{}, ``, ""},
		{&ListOrders{}, `{}`, ""},
		{&ListOrders{}, `{"status":"resting,executed","limit":20,"cursor":""}`, ""},
		{&ListOrders{}, `{"status":"resting,"}`, sv},
		{&ListOrders{}, `{"limit":"20"}`, ""},
		{&ListOrders{}, `{"limit":0}`, sv},
		{&ListOrders{}, `{"limit":1001}`, sv},
		{&ListOrders{}, `{"Limit":1}`, "unknown_field"},
		{&ListOrders{}, `[]`, "malformed_json"},
		{&CancelAll{}, `{"market_id":1,"group_id":2}`, ""},
		{&CancelAll{}, `{"market_id":4294967295}`, ""},
		{&CancelAll{}, `{"market_id":4294967296}`, sv},
		{&WaitForEvent{}, `{"after_seq":"1","market_ids":[4294967295]}`, ""},
		{&WaitForEvent{}, `{"after_seq":"1","market_ids":[4294967296]}`, sv},
		{&WSSubscribe{}, `{"channels":["trades"],"market_ids":[4294967295]}`, ""},
		{&WSSubscribe{}, `{"channels":["trades"],"market_ids":[4294967296]}`, "unknown_market"},
		{&WSUpdate{}, `{"sid":1,"action":"add_markets","market_ids":[4294967295]}`, ""},
		{&PlaceOrder{}, with(limitBuy, "generation", "3"), ""},
		{&PlaceOrder{}, limitBuy, sv},
		{&PlaceOrders{}, `{"orders":[` + with(limitBuy, "generation", "3") + `,` + limitBuy + `]}`, sv},
	} {
		f := DecodeArguments([]byte(c.body), c.into)
		if got := verdict(f, PlaceOrder{}); got != c.want {
			t.Errorf("%T %s\n got %q want %q (%v)", c.into, c.body, got, c.want, f)
		}
	}
}

// TestLosslessArguments tests that a tool takes what converts without loss as what it means, and never a
// price or an amount in another form; a request of REST takes none of it.
func TestLosslessArguments(t *testing.T) {
	named := with(limitBuy, "generation", "3")
	for _, c := range []struct {
		into                any
		plain, other, fault string // other is taken as plain, or is a fault
	}{
		{&PlaceOrder{}, named, with(named, "qty", `"10"`), ""},
		{&PlaceOrder{}, named, with(named, "qty", `10.0`), ""},
		{&PlaceOrder{}, named, with(named, "market_id", `"1"`, "generation", `"3"`), ""},
		{&PlaceOrder{}, named, with(named, "client_order_id", `7`), ""},
		{&PlaceOrder{}, named, with(named, "side", `"BUY"`, "outcome", `"Yes"`), ""},
		{&PlaceOrder{}, named, with(named, "type", `"LIMIT"`), "limit"},
		{&PlaceOrder{}, with(named, "post_only", "true"), with(named, "post_only", `"true"`), ""},
		{&PlaceOrder{}, "", with(named, "qty", `10.5`), "qty"},
		{&PlaceOrder{}, "", with(named, "qty", `"10.0"`), "qty"},
		{&PlaceOrder{}, "", with(named, "qty", `1e1`), "qty"},
		{&PlaceOrder{}, "", with(named, "qty", `"ten"`), "qty"},
		{&PlaceOrder{}, "", with(named, "client_order_id", `9007199254740992`), "client_order_id"},
		{&PlaceOrder{}, "", with(named, "client_order_id", `7.0`), "client_order_id"},
		{&PlaceOrder{}, "", with(named, "tick", `"4700"`), "tick"},
		{&PlaceOrder{}, "", with(named, "tick", `4700.0`), "tick"},
		{&PlaceOrder{}, "", with(named, "max_cost", `500`), "max_cost"},
		{&PlaceOrder{}, "", with(named, "post_only", `1`), "post_only"},
		{&RequestWithdrawal{}, "", `{"client_withdrawal_id":"w","amount":5,"destination":"d"}`, "amount"},
		{&SubmitForecast{}, "", `{"market_id":1,"generation":1,"p":"6200"}`, "p"},
		{&SubmitForecast{}, `{"market_id":1,"generation":1,"p":6200}`, `{"market_id":"1","generation":1.0,"p":6200}`, ""},
		{&CancelOrders{}, `{"order_ids":["7","8"]}`, `{"order_ids":[7,"8"]}`, ""},
		{&WaitForEvent{}, `{"after_seq":"1","kinds":["fill"],"market_ids":[6]}`, `{"after_seq":1,"kinds":["FILL"],"market_ids":["6"]}`, ""},
		{&ListOrders{}, `{"status":"resting,partially_filled,executed,canceled,expired,rejected"}`, `{"status":"Resting,Partially_Filled,Executed,Canceled,Expired,Rejected","cursor":""}`, ""},
	} {
		got, want := reflect.New(reflect.TypeOf(c.into).Elem()).Interface(), reflect.New(reflect.TypeOf(c.into).Elem()).Interface()
		f := DecodeArguments([]byte(c.other), got)
		switch {
		case c.fault == "limit": // an explicit default
			if f != nil || got.(*PlaceOrder).Type != "limit" {
				t.Errorf("%s: %+v, %v", c.other, got, f)
			}
		case c.fault != "":
			if f == nil || f.Field != c.fault {
				t.Errorf("%T %s: %v, want a fault of %s", c.into, c.other, f, c.fault)
			}
		default:
			if w := DecodeArguments([]byte(c.plain), want); f != nil || w != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%T %s: %+v (%v), want %+v (%v)", c.into, c.other, got, f, want, w)
			}
		}
		if f := Decode([]byte(c.other), got); f == nil {
			t.Errorf("%T %s: REST takes it", c.into, c.other)
		}
	}
}

// TestOrderArguments tests what stands in place of the members of an order.
func TestOrderArguments(t *testing.T) {
	const named = `{"client_order_id":"7","market_id":1,"side":"buy","outcome":"yes","generation":3}`
	for _, c := range []struct{ body, field string }{
		{with(named, "dollars", "5"), ""},
		{with(named, "dollars", `"5.25"`), ""},
		{with(named, "dollars", "5", "type", `"market"`, "worst_tick", "6000"), ""},
		{with(named, "dollars", "5", "qty", "null", "max_cost", "null"), ""},
		{with(named, "tick", "4700", "qty", "10", "expires_in_ms", "60000"), ""},
		{with(named, "tick", "4700", "qty", "10", "expires_in_ms", "60000", "tif", `"gtt"`), ""},
		{named, "qty"},
		{with(named, "dollars", "null"), "qty"},
		{with(named, "dollars", "0"), "dollars"},
		{with(named, "dollars", "-5"), "dollars"},
		{with(named, "dollars", "5.005"), "dollars"},
		{with(named, "dollars", `"$5"`), "dollars"},
		{with(named, "dollars", "1000000000.01"), "dollars"},
		{with(named, "dollars", "5", "qty", "1"), "dollars"},
		{with(named, "dollars", "5", "max_cost", `"50000"`), "dollars"},
		{with(named, "dollars", "5", "type", `"limit"`), "dollars"},
		{with(named, "dollars", "5", "side", `"sell"`), "dollars"},
		{with(named, "dollars", "5", "tick", "4700"), "tick"},
		{with(named, "dollars", "5", "expires_in_ms", "60000"), "expires_in_ms"},
		{with(named, "tick", "4700", "qty", "10", "expires_in_ms", "999"), "expires_in_ms"},
		{with(named, "tick", "4700", "qty", "10", "expires_in_ms", "86400001"), "expires_in_ms"},
		{with(named, "tick", "4700", "qty", "10", "expires_in_ms", "60000", "expiry_ts", `"5"`), "expires_in_ms"},
		{with(named, "tick", "4700", "qty", "10", "expires_in_ms", "60000", "tif", `"ioc"`), "expiry_ts"},
	} {
		field := ""
		if f := DecodeArguments([]byte(c.body), new(OrderArguments)); f != nil {
			field = f.Field
		}
		if field != c.field {
			t.Errorf("%s: a fault of %q, want %q", c.body, field, c.field)
		}
	}
}

// TestFastDecodeAgrees compares the fast decoder with the general one.
func TestFastDecodeAgrees(t *testing.T) {
	value := rapid.SampledFrom([]string{"0", "1", "-1", "5", "9999", "10000", "1000001", "1.0", "null", "true", "false",
		`""`, `"0"`, `"5"`, `"buy"`, `"sell"`, `"yes"`, `"no"`, `"market"`, `"limit"`, `"gtt"`, `"ioc"`, "-", "-", "-"})
	name := rapid.SampledFrom(append(BodyFields(PlaceOrder{}), "foo"))
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SampledFrom([]string{limitBuy, marketBuy}).Draw(t, "base")
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			body = with(body, name.Draw(t, "name"), value.Draw(t, "value"))
		}
		agree(t, body, new(PlaceOrder), new(PlaceOrder))
		agree(t, `{"orders":[`+body+`,`+limitBuy+`]}`, new(PlaceOrders), new(PlaceOrders))
	})
}

// agree requires the same result of the fast and the general decoder.
func agree(t interface{ Fatalf(string, ...any) }, body string, quick, slow any) {
	f, g := Decode([]byte(body), quick), decode([]byte(body), slow, inBody)
	if !reflect.DeepEqual(f, g) || (f == nil && !reflect.DeepEqual(quick, slow)) {
		t.Fatalf("%s\nquick %v %+v\nslow  %v %+v", body, f, quick, g, slow)
	}
}

// spoiled returns body cut short, and with one byte removed, changed or inserted.
func spoiled(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range body {
			for _, b := range []string{body[:i], body[:i] + body[i+1:], body[:i] + "0" + body[i+1:], body[:i] + "\"" + body[i:], body[:i] + "\x00" + body[i:], body[:i] + "-" + body[i:], body[:i] + `\` + body[i:]} {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// TestFastDecodeTakesPlainBodies tests that the fast decoder takes plain bodies with any
// white space, and leaves all others to the general decoder.
func TestFastDecodeTakesPlainBodies(t *testing.T) {
	full := `{"client_order_id":"18446744073709551615","market_id":3,"side":"sell","outcome":"no","type":"limit","tick":4700,"qty":1000000,"tif":"gtt","expiry_ts":"1800000000000000000",` +
		`"max_cost":"0","group_id":4294967295,"post_only":true,"reduce_only":false,"cancel_on_pause":true,"stp_maker":true,"generation":1}`
	spaced := strings.NewReplacer(`,`, " ,\n", `:`, "\t: \r\n").Replace(full)
	for _, body := range []string{limitBuy, marketBuy, full, spaced, " " + full + "\n"} {
		if !new(PlaceOrder).decodeFast([]byte(body)) {
			t.Errorf("%s: left to the general decoder", body)
		}
		agree(t, body, new(PlaceOrder), new(PlaceOrder))
		agree(t, `{"orders":[`+body+` , `+limitBuy+`]}`, new(PlaceOrders), new(PlaceOrders))
		for b := range spoiled(body) {
			agree(t, b, new(PlaceOrder), new(PlaceOrder))
		}
	}
	ids := `{"order_ids":["1", "18446744073709551615" ,"0","007"]}`
	if !new(CancelOrders).decodeFast([]byte(ids)) {
		t.Errorf("%s: left to the general decoder", ids)
	}
	agree(t, ids, new(CancelOrders), new(CancelOrders))
	for b := range spoiled(ids) {
		agree(t, b, new(CancelOrders), new(CancelOrders))
	}
	for name, value := range map[string]string{"client_order_id": `"\u0031"`, "market_id": "01", "qty": "1.0", "tick": "1e2", "side": `"Buy"`, "post_only": "True", "group_id": "1234567890123456789", "generation": "-0", "foo": "1"} {
		if body := with(limitBuy, name, value); new(PlaceOrder).decodeFast([]byte(body)) {
			t.Errorf("%s: read as plain", body)
		}
	}
	if body := with(limitBuy, "generation", "0"); new(PlaceOrder).decodeFast([]byte(body)) {
		t.Errorf("%s: read as plain", body)
	}
	if new(PlaceOrder).decodeFast([]byte(limitBuy[:len(limitBuy)-1] + `,"qty":10}`)) {
		t.Error("a member that is there twice was read")
	}
	if many := `{"orders":[` + strings.Repeat(limitBuy+",", BatchCap) + limitBuy + `]}`; new(PlaceOrders).decodeFast([]byte(many)) {
		t.Error("more than a batch was read")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{limitBuy, marketBuy, `{"orders":[` + limitBuy + `]}`, `{"order_ids":["1"]}`, `{"reduce_to":1}`, `{"timeout_ms":5000}`,
		`{"schedule":[{"kind":"m","start_ts":"1","end_ts":"2"}]}`, `{"status":"resting","limit":5}`, `{"market_id":1,"qty":1}`, `{"a":null}`, `[`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, sample := range Requests {
			typ := reflect.TypeOf(sample)
			into := reflect.New(typ).Interface()
			if f := DecodeArguments(body, into); f != nil {
				if !IsErrorCode(f.Code) || f.Code == "internal" {
					t.Fatalf("%s from %q: %v, want a code of the table other than internal", typ, body, f)
				}
				continue
			}
			text, err := Append(nil, into)
			if err != nil {
				t.Fatalf("a decoded %s does not encode: %v", typ, err)
			}
			again := reflect.New(typ).Interface()
			if f := DecodeArguments(text, again); f != nil || !same(into, again) {
				t.Fatalf("%s: %q became %q: %v", typ, body, text, f)
			}
		}
	})
}

// same compares the JSON of two requests, in which an empty list may be absent.
func same(a, b any) bool {
	x, _ := Append(nil, a)
	y, _ := Append(nil, b)
	return string(x) == string(y)
}

func BenchmarkDecodePlaceOrder(b *testing.B) {
	body := []byte(limitBuy)
	b.ReportAllocs()
	for b.Loop() {
		var o PlaceOrder
		if f := Decode(body, &o); f != nil {
			b.Fatal(f)
		}
	}
}
