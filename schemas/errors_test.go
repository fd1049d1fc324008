package schemas

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"duplex/core"

	"github.com/go-json-experiment/json/jsontext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestErrorTableGolden compares the table of errors with its golden file.
func TestErrorTableGolden(t *testing.T) {
	raw, err := Append(nil, ErrorTable)
	if err != nil {
		t.Fatal(err)
	}
	v := jsontext.Value(raw)
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/errors.json", append(v, '\n'))
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test ./schemas -update rewrites it", path)
	}
}

func TestErrorTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range ErrorTable {
		if seen[m.Code] {
			t.Errorf("%s is listed twice", m.Code)
		}
		seen[m.Code] = true
		if (m.Num != nil) != (m.Origin == OriginCore) {
			t.Errorf("%s: num and origin disagree", m.Code)
		}
		if m.HTTP < 400 || m.HTTP > 599 || m.Means == "" || m.Next == "" {
			t.Errorf("%s lacks a status, a meaning or a next step", m.Code)
		}
		if m.Retry != Never && m.Retry != Safe && m.Retry != Unknown {
			t.Errorf("%s: retry %q", m.Code, m.Retry)
		}
	}
}

// TestRejectsHaveErrors tests that every reject of the core has a row with its number.
func TestRejectsHaveErrors(t *testing.T) {
	for r := core.Reject(1); r < 2048; r++ {
		if r.String() == "" {
			continue
		}
		m, e := ErrorInfoOf(r.String()), RejectError(r)
		if m.Code != r.String() || e.Code != r.String() || e.Message != e.Code {
			t.Errorf("%d %s has no row", r, r)
		}
		if r.Registered() != (e.Num != nil) || (e.Num != nil && *e.Num != int(r)) {
			t.Errorf("%s: num %v, want %d", r, e.Num, r)
		}
	}
	for r := core.UnknownMarket; r <= core.TooLate; r++ {
		if RejectError(r).Num == nil {
			t.Errorf("%d has no number", r)
		}
	}
}

func TestErrorBody(t *testing.T) {
	for _, c := range []struct {
		e    Error
		want string
	}{
		{RejectError(core.InsufficientBalance), `{"error":{"code":"insufficient_balance","num":257,"origin":"core","message":"insufficient_balance","details":null}}`},
		{ErrorOf("unauthorized"), `{"error":{"code":"unauthorized","num":null,"origin":"gateway","message":"unauthorized","details":null}}`},
		{RateLimited(12), `{"error":{"code":"rate_limited","num":null,"origin":"gateway","message":"rate limited","details":{"retry_after_ms":"12"}}}`},
		{ErrorOf("no_such_code"), `{"error":{"code":"internal","num":null,"origin":"gateway","message":"internal","details":null}}`},
	} {
		got, err := Append(nil, ErrorBody{c.e})
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, c.want)
		}
	}
	if ms, ok := RateLimited(12).RetryAfterMs(); !ok || ms != 12 {
		t.Error(ms, ok)
	}
}

func TestToolError(t *testing.T) {
	r := ToolErrorOf(ErrorOf("sequencing_timeout"))
	if r.Outcome != "unknown" || r.Retryable {
		t.Errorf("sequencing_timeout: %+v, want the outcome unknown, not retryable", r)
	}
	r = ToolErrorOf(RateLimited(5))
	if r.Outcome != "not_done" || !r.Retryable || *r.RetryAfterMs != 5 {
		t.Errorf("a rate limit of 5 ms: %+v, want not_done and retryable after 5 ms", r)
	}
	r = ToolErrorOfFault(Decode([]byte(`{"timeout_ms":1}`), &ArmDeadman{}))
	if text, err := Append(nil, &r); err != nil || !strings.Contains(string(text), `"got":1,`) {
		t.Errorf("the error of a wrong timeout_ms: %s %v, want got as the number 1", text, err)
	}
	if r.Field != "timeout_ms" || string(r.Got) != "1" || r.Limit != "an integer from 1000 to 60000" {
		t.Errorf("the error of a wrong timeout_ms: %+v, want its field, value and limit", r)
	}
	var o PlaceOrder
	r = ToolErrorOfFault(Decode([]byte(`{"price":4700}`), &o))
	if !strings.HasPrefix(r.Hint, "No field price: use tick, an integer from 1 to 9999. ") || !strings.Contains(r.Hint, "4700 = 47 cents") || strings.Contains(r.Hint, "Leave it out") {
		t.Errorf("the hint of the field price: %s, want tick, and how cents become ticks", r.Hint)
	}
	if r := ToolErrorOfFault(Decode([]byte(`{"foo":1}`), &o)); !strings.Contains(r.Hint, "Leave it out") {
		t.Errorf("the hint of the field foo: %s, want to leave it out", r.Hint)
	}
}

// TestAliasesNameFields tests that every alias belongs to a field and is in its normal form.
func TestAliasesNameFields(t *testing.T) {
	known := map[string]bool{}
	for _, in := range Requests {
		for _, f := range requestTypeOf(reflect.TypeOf(in)).fields {
			known[f.Name] = true
		}
	}
	for name, list := range aliases {
		if !known[name] {
			t.Errorf("no request has %s", name)
		}
		for _, a := range strings.Fields(list) {
			if a != spelled(a) {
				t.Errorf("%s: the alias %s is not in its normal form", name, a)
			}
		}
	}
}
