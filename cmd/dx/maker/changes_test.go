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

func resting(id uint64, group uint32, side, outcome string, tick, left int64) schemas.Order {
	return schemas.Order{OrderID: schemas.Ptr(schemas.U64(id)), MarketID: 1, GroupID: group, Side: side, Outcome: outcome, Tick: tick, RemainingQty: left}
}

// TestChanges checks which quotes a market gets, and when it gets none. A side is given as tick of YES, × and
// contracts.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		orders []schemas.Order
		edit   func(*maker, *schemas.Market)
		stray  string // ids of orders of no level
		want   string // level: bid / ask, with ! if it crosses what has not moved
	}{
		{"no orders", nil, nil, "", "0: 4900×100 / 5100×100"},
		{"one is too far below", []schemas.Order{resting(1, 1, "buy", "yes", 4600, 100), resting(2, 1, "buy", "no", 4900, 100)}, nil, "", "0: 4900×100 / 5100×100"},
		{"one stays with what is left", []schemas.Order{resting(1, 1, "buy", "yes", 4600, 100), resting(2, 1, "sell", "yes", 5100, 60)}, nil, "", "0: 4900×100 / 5100×60"},
		{"both stay", []schemas.Order{resting(1, 1, "sell", "no", 5100, 90), resting(2, 1, "sell", "yes", 5100, 60)}, nil, "", ""},
		{"an order of no level", []schemas.Order{resting(1, 0, "buy", "yes", 4900, 100), resting(3, 9, "buy", "yes", 4900, 100)}, nil, "1 3", "0: 4900×100 / 5100×100"},
		{"a level that is not quoted", []schemas.Order{resting(1, 2, "buy", "yes", 4700, 200)}, nil, "", "0: 4900×100 / 5100×100 1: none / none"},
		{"a jump up", []schemas.Order{resting(1, 1, "buy", "no", 5600, 100), resting(2, 2, "buy", "no", 5200, 200)}, nil, "", "0: 4900×100 / 5100×100! 1: none / none!"},
		{"paused", []schemas.Order{resting(1, 1, "buy", "yes", 4900, 100)}, func(_ *maker, k *schemas.Market) { k.Paused = true }, "", "0: none / none"},
		{"a second before the close", nil, func(m *maker, k *schemas.Market) { k.CloseTs = schemas.U64(m.c.Now().Add(time.Second).UnixNano()) }, "", "0: 4800×100 / 5200×100"},
		{"closed", nil, func(m *maker, k *schemas.Market) { k.CloseTs = schemas.U64(m.c.Now().UnixNano()) }, "", ""},
		{"a silent feed", []schemas.Order{resting(1, 1, "buy", "yes", 4900, 100)}, func(m *maker, _ *schemas.Market) {
			m.feeds[0] = marketsim.PriceModel{}
			m.feeds[0].Observe(65_000e8, m.c.Now().Unix()-60)
		}, "", "0: none / none"},
	} {
		m, k := market(t)
		if c.edit != nil {
			c.edit(m, k)
		}
		list, ids := m.requotes(t.Context(), k, venueState{orders: map[uint32][]schemas.Order{1: c.orders}})
		var stray, want []string
		for _, id := range ids {
			stray = append(stray, id.String())
		}
		for _, r := range list {
			q := m.quoteOf(&r, r.want)
			want = append(want, fmt.Sprintf("%d: %s / %s%s", r.level, show(q.Bid), show(q.Ask), map[bool]string{true: "!"}[r.crosses]))
			if q.Generation != 3 || q.GroupID != schemas.Int(r.level+1) || q.NotAfterTs == 0 || q.Bid != nil && q.Bid.ClientOrderID == 0 {
				t.Errorf("%s: %+v", c.name, q)
			}
		}
		if strings.Join(stray, " ") != c.stray || strings.Join(want, " ") != c.want {
			t.Errorf("%s: stray %v, quotes %v", c.name, stray, want)
		}
	}
}

func show(s *schemas.QuoteSide) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%d×%d", s.Tick, s.Qty)
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
