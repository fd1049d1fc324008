package hostile

import (
	"strings"
	"testing"
)

// edgeNumbers lists texts in place of a number. json reports whether the text is valid JSON;
// whole reports whether it is an integer.
var edgeNumbers = []struct {
	text  string
	json  bool
	whole bool
}{
	{"0", true, true}, {"-0", true, true}, {"-1", true, true}, {"2147483647", true, true}, {"2147483648", true, true}, {"-2147483649", true, true},
	{"4294967296", true, true}, {"4294967297", true, true}, {"9007199254740991", true, true}, {"9007199254740993", true, true},
	{"9223372036854775807", true, true}, {"9223372036854775808", true, true}, {"-9223372036854775809", true, true},
	{"18446744073709551615", true, true}, {"18446744073709551616", true, true}, {"18446744073709551617", true, true},
	{"1" + strings.Repeat("0", 400), true, true},
	{"1.0", true, false}, {"1e3", true, false}, {"1E+3", true, false}, {"1e-3", true, false}, {"1e400", true, false}, {"0.1", true, false}, {"10.000000000000000000001", true, false},
	{`"1"`, true, false}, {`""`, true, false}, {`"१"`, true, false}, {`" 1"`, true, false}, {"null", true, false}, {"true", true, false}, {"[1]", true, false}, {"{}", true, false},
	{"01", false, false}, {"+1", false, false}, {".5", false, false}, {"1.", false, false}, {"1e", false, false}, {"0x1", false, false}, {"1_000", false, false}, {"1,000", false, false},
	{"NaN", false, false}, {"Infinity", false, false}, {"-", false, false}, {"１", false, false}, {"1n", false, false}, {"", false, false},
}

// field is an integer member of a request body.
type field struct {
	name   string
	method string
	target string
	body   string                                      // # stands for the value
	answer func(text string) (status int, code string) // the expected answer for an integer
}

// within returns the expected answers of a field: the codes in the map for its keys, and 400
// with code for every other integer.
func within(in map[string]string, code string) func(string) (int, string) {
	return func(text string) (int, string) {
		if c, ok := in[text]; ok {
			return status(c), c
		}
		return 400, code
	}
}

// status returns the HTTP status of a code in these tables; "" is success.
func status(code string) int {
	switch code {
	case "":
		return 200
	case "unknown_market", "unknown_order":
		return 404
	case "insufficient_balance", "insufficient_position":
		return 403
	case "stale_generation", "market_not_trading":
		return 409
	default:
		return 400
	}
}

// TestIntegers sends edgeNumbers in every integer member of every write
// (docs/rules/rest.md#values). It uses previews for placements: they have the same body and
// change nothing.
func TestIntegers(t *testing.T) {
	d := newTestVenue(t)
	market := `"market_id":1`
	limit := `{"client_order_id":"1",` + market + `,"side":"buy","outcome":"yes","tick":5000,"qty":10}`
	bound := `{"client_order_id":"1",` + market + `,"side":"buy","outcome":"yes","type":"market","worst_tick":#,"max_cost":"1000","qty":10}`
	put := func(was, is string) string { return strings.Replace(limit, was, is, 1) }
	more := func(member string) string { return strings.TrimSuffix(limit, "}") + "," + member + "}" }
	const vague, big, stale = "schema_violation", "unknown_market", "stale_generation"
	anything := map[string]string{"0": "", "-0": "", "2147483647": "", "2147483648": ""}
	someMarket := map[string]string{"0": big, "-0": big, "2147483647": big, "2147483648": big}
	for _, s := range []field{
		{"qty", "POST", preview, put(`"qty":10`, `"qty":#`), within(nil, "bad_qty")},
		{"tick", "POST", preview, put(`"tick":5000`, `"tick":#`), within(nil, "bad_price_tick")},
		{"market_id", "POST", preview, put(market, `"market_id":#`), within(someMarket, vague)},
		{"group_id", "POST", preview, more(`"group_id":#`), within(anything, vague)},
		{"generation", "POST", preview, more(`"generation":#`), within(map[string]string{"2147483647": stale, "2147483648": stale}, vague)},
		{"worst_tick", "POST", preview, bound, within(nil, vague)},
		{"batch qty", "POST", "/v1/portfolio/orders/batch", `{"orders":[` + put(`"qty":10`, `"qty":#,"x":1`) + `]}`, within(nil, "unknown_field")},
		{"timeout_ms", "POST", "/v1/portfolio/deadman", `{"timeout_ms":#}`, within(nil, "invalid_timeout")},
		{"redeem qty", "POST", "/v1/portfolio/redeem", `{"market_id":1,"qty":#}`, within(nil, "bad_qty")},
		{"redeem market_id", "POST", "/v1/portfolio/redeem", `{"market_id":#,"qty":1}`, within(someMarket, vague)},
		{"reduce_by", "POST", "/v1/portfolio/orders/1/decrease", `{"reduce_by":#}`, func(text string) (int, string) {
			if strings.HasPrefix(text, "-") || text == "0" {
				return 400, "invalid_decrease"
			}
			return 404, "unknown_order"
		}},
		{"reduce_to", "POST", "/v1/portfolio/orders/1/decrease", `{"reduce_to":#}`, func(text string) (int, string) {
			if strings.HasPrefix(text, "-") && text != "-0" {
				return 400, "invalid_decrease"
			}
			return 404, "unknown_order"
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			before := d.holdings(t)
			for _, e := range edgeNumbers {
				k := d.NewKey(1, everyone)
				want, code := 400, "malformed_json"
				switch {
				case e.json && e.whole:
					want, code = s.answer(e.text)
				case e.json:
					code = vague
				}
				if e.json && s.name == "batch qty" {
					code = "unknown_field"
				}
				got := d.raw(t, d.post(k, s.method, s.target, strings.Replace(s.body, "#", e.text, 1), ""))
				if got.status != want || got.code() != code {
					t.Errorf("%.30s: %d %q, want %d %q: %s", e.text, got.status, got.code(), want, code, got.body)
				}
			}
			d.checkServes(t)
			if after := d.holdings(t); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
}

// TestDigitStrings sends edge cases in every integer that is encoded as a string
// (docs/rules/rest.md#values).
func TestDigitStrings(t *testing.T) {
	d := newTestVenue(t)
	const vague = "schema_violation"
	limit := strings.TrimSuffix(order("1", ""), "}")
	long := strings.Repeat("0", 50<<10)
	for _, s := range []struct {
		name, method, target, body string
		zero, one, most            string // the codes of "0", "1" and "18446744073709551615"
	}{
		{"client_order_id", "POST", preview, order("#", ""), "client_order_id_required", "", ""},
		{"max_cost", "POST", preview, limit + `,"max_cost":"#"}`, "", "", ""},
		{"expiry_ts", "POST", preview, limit + `,"tif":"gtt","expiry_ts":"#"}`, "bad_expiry", "bad_expiry", ""},
		{"amount", "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"#","destination":""}`, "bad_amount", "bad_destination", "bad_destination"},
		{"order_ids", "DELETE", "/v1/portfolio/orders/batch", `{"order_ids":["#"]}`, "", "", ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			before := d.holdings(t)
			for text, code := range map[string]string{
				"0": s.zero, "00": s.zero, long: s.zero, "1": s.one, "01": s.one, long + "1": s.one, "18446744073709551615": s.most,
				"18446744073709551616": vague, "99999999999999999999": vague, "184467440737095516150": vague, strings.Repeat("9", 50<<10): vague,
				"-1": vague, "-0": vague, "+1": vague, " 1": vague, "1 ": vague, "1.0": vague, "1e3": vague, "0x1": vague, "1_0": vague, "": vague, "NaN": vague,
				"१": vague, "１": vague, `1\u0000`: vague, `\u0031`: s.one, `1\n`: vague, `1\ud800`: "malformed_json", "1\x00": "malformed_json", "1\n": "malformed_json",
			} {
				k := d.NewKey(1, everyone)
				got := d.raw(t, d.post(k, s.method, s.target, strings.Replace(s.body, "#", text, 1), ""))
				if got.status != status(code) || got.code() != code {
					t.Errorf("%.30q: %d %q, want %q: %.200s", text, got.status, got.code(), code, got.body)
				}
			}
			number := d.raw(t, d.post(d.NewKey(1, everyone), s.method, s.target, strings.Replace(s.body, `"#"`, "1", 1), ""))
			if number.code() != vague {
				t.Errorf("a number: %d %s", number.status, number.body)
			}
			d.checkServes(t)
			if after := d.holdings(t); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
}
