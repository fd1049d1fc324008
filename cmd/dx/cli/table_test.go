package cli

import (
	"bytes"
	"testing"
)

// Numbers are aligned to the right, colors have no width, and an empty table is a sentence.
func TestTable(t *testing.T) {
	table := NewTable("SERIES", ">QTY", ">PROFIT", "STATUS")
	var out bytes.Buffer
	if err := table.Print(&out, "Nothing."); err != nil || out.String() != "Nothing.\n" {
		t.Errorf("an empty table prints %q, %v, want the sentence", &out, err)
	}
	table.Row("btc-60s", "5", FormatGain(-12_300, true), "52¢")
	table.Row("gold-15m", "1000", FormatGain(0, true), "")
	out.Reset()
	want := "SERIES     QTY  PROFIT  STATUS\nbtc-60s      5  \x1b[31m-$1.23\x1b[m  52¢\ngold-15m  1000   $0.00\n"
	if err := table.Print(&out, ""); err != nil || out.String() != want {
		t.Errorf("%q, want %q, %v", &out, want, err)
	}
}

func TestFormatGain(t *testing.T) {
	for _, c := range []struct {
		pips  int64
		color bool
		want  string
	}{
		{500, false, "$0.05"}, {-500, false, "-$0.05"}, {0, true, "$0.00"}, {500, true, "\x1b[32m$0.05\x1b[m"}, {-500, true, "\x1b[31m-$0.05\x1b[m"},
	} {
		if got := FormatGain(c.pips, c.color); got != c.want {
			t.Errorf("%d: %q, want %q", c.pips, got, c.want)
		}
	}
	if HasColor(new(bytes.Buffer)) {
		t.Error("a buffer has no colors")
	}
}
