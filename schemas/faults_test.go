package schemas

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"duplex/core"

	"github.com/go-json-experiment/json/jsontext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestFaultsGolden keeps the table of errors as a page that can be read.
func TestFaultsGolden(t *testing.T) {
	raw, err := Append(nil, Faults)
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

func TestFaultsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Faults {
		if seen[m.Code] {
			t.Errorf("%s twice", m.Code)
		}
		seen[m.Code] = true
		if (m.Num != nil) != (m.Origin == OriginCore) {
			t.Errorf("%s: num and origin disagree", m.Code)
		}
		if m.HTTP < 400 || m.HTTP > 599 || m.Means == "" || m.Next == "" {
			t.Errorf("%s is not whole", m.Code)
		}
		if m.Retry != Never && m.Retry != Safe && m.Retry != Unknown {
			t.Errorf("%s: retry %q", m.Code, m.Retry)
		}
	}
}

// TestRejectsAreTold: every reject the core can give has its row, and the numbers
// are the core's.
func TestRejectsAreTold(t *testing.T) {
	for r := core.Reject(1); r < 2048; r++ {
		if r.String() == "" {
			continue
		}
		m, e := MeaningOf(r.String()), RejectError(r)
		if m.Code != r.String() || e.Code != r.String() || e.Message != e.Code {
			t.Errorf("%d %s is not told", r, r)
		}
		if r.Registered() != (e.Num != nil) || (e.Num != nil && *e.Num != int(r)) {
			t.Errorf("%s: num %v, want %d", r, e.Num, r)
		}
	}
	for r := core.UnknownMarket; r <= core.StaleGeneration; r++ {
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

func TestRefusal(t *testing.T) {
	r := RefusalOf(ErrorOf("sequencing_timeout"))
	if r.Outcome != "unknown" || r.Retryable {
		t.Errorf("%+v", r)
	}
	r = RefusalOf(RateLimited(5))
	if r.Outcome != "not_done" || !r.Retryable || *r.RetryAfterMs != 5 {
		t.Errorf("%+v", r)
	}
	r = RefusalOfFault(Decode([]byte(`{"timeout_ms":1}`), &ArmDeadman{}))
	if r.Field != "timeout_ms" || r.Got != "1" || r.Limit != "an integer from 1000 to 60000" {
		t.Errorf("%+v", r)
	}
}
