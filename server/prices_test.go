package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds"
	"duplex/feeds/session"
	"duplex/feeds/sim"
	"duplex/internal/backoff"
	"duplex/internal/logbuffer"
	"duplex/server"
	"duplex/server/servertest"
)

// TestScheduleToTheCalendarsEnd tests that the schedule lists each remaining boundary of a
// calendar once, then its end, and afterwards the end alone.
func TestScheduleToTheCalendarsEnd(t *testing.T) {
	c, err := session.Load()
	if err != nil {
		t.Fatal(err)
	}
	end := core.Window{Kind: "calendar_end", Start: c.End().UnixNano(), End: c.End().UnixNano()}
	shown := func(from time.Time) (kinds string, last core.Window) {
		t.Helper()
		all := server.SessionHoursOf(c).Boundaries(from.UnixNano())
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

// TestVenueAfterTheCalendar tests that a venue whose calendar has ended serves BTC, opens no
// rounds of gold and WTI, and reports it in metrics and log.
func TestVenueAfterTheCalendar(t *testing.T) {
	past, err := session.Parse(strings.NewReader("year 2001"))
	if err != nil {
		t.Fatal(err)
	}
	var log logbuffer.Buffer
	h := servertest.OpenLive(t, t.TempDir(), func(o *server.Options) {
		o.Calendar, o.Log = past, slog.New(slog.NewJSONHandler(&log, nil))
		o.Oracle, o.Sources = "sim", sim.New(1).Sources()
	})
	eventually(t, "fresh prices of all feeds, and sessions of BTC alone", func() (done bool) {
		h.Engine().Read(func(v *venue.Venue, _ *view.View) {
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
	eventually(t, "ready venue", func() bool {
		_, _, page := request(t, "GET", h.AdminURL()+"/readyz", "")
		return strings.Contains(page, `"ready":true`)
	})
	page := askOperator(t, h, "GET", "/metrics", "")
	for _, want := range []string{fmt.Sprintf("duplex_oracle_calendar_end_timestamp_seconds %g\n", float64(past.End().Unix())), `duplex_oracle_session_open{feed="BTC"} 1`, `duplex_oracle_session_open{feed="gold"} 0`, `duplex_oracle_session_open{feed="WTI"} 0`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	eventually(t, "a line in the log", func() bool { return strings.Contains(log.String(), "the holiday calendar has ended") })
	h.Close()
}

// TestMinSources tests that a feed that requires two sources has an index of two prices by
// hand and none of one, and that the rule follows the option and is in the metrics.
func TestMinSources(t *testing.T) {
	dir := t.TempDir()
	h := servertest.OpenLive(t, dir, func(o *server.Options) { o.Limits[core.BTC].MinSources = 2 })
	post := func(source string) string {
		t.Helper()
		return askOperator(t, h, "POST", "/admin/oracle/ticks", fmt.Sprintf(`{"feed":0,"source":%q,"price":"6500000000000"}`, source))
	}
	stale := func() (stale bool) {
		h.Engine().Read(func(v *venue.Venue, _ *view.View) { _, _, stale, _ = v.Index(core.BTC) })
		return stale
	}
	metrics := func() string { return askOperator(t, h, "GET", "/metrics", "") }
	if answer := post("one"); !strings.Contains(answer, `"fresh_source_count":1,"indexed":false`) || !stale() {
		t.Errorf("one source made an index: %s", answer)
	}
	if page := metrics(); strings.Contains(page, `duplex_oracle_index_price{feed="BTC"}`) || !strings.Contains(page, `duplex_oracle_index_min_sources{feed="BTC"} 2`) {
		t.Error("an index of one source in the metrics, or no rule")
	}
	eventually(t, "index of two sources", func() bool { // within the 5 s that a price is fresh
		post("one")
		return strings.Contains(post("two"), `"fresh_source_count":2,"indexed":true`)
	})
	page := metrics()
	for _, want := range []string{`duplex_oracle_index_price{feed="BTC"} 65000`, `duplex_oracle_index_sources{feed="BTC"} 2`, `duplex_oracle_index_age_seconds{feed="BTC"}`, `duplex_oracle_index_seconds_total{feed="BTC",outcome="jump"} 0`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	h.Close()
	h = servertest.OpenLive(t, dir, nil)
	h.Engine().Read(func(v *venue.Venue, _ *view.View) {
		if rules := v.Rules(); rules.MinSources != [core.Feeds]uint8{} {
			t.Errorf("the rule outlives the setting: %v", rules.MinSources)
		}
	})
	h.Close()
}

// TestMinSourcesRule tests that one source, the default, is stored as 0.
func TestMinSourcesRule(t *testing.T) {
	got := server.MinSourcesRule([core.Feeds]feed.Limit{core.BTC: {MinSources: 3, JumpPct: 5}, core.Gold: {MinSources: 1}})
	if want := [core.Feeds]uint8{core.BTC: 3}; got != want {
		t.Errorf("%v, not %v", got, want)
	}
}

// continuedSource quotes one price, and goes on from another if the venue says so.
type continuedSource struct {
	price core.Price
	from  atomic.Int64
}

func (*continuedSource) Name() string               { return "made" }
func (*continuedSource) Feed() core.Feed            { return core.BTC }
func (s *continuedSource) Continue(last core.Price) { s.from.Store(int64(last)) }

func (s *continuedSource) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	for backoff.Sleep(ctx, 50*time.Millisecond) {
		out(s.price, time.Now())
	}
	return ctx.Err()
}

// TestMadePricesGoOn tests that prices of the venue's own making go on from the last index after a restart.
func TestMadePricesGoOn(t *testing.T) {
	dir := t.TempDir()
	for life, want := range []core.Price{0, 6_912_300_000_000} {
		s := &continuedSource{price: 6_912_300_000_000}
		h := servertest.OpenLive(t, dir, func(o *server.Options) { o.Oracle, o.Sources = "sim", []feeds.Source{s} })
		eventually(t, "an index", func() (known bool) {
			h.Engine().Read(func(v *venue.Venue, _ *view.View) { _, known, _, _ = v.Index(core.BTC) })
			return known
		})
		h.Close()
		if got := core.Price(s.from.Load()); got != want {
			t.Errorf("life %d: the source goes on from %d, want %d", life, got, want)
		}
	}
}
