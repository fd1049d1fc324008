package schemas

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestU64(t *testing.T) {
	for _, c := range []struct {
		json string
		want uint64
		ok   bool
	}{
		{`"0"`, 0, true}, {`"00012"`, 12, true}, {`"18446744073709551615"`, math.MaxUint64, true}, {`"0000000000000000000000000000018446744073709551615"`, math.MaxUint64, true},
		{`"18446744073709551616"`, 0, false}, {`"99999999999999999999"`, 0, false}, {`"184467440737095516150"`, 0, false},
		{`""`, 0, false}, {`"-1"`, 0, false}, {`"+1"`, 0, false}, {`"1 "`, 0, false}, {`"1.0"`, 0, false}, {`1`, 0, false}, {`null`, 0, false}, {`true`, 0, false}, {`[]`, 0, false},
	} {
		var u U64
		err := json.Unmarshal([]byte(c.json), &u)
		if (err == nil) != c.ok || uint64(u) != c.want {
			t.Errorf("%s as U64: %d %v, want %d, valid %t", c.json, u, err, c.want, c.ok)
		}
	}
	if U64(math.MaxUint64).Int64() != math.MaxInt64 || U64(5).Int64() != 5 {
		t.Error("Int64 saturates")
	}
}

func TestInt(t *testing.T) {
	for _, c := range []struct {
		json string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"12", 12, true}, {"-12", -12, true}, {"9223372036854775807", math.MaxInt64, true}, {"9223372036854775808", math.MaxInt64, true},
		{"-9223372036854775807", -math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true}, {"-9223372036854775809", math.MinInt64, true},
		{"18446744073709551616", math.MaxInt64, true}, {"18446744073709551621000000000000001", math.MaxInt64, true}, {"-18446744073709551621000000000000001", math.MinInt64, true},
		{"1.0", 0, false}, {"1e2", 0, false}, {"1E0", 0, false}, {"-1.5", 0, false}, {`"1"`, 0, false}, {"null", 0, false}, {"true", 0, false}, {"{}", 0, false},
	} {
		var i Int
		err := json.Unmarshal([]byte(c.json), &i)
		if (err == nil) != c.ok || int64(i) != c.want {
			t.Errorf("%s as Int: %d %v, want %d, valid %t", c.json, i, err, c.want, c.ok)
		}
	}
	if Int(65537).MarketID() != 65537 || Int(-1).MarketID() != 0 || Int(U32Max).MarketID() != U32Max || Int(U32Max+2).MarketID() != 0 {
		t.Error("MarketID truncates")
	}
	if Int(1<<40).Clamp32() != math.MaxInt32 || Int(-1<<40).Clamp32() != math.MinInt32 {
		t.Error("Clamp32 saturates")
	}
}

func TestSigned(t *testing.T) {
	for _, c := range []struct {
		want Signed
		json string
	}{{0, `"0"`}, {500, `"500"`}, {-47_000, `"-47000"`}, {math.MaxInt64, `"9223372036854775807"`}, {math.MinInt64, `"-9223372036854775808"`}} {
		b, err := Append(nil, c.want)
		var back Signed
		if err != nil || string(b) != c.json || json.Unmarshal(b, &back) != nil || back != c.want {
			t.Errorf("%d: %s, back as %d: %v", c.want, b, back, err)
		}
	}
	var s Signed
	if json.Unmarshal([]byte(`5`), &s) == nil || json.Unmarshal([]byte(`"5.0"`), &s) == nil {
		t.Error("a number, or a fraction, is no signed amount")
	}
}

// TestDecimalStrings tests the exact decimal strings of prices and money, both ways.
func TestDecimalStrings(t *testing.T) {
	for n, want := range map[uint64]string{0: "0.00", 1: "0.00000001", 6500454000000: "65004.54", 6500400000000: "65004.00", 6500450000000: "65004.50", 1<<64 - 1: "184467440737.09551615"} {
		text, err := Decimal(n).MarshalText()
		var back Decimal
		if err != nil || string(text) != want || back.UnmarshalText(text) != nil || back != Decimal(n) {
			t.Errorf("Decimal %d: %s, read back as %d, %v, want %s", n, text, back, err, want)
		}
	}
	for n, want := range map[uint64]string{0: "0.00", 1: "0.0001", 605: "0.0605", 600: "0.06", 10_000: "1.00", 123_450: "12.345", 1<<64 - 1: "1844674407370955.1615"} {
		text, err := USD(n).MarshalText()
		var back USD
		if err != nil || string(text) != want || back.UnmarshalText(text) != nil || back != USD(n) {
			t.Errorf("USD %d: %s, read back as %d, %v, want %s", n, text, back, err, want)
		}
	}
	for n, want := range map[int64]string{0: "0.00", 605: "0.0605", -605: "-0.0605", -10_000: "-1.00", math.MaxInt64: "922337203685477.5807"} {
		text, err := SignedUSD(n).MarshalText()
		var back SignedUSD
		if err != nil || string(text) != want || back.UnmarshalText(text) != nil || back != SignedUSD(n) {
			t.Errorf("SignedUSD %d: %s, read back as %d, %v, want %s", n, text, back, err, want)
		}
	}
	if text, _ := SignedUSD(math.MinInt64).MarshalText(); string(text) != "-922337203685477.5808" {
		t.Errorf("the least SignedUSD is %s, want -922337203685477.5808", text)
	}
	for _, bad := range []string{"", "-", "--1.00", "1.00001", "922337203685477.5808"} {
		if err := new(SignedUSD).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, bad := range []string{"", ".", "-1.00", "1.00001", "1.0x", "1,00", "1844674407370955.1616"} {
		if err := new(USD).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
