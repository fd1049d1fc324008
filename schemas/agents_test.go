package schemas

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
)

// TestMandateDecodes checks which mandates decode, and that a decoded mandate encodes to the same
// fields (docs/rules/agent-accounts.md#mandate).
func TestMandateDecodes(t *testing.T) {
	for _, c := range []struct{ in, out, code string }{
		{``, `{}`, ""},
		{`null`, `{}`, ""},
		{`{}`, `{}`, ""},
		{`{"reduce_only":false}`, `{}`, ""},
		{`{"reduce_only":true,"categories":[9,1]}`, `{"categories":[1,9],"reduce_only":true}`, ""},
		{`{"max_order_cost":"0","max_daily_loss":"18446744073709551615"}`, `{"max_order_cost":"0","max_daily_loss":"18446744073709551615"}`, ""},
		{`{"max_market_cost":"7","max_open_cost":"8"}`, `{"max_market_cost":"7","max_open_cost":"8"}`, ""},
		{`{"price_collar":0,"max_open_orders":0,"max_orders_per_day":4294967295,"max_order_qty":1}`, `{"max_order_qty":1,"price_collar":0,"max_open_orders":0,"max_orders_per_day":4294967295}`, ""},
		{`{"expires_ts":"1900000000000000000"}`, `{"expires_ts":"1900000000000000000"}`, ""},
		{`[]`, "", "schema_violation"},
		{`"{}"`, "", "schema_violation"},
		{`{"max_loss":"5"}`, "", "bad_mandate"},
		{`{"max_daily_loss":5}`, "", "bad_mandate"},
		{`{"max_daily_loss":"-5"}`, "", "bad_mandate"},
		{`{"max_daily_loss":"18446744073709551616"}`, "", "bad_mandate"},
		{`{"max_daily_loss":null}`, "", "bad_mandate"},
		{`{"max_order_qty":0}`, "", "bad_mandate"},
		{`{"max_order_qty":1000001}`, "", "bad_mandate"},
		{`{"max_order_qty":1.0}`, "", "bad_mandate"},
		{`{"price_collar":9999}`, "", "bad_mandate"},
		{`{"price_collar":-1}`, "", "bad_mandate"},
		{`{"max_open_orders":4294967296}`, "", "bad_mandate"},
		{`{"categories":[]}`, "", "bad_mandate"},
		{`{"categories":[0]}`, "", "bad_mandate"},
		{`{"categories":[10]}`, "", "bad_mandate"},
		{`{"categories":[1,1]}`, "", "bad_mandate"},
		{`{"categories":"1"}`, "", "bad_mandate"},
		{`{"reduce_only":1}`, "", "bad_mandate"},
		{`{"expires_ts":9}`, "", "bad_mandate"},
	} {
		m, f := DecodeMandate(jsontext.Value(c.in))
		code := ""
		if f != nil {
			code = f.Code
			if !strings.HasPrefix(f.Field, "mandate") {
				t.Errorf("%s: the fault names the field %q", c.in, f.Field)
			}
		}
		if code != c.code {
			t.Errorf("%s: %q, want %q", c.in, code, c.code)
			continue
		}
		if code != "" {
			continue
		}
		back := MandateOf(&m)
		b, err := Append(nil, &back)
		if err != nil || string(b) != c.out || !m.Valid(core.RevisionNewest) {
			t.Errorf("%s: %s, %v, valid %t; want %s", c.in, b, err, m.Valid(core.RevisionNewest), c.out)
		}
	}
}

// TestMandateErrors checks the details of each rule (docs/rules/agent-accounts.md#rejections).
func TestMandateErrors(t *testing.T) {
	for rule := range core.MandateRule(len(core.MandateRules())) {
		v := &core.Violation{Rule: rule, Rev: 3, Limit: 10, Used: 4, Asked: 7}
		want := map[string]string{"rule": rule.String(), "rev": "3"}
		switch rule {
		case core.RuleHalted, core.RuleExpires, core.RuleCategories, core.RuleReduceOnly:
		case core.RulePriceCollar:
			want["limit"], want["asked"] = "10", "7"
		default:
			want["limit"], want["used"], want["asked"], want["headroom"] = "10", "4", "7", "6"
		}
		if rule == core.RuleDailyLoss || rule == core.RuleOrdersPerDay {
			v.ResetsTs, want["resets_ts"] = 99, "99"
		}
		e := MandateError(v)
		b, err := json.Marshal(e)
		if err != nil || e.HTTP() != 403 || *e.Num != 272 || !reflect.DeepEqual(map[string]string(*e.Details), want) {
			t.Errorf("rule %v: %s, %v, want 403, number 272 and the details %v", rule, b, err, want)
		}
	}
	over := core.Violation{Limit: 3, Used: 8}
	if over.Headroom() != 0 || fmt.Sprint(over.Error()) != "mandate_violation" {
		t.Errorf("headroom %d, error %v", over.Headroom(), over.Error())
	}
}

// TestAccountOfAnAgentWithoutBounds checks that a mandate and a headroom without bounds are {}, and
// that an owner has neither.
func TestAccountOfAnAgentWithoutBounds(t *testing.T) {
	for _, c := range []struct {
		account Account
		want    string
	}{
		{Account{UserID: 1, Kind: "owner", State: "active"}, `"state":"active","usage":{`},
		{Account{UserID: 2, Kind: "agent", State: "active", OwnerID: Ptr(uint32(1)), Mandate: &Mandate{}, Rev: Ptr(uint32(1)), Headroom: &Headroom{}}, `"owner_id":1,"mandate":{},"rev":1,"usage":{`},
	} {
		b, err := Append(nil, &c.account)
		if err != nil || !strings.Contains(string(b), c.want) || strings.Contains(string(b), `"headroom":{}`) != (c.account.Headroom != nil) {
			t.Errorf("%s, %v; want %s", b, err, c.want)
		}
	}
}
