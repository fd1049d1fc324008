package rest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// history is a venue with prices of some minutes, with gaps, and with trades in market 1. Its
// clock stands still.
type history struct {
	*lanetest.Server
	alice, bob lanetest.Key
	begin      int64 // s; of the first price
}

func newHistory(t *testing.T) *history {
	h := &history{}
	h.Server, h.alice, h.bob = newServer(t)
	h.Venue.Config.ReadRate = 1_000_000
	h.alice, h.bob = h.NewKey(1, readTrade), h.NewKey(2, readTrade)
	h.FreezeClock()
	h.Submit(lanetest.IndexTick(core.BTC, h.Now(), lanetest.StartPrice+1))
	h.begin = h.Now() / core.NsPerSec
	for i := range 150 {
		h.AdvanceClock(time.Second)
		if i%17 != 3 {
			h.Submit(lanetest.IndexTick(core.BTC, h.Now(), lanetest.StartPrice+core.Price(i*i%71)*1_000_000))
		}
		if i%10 == 5 {
			h.Call(h.alice, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":3,"side":"buy","outcome":"yes","tick":%d,"qty":2}`, i+1, 3000+100*(i/10)))
			h.Call(h.bob, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":3,"side":"buy","outcome":"no","tick":6500,"qty":1}`, i+1))
		}
	}
	return h
}

func (h *history) get(target string, into any) {
	h.T.Helper()
	get(h.Server, h.alice, target, into)
}

// pages reads a history to its end in pages of a size.
func pages[R any](h *history, target string, limit int, rowsOf func(target string) ([]R, string)) (all []R) {
	h.T.Helper()
	more := ""
	for range 1000 {
		rows, cursor := rowsOf(fmt.Sprintf("%s&limit=%d%s", target, limit, more))
		all = append(all, rows...)
		if cursor == "" {
			return all
		}
		if len(rows) != limit {
			h.T.Fatalf("%s: a page of %d rows has a cursor", target, len(rows))
		}
		more = "&cursor=" + cursor
	}
	h.T.Fatal("the pages have no end")
	return nil
}

func (h *history) prices(target string) ([]schemas.PriceRow, string) {
	var out schemas.PriceHistory
	h.get(target, &out)
	return out.Rows, out.Cursor
}

func (h *history) states(target string) ([]schemas.RoundRow, string) {
	var out schemas.RoundHistory
	h.get(target, &out)
	return out.Rows, out.Cursor
}

// TestPriceHistory compares the price history in steps of every kind with its ticks.
func TestPriceHistory(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	var whole schemas.PriceHistory
	h.get("/v1/oracle/history?limit=1000", &whole)
	if whole.Feed != 0 || whole.StepSecs != 1 || len(whole.Rows) < 130 {
		t.Fatalf("GET /v1/oracle/history: feed %d, steps of %d s, %d rows, want feed 0, 1 s and 130 rows or more", whole.Feed, whole.StepSecs, len(whole.Rows))
	}
	if whole.Cursor != "" || whole.AsOfSeq == 0 || whole.VolatilityPpb == "0" {
		t.Fatalf("GET /v1/oracle/history: cursor %q, as_of_seq %d, volatility %s, want no cursor and the other two", whole.Cursor, whole.AsOfSeq, whole.VolatilityPpb)
	}
	if r := whole.Rows[len(whole.Rows)-1]; int64(r.Ts) > h.begin*core.NsPerSec {
		t.Errorf("the first row is %+v", r)
	}
	for _, r := range whole.Rows {
		if r.Open != r.Close || r.High != r.Close || r.Low != r.Close || r.Sources != 3 {
			t.Errorf("a row of one tick: %+v, want one price in all four members, from three sources", r)
		}
	}
	for _, step := range []schemas.U64{1, 2, 7, 10, 60, 61, 3599, 3600} {
		unit := step * schemas.U64(core.NsPerSec)
		var want []schemas.PriceRow
		for _, r := range whole.Rows {
			if start := r.Ts / unit * unit; len(want) == 0 || want[len(want)-1].Ts != start {
				want = append(want, schemas.PriceRow{Ts: start, Open: r.Close, High: r.Close, Low: r.Close, Close: r.Close, Sources: r.Sources})
			} else {
				x := &want[len(want)-1]
				x.Open, x.High, x.Low = r.Close, max(x.High, r.Close), min(x.Low, r.Close)
			}
		}
		target := fmt.Sprintf("/v1/oracle/history?feed=0&step_secs=%d", step)
		for _, limit := range []int{1, 2, 7, 1000} {
			if limit < 7 && step < 7 {
				continue // too many pages
			}
			if got := pages(h, target, limit, h.prices); !slices.Equal(got, want) {
				t.Errorf("steps of %d s in pages of %d:\n%v\n%v", step, limit, got, want)
			}
		}
		// from_ts is rounded down to a step and inclusive, to_ts is exclusive.
		for _, i := range []int{0, len(want) / 2, len(want) - 1} {
			from := want[len(want)-1].Ts
			to := want[i].Ts
			for _, c := range []struct {
				from, to schemas.U64
				rows     []schemas.PriceRow
			}{{from, to, want[i+1:]}, {from, to + 1, want[i:]}, {from + unit - 1, to + 1, want[i:]}, {to, to, nil}, {to, to + 1, want[i : i+1]}, {to + unit - 1, to + unit - 1, want[i : i+1]}} {
				if c.to == to+unit-1 && step == 1 || c.from > c.to {
					continue
				}
				if got := pages(h, fmt.Sprintf("%s&from_ts=%d&to_ts=%d", target, c.from, c.to), 50, h.prices); !slices.Equal(got, c.rows) {
					t.Errorf("steps of %d s from %d to %d: %d rows, want %d", step, c.from, c.to, len(got), len(c.rows))
				}
			}
		}
	}
	for _, target := range []string{"/v1/oracle/history?feed=2", "/v1/oracle/history?to_ts=0", "/v1/oracle/history?from_ts=18446744073709551615", "/v1/oracle/history?from_ts=18446744073709551614&to_ts=18446744073709551615&step_secs=3600"} {
		var none schemas.PriceHistory
		h.get(target, &none)
		if none.Rows == nil || len(none.Rows) != 0 || none.Cursor != "" || none.VolatilityPpb != "0" {
			t.Errorf("GET %s: %+v, want an empty list, no cursor and no volatility", target, none)
		}
	}
}

// TestRoundHistory compares the history of a round in steps of every kind with its seconds, and
// reads rounds that are over.
func TestRoundHistory(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	var round schemas.RoundRead
	h.get("/v1/rounds/3", &round)
	var whole schemas.RoundHistory
	h.get("/v1/rounds/3/history?limit=1000", &whole)
	second := schemas.U64(core.NsPerSec)
	seconds := int(schemas.U64(h.Now())/second - round.OpenTs/second)
	if whole.RoundNumber != round.RoundNumber || whole.StepSecs != 1 || len(whole.Rows) != seconds || whole.Cursor != "" {
		t.Fatalf("%d rows, want %d: %+v", len(whole.Rows), seconds, whole)
	}
	newest := whole.Rows[0]
	if newest.Last == 0 || newest.Volume == 0 || newest.YesBid == 0 || newest.Index == 0 {
		t.Errorf("the newest row has a zero last, volume, yes_bid or index: %+v", newest)
	}
	for i, r := range whole.Rows {
		if r.Ts != schemas.U64(h.Now())/second*second-schemas.U64(i+1)*second {
			t.Fatalf("row %d is of %d", i, r.Ts)
		}
	}
	for _, step := range []schemas.U64{1, 3, 60, 3600} {
		unit := step * second
		var want []schemas.RoundRow
		for _, r := range whole.Rows {
			if r.Ts = r.Ts / unit * unit; len(want) == 0 || want[len(want)-1].Ts != r.Ts {
				want = append(want, r)
			}
		}
		for _, limit := range []int{11, 1000} {
			target := fmt.Sprintf("/v1/rounds/3/history?step_secs=%d", step)
			if got := pages(h, target, limit, h.states); !slices.Equal(got, want) {
				t.Errorf("steps of %d s in pages of %d:\n%v\n%v", step, limit, got, want)
			}
		}
	}
	// A round that is void has the rows of the time before. Its slot is another one's then.
	h.Submit(&core.VoidMarket{Market: 3})
	h.AdvanceClock(3 * time.Second)
	h.Submit(&core.Clock{})
	var void schemas.RoundHistory
	h.get(fmt.Sprintf("/v1/rounds/3/history?round_number=%d&limit=1000", round.RoundNumber), &void)
	if !slices.Equal(void.Rows, whole.Rows) {
		t.Errorf("%d rows after the void, %d before", len(void.Rows), len(whole.Rows))
	}
	// The seconds of market 1 end with its close, although no command came for an hour.
	h.get("/v1/rounds/1", &round)
	h.AdvanceClock(time.Hour)
	h.Submit(&core.Clock{})
	var closed schemas.RoundHistory
	h.get(fmt.Sprintf("/v1/rounds/1/history?round_number=%d&limit=1000", round.RoundNumber), &closed)
	if n := len(closed.Rows); n == 0 || closed.Rows[0].Ts != round.CloseTs-second || n != int(round.CloseTs/second-round.OpenTs/second) {
		t.Errorf("%d rows of round %+v", n, round)
	}
}

// TestHistoryCursors checks that a cursor stays with its round when the slot has another one,
// and is valid for its own list and filters only.
func TestHistoryCursors(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	var one schemas.RoundHistory
	h.get("/v1/rounds/3/history?limit=5", &one)
	h.Submit(&core.VoidMarket{Market: 3})
	for seen := one.RoundNumber; seen == one.RoundNumber; { // until slot 3 has another round
		h.AdvanceClock(15 * time.Minute)
		h.Submit(lanetest.IndexTick(core.BTC, h.Now(), lanetest.StartPrice))
		h.Submit(&core.Clock{})
		h.AdvanceClock(10 * time.Second)
		h.Submit(lanetest.IndexTick(core.BTC, h.Now(), lanetest.StartPrice))
		h.Submit(&core.Clock{})
		var round schemas.RoundRead
		h.get("/v1/rounds/3", &round)
		seen = round.RoundNumber
	}
	var two schemas.RoundHistory
	h.get("/v1/rounds/3/history?limit=5&cursor="+one.Cursor, &two)
	if two.RoundNumber != one.RoundNumber || len(two.Rows) != 5 || two.Rows[0].Ts != one.Rows[4].Ts-schemas.U64(core.NsPerSec) {
		t.Errorf("the second page is %+v, want five rows of the same round that continue the first page %+v", two, one)
	}
	var price schemas.PriceHistory
	h.get("/v1/oracle/history?limit=5", &price)
	for _, target := range []string{
		"/v1/rounds/1/history?cursor=" + one.Cursor, "/v1/rounds/3/history?step_secs=2&cursor=" + one.Cursor, "/v1/oracle/history?cursor=" + one.Cursor,
		fmt.Sprintf("/v1/rounds/3/history?round_number=%d&cursor=%s", one.RoundNumber, one.Cursor),
		"/v1/oracle/history?feed=1&cursor=" + price.Cursor, "/v1/oracle/history?step_secs=2&cursor=" + price.Cursor, "/v1/oracle/history?from_ts=1&cursor=" + price.Cursor,
		"/v1/oracle/history?to_ts=1&cursor=" + price.Cursor, "/v1/oracle/history?cursor=AAAA", "/v1/rounds/3/history?cursor=AAAA",
	} {
		wants(h.Server, h.alice, "GET", target, "", 400, "bad_cursor")
	}
}

// TestEvidenceCursors checks that a cursor of the ticks behind a settlement stays with its round when
// the slot has another one.
func TestEvidenceCursors(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	second := func() {
		h.AdvanceClock(time.Second)
		h.Submit(lanetest.IndexTick(core.BTC, h.Now(), lanetest.StartPrice))
		h.Submit(&core.Clock{})
	}
	var one, all schemas.Evidence
	for h.get("/v1/rounds/1/evidence?limit=5", &one); one.Cursor == ""; h.get("/v1/rounds/1/evidence?limit=5", &one) {
		second()
	}
	h.get("/v1/rounds/1/evidence?limit=1000", &all)
	var round schemas.RoundRead
	for h.get("/v1/rounds/1", &round); round.RoundNumber == one.RoundNumber; h.get("/v1/rounds/1", &round) {
		second()
	}
	ticks := one.Ticks
	for cursor := one.Cursor; cursor != ""; {
		var next schemas.Evidence
		h.get("/v1/rounds/1/evidence?limit=5&cursor="+cursor, &next)
		if next.RoundNumber != one.RoundNumber {
			t.Fatalf("a page is of round %d, the first one of %d", next.RoundNumber, one.RoundNumber)
		}
		ticks, cursor = append(ticks, next.Ticks...), next.Cursor
	}
	if !reflect.DeepEqual(ticks, all.Ticks) {
		t.Errorf("%d ticks in pages, %d in one", len(ticks), len(all.Ticks))
	}
	for _, target := range []string{"/v1/rounds/2/evidence?cursor=" + one.Cursor, fmt.Sprintf("/v1/rounds/1/evidence?round_number=%d&cursor=%s", one.RoundNumber, one.Cursor), "/v1/rounds/1/evidence?cursor=AAAA"} {
		wants(h.Server, h.alice, "GET", target, "", 400, "bad_cursor")
	}
}

// TestBadHistoryRequests checks the codes of requests that no history answers.
func TestBadHistoryRequests(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	const value, none = "schema_violation", "round_not_found"
	for _, c := range []struct {
		target string
		status int
		code   string
	}{
		{"/v1/oracle/history?feed=3", 400, value},
		{"/v1/oracle/history?feed=-1", 400, value},
		{"/v1/oracle/history?from_ts=1&to_ts=1", 200, ""},
		{"/v1/rounds/0/history", 404, none},
		{"/v1/rounds/01/history", 404, none},
		{"/v1/rounds/x/history", 404, none},
		{"/v1/rounds/31/history", 404, none},
		{"/v1/rounds/4294967296/history", 404, none},
		{"/v1/rounds/1/history?round_number=2", 404, none}, // of another slot
		{"/v1/rounds/1/history?round_number=999", 404, none},
		{"/v1/rounds/1/history?round_number=18446744073709551615", 404, none},
		{"/v1/rounds/1/evidence?round_number=999", 404, none},
		{"/v1/rounds/1/evidence?round_number=1", 200, ""},
		{"/v1/portfolio/ledger?market_id=4294967296", 400, value},
		{"/v1/portfolio/ledger?market_id=1", 200, ""},
		{"/v1/rounds/1/history?round_number=1", 200, ""},
		{"/v1/rounds/1/history?round_number=x", 400, value},
	} {
		wants(h, alice, "GET", c.target, "", c.status, c.code)
	}
}

// TestHistoriesSurviveARestart checks that the histories go on after a restart from a snapshot,
// with no gap and no repeat.
func TestHistoriesSurviveARestart(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	prices, states := "/v1/oracle/history?limit=1000", "/v1/rounds/3/history?limit=1000"
	beforePrices, _ := h.prices(prices)
	beforeStates, _ := h.states(states)
	h.Reopen()
	if got, _ := h.prices(prices); !slices.Equal(got, beforePrices) {
		t.Errorf("%d prices, %d before", len(got), len(beforePrices))
	}
	if got, _ := h.states(states); !slices.Equal(got, beforeStates) {
		t.Errorf("%d states, %d before", len(got), len(beforeStates))
	}
	h.AdvanceClock(5 * time.Second)
	h.Submit(lanetest.IndexTick(core.BTC, h.Now(), lanetest.StartPrice))
	if got, _ := h.prices(prices); len(got) != len(beforePrices)+1 || !slices.Equal(got[1:], beforePrices) {
		t.Errorf("%d prices, %d before", len(got), len(beforePrices))
	}
	got, _ := h.states(states)
	if n := len(got) - 5; n != len(beforeStates) || !slices.Equal(got[5:], beforeStates) {
		t.Fatalf("%d states, %d before", len(got), len(beforeStates))
	}
	for i, r := range got[:5] { // no command came, so they repeat the state before
		if want := beforeStates[0].Ts + schemas.U64(5-i)*schemas.U64(core.NsPerSec); r.Ts != want || r.Volume != beforeStates[0].Volume {
			t.Errorf("%+v, want second %d", r, want)
		}
	}
}
