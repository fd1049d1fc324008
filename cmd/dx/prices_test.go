package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds/session"
	"duplex/feeds/sim"
)

// wait waits until something holds, and fails if it does not within 30 s.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within 30 s", what)
		}
	}
}

// The schedule lists the boundaries that are left when the calendar is about to end, each
// once, then its end; after it, the end alone.
func TestScheduleToTheCalendarsEnd(t *testing.T) {
	c, err := session.Load()
	if err != nil {
		t.Fatal(err)
	}
	end := core.Window{Kind: "calendar_end", Start: c.End().UnixNano(), End: c.End().UnixNano()}
	shown := func(from time.Time) (kinds string, last core.Window) {
		t.Helper()
		all := sessionHours{c}.Boundaries(from.UnixNano())
		for i, w := range all {
			if kinds += w.Kind + " "; i > 0 && w.Start < all[i-1].Start {
				t.Errorf("from %s: %s is before the one before it", from, w.Kind)
			}
			last = w
		}
		return strings.TrimSpace(kinds), last
	}
	if kinds, _ := shown(c.End().Add(-30 * 24 * time.Hour)); strings.Contains(kinds, "calendar_end") {
		t.Error(kinds)
	}
	if kinds, last := shown(c.End().Add(-25 * time.Hour)); kinds != "session_close session_open session_close calendar_end" || last != end {
		t.Error(kinds, last)
	}
	for _, after := range []time.Duration{0, time.Hour, 365 * 24 * time.Hour} {
		if kinds, last := shown(c.End().Add(after)); kinds != "calendar_end" || last != end {
			t.Errorf("%s after the end: %s, %v", after, kinds, last)
		}
	}
}

// A venue whose calendar has ended serves BTC; gold and WTI are closed and open no
// rounds, and schedule, metrics and log say why.
func TestVenueAfterTheCalendar(t *testing.T) {
	past, err := session.Parse(strings.NewReader("year 2001"))
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	h := openTestServer(t, t.TempDir(), func(p *serverOptions) {
		p.calendar, p.log = past, slog.New(slog.NewJSONHandler(&log, nil))
		p.oracle, p.sources = "sim", sim.New(1).Sources()
	})
	wait(t, "fresh prices of all feeds, and sessions of BTC alone", func() (done bool) {
		h.engine.Read(func(v *venue.Venue, _ *view.View) {
			done = true
			for f := range core.Feed(core.Feeds) {
				_, _, stale, inSession := v.Index(f)
				done = done && !stale && inSession == (f == core.BTC)
			}
			for m := core.MarketID(1); m <= venue.Slots; m++ {
				if s, ok := v.Market(m); ok && s.Feed != core.BTC {
					t.Error("a round of a closed feed has opened")
				}
			}
		})
		return done
	})
	select {
	case err := <-h.failed:
		t.Error(err)
	default:
	}
	if page := getBody(t, h.admin+"/readyz"); !strings.Contains(page, `"ready":true`) {
		t.Error(page)
	}
	token := h.options.operatorToken
	_, page := ask(t, "GET", h.admin+"/metrics", "Authorization", "Bearer "+token)
	for _, want := range []string{fmt.Sprintf("duplex_oracle_calendar_end_timestamp_seconds %g\n", float64(past.End().Unix())), `duplex_oracle_session_open{feed="BTC"} 1`, `duplex_oracle_session_open{feed="gold"} 0`, `duplex_oracle_session_open{feed="WTI"} 0`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	wait(t, "a line in the log", func() bool { return strings.Contains(log.String(), "the holiday calendar has ended") })
	h.mustClose(t)
}

// dx serve takes later years from a file, by flag, variable or settings file.
func TestHolidaysFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holidays.txt")
	if err := os.WriteFile(file, []byte("year 2028\n2028-01-17 all 14:30 Martin Luther King Jr. Day\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := sessionFlags{Holidays: file}
	c, err := f.calendar()
	if err != nil || c.End().Year() != 2028 {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "dx.toml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "holidays = %q\n", file), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runCommand("config", "check", "--config", settings); code != 0 {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, errs := runCommand("config", "check", "--holidays", filepath.Join(operations, "holidays.txt")); code != 0 {
		t.Errorf("the example: %d %s%s", code, out, errs)
	}
	t.Setenv("DX_HOLIDAYS", settings)
	if code, out, errs := runCommand("config", "check"); code != 2 || !strings.Contains(errs, "--holidays: "+settings+", line 1: ") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// The limits of a feed come from flags, variables or the settings file; a feed that is
// not named keeps its default.
func TestLimitsOfFeeds(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "dx.toml")
	if err := os.WriteFile(settings, []byte("[min_sources]\nbtc = 3\n[feed_jump]\nBTC = 5\nWTI = 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settingsOf(t, settings)
	if err != nil {
		t.Fatal(err)
	}
	_, sources, err := s.priceSources()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.limits(sources)
	if want := [core.Feeds]feed.Limit{core.BTC: {MinSources: 3, JumpPct: 5}, core.Gold: {JumpPct: 10}, core.WTI: {}}; err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if code, out, errs := runCommand("config", "check", "--config", settings); code != 0 {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if rule := leastSources(got); rule != [core.Feeds]uint8{core.BTC: 3} {
		t.Errorf("%v", rule)
	}
	if rule := leastSources([core.Feeds]feed.Limit{{MinSources: 1}}); rule != [core.Feeds]uint8{} {
		t.Errorf("%v", rule)
	}
}

func settingsOf(t *testing.T, path string) (serveSettings, error) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return settings(b)
}

// A feed that wants two sources has no index of one price by hand, and has one of two;
// the rule is the journal's, changes with the setting, and shows in the metrics.
func TestLeastSourcesOfAVenue(t *testing.T) {
	dir := t.TempDir()
	h := openTestServer(t, dir, func(p *serverOptions) { p.limits[core.BTC].MinSources = 2 })
	post := func(source string) (answer string) {
		t.Helper()
		r, err := http.NewRequest("POST", h.admin+"/admin/oracle/ticks", strings.NewReader(fmt.Sprintf(`{"feed":0,"source":%q,"price":"6500000000000"}`, source)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+h.options.operatorToken)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status, err)
		}
		return string(b)
	}
	stale := func() (stale bool) {
		h.engine.Read(func(v *venue.Venue, _ *view.View) { _, _, stale, _ = v.Index(core.BTC) })
		return stale
	}
	metrics := func() string {
		_, page := ask(t, "GET", h.admin+"/metrics", "Authorization", "Bearer "+h.options.operatorToken)
		return page
	}
	if answer := post("one"); !strings.Contains(answer, `"fresh_source_count":1,"indexed":false`) || !stale() {
		t.Errorf("one source made an index: %s", answer)
	}
	if page := metrics(); strings.Contains(page, `duplex_oracle_index_price{feed="BTC"}`) || !strings.Contains(page, `duplex_oracle_index_min_sources{feed="BTC"} 2`) {
		t.Error("an index of one source in the metrics, or no rule")
	}
	wait(t, "index of two sources", func() bool { // within the 5 s that a price is fresh
		post("one")
		return strings.Contains(post("two"), `"fresh_source_count":2,"indexed":true`)
	})
	page := metrics()
	for _, want := range []string{`duplex_oracle_index_price{feed="BTC"} 65000`, `duplex_oracle_index_sources{feed="BTC"} 2`, `duplex_oracle_index_age_seconds{feed="BTC"}`, `duplex_oracle_index_seconds_total{feed="BTC",outcome="jump"} 0`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	h.mustClose(t)
	h = openTestServer(t, dir, nil)
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
		if rules := v.Rules(); rules.MinSources != [core.Feeds]uint8{} {
			t.Errorf("the rule outlives the setting: %v", rules.MinSources)
		}
	})
	h.mustClose(t)
}
