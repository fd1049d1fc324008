package cli

import "testing"

func TestFeed(t *testing.T) {
	for text, want := range map[string]int{"BTC": 0, "btc": 0, "0": 0, "Gold": 1, "1": 1, "WTI": 2, "wti": 2, "2": 2} {
		var f Feed
		if err := f.UnmarshalText([]byte(text)); err != nil || f.Number() != want {
			t.Errorf("%s: %v, want %d", text, err, want)
		}
	}
	for _, text := range []string{"", "3", "-1", "01", "oil"} {
		if err := new(Feed).UnmarshalText([]byte(text)); err == nil || err.Error() != `"`+text+`" is not BTC, gold or WTI` {
			t.Errorf("%q: %v", text, err)
		}
	}
}
