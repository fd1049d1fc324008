package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
	"duplex/feeds/session"
)

// limitFlags are what the index of each feed requires of its sources.
type limitFlags struct {
	MinSources map[string]uint8 `help:"Least number of fresh sources behind the index of a feed, as BTC=2; 1 where it is not named. With fewer there is no index: markets pause, and a round that lacks it waits for the operator." placeholder:"FEED=N"`
	FeedJump   map[string]uint8 `help:"By how many percent a source may be off the last index of its feed, up to 30 s old, and two sources off each other; 0: by any. A feed that is not named keeps its default." default:"BTC=10;gold=10;WTI=10"`
}

// jumpDefault is the jump limit of a feed that --feed-jump does not name, in percent.
const jumpDefault = 10

// limits returns the limits of every feed. If there are sources, a feed must have as many as
// its index requires. Without sources, prices are posted by hand.
func (l *limitFlags) limits(sources []feeds.Source) (out [core.Feeds]feed.Limit, err error) {
	var have [core.Feeds]int
	for _, s := range sources {
		have[s.Feed()]++
	}
	for f := range out {
		out[f].JumpPct = jumpDefault
	}
	for name, n := range l.MinSources {
		f, known := feedNamed(name)
		switch {
		case !known:
			return out, cli.BadFlag("min-sources", errNoFeed(name))
		case n < 1 || n > feed.MaxSources:
			return out, cli.BadFlag("min-sources", fmt.Errorf("%s: 1 to %d", f, feed.MaxSources))
		case len(sources) > 0 && int(n) > have[f]:
			return out, cli.BadFlag("min-sources", fmt.Errorf("%s has %d sources, and would never have an index of %d", f, have[f], n))
		}
		out[f].MinSources = n
	}
	for name, pct := range l.FeedJump {
		f, known := feedNamed(name)
		switch {
		case !known:
			return out, cli.BadFlag("feed-jump", errNoFeed(name))
		case pct > 100:
			return out, cli.BadFlag("feed-jump", fmt.Errorf("%s: 0 to 100 percent", f))
		}
		out[f].JumpPct = pct
	}
	return out, nil
}

func errNoFeed(name string) error {
	return fmt.Errorf("there is no feed %q: BTC, gold or WTI", name)
}

func feedNamed(name string) (core.Feed, bool) {
	for f := range core.Feed(core.Feeds) {
		if strings.EqualFold(name, f.String()) {
			return f, true
		}
	}
	return 0, false
}

// sessionFlags select the calendar of the feeds with sessions.
type sessionFlags struct {
	Holidays string `help:"File with holidays of further years, or of years to replace; docs/operations describes its format." type:"path"`
}

// calendar returns the calendar of the program with the years of the file.
func (f *sessionFlags) calendar() (*session.Calendar, error) {
	if f.Holidays == "" {
		return session.Load()
	}
	file, err := os.Open(f.Holidays)
	if err != nil {
		return nil, cli.BadFlag("holidays", err)
	}
	c, err := session.LoadWith(file)
	if err != nil {
		err = cli.BadFlag("holidays", fmt.Errorf("%s, %w", f.Holidays, err))
	}
	return c, errors.Join(err, file.Close())
}
