package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/live"
	"duplex/feeds/replay"
)

// feedsCmd is `dx feeds`: price sources without a venue.
type feedsCmd struct {
	Watch  feedsWatchCmd  `cmd:"" help:"Show the sources as they speak."`
	Record feedsRecordCmd `cmd:"" help:"Write what the sources say to a file that --oracle replay:FILE plays."`
}

// sourceFlags select the sources of real prices.
type sourceFlags struct {
	Sources   []string          `help:"Venues that price: coinbase, kraken, bitstamp, gemini, binance, binance-futures, pyth. A feed that none prices has paused markets." default:"coinbase,kraken,bitstamp,gemini"`
	SourceURL map[string]string `help:"Another address of a venue: NAME=URL." name:"source-url"`
	PythKey   string            `help:"Key of Pyth, which then prices gold. Better in DX_PYTH_KEY or the file than here."`
	PythWTI   string            `help:"Pyth's id of WTI, which it then prices too." name:"pyth-wti"`
}

// openSources returns the sources. They connect when they are run.
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
		return nil, flagError{fault.Setting, fault.Err}
	}
	return sources, err
}

const replayPrefix = "replay:"

// parseOracle parses --oracle: one of words, or replay:FILE, which has sources. kind is the
// name of the prices on the wire.
func parseOracle(text string, speed int, words ...string) (kind string, sources []feeds.Source, err error) {
	path, found := strings.CutPrefix(text, replayPrefix)
	if !found {
		for _, w := range words {
			if text == w {
				return text, nil, nil
			}
		}
		return "", nil, flagError{"oracle", fmt.Errorf("%s or %sFILE, not %q", strings.Join(words, ", "), replayPrefix, text)}
	}
	if speed < 1 {
		return "", nil, flagError{"replay-speed", errors.New("1 or more is wanted")}
	}
	tape, err := replay.Open(path, speed)
	if err != nil {
		return "", nil, flagError{"oracle", err}
	}
	return "replay", tape.Sources(), nil
}

// runSources runs sources without a venue, until stop is called, which waits for them.
func runSources(ctx context.Context, sources []feeds.Source) (p *feeds.Poster, stop func(), err error) {
	p, err = feeds.NewPoster(func(context.Context, core.Command) error { return nil }, sources...)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	return p, func() { cancel(); running.Wait() }, nil
}

// repeatUntil calls do after each pause until ctx ends, until long has passed if it is not
// 0, or until do fails.
func repeatUntil(ctx context.Context, pause, long time.Duration, do func() error) error {
	if long > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, long)
		defer done()
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// priceText formats an oracle price in dollars.
func priceText(p core.Price) string {
	if p == 0 {
		return "-"
	}
	return fmt.Sprintf("%d.%04d", p/100_000_000, p/10_000%10_000)
}
