package feed

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"duplex/core"
	"pgregory.net/rapid"
)

func TestParsePrice(t *testing.T) {
	for _, c := range []struct {
		text string
		want core.Price
		err  error
	}{
		{"9380.55", 938055000000, nil},
		{"65000", 6500000000000, nil},
		{"0.00000001", 1, nil},
		{"0.000000019", 1, nil}, // truncated, not rounded
		{"0", 0, nil},
		{"007.5", 750000000, nil},
		{"184467440737.09551615", 1<<64 - 1, nil},
		{"184467440737.09551616", 0, ErrPriceRange},
		{"999999999999999999999999999999", 0, ErrPriceRange},
		{"0000000000000000000000000000001", 0, ErrPriceText}, // 31 characters
		{"", 0, ErrPriceText},
		{".", 0, ErrPriceText},
		{".5", 0, ErrPriceText},
		{"5.", 0, ErrPriceText},
		{"1.2.3", 0, ErrPriceText},
		{"-1", 0, ErrPriceText},
		{"+1", 0, ErrPriceText},
		{"1e5", 0, ErrPriceText},
		{"1,000", 0, ErrPriceText},
		{" 1", 0, ErrPriceText},
		{"0x10", 0, ErrPriceText},
		{"NaN", 0, ErrPriceText},
		{"Inf", 0, ErrPriceText},
		{"٣", 0, ErrPriceText}, // a digit outside ASCII
	} {
		got, err := ParsePrice(c.text)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("ParsePrice(%q) = %d, %v; want %d, %v", c.text, got, err, c.want, c.err)
		}
	}
}

func TestParsePriceAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{1,16}(\.[0-9]{1,13})?`).Draw(t, "text")
		whole, part, _ := strings.Cut(text, ".")
		want, _ := new(big.Int).SetString(whole+(part + "00000000")[:8], 10)
		got, err := ParsePrice(text)
		if !want.IsUint64() {
			if !errors.Is(err, ErrPriceRange) {
				t.Fatalf("ParsePrice(%q) = %d, %v", text, got, err)
			}
			return
		}
		if err != nil || uint64(got) != want.Uint64() {
			t.Fatalf("ParsePrice(%q) = %d, %v; want %s", text, got, err, want)
		}
	})
}

func FuzzParsePrice(f *testing.F) {
	for _, s := range []string{"1.5", "", "1e9", "184467440737.09551616", "-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParsePrice(text); err == nil && strings.Trim(text, "0123456789.") != "" {
			t.Fatalf("ParsePrice accepts %q", text)
		}
	})
}
