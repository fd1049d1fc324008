package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"duplex/core"
	"duplex/core/feed"
)

// TestHolidaysFromAFile tests that dx serve reads further years from a file that a flag, a
// variable or the settings file names, also one that an editor begins with a byte order mark.
func TestHolidaysFromAFile(t *testing.T) {
	file := textFile(t, "holidays.txt", "\ufeffyear 2028\n2028-01-17 all 14:30 Martin Luther King Jr. Day\n")
	f := sessionFlags{Holidays: file}
	c, err := f.calendar()
	if err != nil || c.End().Year() != 2028 {
		t.Fatal(err)
	}
	settings := textFile(t, "dx.toml", fmt.Sprintf("holidays = %q\n", file))
	expectCommand(t, 0, "", "config", "check", "--config", settings)
	expectCommand(t, 0, "", "config", "check", "--holidays", filepath.Join(operations, "holidays.txt"))
	t.Setenv("DX_HOLIDAYS", settings)
	expectCommand(t, 2, "--holidays: "+settings+", line 1: ", "config", "check")
}

// TestLimitsOfFeeds tests that the settings file sets the limits of a feed, and that a feed
// that it does not name keeps the default.
func TestLimitsOfFeeds(t *testing.T) {
	const text = "[min_sources]\nbtc = 3\n[feed_jump]\nBTC = 5\nWTI = 0\n"
	s, err := settings([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	_, sources, err := s.priceSources()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.limits(sources)
	if want := [core.Feeds]feed.Limit{core.BTC: {MinSources: 3, JumpPct: 5}, core.Gold: {JumpPct: 10}, core.WTI: {}}; err != nil || got != want {
		t.Errorf("the limits are %+v, %v, want %+v", got, err, want)
	}
	expectCommand(t, 0, "", "config", "check", "--config", textFile(t, "dx.toml", text))
}
