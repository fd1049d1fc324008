package live

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const wtiID = "0xABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

func TestSources(t *testing.T) {
	for _, c := range []struct {
		story string
		of    Config
		want  string // the sources, or the setting at fault
	}{
		{"as usual", Config{Venues: Usual}, "BTC coinbase, BTC kraken, BTC bitstamp, BTC gemini"},
		{"none", Config{}, ""},
		{"all but a key", Config{Venues: []string{"binance", "binance-futures"}}, "BTC binance, gold binance-futures, WTI binance-futures"},
		{"a key brings gold", Config{PythKey: "k"}, "gold pyth"},
		{"and with an id WTI", Config{Venues: []string{"kraken"}, PythKey: "k", PythWTI: wtiID}, "BTC kraken, gold pyth, WTI pyth"},
		{"pyth by name too", Config{Venues: []string{"pyth"}, PythKey: "k"}, "gold pyth"},
		{"an address of its own", Config{Venues: []string{"kraken"}, URLs: map[string]string{"kraken": "ws://127.0.0.1:9"}}, "BTC kraken"},
		{"a key over plain HTTP stays here", Config{PythKey: "k", URLs: map[string]string{"pyth": "http://localhost:9"}}, "gold pyth"},

		{"no such venue", Config{Venues: []string{"mtgox"}}, "sources"},
		{"twice", Config{Venues: []string{"kraken", "gemini", "kraken"}}, "sources"},
		{"two for gold", Config{Venues: []string{"binance-futures"}, PythKey: "k"}, "sources"},
		{"pyth without a key", Config{Venues: []string{"pyth"}}, "pyth-key"},
		{"a key that would break the request", Config{PythKey: "sesame\r\nX: y"}, "pyth-key"},
		{"an id that is none", Config{PythKey: "k", PythWTI: "wti"}, "pyth-wti"},
		{"an address of nobody", Config{URLs: map[string]string{"mtgox": "ws://127.0.0.1"}}, "source-url"},
		{"an address that is none", Config{URLs: map[string]string{"kraken": "127.0.0.1"}}, "source-url"},
		{"of another kind", Config{URLs: map[string]string{"kraken": "https://127.0.0.1"}}, "source-url"},
		{"a key in the clear", Config{PythKey: "k", URLs: map[string]string{"pyth": "http://prices.test"}}, "source-url"},
	} {
		sources, err := Sources(c.of)
		var names []string
		for _, s := range sources {
			names = append(names, s.Feed().String()+" "+s.Name())
		}
		got := strings.Join(names, ", ")
		var fault *Fault
		if errors.As(err, &fault) {
			got = fault.Setting
		}
		if got != c.want || (err == nil) != (fault == nil) {
			t.Errorf("%s: %s, %v; want %s", c.story, got, err, c.want)
		}
		if strings.Contains(fmt.Sprint(err), "sesame") {
			t.Errorf("%s: the error shows the key: %v", c.story, err)
		}
	}
}

func TestPythAddress(t *testing.T) {
	got := pyth(1, "https://hermes.test/", "k", wtiID)
	if want := "https://hermes.test/v2/updates/price/stream?parsed=true&ids[]=" + strings.ToLower(wtiID[2:]); got.URL != want {
		t.Errorf("%s, want %s", got.URL, want)
	}
}
