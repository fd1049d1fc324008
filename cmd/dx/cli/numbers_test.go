package cli

import "testing"

// TestGroupedIn checks that a number stays within its column.
func TestGroupedIn(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		want string
	}{{0, "0"}, {999, "999"}, {1000, "1,000"}, {999_999, "999,999"}, {1_000_000, "1,000k"}, {12_345_678, "12,345k"}, {999_999_999, "999,999k"}, {1_000_000_000, "1,000M"}} {
		width := 7
		if c.n == 999_999_999 {
			width = 8
		}
		if got := GroupedIn(c.n, width); got != c.want {
			t.Errorf("%d: %s, want %s", c.n, got, c.want)
		}
	}
	if got := Grouped(int64(-1_234_567)); got != "-1,234,567" {
		t.Error(got)
	}
}

// TestFormatWholeCents checks that half a cent is rounded away from zero, as the pages do.
func TestFormatWholeCents(t *testing.T) {
	for pips, want := range map[int64]string{0: "$0.00", 49: "$0.00", -49: "$0.00", 50: "$0.01", -50: "-$0.01", 5_787_749: "$578.77", -5_787_765: "-$578.78", 12_345_678: "$1,234.57", 99_999_950: "$10,000.00"} {
		if got := FormatWholeCents(pips); got != want {
			t.Errorf("%d pips: %s, want %s", pips, got, want)
		}
	}
}

func TestParseWithin(t *testing.T) {
	if n, err := ParseWithin("010", 1, 1_000_000); err != nil || n != 10 {
		t.Errorf("%d, %v", n, err)
	}
	for _, text := range []string{"0", "1000001", "-5", "x", "", "1_0", "18446744073709551616"} {
		if _, err := ParseWithin(text, 1, 1_000_000); err == nil || err.Error() != "must be a whole number from 1 to 1,000,000, and not \""+text+"\"" {
			t.Errorf("%q: %v", text, err)
		}
	}
}
