package cli

import (
	"errors"
	"strings"
	"testing"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

// TestExplain tests that the rejection by each rule of a mandate is explained with what passes.
func TestExplain(t *testing.T) {
	mandate := func(v core.Violation) error { return &client.Error{Wire: schemas.MandateError(&v), Status: 403} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("other"), "other"},
		{&client.Error{Wire: schemas.ErrorOf("bad_qty"), Status: 400}, "bad_qty (400): qty is not within"},
		{&client.Error{Wire: schemas.ErrorOf("unauthorized"), Status: 401}, "unauthorized (401): The venue does not have the key"},
		{mandate(core.Violation{Rule: core.RuleOrderCost, Limit: 50_000, Asked: 70_001}), "mandate_violation (403): The order can cost $7.0001, and max_order_cost of the agent's mandate leaves $5.00 of $5.00."},
		{mandate(core.Violation{Rule: core.RuleDailyLoss, Limit: 200_000, Used: 190_000, Asked: 20_000}), "can cost $2.00, and max_daily_loss of the agent's mandate leaves $1.00 of $20.00."},
		{mandate(core.Violation{Rule: core.RulePriceCollar, Limit: 4650, Asked: 9000}), "The price of 90¢ is outside the price collar of the agent's mandate; the last price that passes is 46.5¢."},
		{mandate(core.Violation{Rule: core.RuleOrdersPerDay, Limit: 3, Used: 3, Asked: 1}), "The order asks for 1, and max_orders_per_day of the agent's mandate leaves 0 of 3."},
		{mandate(core.Violation{Rule: core.RuleAskAbove, Limit: 10_000, Used: 9_000, Asked: 2_000}), "With the order $1.10 would be at stake in the round, and only $1.00 may be without the owner's approval (ask_above of the agent's mandate)."},
		{mandate(core.Violation{Rule: core.RuleHalted}), "The agent is halted."},
		{mandate(core.Violation{Rule: core.RuleExpires}), "has expired"},
		{mandate(core.Violation{Rule: core.RuleCategories}), "this series"},
		{mandate(core.Violation{Rule: core.RuleReduceOnly}), "--reduce-only"},
	} {
		if got := Explain(c.err).Error(); !strings.Contains(got, c.want) {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

func TestDollars(t *testing.T) {
	for text, want := range map[string]Amount{"20": 200_000, "$20": 200_000, "2.50": 25_000, "0.0001": 1, "0": 0, "12345pips": 12_345, "10000000000000001pips": 10_000_000_000_000_001, "1000000": 10_000_000_000} {
		var d Amount
		if err := d.UnmarshalText([]byte(text)); err != nil || d != want {
			t.Errorf("%s is read as %d pips, %v, want %d", text, d, err, want)
		}
	}
	for _, text := range []string{"", "-1", "x", "0.00001", "1e3", "$", "1,000", "pips", "-1pips", "1.5pips", "$5pips", "12345 pips", "1.", "$1.", "99999999999999999999pips"} {
		if err := new(Amount).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		} else if !strings.Contains(err.Error(), "must be dollars") {
			t.Errorf("%q: %v, want what an amount may be", text, err)
		}
	}
	for text, want := range map[string]Credit{"500": 5_000_000, "999999": 9_999_990_000, "1000000.00": 10_000_000_000, "$1000000": 10_000_000_000, "10000000000pips": 10_000_000_000, "1pips": 1} {
		var c Credit
		if err := c.UnmarshalText([]byte(text)); err != nil || c != want {
			t.Errorf("a credit of %s is read as %d pips, %v, want %d", text, c, err, want)
		}
	}
	for _, text := range []string{"1000000", "0001000000", "100000000", "18446744073709551615", "99999999999999999999", "1000000.", ""} {
		if err := new(Credit).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("a credit of %q is accepted", text)
		}
	}
	for pips, want := range map[int64]string{0: "$0.00", 12_345_600: "$1,234.56", -25_000: "-$2.50", -1: "-$0.0001", -1 << 63: "-$922,337,203,685,477.5808"} {
		if got := FormatDollars(pips); got != want {
			t.Errorf("%d: %s, want %s", pips, got, want)
		}
	}
}
