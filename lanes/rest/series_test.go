package rest

import (
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// TestSeriesList tests what a series shows, that the seconds to the close are those of the
// stamp at as_of_seq, and that markets and rounds show the same.
func TestSeriesList(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.FreezeClock()
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	h.Call(bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":4000,"qty":10}`)
	var all schemas.SeriesList
	get(h, alice, "/v1/series", &all)
	if len(all.Series) != core.SeriesCount || all.AsOfSeq == 0 {
		t.Fatalf("GET /v1/series: %+v, want %d series and an as_of_seq", all, core.SeriesCount)
	}
	var round schemas.RoundRead
	var market schemas.MarketRead
	get(h, alice, "/v1/rounds/1", &round)
	get(h, alice, "/v1/markets/1", &market)
	for i, s := range all.Series {
		if int(s.Category) != i+1 || s.Name == "" || s.Last == nil || uint64(s.Index) != uint64(s.IndexDecimal) {
			t.Errorf("series %d: %+v, want category %d, a name, last, and one index in both members", i, s, i+1)
		}
		if s.Category != round.Category {
			continue
		}
		live := s.Live
		if live == nil {
			t.Fatalf("the series has no live round: %+v", s)
		}
		want := schemas.LiveRound{
			MarketID: 1, Generation: round.Generation, RoundNumber: round.RoundNumber, Strike: round.Strike, StrikeDecimal: live.StrikeDecimal,
			CloseTs: round.CloseTs, SecsToClose: round.SecsToClose, Paused: live.Paused, YesBid: market.YesBid, YesAsk: market.YesAsk,
		}
		if *live != want {
			t.Errorf("the live round of the series is\n%+v\nGET /v1/rounds/1 and GET /v1/markets/1 have\n%+v", *live, want)
		}
		if live.CloseTs != market.CloseTs || live.SecsToClose != market.SecsToClose {
			t.Errorf("the live round closes at %d, in %d s, its market at %d, in %d s", live.CloseTs, live.SecsToClose, market.CloseTs, market.SecsToClose)
		}
		if live.SecsToClose <= 0 || live.YesBid == 0 || live.YesAsk != 6000 {
			t.Errorf("the live round of the series: %+v, want time left, a bid and the ask 6000", live)
		}
	}
	category := string(rune('0' + round.Category))
	h.AdvanceClock(7 * time.Second)
	h.Call(alice, "DELETE", "/v1/portfolio/orders", "") // a command with the later stamp
	var one schemas.SeriesList
	get(h, alice, "/v1/series?category="+category, &one)
	if len(one.Series) != 1 || one.Series[0].Live == nil || round.SecsToClose-one.Series[0].Live.SecsToClose < 7 {
		t.Errorf("the series 7 s later: %+v, want one series with a live round that is 7 s nearer to its close", one)
	}
	h.Submit(&core.VoidMarket{Market: 1})
	one = schemas.SeriesList{}
	get(h, alice, "/v1/series?category="+category, &one)
	get(h, alice, "/v1/rounds/1", &round)
	s := one.Series[0]
	if s.Live != nil || len(s.Last) != 1 {
		t.Fatalf("the series after the void: %+v, want no live round and one that is over", s)
	}
	if s.Last[0].RoundNumber != round.RoundNumber || s.Last[0].Winner != nil {
		t.Errorf("the last round is %+v, want number %d without a winner", s.Last[0], round.RoundNumber)
	}
	if round.SecsToClose != 0 || round.CloseTs == 0 {
		t.Errorf("the void round is %+v, want no time left and its close_ts", round)
	}
	for _, bad := range []string{"0", "10", "x"} {
		wants(h, alice, "GET", "/v1/series?category="+bad, "", 400, "schema_violation")
	}
}
