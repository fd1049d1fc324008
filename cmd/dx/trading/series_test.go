package trading

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

func TestSeriesNames(t *testing.T) {
	want := []string{"btc-60s", "btc-5m", "btc-15m", "gold-60s", "gold-5m", "gold-15m", "wti-60s", "wti-5m", "wti-15m"}
	for i, s := range core.AllSeries() {
		var f SeriesFlag
		if err := f.UnmarshalText([]byte(strings.ToUpper(want[i]))); err != nil || string(f) != want[i] || f.series() != s {
			t.Errorf("the series %s is read as %q, %v, or is another one", want[i], f, err)
		}
		if got := SeriesName(s.Category); got != want[i] {
			t.Errorf("category %d: %s", s.Category, got)
		}
	}
	var f SeriesFlag
	for _, name := range []string{"", "btc", "btc-1m", "btc 60s", "silver-5m"} {
		if err := f.UnmarshalText([]byte(name)); err == nil || !strings.Contains(err.Error(), "the series are btc-60s, btc-5m, btc-15m, gold-60s") {
			t.Errorf("the series %q: %v, want an error that lists the series", name, err)
		}
	}
	if got := SeriesName(12); got != "#12" {
		t.Errorf("category 12: %s", got)
	}
}

func TestNextOpening(t *testing.T) {
	day := time.Date(2026, time.March, 5, 0, 0, 0, 0, time.UTC) // a Thursday
	at := func(clock string) time.Time {
		t.Helper()
		for _, layout := range []string{"15:04:05", "2 15:04:05"} {
			if c, err := time.Parse(layout, clock); err == nil {
				return day.AddDate(0, 0, c.Day()-1).Add(c.Sub(c.Truncate(24 * time.Hour)))
			}
		}
		t.Fatalf("time %q", clock)
		return time.Time{}
	}
	// The session closes at 22:00 and opens again at 23:00; on Friday it closes until Sunday.
	week := []schemas.Window{{Kind: "session_close", StartTs: ns(at("22:00:00"))}, {Kind: sessionOpen, StartTs: ns(at("23:00:00"))}, {Kind: "holiday", StartTs: ns(at("2 22:00:00"))}, {Kind: sessionOpen, StartTs: ns(at("4 23:00:00"))}}
	for _, c := range []struct {
		series, now, last string // last: when the newest round opened
		sessions          []schemas.Window
		stale             bool
		status, sentence  string
	}{
		{"btc-60s", "09:00:12", "08:59:00", nil, false, "opens in 48s", "its next round opens at 09:01:00 UTC, in 48s"},
		{"btc-60s", "09:00:12.5", "", nil, false, "opens in 48s", "its next round opens at 09:01:00 UTC, in 48s"},
		{"btc-60s", "09:00:02", "08:59:00", nil, false, "opening", "its next round opens any moment"},
		{"btc-60s", "09:00:02", "09:00:00", nil, false, "opens in 58s", "its next round opens at 09:01:00 UTC, in 58s"},
		{"btc-15m", "09:10:00", "08:45:00", nil, false, "opening", "its next round opens any moment"},
		{"btc-15m", "09:14:30", "08:45:00", nil, false, "opens in 30s", "its next round opens at 09:15:00 UTC, in 30s"},
		{"btc-15m", "09:10:00", "08:45:00", nil, true, "waiting for a price", "no round opens without a price, and there is no fresh price of BTC"},
		{"btc-15m", "09:14:30", "", nil, true, "opens in 30s", "its next round opens at 09:15:00 UTC, in 30s, if there is a fresh price of BTC by then"},
		{"btc-15m", "22:10:00", "22:00:00", week, false, "opens in 5m0s", "its next round opens at 22:15:00 UTC, in 5m0s"},
		{"gold-15m", "21:40:00", "21:30:00", week, false, "opens in 5m0s", "its next round opens at 21:45:00 UTC, in 5m0s"},
		{"gold-15m", "21:50:00", "21:45:00", week, false, "closed until 23:00:00 UTC", "the session of gold is closed; its next round opens at 23:00:00 UTC, in 1h10m0s"},
		{"wti-60s", "22:30:30", "21:59:00", week[1:], false, "closed until 23:00:00 UTC", "the session of WTI is closed; its next round opens at 23:00:00 UTC, in 29m30s"},
		{"wti-5m", "2 21:56:00", "2 21:55:00", week[2:], false, "closed until Sun 23:00:00 UTC", "the session of WTI is closed; its next round opens at Sun 23:00:00 UTC, in 49h4m0s"},
		{"gold-5m", "2 21:56:00", "2 21:55:00", week[2:3], false, "session closed", "the session of gold is closed, and the schedule does not say when it opens"},
	} {
		o := openings{now: at(c.now), sessions: c.sessions}
		for feed := range o.prices {
			o.prices[feed] = schemas.OraclePrice{Price: 1, Ts: ns(o.now.Add(-time.Second))}
			if c.stale {
				o.prices[feed].Ts = ns(o.now.Add(-freshFor - 2*time.Second))
			}
		}
		last := int64(0)
		if c.last != "" {
			last = at(c.last).UnixNano()
		}
		next := o.next(SeriesFlag(c.series).series(), last)
		if next.status() != c.status || next.sentence() != c.sentence {
			t.Errorf("%s at %s: %q, %q", c.series, c.now, next.status(), next.sentence())
		}
	}
}

func ns(at time.Time) schemas.U64 { return schemas.U64(at.UnixNano()) }

// TestOpeningsByTheVenuesClock checks that openings are compared with venue time, which in an arena is not
// the clock of its machine, and that a venue of version 0.1.0 has one clock.
func TestOpeningsByTheVenuesClock(t *testing.T) {
	for answer, want := range map[string]int64{`{"server_time":"9000000000","clock":"virtual","venue_time":"5000000000"}`: 5, `{"server_time":"9000000000"}`: 9} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, answer) }))
		o, err := readOpenings(t.Context(), client.Must(client.New(s.URL, "k", make([]byte, schemas.SecretLen))))
		s.Close()
		if err != nil || !o.now.Equal(time.Unix(want, 0)) {
			t.Errorf("the time of the venue from %s: %v, %v, want second %d", answer, o.now, err, want)
		}
	}
}
