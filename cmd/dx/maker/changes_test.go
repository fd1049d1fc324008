package maker

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/internal/marketsim"
	"duplex/schemas"
)

// market returns a BTC market whose price is at the strike, and a maker that has read it.
func market(t *testing.T) (*maker, *schemas.Market) {
	t.Helper()
	c := client.Must(client.New("http://127.0.0.1:1", "k", nil)) // receives no request
	now := c.Now()
	m := newMaker(c, slog.New(slog.DiscardHandler), Options{Quotes: marketsim.Maker{Levels: 1, Qty: 100, Inventory: 5000}})
	m.feeds[0].Observe(65_000e8, now.Unix())
	m.rounds[1] = schemas.Round{MarketID: 1, Generation: 3, Category: 3, Strike: 65_000e8, TwapWindowSecs: 60}
	return m, &schemas.Market{MarketID: 1, Generation: 3, TickSize: schemas.TickSizeOf(core.Narrow()), CloseTs: schemas.U64(now.Add(10 * time.Minute).UnixNano())}
}

func resting(id uint64, outcome string, tick, left int64) schemas.Order {
	return schemas.Order{OrderID: schemas.Ptr(schemas.U64(id)), MarketID: 1, Outcome: outcome, Tick: tick, RemainingQty: left}
}

// TestChanges checks which quotes a market gets, and when it gets none.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		orders []schemas.Order
		edit   func(*maker, *schemas.Market)
		drop   string // ids of required cancels
		swap   string // canceled id > placed quote
	}{
		{"no orders", nil, nil, "", "0>yes 4900 0>no 4900"},
		{"one is too far below", []schemas.Order{resting(1, "yes", 4600, 100), resting(2, "no", 4900, 100)}, nil, "", "1>yes 4900"},
		{"paused", []schemas.Order{resting(1, "yes", 4900, 100)}, func(_ *maker, k *schemas.Market) { k.Paused = true }, "1", ""},
		{"a second before the close", nil, func(m *maker, k *schemas.Market) { k.CloseTs = schemas.U64(m.c.Now().Add(time.Second).UnixNano()) }, "", "0>yes 4800 0>no 4800"},
		{"closed", nil, func(m *maker, k *schemas.Market) { k.CloseTs = schemas.U64(m.c.Now().UnixNano()) }, "", ""},
		{"a silent feed", []schemas.Order{resting(1, "yes", 4900, 100)}, func(m *maker, _ *schemas.Market) {
			m.feeds[0] = marketsim.PriceModel{}
			m.feeds[0].Observe(65_000e8, m.c.Now().Unix()-60)
		}, "1", ""},
	} {
		m, k := market(t)
		if c.edit != nil {
			c.edit(m, k)
		}
		var got quoteChanges
		got.add(t.Context(), m, k, venueState{orders: map[uint32][]schemas.Order{1: c.orders}})
		var drop, swap []string
		for _, id := range got.cancels {
			drop = append(drop, id.String())
		}
		for _, s := range got.replaces {
			swap = append(swap, fmt.Sprintf("%d>%s %d", s.cancel, s.place.Outcome, *s.place.Tick))
			if s.place.Generation != 3 || !s.place.PostOnly || s.place.ClientOrderID == 0 {
				t.Errorf("%s: %+v", c.name, s.place)
			}
		}
		if strings.Join(drop, " ") != c.drop || strings.Join(swap, " ") != c.swap {
			t.Errorf("%s: drop %v, swap %v", c.name, drop, swap)
		}
	}
}

func TestBudgetRefills(t *testing.T) {
	b := schemas.Bucket{SustainedRatePerS: 20, Burst: 20}
	if got := addTokens(0, b, 0.5); got != 9.5 {
		t.Error(got)
	}
	if got := addTokens(15, b, 3600); got != 18 {
		t.Error(got)
	}
	if got := addTokens(0, schemas.Bucket{SustainedRatePerS: 1, Burst: 1}, 3600); got != 1 {
		t.Errorf("%v tokens of a bucket of one", got)
	}
}
