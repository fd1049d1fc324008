package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/feeds"
	"duplex/feeds/live"
	"duplex/feeds/replay"
)

// sourceFlags choose the external venues that prices come from.
type sourceFlags struct {
	Sources   []string          `help:"Venues that prices come from: coinbase, kraken, bitstamp, gemini, binance, binance-futures, pyth. The markets of a feed without a source are paused." default:"coinbase,kraken,bitstamp,gemini" env:"DX_SOURCES"`
	SourceURL map[string]string `help:"Another address for a venue: NAME=URL." name:"source-url" env:"DX_SOURCE_URL"`
	PythKey   string            `type:"secret" help:"Key of Pyth, which enables its price of gold. Set it in DX_PYTH_KEY or in the file: other users of this machine can read arguments." env:"DX_PYTH_KEY"`
	PythWTI   string            `help:"Pyth's id of WTI, which enables its price of WTI." name:"pyth-wti" env:"DX_PYTH_WTI"`
}

// openSources returns the sources that the flags choose. They connect when they run.
func (f *sourceFlags) openSources() ([]feeds.Source, error) {
	var venues []string
	for _, v := range f.Sources {
		if v = strings.TrimSpace(v); v != "" {
			venues = append(venues, v)
		}
	}
	sources, err := live.Sources(live.Config{Venues: venues, URLs: f.SourceURL, PythKey: f.PythKey, PythWTI: f.PythWTI})
	if fault, ok := errors.AsType[*live.ConfigError](err); ok {
		return nil, cli.BadFlag(fault.Setting, fault.Err)
	}
	return sources, err
}

const replayPrefix = "replay:"

// parseOracle parses --oracle: one of words, or replay:FILE, whose sources it opens.
func parseOracle(text string, speed int, words ...string) (kind string, sources []feeds.Source, err error) {
	path, found := strings.CutPrefix(text, replayPrefix)
	if !found {
		if slices.Contains(words, text) {
			return text, nil, nil
		}
		return "", nil, cli.BadFlag("oracle", fmt.Errorf("must be %s or %sFILE, not %q", strings.Join(words, ", "), replayPrefix, text))
	}
	if speed < 1 {
		return "", nil, cli.BadFlag("replay-speed", errors.New("must be 1 or more"))
	}
	tape, err := replay.Open(path, speed)
	if err != nil {
		return "", nil, cli.BadFlag("oracle", err)
	}
	return "replay", tape.Sources(), nil
}
