package main

import (
	"errors"
	"fmt"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/feeds"
	"duplex/feeds/live"
	"duplex/feeds/replay"
)

// sourceFlags say which venues real prices come from.
type sourceFlags struct {
	Sources   []string          `help:"Venues that price: coinbase, kraken, bitstamp, gemini, binance, binance-futures, pyth. A feed that none prices has paused markets." default:"coinbase,kraken,bitstamp,gemini"`
	SourceURL map[string]string `help:"Another address of a venue: NAME=URL." name:"source-url"`
	PythKey   string            `help:"Key of Pyth, which then prices gold. Better in DX_PYTH_KEY or the file than here."`
	PythWTI   string            `help:"Pyth's id of WTI, which it then prices too." name:"pyth-wti"`
}

// openSources prepares the sources.
func (f *sourceFlags) openSources() ([]feeds.Source, error) {
	var venues []string
	for _, v := range f.Sources {
		if v = strings.TrimSpace(v); v != "" {
			venues = append(venues, v)
		}
	}
	sources, err := live.Sources(live.Config{Venues: venues, URLs: f.SourceURL, PythKey: f.PythKey, PythWTI: f.PythWTI})
	var fault *live.ConfigError
	if errors.As(err, &fault) {
		return nil, cli.BadFlag(fault.Setting, fault.Err)
	}
	return sources, err
}

const replayPrefix = "replay:"

// parseOracle reads --oracle: one of the words, or replay:FILE with its sources.
func parseOracle(text string, speed int, words ...string) (kind string, sources []feeds.Source, err error) {
	path, found := strings.CutPrefix(text, replayPrefix)
	if !found {
		for _, w := range words {
			if text == w {
				return text, nil, nil
			}
		}
		return "", nil, cli.BadFlag("oracle", fmt.Errorf("%s or %sFILE, not %q", strings.Join(words, ", "), replayPrefix, text))
	}
	if speed < 1 {
		return "", nil, cli.BadFlag("replay-speed", errors.New("1 or more is wanted"))
	}
	tape, err := replay.Open(path, speed)
	if err != nil {
		return "", nil, cli.BadFlag("oracle", err)
	}
	return "replay", tape.Sources(), nil
}
