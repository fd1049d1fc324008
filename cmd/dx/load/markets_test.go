package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"duplex/schemas"
)

// The board follows the rounds: those of all series, or one market until it stops trading.
func TestBoard(t *testing.T) {
	var mu sync.Mutex // guards now and busy
	var now []schemas.Market
	busy := false
	asked := make(chan struct{}, 100)
	setMarkets := func(list []schemas.Market) {
		mu.Lock()
		defer mu.Unlock()
		now = list
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var answer any = schemas.MarketList{Markets: now}
		var slot uint32
		if _, err := fmt.Sscanf(r.URL.Path, "/v1/rounds/%d", &slot); err == nil {
			m := now[slices.IndexFunc(now, func(m schemas.Market) bool { return m.MarketID == slot })]
			answer = schemas.RoundRead{Round: schemas.Round{MarketID: slot, RoundNumber: m.RoundNumber, Category: uint16(1 + (m.RoundNumber-1)%9)}}
		} else if r.URL.Path == "/v1/markets" {
			asked <- struct{}{}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		if busy {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(text) // the client fails if it does not arrive
	}))
	defer s.Close()
	market := func(slot uint32, round, closes schemas.U64) schemas.Market {
		return schemas.Market{MarketID: slot, RoundNumber: round, CloseTs: closes}
	}
	boardOf := func(one bool) (*marketBoard, error) {
		w, err := (&Venue{api: s.URL}).dial(newTrader("k", nil))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		return newMarketBoard(w, one)
	}
	if _, err := boardOf(false); !errors.Is(err, errNoMarket) {
		t.Error(err)
	}
	var nine []schemas.Market
	for i := range uint32(9) {
		nine = append(nine, market(i+1, schemas.U64(i+1), schemas.U64(100-i)))
	}
	setMarkets(nine)
	all, err := boardOf(false)
	if err != nil {
		t.Fatal(err)
	}
	one, err := boardOf(true)
	if err != nil {
		t.Fatal(err)
	}
	at := func(step string, rounds, series int, want ...uint32) {
		t.Helper()
		for _, b := range []*marketBoard{all, one} {
			if err := b.refresh(); err != nil {
				t.Fatal(step, err)
			}
		}
		if got := marketsOf(all); !slices.Equal(got, want[1:]) || len(all.rounds) != rounds || len(all.series) != series {
			t.Errorf("%s: %v, %d rounds of %d series", step, got, len(all.rounds), len(all.series))
		}
		if got := marketsOf(one); !slices.Equal(got, want[:1]) {
			t.Errorf("%s: on %v", step, got)
		}
	}
	at("nine", 9, 9, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	setMarkets(append([]schemas.Market{market(1, 1, 20)}, nine[3:]...)) // two have ended; the first closes last now and stays chosen
	at("two less", 9, 9, 1, 4, 5, 6, 7, 8, 9, 1)
	setMarkets(append(slices.Clone(nine[3:]), market(20, 10, 200), market(21, 11, 199)))
	at("new rounds", 11, 9, 20, 20, 21, 4, 5, 6, 7, 8, 9)
	setMarkets(nil)
	at("between two rounds", 11, 9, 20, 20, 21, 4, 5, 6, 7, 8, 9)
	mu.Lock()
	busy = true
	mu.Unlock()
	var no *statusError
	if err := all.refresh(); !errors.As(err, &no) {
		t.Error(err)
	}
	for len(asked) > 0 {
		<-asked
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- all.run(ctx) }()
	all.stale.Store(true) // the board refreshes at once, is rejected, and continues
	<-asked
	mu.Lock()
	busy = false
	mu.Unlock()
	setMarkets(nine)
	for range 2 { // the second request follows the response to the first
		all.stale.Store(true)
		<-asked
	}
	end()
	if err := <-ended; err != nil || len(*all.trading.Load()) != 9 {
		t.Errorf("the markets are %v, %v, want nine", *all.trading.Load(), err)
	}
}

// marketsOf returns the markets of a board.
func marketsOf(b *marketBoard) (ids []uint32) {
	for _, s := range *b.trading.Load() {
		ids = append(ids, s.market)
	}
	return ids
}
