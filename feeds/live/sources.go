package live

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter"
	"duplex/internal/address"
)

// DefaultVenues are the venues of a server whose operator configures none.
var DefaultVenues = []string{"coinbase", "kraken", "bitstamp", "gemini"}

// defaultURLs has the address of every known venue.
var defaultURLs = map[string]string{
	"coinbase": coinbaseURL, "kraken": krakenURL, "bitstamp": bitstampURL, "gemini": geminiURL,
	"binance": binanceURL, "binance-futures": binanceFuturesURL, "pyth": pythURL,
}

// Config selects the venues.
type Config struct {
	Venues  []string          // names; a PythKey adds pyth
	URLs    map[string]string // addresses by venue that replace the default ones
	PythKey string            // a secret
	PythWTI string            // id of the WTI price; if empty, pyth prices gold only
}

// ConfigError is an invalid setting. Setting is the name of its command-line flag.
type ConfigError struct {
	Setting string
	Err     error
}

func (f *ConfigError) Error() string { return f.Setting + ": " + f.Err.Error() }
func (f *ConfigError) Unwrap() error { return f.Err }

// Sources returns the sources of a Config, unconnected.
//
// It returns a *ConfigError for an unknown venue, an invalid address, a duplicate venue,
// pyth without a key, and a second source of gold or WTI
// (docs/rules/prices-sources.md#feeds).
func Sources(c Config) ([]feeds.Source, error) {
	venues := slices.Clone(c.Venues)
	if c.PythKey != "" && !slices.Contains(venues, "pyth") {
		venues = append(venues, "pyth")
	}
	for name, at := range c.URLs {
		if err := checkURL(name, at); err != nil {
			return nil, &ConfigError{"source-url", err}
		}
	}
	var out []feeds.Source
	var perFeed [core.Feeds]int
	for i, name := range venues {
		if slices.Contains(venues[:i], name) {
			return nil, &ConfigError{"sources", fmt.Errorf("%s is named twice", name)}
		}
		codecs, err := c.codecs(name)
		if err != nil {
			return nil, err
		}
		for _, codec := range codecs {
			if perFeed[codec.Feed]++; codec.Feed != core.BTC && perFeed[codec.Feed] > 1 {
				return nil, &ConfigError{"sources", fmt.Errorf("%s can have only one source", codec.Feed)}
			}
			out = append(out, adapter.New(codec, adapter.Options{}))
		}
	}
	return out, nil
}

// codecs returns the codecs of a venue, one for each feed.
func (c *Config) codecs(name string) ([]adapter.Codec, error) {
	at := cmp.Or(c.URLs[name], defaultURLs[name])
	switch name {
	case "coinbase":
		return []adapter.Codec{coinbase(at)}, nil
	case "kraken":
		return []adapter.Codec{kraken(at)}, nil
	case "bitstamp":
		return []adapter.Codec{bitstamp(at)}, nil
	case "gemini":
		return []adapter.Codec{gemini(at)}, nil
	case "binance":
		return []adapter.Codec{binance("binance", core.BTC, at, "BTCUSDT")}, nil
	case "binance-futures":
		return []adapter.Codec{binance(name, core.Gold, at, "XAUUSDT"), binance(name, core.WTI, at, "CLUSDT")}, nil
	case "pyth":
		return c.pythCodecs(at)
	}
	return nil, &ConfigError{"sources", fmt.Errorf("there is no venue %q", name)}
}

func (c *Config) pythCodecs(at string) ([]adapter.Codec, error) {
	if c.PythKey == "" {
		return nil, &ConfigError{"pyth-key", errors.New("pyth needs a key")}
	}
	if strings.ContainsFunc(c.PythKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &ConfigError{"pyth-key", errors.New("a key must be printable ASCII without spaces")}
	}
	out := []adapter.Codec{pyth(core.Gold, at, c.PythKey, pythGold)}
	if c.PythWTI == "" {
		return out, nil
	}
	if b, err := hex.DecodeString(bareID(c.PythWTI)); err != nil || len(b) != 32 {
		return nil, &ConfigError{"pyth-wti", errors.New("an id must be 64 hex characters")}
	}
	return append(out, pyth(core.WTI, at, c.PythKey, c.PythWTI)), nil
}

// checkURL checks that an address has the scheme of its venue, and that pyth, which needs
// a key, uses TLS or a loopback address.
func checkURL(name, at string) error {
	if defaultURLs[name] == "" {
		return fmt.Errorf("there is no venue %q", name)
	}
	_, err := address.Parse(at, "wss", "ws")
	if name == "pyth" {
		_, err = address.ParseSecure(at)
	}
	if err != nil {
		return fmt.Errorf("%s: the address %w", name, err)
	}
	return nil
}
