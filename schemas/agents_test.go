package schemas

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"duplex/core"
)

// TestDecodeMandates tests every field of a mandate at and beyond its bounds, alone and
// within the requests that carry one.
func TestDecodeMandates(t *testing.T) {
	const bad, sv = "bad_mandate", "schema_violation"
	for _, c := range []struct{ mandate, want string }{
		{`{}`, ""},
		{`{"expires_ts":"1"}`, ""}, // the venue compares it with its clock
		{`{"expires_ts":"9223372036854775807"}`, ""},
		{`{"expires_ts":"9223372036854775808"}`, bad},
		{`{"expires_ts":"18446744073709551616"}`, bad},
		{`{"expires_ts":1}`, bad},
		{`{"expires_ts":null}`, bad},
		{`{"categories":[1,9]}`, ""},
		{`{"categories":[9,8,7,6,5,4,3,2,1]}`, ""},
		{`{"categories":[]}`, bad},
		{`{"categories":[0]}`, bad},
		{`{"categories":[10]}`, bad},
		{`{"categories":[-1]}`, bad},
		{`{"categories":[1,1]}`, bad},
		{`{"categories":["1"]}`, bad},
		{`{"categories":[1.0]}`, bad},
		{`{"categories":1}`, bad},
		{`{"categories":null}`, bad},
		{`{"reduce_only":true}`, ""},
		{`{"reduce_only":false}`, ""},
		{`{"reduce_only":1}`, bad},
		{`{"reduce_only":null}`, bad},
		{`{"max_order_qty":1}`, ""},
		{`{"max_order_qty":1000000}`, ""},
		{`{"max_order_qty":0}`, bad},
		{`{"max_order_qty":1000001}`, bad},
		{`{"max_order_qty":"5"}`, bad},
		{`{"price_collar":0}`, ""},
		{`{"price_collar":9998}`, ""},
		{`{"price_collar":9999}`, bad},
		{`{"price_collar":-1}`, bad},
		{`{"max_open_orders":0}`, ""},
		{`{"max_open_orders":4294967295}`, ""},
		{`{"max_open_orders":4294967296}`, bad},
		{`{"max_orders_per_day":0}`, ""},
		{`{"max_orders_per_day":99999999999999999999}`, bad},
		{`{"max_order_cost":"0","max_market_cost":"0","max_open_cost":"0","max_daily_loss":"18446744073709551615"}`, ""},
		{`{"max_order_cost":"-1"}`, bad},
		{`{"max_market_cost":5}`, bad},
		{`{"max_open_cost":""}`, bad},
		{`{"max_daily_loss":"1e3"}`, bad},
		{`{"max_daily_loss":null}`, bad},
		{`{"max_daily_los":"1"}`, bad},
		{`{"halted":true}`, bad},
		{`{"Max_daily_loss":"1"}`, bad},
		{`[]`, sv},
		{`"none"`, sv},
		{`7`, sv},
	} {
		set := `{"if_rev":1,"mandate":` + c.mandate + `}`
		if got := codeOf(Decode([]byte(set), &SetMandate{})); got != c.want {
			t.Errorf("%s: got %q, want %q", set, got, c.want)
		}
		create := `{"name":"a","mandate":` + c.mandate + `}`
		if got := codeOf(Decode([]byte(create), &CreateAgent{})); got != c.want {
			t.Errorf("%s: got %q, want %q", create, got, c.want)
		}
	}
	f := Decode([]byte(`{"name":"a","mandate":{"max_daily_los":"1"}}`), &CreateAgent{})
	if f.Field != "mandate.max_daily_los" || f.Got != `"1"` {
		t.Errorf("the fault shows %+v", f)
	}
}

func codeOf(f *Fault) string {
	if f == nil {
		return ""
	}
	return f.Code
}

// TestDecodeOwnersRequests tests the other fields of the owner's routes.
func TestDecodeOwnersRequests(t *testing.T) {
	const sv = "schema_violation"
	for _, c := range []struct {
		into       any
		body, want string
	}{
		{&CreateAgent{}, `{"name":"a"}`, ""},
		{&CreateAgent{}, `{"name":"a","mandate":null}`, ""},
		{&CreateAgent{}, `{"name":"a","fund":"0"}`, ""},
		{&CreateAgent{}, `{"name":"` + strings.Repeat("a", 32) + `"}`, ""},
		{&CreateAgent{}, `{"name":"` + strings.Repeat("a", 33) + `"}`, sv},
		{&CreateAgent{}, `{"name":""}`, sv},
		{&CreateAgent{}, `{"name":"-a"}`, sv},
		{&CreateAgent{}, `{"name":"A"}`, sv},
		{&CreateAgent{}, `{"name":"../x"}`, sv},
		{&CreateAgent{}, `{"name":"a\n"}`, sv},
		{&CreateAgent{}, `{}`, sv},
		{&CreateAgent{}, `{"name":"a","fund":"-5"}`, sv},
		{&CreateAgent{}, `{"name":"a","fund":5}`, sv},
		{&CreateAgent{}, `{"name":"a","fund":"18446744073709551616"}`, sv},
		{&CreateAgent{}, `{"name":"a","owner":1}`, "unknown_field"},
		{&CreateAgent{}, `{"name":"a","mandate":{},"mandate":{}}`, "malformed_json"},
		{&CreateAgent{}, `{"name":"a","mandate":{"max_daily_loss":"1","max_daily_loss":"2"}}`, "malformed_json"},
		{&CreateAgent{}, `{"name":"A","mandate":{"x":1}}`, "bad_mandate"},
		{&SetMandate{}, `{"if_rev":1,"mandate":null}`, sv},
		{&SetMandate{}, `{"if_rev":1}`, sv},
		{&SetMandate{}, `{"mandate":{}}`, sv},
		{&SetMandate{}, `{"if_rev":"1","mandate":{}}`, sv},
		{&SetMandate{}, `{"if_rev":-1,"mandate":{}}`, sv},
		{&SetMandate{}, `{"if_rev":4294967296,"mandate":{}}`, sv},
		{&SetMandate{}, `{"if_rev":0,"mandate":{}}`, ""}, // stale for the venue
		{&TransferFunds{}, `{"client_transfer_id":"a-1","amount":"1"}`, ""},
		{&TransferFunds{}, `{"client_transfer_id":"a-1","amount":"0"}`, "bad_amount"},
		{&TransferFunds{}, `{"client_transfer_id":"a-1","amount":"-1"}`, sv},
		{&TransferFunds{}, `{"client_transfer_id":"a-1","amount":1}`, sv},
		{&TransferFunds{}, `{"client_transfer_id":"","amount":"1"}`, sv},
		{&TransferFunds{}, `{"client_transfer_id":"a b","amount":"1"}`, sv},
		{&TransferFunds{}, `{"client_transfer_id":"` + strings.Repeat("a", 65) + `","amount":"1"}`, sv},
		{&TransferFunds{}, `{"amount":"1"}`, sv},
		{&TransferFunds{}, `{"client_transfer_id":"a","amount":"1","to":2}`, "unknown_field"},
	} {
		if got := codeOf(Decode([]byte(c.body), c.into)); got != c.want {
			t.Errorf("%T %s: got %q, want %q", c.into, c.body, got, c.want)
		}
	}
}

// TestMandateReadsBack tests that every set of bounds survives the conversions to the core and
// to the wire.
func TestMandateReadsBack(t *testing.T) {
	full := Mandate{
		ExpiresTs: Ptr(U64(9)), Categories: []Int{1, 4, 9}, ReduceOnly: true, MaxOrderQty: Ptr(Int(5)), PriceCollar: Ptr(Int(0)),
		MaxOpenOrders: Ptr(Int(0)), MaxOrdersPerDay: Ptr(Int(U32Max)), MaxOrderCost: Ptr(U64(0)), MaxMarketCost: Ptr(U64(1)),
		MaxOpenCost: Ptr(U64(1<<64 - 1)), MaxDailyLoss: Ptr(U64(7)),
	}
	fields := reflect.TypeFor[Mandate]().NumField()
	if rules := len(core.MandateRules()) - 1; fields != rules {
		t.Fatalf("%d fields, %d rules besides halted", fields, rules)
	}
	for set := range 1 << fields {
		m, want := full, 0
		for i := range fields {
			if set>>i&1 == 0 {
				reflect.ValueOf(&m).Elem().Field(i).SetZero()
			} else {
				want |= 1 << (i + 1)
			}
		}
		in := m.Core()
		if int(in.Set) != want || !in.Valid() {
			t.Fatalf("%b becomes %+v", set, in)
		}
		text, err := Append(nil, MandateOf(&in))
		if err != nil {
			t.Fatal(err)
		}
		var back Mandate
		if f := Decode(text, &back); f != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%s reads as %+v (%v)", text, back, f)
		}
	}
	if in := (*Mandate)(nil).Core(); in != (core.Mandate{}) {
		t.Errorf("no mandate is %+v", in)
	}
}

// TestMandateFieldsAreRules tests that the fields have the names and the order of the rules.
func TestMandateFieldsAreRules(t *testing.T) {
	for i, m := range Members(reflect.TypeFor[Mandate]()) {
		if rule := core.MandateRule(i + 1); m.Name != rule.String() {
			t.Errorf("field %s stands at the rule %s", m.Name, rule)
		}
	}
}

func TestViolationError(t *testing.T) {
	for _, c := range []struct {
		v    core.Violation
		want string
	}{
		{core.Violation{Rule: core.RuleHalted, Rev: 3}, `{"rev":"3","rule":"halted"}`},
		{core.Violation{Rule: core.RuleCategories, Rev: 1}, `{"rev":"1","rule":"categories"}`},
		{core.Violation{Rule: core.RulePriceCollar, Rev: 1, Limit: 5500, Asked: 9999}, `{"asked":"9999","limit":"5500","rev":"1","rule":"price_collar"}`},
		{core.Violation{Rule: core.RuleOrderQty, Rev: 1, Limit: 5, Asked: 6}, `{"asked":"6","headroom":"5","limit":"5","rev":"1","rule":"max_order_qty","used":"0"}`},
		{
			core.Violation{Rule: core.RuleDailyLoss, Rev: 2, Limit: 100, Used: 130, Asked: 1, ResetsTs: 86_400_000_000_000},
			`{"asked":"1","headroom":"0","limit":"100","resets_ts":"86400000000000","rev":"2","rule":"max_daily_loss","used":"130"}`,
		},
	} {
		e := ViolationError(&c.v)
		if got, _ := json.Marshal(e.Details); string(got) != c.want || e.Code != "mandate_violation" || *e.Num != 272 || e.HTTP() != 403 {
			t.Errorf("%s: %+v %s", c.v.Rule, e, got)
		}
	}
}
