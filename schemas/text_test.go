package schemas

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
)

// hostile are characters that no stored text may have, between two letters.
var hostile = []string{
	"\x00", "\a", "\b", "\t", "\n", "\r", "\x1b", "\x7f", "\u0080", "\u0085", "\u009b", "\u2028", "\u2029",
	"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
}

func TestPlainText(t *testing.T) {
	for _, c := range hostile {
		for _, text := range []string{c, c + "a", "a" + c, "a" + c + "b"} {
			if PlainText(text) {
				t.Errorf("%q passes", text)
			}
		}
	}
	if PlainText("a\xffb") {
		t.Error("invalid UTF-8 passes")
	}
	for _, text := range []string{"", "wire 1/2024", "Zoë", "שלום", "山田", "👩‍👩‍👧", "a\u00a0b", `<b>"&'\`} {
		if !PlainText(text) {
			t.Errorf("%q fails", text)
		}
	}
}

// TestTextsOfRequests sends each hostile character in every text that a stranger or an operator can
// have stored or shown, and that no pattern restricts.
func TestTextsOfRequests(t *testing.T) {
	bodies := []struct {
		in    func() any
		body  string // with %s for the JSON string
		field string
		code  string
	}{
		{func() any { return new(SignUp) }, `{"name":%s}`, "name", "schema_violation"},
		{func() any { return new(CreateKey) }, `{"label":%s}`, "label", "schema_violation"},
		{func() any { return new(CreateUser) }, `{"name":%s}`, "name", "schema_violation"},
		{func() any { return new(CreateUser) }, `{"name":"ann","reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(CreateUserKey) }, `{"label":%s}`, "label", "schema_violation"},
		{func() any { return new(CreateUserKey) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(Deposit) }, `{"deposit_id":%s,"amount":"1"}`, "deposit_id", "schema_violation"},
		{func() any { return new(Deposit) }, `{"deposit_id":"d","amount":"1","reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(SuspendUser) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(RevokeUserKey) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(ActOnUser) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(ActOnMarket) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(Propose) }, `{"settle_price":"1","reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(SetFees) }, `{"maker_rate":0,"taker_rate":0,"maker_rebate_pct":0,"referral_pct":0,"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(SetSchedule) }, `{"schedule":[{"kind":%s,"start_ts":"1","end_ts":"2"}]}`, "schedule[0].kind", "schema_violation"},
		{func() any { return new(SetSchedule) }, `{"schedule":[],"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(DecideWithdrawal) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(DecideApproval) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(Tick) }, `{"feed":0,"source":%s,"price":"1"}`, "source", "schema_violation"},
		{func() any { return new(Tick) }, `{"feed":0,"source":"s","price":"1","reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(AddOperator) }, `{"name":"ann","role":"viewer","reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(AddOperator) }, `{"name":%s,"role":"viewer"}`, "name", "schema_violation"},
		{func() any { return new(RevokeOperator) }, `{"reason":%s}`, "reason", "schema_violation"},
		{func() any { return new(RequestWithdrawal) }, `{"client_withdrawal_id":"w","amount":"1","destination":%s}`, "destination", "bad_destination"},
		{func() any { return new(RequestWithdrawal) }, `{"client_withdrawal_id":%s,"amount":"1","destination":"d"}`, "client_withdrawal_id", "bad_client_withdrawal_id"},
		{func() any { return new(AddMember) }, `{"name":%s,"peer":"a:1"}`, "name", "schema_violation"},
		{func() any { return new(AddMember) }, `{"name":"a","peer":%s}`, "peer", "schema_violation"},
		{func() any { return new(CreateAgent) }, `{"name":%s}`, "name", "schema_violation"},
	}
	fill := func(body, text string) []byte {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(nil, body, quoted)
	}
	for _, c := range bodies {
		if _, ok := c.in().(*CreateAgent); !ok {
			if f := Decode(fill(c.body, "abc"), c.in()); f != nil {
				t.Errorf("%s of %T: plain text: %v", c.field, c.in(), f)
			}
		}
		for _, h := range hostile {
			f := Decode(fill(c.body, "a"+h+"b"), c.in())
			if f == nil || f.Code != c.code || f.Field != c.field {
				t.Errorf("%s of %T: %q: %v", c.field, c.in(), h, f)
			}
		}
	}
	queries := []struct {
		in   func() any
		name string
	}{
		{func() any { return new(SearchUsers) }, "q"},
		{func() any { return new(ListActions) }, "who"},
		{func() any { return new(ListActions) }, "action"},
	}
	for _, c := range queries {
		for _, h := range hostile {
			if f := DecodeQuery(c.name+"="+url.QueryEscape("a"+h+"b"), c.in()); f == nil || f.Code != "schema_violation" || f.Field != c.name {
				t.Errorf("%s of %T: %q: %v", c.name, c.in(), h, f)
			}
		}
	}
}

// TestForTerminal checks that a text that somebody else chose moves no cursor and sets no title.
func TestForTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\tb": "a\n\tb", "grün …": "grün …", "\x1b[2Jx": "\ufffd[2Jx", "\u009b2J": "\ufffd2J", "a\rb": "a\ufffdb", "\x1b]0;t\a": "\ufffd]0;t\ufffd",
		"a\u202eb": "a\ufffdb", "a\xffb": "a\ufffdb", "a\x7f\b": "a\ufffd\ufffd",
	} {
		if got := ForTerminal(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
