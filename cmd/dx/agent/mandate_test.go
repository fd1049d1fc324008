package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// now is the time of the tests of mandates.
var now = time.Unix(1_800_000_000, 0)

// parseBounds parses the flags of a mandate as dx does.
func parseBounds(t *testing.T, args string) (f mandateFlags, err error) {
	t.Helper()
	parser, err := kong.New(&f, kong.Writers(&bytes.Buffer{}, &bytes.Buffer{}), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(strings.Fields(args))
	return f, err
}

func TestBounds(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", `{}`},
		{"--max-daily-loss 20 --max-order-cost $5 --max-market-cost 0 --max-open-cost 12.3456", `{"max_order_cost":"50000","max_market_cost":"0","max_open_cost":"123456","max_daily_loss":"200000"}`},
		{"--ask-above 0.50", `{"ask_above":"5000"}`},
		{"--ask-above 0", `{"ask_above":"0"}`},
		{"--series btc-60s,WTI-15m --collar 0", `{"categories":[1,9],"price_collar":0}`},
		{"--collar 9998 --max-order-qty 1000000 --max-open-orders 0 --max-orders-per-day 4294967295", `{"max_order_qty":1000000,"price_collar":9998,"max_open_orders":0,"max_orders_per_day":4294967295}`},
		{"--reduce-only --expires 90m", `{"expires_ts":"1800005400000000000","reduce_only":true}`},
		{"--preset careful", `{"expires_ts":"1800086400000000000","price_collar":300,"max_order_cost":"20000","max_open_cost":"100000","max_daily_loss":"100000"}`},
		{"--preset normal", `{"expires_ts":"1800604800000000000","price_collar":500,"max_order_cost":"100000","max_open_cost":"500000","max_daily_loss":"500000"}`},
		{"--preset loose", `{"expires_ts":"1802592000000000000","price_collar":1000,"max_order_cost":"500000","max_open_cost":"2500000","max_daily_loss":"2500000"}`},
		{"--preset careful --expires 2d --max-open-cost 4", `{"expires_ts":"1800172800000000000","price_collar":300,"max_order_cost":"20000","max_open_cost":"40000","max_daily_loss":"100000"}`},
	} {
		f, err := parseBounds(t, c.args)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		var m schemas.Mandate
		if err := f.apply(&m, now); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		got, err := schemas.Append(nil, m)
		if err != nil || !sameJSON(string(got), c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, got, c.want)
		}
		if f.given() != (c.args != "") {
			t.Errorf("%s: given %v", c.args, f.given())
		}
	}
}

// A new agent has the bounds of careful, which single flags replace, unless another preset or --unbounded is given.
func TestBoundsOfANewAgent(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bot", `{"expires_ts":"1800086400000000000","price_collar":300,"max_order_cost":"20000","max_open_cost":"100000","max_daily_loss":"100000"}`},
		{"bot --max-order-cost 5", `{"expires_ts":"1800086400000000000","price_collar":300,"max_order_cost":"50000","max_open_cost":"100000","max_daily_loss":"100000"}`},
		{"bot --preset normal", `{"expires_ts":"1800604800000000000","price_collar":500,"max_order_cost":"100000","max_open_cost":"500000","max_daily_loss":"500000"}`},
		{"bot --unbounded", `{}`},
		{"bot --unbounded --max-order-cost 5", `{"max_order_cost":"50000"}`},
		{"bot --unbounded --preset careful", "--unbounded: a preset has bounds"},
	} {
		var f create
		parser, err := kong.New(&f, kong.Exit(func(int) {}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = parser.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		m, err := f.bounds(now)
		got, _ := schemas.Append(nil, m)
		if err != nil && !strings.HasPrefix(err.Error(), c.want) || err == nil && !sameJSON(string(got), c.want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.args, err, got, c.want)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// TestBadBounds tests that each bound outside its range is found before anything is sent, and
// that the error names its flag.
func TestBadBounds(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--collar 9999", "--collar: price_collar of the mandate must be an integer from 0 to 9998"},
		{"--collar=-1", "--collar: "},
		{"--max-order-qty 0", "--max-order-qty: max_order_qty of the mandate must be an integer from 1 to 1000000"},
		{"--max-order-qty 1000001", "--max-order-qty: "},
		{"--max-open-orders 4294967296", "--max-open-orders: "},
		{"--max-orders-per-day=-1", "--max-orders-per-day: "},
		{"--series btc-60s,btc-60s", "--series: categories of the mandate must be each category once"},
		{"--series btc-1h", `--series: unknown series "btc-1h"`},
		{"--expires 0s", "--expires: must be a time ahead"},
		{"--expires 0d", "--expires: must be a time ahead"},
		{"--expires=-1h", "--expires: must be a time ahead"},
		{"--expires tomorrow", "--expires: must be a time ahead"},
		{"--max-daily-loss x", "--max-daily-loss: must be dollars"},
		{"--max-daily-loss 0.00001", "--max-daily-loss: must be dollars"},
		{"--max-daily-loss=-1", "--max-daily-loss: must be dollars"},
		{"--ask-above x", "--ask-above: must be dollars"},
		{"--preset daring", "--preset"},
	} {
		f, err := parseBounds(t, c.args)
		if err == nil {
			err = f.apply(&schemas.Mandate{}, now)
			var flag cli.FlagError
			if !errors.As(err, &flag) {
				t.Errorf("%s: %v is no error of a flag", c.args, err)
			}
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
	m := schemas.Mandate{ExpiresTs: schemas.Ptr(schemas.U64(now.UnixNano()))}
	if err := new(mandateFlags).apply(&m, now); err == nil || !strings.HasPrefix(err.Error(), "--expires: expires_ts of the mandate must be a time ahead") {
		t.Errorf("a mandate that has expired: %v", err)
	}
}

// TestRemoveFromAPreset tests that --remove takes a bound out of what --preset sets.
func TestRemoveFromAPreset(t *testing.T) {
	f := mandateFlags{Preset: "careful"}
	var m schemas.Mandate
	if err := f.apply(&m, now, "collar"); err != nil || m.PriceCollar != nil || m.MaxDailyLoss == nil {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestRemoveBound tests that every bound has a flag by which it is removed.
func TestRemoveBound(t *testing.T) {
	f, err := parseBounds(t, "--preset careful --max-market-cost 1 --series btc-60s --max-order-qty 1 --max-open-orders 1 --max-orders-per-day 1 --ask-above 1 --reduce-only")
	if err != nil {
		t.Fatal(err)
	}
	var m schemas.Mandate
	if err := f.apply(&m, now); err != nil {
		t.Fatal(err)
	}
	for _, b := range boundFlags {
		was := len(describe(&m, cli.Zone{}))
		if !removeBound(&m, b.flag) {
			t.Errorf("no --remove %s", b.flag)
		}
		if got := len(describe(&m, cli.Zone{})); got != was-1 && was > 1 {
			t.Errorf("--remove %s: %d bounds of %d are left", b.flag, got, was)
		}
	}
	if !reflect.DeepEqual(m, schemas.Mandate{}) || removeBound(&m, "fund") {
		t.Errorf("%+v", m)
	}
	fields := map[string]bool{}
	for _, member := range schemas.Members(reflect.TypeFor[schemas.Mandate]()) {
		fields[member.Name] = true
	}
	for _, b := range boundFlags {
		if !fields[b.field] {
			t.Errorf("a mandate has no field %s", b.field)
		}
		delete(fields, b.field)
	}
	if len(fields) > 0 {
		t.Errorf("fields without a flag: %v", fields)
	}
}
