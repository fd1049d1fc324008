package live

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
)

// Usual are the venues to listen to unless said otherwise.
var Usual = []string{"coinbase", "kraken", "bitstamp", "gemini"}

// usualURLs are the addresses of all venues there are.
var usualURLs = map[string]string{
	"coinbase": coinbaseURL, "kraken": krakenURL, "bitstamp": bitstampURL, "gemini": geminiURL,
	"binance": binanceURL, "binance-futures": binanceFuturesURL, "pyth": pythURL,
}

// Config says whom to listen to.
type Config struct {
	Venues  []string          // names; pyth comes by itself with a key
	URLs    map[string]string // by venue, in place of the usual address
	PythKey string            // a secret
	PythWTI string            // id of the WTI price; none: pyth prices gold alone
	Line    line.Options
}

// Fault names the setting that cannot work, as the command line calls it.
type Fault struct {
	Setting string
	Err     error
}

func (f *Fault) Error() string { return f.Setting + ": " + f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// Sources prepares the sources of a Config, and connects none.
//
// Returns a *Fault for a venue or address that makes no sense, a venue named twice,
// pyth without a key, and a second source of gold or WTI, which take one (contract
// core, Rounds).
func Sources(c Config) ([]feeds.Source, error) {
	venues := slices.Clone(c.Venues)
	if c.PythKey != "" && !slices.Contains(venues, "pyth") {
		venues = append(venues, "pyth")
	}
	for name, address := range c.URLs {
		if err := checkURL(name, address); err != nil {
			return nil, &Fault{"source-url", err}
		}
	}
	var out []feeds.Source
	var of [core.Feeds]int
	for i, name := range venues {
		if slices.Contains(venues[:i], name) {
			return nil, &Fault{"sources", fmt.Errorf("%s is named twice", name)}
		}
		talks, err := c.talks(name)
		if err != nil {
			return nil, err
		}
		for _, t := range talks {
			if of[t.Feed]++; t.Feed != core.BTC && of[t.Feed] > 1 {
				return nil, &Fault{"sources", fmt.Errorf("%s takes one source", t.Feed)}
			}
			out = append(out, line.New(t, c.Line))
		}
	}
	return out, nil
}

// talks are the lines to a venue, one a feed.
func (c *Config) talks(name string) ([]line.Talk, error) {
	at := c.URLs[name]
	if at == "" {
		at = usualURLs[name]
	}
	switch name {
	case "coinbase":
		return []line.Talk{coinbase(at)}, nil
	case "kraken":
		return []line.Talk{kraken(at)}, nil
	case "bitstamp":
		return []line.Talk{bitstamp(at)}, nil
	case "gemini":
		return []line.Talk{gemini(at)}, nil
	case "binance":
		return []line.Talk{binance("binance", core.BTC, at, "BTCUSDT")}, nil
	case "binance-futures":
		return []line.Talk{binance(name, core.Gold, at, "XAUUSDT"), binance(name, core.WTI, at, "CLUSDT")}, nil
	case "pyth":
		return c.pyth(at)
	}
	return nil, &Fault{"sources", fmt.Errorf("there is no venue %q", name)}
}

func (c *Config) pyth(at string) ([]line.Talk, error) {
	if c.PythKey == "" {
		return nil, &Fault{"pyth-key", errors.New("pyth wants a key")}
	}
	if strings.ContainsFunc(c.PythKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &Fault{"pyth-key", errors.New("a key is one word of plain characters")}
	}
	out := []line.Talk{pyth(core.Gold, at, c.PythKey, pythGold)}
	if c.PythWTI == "" {
		return out, nil
	}
	if b, err := hex.DecodeString(bareID(c.PythWTI)); err != nil || len(b) != 32 {
		return nil, &Fault{"pyth-wti", errors.New("an id is 64 hex characters")}
	}
	return append(out, pyth(core.WTI, at, c.PythKey, c.PythWTI)), nil
}

// checkURL wants an address of the right kind. A key goes over TLS, or stays on
// this machine.
func checkURL(name, address string) error {
	if usualURLs[name] == "" {
		return fmt.Errorf("there is no venue %q", name)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%s: %q is no address", name, address)
	}
	schemes := []string{"wss", "ws"}
	if name == "pyth" {
		schemes = []string{"https", "http"}
	}
	if !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("%s: an address begins with %s://", name, schemes[0])
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return fmt.Errorf("%s: the key is not sent without TLS", name)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
