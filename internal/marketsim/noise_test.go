package marketsim

import (
	"testing"
	"time"

	"duplex/core"
)

func markets() []Market {
	return []Market{
		{ID: 7, Generation: 2, Category: 1, Bid: 4700, Ask: 5000, Free: [2]core.Qty{2, 0}, Left: time.Minute, Grid: core.Narrow()},
		{ID: 3, Generation: 1, Category: 4, Bid: 300, Ask: 350, Left: 8 * time.Second, Grid: core.Narrow()},
		{ID: 4, Generation: 1, Category: 7, Left: time.Minute, Grid: core.Narrow()},
	}
}

// TestNoiseOrders checks every order of a long run: legal, small, within the market, of both
// outcomes and all kinds, and at the stated rate.
func TestNoiseOrders(t *testing.T) {
	opt := DefaultNoise()
	n := NewNoise(1, "noise-1", opt)
	ms := markets()
	const arrivals = 20_000
	var total time.Duration
	count := map[string]int{}
	for range arrivals {
		wait, intent := n.Next()
		total += wait
		o, ok := intent.Order(ms)
		if !ok {
			continue
		}
		m := ms[0]
		if o.Market == ms[1].ID {
			m = ms[1]
		}
		if o.Market != m.ID || o.Generation != m.Generation || !m.Grid.Legal(o.Tick) || o.Qty < 1 || o.Qty > opt.MaxQty {
			t.Fatalf("%+v", o)
		}
		bid, ask := m.Bid, m.Ask
		if o.Outcome == core.No {
			bid, ask = m.Ask.Opposite(), m.Bid.Opposite()
		}
		switch {
		case o.Side == core.Sell:
			if o.Qty > m.Free[o.Outcome] || o.Tick > bid || o.Rests != 0 {
				t.Fatalf("%+v", o)
			}
			count["sells"]++
		case o.Rests > 0:
			if o.Tick >= ask || o.Rests > m.Left || o.Rests > 40*time.Second {
				t.Fatalf("%+v", o)
			}
			count["rests"]++
		default:
			if o.Tick < ask {
				t.Fatalf("%+v", o)
			}
			count["takes"]++
		}
		count[o.Outcome.String()]++
		s, _ := core.SeriesOf(m.Category)
		count[s.Feed.String()]++
	}
	if mean := total / arrivals; mean < opt.Every*97/100 || mean > opt.Every*103/100 {
		t.Errorf("an order every %s, want %s", mean, opt.Every)
	}
	for _, of := range []string{"sells", "rests", "takes", "yes", "no", "BTC", "gold"} {
		if count[of] < arrivals/25 {
			t.Errorf("%d orders are %s", count[of], of)
		}
	}
}

// TestDrawsDoNotDependOnTheMarket checks that a trader's later intents are the same whether or not
// it found markets.
func TestDrawsDoNotDependOnTheMarket(t *testing.T) {
	a, b := NewNoise(5, "x", DefaultNoise()), NewNoise(5, "x", DefaultNoise())
	for range 100 {
		wait, i := a.Next()
		i.Order(markets())
		also, j := b.Next()
		if _, ok := j.Order(nil); ok || wait != also || i != j {
			t.Fatalf("%v %+v, %v %+v", wait, i, also, j)
		}
	}
}
