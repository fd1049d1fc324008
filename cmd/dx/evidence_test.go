package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// settledRound takes the first 60 s round to its end over rising prices, without a price in
// every fourth second, and returns its evidence. Alice has bought 10 YES at 60 cents from bob.
func settledRound(t *testing.T, change ...func(*server.Options)) (v *servertest.Venue, ev schemas.Evidence, body string) {
	t.Helper()
	v = servertest.New(t, change...)
	for account, o := range map[string]schemas.PlaceOrder{"alice": {Outcome: "yes", Tick: schemas.Ptr(schemas.Int(6000))}, "bob": {Outcome: "no", Tick: schemas.Ptr(schemas.Int(4000))}} {
		o.ClientOrderID, o.MarketID, o.Side, o.Qty = 1, 1, "buy", 10
		if _, err := v.Client(account).PlaceOrder(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	v.Clock.Freeze()
	boundary := v.Clock.Now() - v.Clock.Now()%(60*core.NsPerSec) + 60*core.NsPerSec
	v.Clock.Advance(time.Duration(boundary - v.Clock.Now() - 17*core.NsPerSec))
	for i := range 16 {
		if i%4 != 3 { // a second without a tick uses the previous one
			v.Submit(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: boundary/core.NsPerSec - 17 + int64(i), Price: core.Price(6_600_000_000_000 + i*1_000_001), Count: 2, Manual: true,
				Sources: []core.SourcePrice{{Name: "a", Price: core.Price(6_600_000_000_000 + i*1_000_001 - 5)}, {Name: "b", Price: core.Price(6_600_000_000_000 + i*1_000_001 + 5)}}}})
		}
		v.Advance(time.Second)
	}
	v.Advance(2 * time.Second)
	v.WaitUntil(func(_ *venue.Venue, w *view.View) bool { r := w.Round(1); return r != nil && r.Status == core.Proposed })
	v.Advance(10 * time.Second) // the dispute window
	v.WaitUntil(func(_ *venue.Venue, w *view.View) bool { r := w.Round(1); return r != nil && r.Status == core.Settled })
	status, _, answer, err := v.Client("alice").Call(t.Context(), "GET", "/v1/rounds/1/evidence?round_number=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &ev); err != nil || status != 200 {
		t.Fatalf("GET evidence: %d %s, want 200 and JSON", status, answer)
	}
	return v, ev, string(answer)
}

func TestEvidence(t *testing.T) {
	v, ev, body := settledRound(t)
	if ev.Winner == nil || *ev.Winner != "yes" {
		t.Errorf("the evidence has not yes as winner: %s", body)
	}
	if ev.CoveredSecs != 10 || ev.RequiredSecs != 8 {
		t.Errorf("%d seconds are covered and %d required, want 10 and 8", ev.CoveredSecs, ev.RequiredSecs)
	}
	if ev.SettlePrice != ev.Twap || ev.StrikeTick == nil {
		t.Errorf("settle price %d, TWAP %d, strike tick %+v, want equal prices and a tick", ev.SettlePrice, ev.Twap, ev.StrikeTick)
	}
	if len(ev.Ticks) < 8 || ev.Cursor != "" {
		t.Errorf("%d ticks and cursor %q, want 8 or more on one page", len(ev.Ticks), ev.Cursor)
	}
	file := filepath.Join(t.TempDir(), "round.json")
	say := func(change func(*schemas.Evidence)) (int, string) {
		t.Helper()
		var x schemas.Evidence
		if err := json.Unmarshal([]byte(body), &x); err != nil {
			t.Fatal(err)
		}
		change(&x)
		b, err := schemas.Append(nil, x)
		if err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := runCommand("evidence", "--ticks", "--file", file)
		return code, out + errs
	}
	if code, text := say(func(*schemas.Evidence) {}); code != 0 || !strings.HasSuffix(text, "so yes wins\nagrees\n") || !strings.Contains(text, "a 66,000.") {
		t.Errorf("dx evidence of a true file: exit %d %s, want 0 and agrees", code, text)
	}
	for name, change := range map[string]func(*schemas.Evidence){
		"the median of its sources":       func(x *schemas.Evidence) { x.Ticks[0].Sources[0].Price += 100 },
		"the strike is not the price":     func(x *schemas.Evidence) { x.Strike++ },
		"the venue's mean is":             func(x *schemas.Evidence) { x.Ticks[1].Price++ },
		"the settle price is":             func(x *schemas.Evidence) { x.SettlePrice++ },
		"the winner is the other outcome": func(x *schemas.Evidence) { x.Winner = schemas.Ptr("no") },
		"status settled has no winner":    func(x *schemas.Evidence) { x.Winner = nil },
		"without coverage":                func(x *schemas.Evidence) { x.FreshSourceCountAtFreeze = 0 },
	} {
		if code, text := say(change); code != 1 || !strings.Contains(text, name) {
			t.Errorf("dx evidence of a changed file: exit %d %s, want 1 and %q", code, text, name)
		}
	}

	// Pages have the same ticks, and a round that does not exist is not found.
	get := func(target string) (int, string) {
		status, _, answer, err := v.Client("bob").Call(t.Context(), "GET", target, nil)
		if err != nil {
			t.Fatal(err)
		}
		return status, string(answer)
	}
	var paged []schemas.EvidenceTick
	for cursor := ""; ; {
		var page schemas.Evidence
		_, text := get("/v1/rounds/1/evidence?round_number=1&limit=3" + cursor)
		if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Ticks) > 3 || page.WeightedSum != ev.WeightedSum {
			t.Fatal(text)
		}
		if paged = append(paged, page.Ticks...); page.Cursor == "" {
			break
		}
		cursor = "&cursor=" + page.Cursor
	}
	if a, b := encode(t, paged), encode(t, ev.Ticks); a != b {
		t.Errorf("the ticks by pages are %s, want those of one response: %s", a, b)
	}
	for _, target := range []string{"/v1/rounds/33/evidence", "/v1/rounds/1/evidence?round_number=99", "/v1/rounds/2/evidence?round_number=1", "/v1/rounds/x/evidence"} {
		if status, text := get(target); status != 404 || !strings.Contains(text, "round_not_found") {
			t.Errorf("GET %s: %d %s, want 404 round_not_found", target, status, text)
		}
	}
	for _, args := range [][]string{{}, {"1", "--series", "btc-60s"}, {"--file", file, "--series", "btc-60s"}, {"1", "--file", file}} {
		if code, _, errs := runCommand(append([]string{"evidence"}, args...)...); code != 2 {
			t.Errorf("dx evidence %q: exit %d %s, want 2", args, code, errs)
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := schemas.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
