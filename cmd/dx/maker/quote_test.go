package maker

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/schemas"
)

var narrow = schemas.TickSizeOf(core.Narrow())

func shown(levels []level) string {
	var out []string
	for _, l := range levels {
		out = append(out, fmt.Sprintf("%s %d", l.outcome, l.tick))
	}
	return strings.Join(out, ", ")
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name      string
		ref, unit float64
		net       int64
		want      string
	}{
		{"fair value 5000", 5000, 100, 0, "yes 4900, no 4900, yes 4700, no 4700"},
		{"between two cents", 5049, 100, 0, "yes 4900, no 4900, yes 4700, no 4700"},
		{"wide", 5000, 400, 0, "yes 4600, no 4600, yes 3800, no 3800"},
		{"on a wing", 320, 100, 0, "yes 220, no 9600, no 9400"},
		{"no tick left below", 50, 100, 0, "no 9850, no 9650"},
		{"inventory full of yes", 5000, 100, 5000, "no 4900, no 4700"},
		{"inventory full of no", 5000, 100, -5000, "yes 4900, yes 4700"},
	} {
		f := quoteParams{fairTick: c.ref, unit: c.unit, netPosition: c.net, maxPosition: 5000, grid: narrow}
		if got := shown(f.levels(2)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for _, l := range f.levels(3) {
			if !core.Narrow().Legal(core.Tick(l.tick)) {
				t.Errorf("%s: %d is off the grid", c.name, l.tick)
			}
		}
	}
}

// TestKeptQuotesNeverCross checks that no two quotes that match their levels for the same
// fair value can trade with each other.
func TestKeptQuotesNeverCross(t *testing.T) {
	for ref := 0.0; ref <= 10_000; ref += 37 {
		f := quoteParams{fairTick: ref, unit: 100, maxPosition: 1, grid: narrow}
		for yes := int64(100); yes <= 9990; yes += 10 {
			if no := 10_000 - yes; f.matches(level{"yes", 0, 0}, "yes", yes) && f.matches(level{"no", 0, 0}, "no", no) {
				t.Fatalf("at fair value %v both YES at %d and NO at %d match", ref, yes, no)
			}
		}
	}
}

// market returns a BTC market whose price is at the strike, and a maker that has read it.
func market(t *testing.T) (*maker, *schemas.Market) {
	t.Helper()
	c := client.New("http://127.0.0.1:1", "k", nil) // receives no request
	now := c.Now()
	m := &maker{c: c, log: slog.New(slog.DiscardHandler), opt: Options{Levels: 1}.withDefaults(), rounds: map[uint32]schemas.Round{}}
	m.feeds[0].observe(65_000e8, now)
	m.rounds[1] = schemas.Round{MarketID: 1, Generation: 3, Category: 3, Strike: 65_000e8, TwapWindowSecs: 60}
	return m, &schemas.Market{MarketID: 1, Generation: 3, TickSize: narrow, CloseTs: schemas.U64(now.Add(10 * time.Minute).UnixNano())}
}

func resting(id uint64, outcome string, tick, left int64) schemas.Order {
	return schemas.Order{OrderID: schemas.Ptr(schemas.U64(id)), MarketID: 1, Outcome: outcome, Tick: tick, RemainingQty: left}
}

func TestChangesOnlyWhatMoved(t *testing.T) {
	for _, c := range []struct {
		name   string
		orders []schemas.Order
		edit   func(*maker, *schemas.Market)
		drop   string // ids of required cancels
		swap   string // canceled id > placed quote
	}{
		{"no orders", nil, nil, "", "0>yes 4900 0>no 4900"},
		{"all match", []schemas.Order{resting(1, "yes", 4900, 100), resting(2, "no", 4900, 100)}, nil, "", ""},
		{"one has lost its edge", []schemas.Order{resting(1, "yes", 5100, 100), resting(2, "no", 4900, 100)}, nil, "1", "0>yes 4900"},
		{"one is too far below", []schemas.Order{resting(1, "yes", 4600, 100), resting(2, "no", 4900, 100)}, nil, "", "1>yes 4900"},
		{"one is mostly filled", []schemas.Order{resting(1, "yes", 4900, 10), resting(2, "no", 4900, 100)}, nil, "", "1>yes 4900"},
		{"one too many", []schemas.Order{resting(1, "yes", 4900, 100), resting(2, "no", 4900, 100), resting(3, "no", 4900, 100)}, nil, "3", ""},
		{"paused", []schemas.Order{resting(1, "yes", 4900, 100)}, func(_ *maker, k *schemas.Market) { k.Paused = true }, "1", ""},
		{"about to close", []schemas.Order{resting(1, "yes", 4900, 100)}, func(m *maker, k *schemas.Market) { k.CloseTs = schemas.U64(m.c.Now().Add(time.Second).UnixNano()) }, "1", ""},
		{"a silent feed", []schemas.Order{resting(1, "yes", 4900, 100)}, func(m *maker, _ *schemas.Market) { m.feeds[0].at -= 60 }, "1", ""},
	} {
		m, k := market(t)
		if c.edit != nil {
			c.edit(m, k)
		}
		got := m.changes(t.Context(), k, venueState{orders: map[uint32][]schemas.Order{1: c.orders}})
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

// TestInventoryShiftsTheQuotes checks that a net position shifts the fair value, and that
// pairs do not.
func TestInventoryShiftsTheQuotes(t *testing.T) {
	m, k := market(t)
	fair, _ := m.quoteParams(t.Context(), k, schemas.Position{})
	long, _ := m.quoteParams(t.Context(), k, schemas.Position{YesQty: 2500})
	flat, _ := m.quoteParams(t.Context(), k, schemas.Position{YesQty: 2500, NoQty: 2500})
	if long.fairTick != fair.fairTick-minUnit || flat.fairTick != fair.fairTick {
		t.Errorf("without contracts %v, long %v, with pairs %v", fair.fairTick, long.fairTick, flat.fairTick)
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
}
