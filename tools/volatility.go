package tools

import (
	"fmt"
	"iter"
	"math"
	"sync"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// volatilityWindow is over how many seconds a series shows the volatility of its index, and minCloses how
// many closes that needs.
const (
	volatilityWindow = 900
	minCloses        = 60
)

// minuteVolatility is the volatility of each feed over the last window. It is computed once a second: many
// readers ask for the list of series, and each answer would read 900 ticks of each feed.
type minuteVolatility struct {
	mu    sync.Mutex
	known [core.Feeds]volatilityAt
}

type volatilityAt struct {
	second  int64 // of the venue's time
	newest  view.PriceTick
	percent *string
}

// of returns a function that computes the volatility of a feed as the venue is now. The function needs no
// lock of the venue, which reading the ticks would hold up.
func (c *minuteVolatility) of(m *venue.Venue, w *view.View, f core.Feed) func() *string {
	tick, _, _, _ := m.Index(f)
	now := volatilityAt{second: m.Now().Ts / core.NsPerSec, newest: view.PriceTick{Second: tick.Second, Price: tick.Price, Sources: tick.Count}}
	c.mu.Lock()
	known := c.known[f]
	c.mu.Unlock()
	if known.second == now.second && known.newest == now.newest {
		return func() *string { return known.percent }
	}
	ticks := w.PriceTicks(f, math.MaxInt64, volatilityWindow)
	return func() *string {
		now.percent = percentPerMinute(now.second, ticks)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.known[f] = now
		return now.percent
	}
}

// percentPerMinute returns 100 × √60 × the root mean square of the relative changes from second to second
// in the window, with four decimals, or nil with fewer closes than minCloses
// (docs/rules/prices-sources.md#volatility).
func percentPerMinute(now int64, ticks iter.Seq[*view.PriceTick]) *string {
	var all squares
	closes := 0
	var newer view.PriceTick
	for t := range ticks {
		if t.Second <= now-volatilityWindow {
			break
		}
		if closes++; closes > 1 && newer.Second == t.Second+1 {
			all.add(uint64(t.Price), uint64(newer.Price))
		}
		newer = *t
	}
	if closes < minCloses {
		return nil
	}
	n := (all.root(60).Int64() + 500) / 1000 // of parts per billion: hundredths of a basis point
	return new(fmt.Sprintf("%d.%04d", n/10_000, n%10_000))
}
