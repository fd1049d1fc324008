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
		want  string // the sources, or the invalid setting
	}{
		{"the default", Config{Venues: DefaultVenues}, "BTC coinbase, BTC kraken, BTC bitstamp, BTC gemini"},
		{"none", Config{}, ""},
		{"all that need no key", Config{Venues: []string{"binance", "binance-futures"}}, "BTC binance, gold binance-futures, WTI binance-futures"},
		{"a key adds gold", Config{PythKey: "k"}, "gold pyth"},
		{"a key and an id add WTI", Config{Venues: []string{"kraken"}, PythKey: "k", PythWTI: wtiID}, "BTC kraken, gold pyth, WTI pyth"},
		{"pyth by name", Config{Venues: []string{"pyth"}, PythKey: "k"}, "gold pyth"},
		{"another address", Config{Venues: []string{"kraken"}, URLs: map[string]string{"kraken": "ws://127.0.0.1:9"}}, "BTC kraken"},
		{"a key over plain HTTP to this machine", Config{PythKey: "k", URLs: map[string]string{"pyth": "http://localhost:9"}}, "gold pyth"},

		{"an unknown venue", Config{Venues: []string{"mtgox"}}, "sources"},
		{"a venue twice", Config{Venues: []string{"kraken", "gemini", "kraken"}}, "sources"},
		{"two sources of gold", Config{Venues: []string{"binance-futures"}, PythKey: "k"}, "sources"},
		{"pyth without a key", Config{Venues: []string{"pyth"}}, "pyth-key"},
		{"a key with a line break", Config{PythKey: "sesame\r\nX: y"}, "pyth-key"},
		{"an invalid id", Config{PythKey: "k", PythWTI: "wti"}, "pyth-wti"},
		{"an address of an unknown venue", Config{URLs: map[string]string{"mtgox": "ws://127.0.0.1"}}, "source-url"},
		{"an address without a scheme", Config{URLs: map[string]string{"kraken": "127.0.0.1"}}, "source-url"},
		{"an address with the wrong scheme", Config{URLs: map[string]string{"kraken": "https://127.0.0.1"}}, "source-url"},
		{"a key over plain HTTP to another machine", Config{PythKey: "k", URLs: map[string]string{"pyth": "http://prices.test"}}, "source-url"},
	} {
		sources, err := Sources(c.of)
		var names []string
		for _, s := range sources {
			names = append(names, s.Feed().String()+" "+s.Name())
		}
		got := strings.Join(names, ", ")
		var fault *ConfigError
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
