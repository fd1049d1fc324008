package arena

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds/replay"
	"duplex/schemas"
)

// tape is a recorded index, second by second.
type tape struct {
	prices  []core.Price
	start   int64  // time of the first price, ns
	source  string // where the prices come from: the sources in the file, in their order
	minutes bool   // each price holds for a minute
}

// window is the part of a tape that one seed plays. Seeds that played the same prices would be one draw.
type window struct {
	Window  int   `json:"window"`   // from 0, by the place of the seed
	StartTs int64 `json:"start_ts"` // of the first price, ns
	Seconds int   `json:"seconds"`
}

// windowSeconds returns how much of a tape a seed takes: two rounds more than are counted, and a minute.
func windowSeconds(rounds int, s core.Series) int { return (rounds+2)*int(s.Cadence)*60 + 60 }

// cutTape reads the tape of a config, and cuts it into windows.
func (c *Config) cutTape() (err error) {
	if c.sealed != "" {
		return badConfig("tape and seeds %s: the windows of a tape are known, and cannot be sealed", c.Seeds)
	}
	if err := checkRegular(c.Tape); err != nil {
		return &ConfigError{err}
	}
	if c.tape, err = readTape(c.Tape, c.series.Feed); err != nil {
		return err
	}
	if c.tape.minutes && c.series.Cadence == 1 {
		return badConfig("tape %s has a price each minute: it is for btc-5m and btc-15m, and a round of %s needs one each second", c.Tape, c.Series)
	}
	if c.TapeHash, err = hashFile(c.Tape); err != nil {
		return &ConfigError{err}
	}
	c.TapeSource, c.windowSeconds = c.tape.source, windowSeconds(c.Rounds, c.series)
	c.TapeWindows = len(c.tape.prices) / c.windowSeconds
	if c.TapeWindows < c.count && !c.Hand {
		return badConfig("tape %s has %d seconds: %s of %d seconds, for %s of %s; %s need as many", c.Tape, len(c.tape.prices), several(c.TapeWindows, "window"), c.windowSeconds, several(c.Rounds, "round"), c.Series, several(c.count, "seed"))
	}
	return nil
}

// windowOf returns the window of a place; nil without a tape. A venue for use by hand accepts any place, and the
// window may be shorter there.
func (c *Config) windowOf(place int) *window {
	if c.tape == nil {
		return nil
	}
	if c.Hand {
		place %= max(c.TapeWindows, 1)
	}
	from := place * c.windowSeconds
	return &window{place, c.tape.start + int64(from)*core.NsPerSec, min(c.windowSeconds, len(c.tape.prices)-from)}
}

// checkWindow returns an error unless the bundle of a seed has the window of its place. The prices in it cannot be
// checked: a bundle does not contain the tape.
func (m *Manifest) checkWindow() error {
	c := m.Settings
	switch {
	case (m.Tape == nil) != (c.TapeHash == ""):
		return fmt.Errorf("seed %d: it has a window of a tape, and its settings have none, or the other way around", m.Seed)
	case m.Tape != nil && (m.Tape.Window != slices.Index(c.seeds, m.Seed) || m.Tape.Seconds != windowSeconds(c.Rounds, c.series)):
		return fmt.Errorf("seed %d: window %d of %d seconds is not that of its place", m.Seed, m.Tape.Window, m.Tape.Seconds)
	}
	return nil
}

// pricesOf returns the prices of a window. By hand they go on to the end of the tape.
func (c *Config) pricesOf(w *window) []core.Price {
	from := w.Window * c.windowSeconds
	if c.Hand {
		return c.tape.prices[from:]
	}
	return c.tape.prices[from : from+w.Seconds]
}

// readTape reads the prices of a feed from a file of dx feeds record or dx arena import, and computes the index of each
// second as a venue does. Falling times and seconds without an index are errors, except on a tape of minutes.
func readTape(path string, f core.Feed) (t *tape, err error) {
	if t, err = readMinutes(path, f); t != nil || err != nil {
		return t, err
	}
	t = &tape{}
	var sources []string
	var index feed.Index
	var bad error
	last, second := int64(0), int64(0) // ns; the next to compute, Unix seconds
	until := func(at int64) {
		for ; second > 0 && second*core.NsPerSec <= at && bad == nil; second++ {
			tick, gap := index.Tick(f, second*core.NsPerSec)
			if gap != feed.NoGap {
				bad = badConfig("tape %s: no index of %s at %s: %s", path, f, time.Unix(second, 0).UTC().Format(time.RFC3339), gap)
				return
			}
			t.prices = append(t.prices, tick.Price)
		}
	}
	err = replay.Each(path, func(of core.Feed, source string, price core.Price, at int64) bool {
		if of != f {
			return true
		}
		if at < last {
			bad = badConfig("tape %s: the time falls from %d to %d", path, last, at)
			return false
		}
		if second == 0 {
			second = (at + core.NsPerSec - 1) / core.NsPerSec // a price received at a whole second counts in it
			t.start = second * core.NsPerSec
		}
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
		last = at
		until(at - 1)
		index.Update(of, source, price, at)
		return bad == nil
	})
	if err != nil {
		return nil, &ConfigError{err}
	}
	until(last)
	if bad != nil {
		return nil, bad
	}
	if len(t.prices) == 0 {
		return nil, badConfig("tape %s: no price of %s", path, f)
	}
	return t, t.setSource(path, sources)
}

func (t *tape) setSource(path string, sources []string) error {
	t.source = strings.Join(sources, ", ")
	if !schemas.PlainText(t.source) {
		return badConfig("tape %s: the name of a source has characters that are not plain text", path)
	}
	return nil
}

// readMinutes reads a tape whose prices come at whole seconds, each a minute after the last, as dx arena import writes
// it of bars of a minute. It returns nil for another tape. A price holds until the next one: a line between both would
// show a seat where the price goes.
func readMinutes(path string, f core.Feed) (*tape, error) {
	t := &tape{minutes: true}
	var sources []string
	last, other := int64(0), false
	err := replay.Each(path, func(of core.Feed, source string, price core.Price, at int64) bool {
		if of != f {
			return true
		}
		if other = at%core.NsPerSec != 0 || last != 0 && at-last != minuteBar*core.NsPerSec; other {
			return false
		}
		if last == 0 {
			t.start = at
		}
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
		last = at
		t.prices = append(t.prices, slices.Repeat([]core.Price{price}, minuteBar)...)
		return true
	})
	if err != nil {
		return nil, &ConfigError{err}
	}
	if other || len(t.prices) <= minuteBar {
		return nil, nil
	}
	return t, t.setSource(path, sources)
}
