package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
)

func TestSeriesNames(t *testing.T) {
	want := []string{"btc-60s", "btc-5m", "btc-15m", "gold-60s", "gold-5m", "gold-15m", "wti-60s", "wti-5m", "wti-15m"}
	for i, s := range core.AllSeries() {
		var f seriesFlag
		if err := f.UnmarshalText([]byte(strings.ToUpper(want[i]))); err != nil || string(f) != want[i] || f.series() != s {
			t.Errorf("%s: %q, %v", want[i], f, err)
		}
		if got := seriesName(s.Category); got != want[i] {
			t.Errorf("category %d: %s", s.Category, got)
		}
	}
	var f seriesFlag
	for _, name := range []string{"", "btc", "btc-1m", "btc 60s", "silver-5m"} {
		if err := f.UnmarshalText([]byte(name)); err == nil || !strings.Contains(err.Error(), "the series are btc-60s, btc-5m, btc-15m, gold-60s") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := seriesName(12); got != "#12" {
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
		next := o.next(seriesFlag(c.series).series(), last)
		if next.status() != c.status || next.sentence() != c.sentence {
			t.Errorf("%s at %s: %q, %q", c.series, c.now, next.status(), next.sentence())
		}
	}
}

func ns(at time.Time) schemas.U64 { return schemas.U64(at.UnixNano()) }

// Without prices no series opens: every command that names one says so.
func TestNoLiveMarket(t *testing.T) {
	p := start(t, t.TempDir(), "--oracle", "manual", "--no-maker")
	p.devFile()
	const why = "btc-15m has no live market now: "
	for _, args := range []string{"order buy yes 10 --series btc-15m --max-cost 9", "order buy yes 10 @55 --preview --series BTC-15m", "cancel --all --series btc-15m", "book --series btc-15m"} {
		code, out, errs := runCommand(strings.Fields(args)...)
		if code != 1 || out != "" || !strings.Contains(errs, why) || !strings.Contains(errs, "price") {
			t.Errorf("%s: %d %s%s", args, code, out, errs)
		}
	}
	code, out, errs := runCommand("markets")
	if code != 0 || !strings.HasPrefix(out, "No market trades now. Each series shows when its next round opens.\n\nSERIES ") || strings.Count(out, "\n") != 3+core.SeriesCount {
		t.Errorf("markets: %d %s%s", code, out, errs)
	}
	if code, out, errs := runCommand("markets", "--json"); code != 0 || !strings.HasPrefix(out, `{"markets":[],`) {
		t.Errorf("markets --json: %d %s%s", code, out, errs)
	}
	if code, out, errs := runCommand("watch", "user", "--series", "btc-15m", "--count", "1"); code != 0 || !strings.Contains(errs, why) || !strings.Contains(out, "account: ") {
		t.Errorf("watch: %d %s%s", code, out, errs)
	}
}

// An order by series carries the generation that the lookup found, so that it cannot
// reach a later round of the slot.
func TestSeriesOrderCarriesGeneration(t *testing.T) {
	var lookup, order string
	venue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + " " + r.URL.Path {
		case "GET /v1/rounds":
			lookup = r.URL.RawQuery
			fmt.Fprint(w, `{"rounds":[{"market_id":17,"generation":5,"category":3,"status":"trading"}],"cursor":"","as_of_seq":"1"}`)
		default:
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			order = string(body)
			fmt.Fprint(w, `{}`)
		}
	}))
	defer venue.Close()
	t.Setenv("DX_URL", venue.URL)
	t.Setenv("DX_KEY", "dxk000000000000000000000000")
	t.Setenv("DX_SECRET", strings.Repeat("0", 64))
	for _, more := range []string{"", " --preview"} {
		code, out, errs := runCommand(strings.Fields("order buy yes 1 @50 --series btc-15m" + more)...)
		if code != 0 || lookup != "category=3&limit=1" || !strings.Contains(order, `"market_id":17,`) || !strings.Contains(order, `"generation":5`) {
			t.Errorf("%d %s%s; asked for rounds?%s and sent %s", code, out, errs, lookup, order)
		}
	}
	if code, _, errs := runCommand("order", "buy", "yes", "1", "@50", "--market-id", "3"); code != 0 || strings.Contains(order, "generation") {
		t.Errorf("--market-id: %d %s; sent %s", code, errs, order)
	}
}
