package arena

import (
	"cmp"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds/replay"
)

// tape is a recorded index, second by second.
type tape struct {
	prices []core.Price
	at     int
}

// next returns the price of the next second.
func (t *tape) next() (core.Price, bool, error) {
	if t.at >= len(t.prices) {
		return 0, false, badConfig("the tape ends before the rounds do")
	}
	p := t.prices[t.at]
	t.at++
	return p, true, nil
}

// readTape reads the prices of a feed from a file of dx feeds record, and computes the index of each
// second as a venue does. Falling times and seconds without an index are errors.
func readTape(path string, f core.Feed) (prices []core.Price, err error) {
	var index feed.Index
	var bad error
	last, second := int64(0), int64(0) // ns; the next to compute, Unix seconds
	until := func(at int64) {
		for ; second > 0 && second*core.NsPerSec <= at && bad == nil; second++ {
			tick, gap := index.Tick(f, second*core.NsPerSec)
			if gap != feed.NoGap {
				bad = badConfig("tape %s: no index of %s at %s: %s", path, f, time.Unix(second, 0).UTC().Format(time.RFC3339), gap)
				return
			}
			prices = append(prices, tick.Price)
		}
	}
	err = replay.Each(path, func(of core.Feed, source string, price core.Price, at int64) bool {
		if of != f {
			return true
		}
		if at < last {
			bad = badConfig("tape %s: the time falls from %d to %d", path, last, at)
			return false
		}
		second = cmp.Or(second, at/core.NsPerSec+1)
		last = at
		until(at - 1)
		index.Update(of, source, price, at)
		return bad == nil
	})
	if err != nil {
		return nil, &ConfigError{err}
	}
	until(last)
	if bad != nil {
		return nil, bad
	}
	if len(prices) == 0 {
		return nil, badConfig("tape %s: no price of %s", path, f)
	}
	return prices, nil
}
