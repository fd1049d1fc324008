package adapter

import (
	"testing"
	"time"

	"duplex/core"
	"duplex/feeds"
)

func TestQuoteFilter(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	var btc, gold, numbered, neither quoteFilter
	gold.feed = core.Gold
	for _, c := range []struct {
		story string
		by    *quoteFilter
		quote Quote
		want  feeds.DropReason
	}{
		{"a first price", &btc, Quote{Price: 5, Stamp: ago(2 * time.Second), Seq: 9}, feeds.NotDropped},
		{"the same stamp and number again", &btc, Quote{Price: 5, Stamp: ago(2 * time.Second), Seq: 9}, feeds.OutOfOrder},
		{"a later number with the same stamp", &btc, Quote{Price: 5, Stamp: ago(2 * time.Second), Seq: 10}, feeds.NotDropped},
		{"a later stamp with an earlier number", &btc, Quote{Price: 5, Stamp: ago(time.Second), Seq: 9}, feeds.OutOfOrder},
		{"a later number with an earlier stamp", &btc, Quote{Price: 5, Stamp: ago(3 * time.Second), Seq: 11}, feeds.OutOfOrder},
		{"no number after one that had it", &btc, Quote{Price: 5, Stamp: ago(time.Second)}, feeds.OutOfOrder},
		{"price 0", &btc, Quote{Stamp: ago(0), Seq: 12}, feeds.Zero},
		{"a value with a drop reason", &btc, Quote{Drop: feeds.Negative, Stamp: ago(0), Seq: 12}, feeds.Negative},
		{"a dropped value does not advance the filter", &btc, Quote{Price: 5, Stamp: ago(time.Second), Seq: 11}, feeds.NotDropped},
		{"a stamp 10 s ahead", &btc, Quote{Price: 5, Stamp: ago(-10 * time.Second), Seq: 12}, feeds.NotDropped},
		{"a stamp more than 10 s ahead", &numbered, Quote{Price: 5, Stamp: ago(-10*time.Second - 1)}, feeds.Future},
		{"a stamp far ahead does not advance the filter", &numbered, Quote{Price: 5, Stamp: 1<<63 - 1}, feeds.Future},
		{"the oldest stamp of BTC", &numbered, Quote{Price: 5, Stamp: ago(15 * time.Second)}, feeds.NotDropped},
		{"an older stamp", new(quoteFilter), Quote{Price: 5, Stamp: ago(15*time.Second + 1)}, feeds.Outdated},
		{"the oldest stamp of gold", &gold, Quote{Price: 5, Stamp: ago(25 * time.Second)}, feeds.NotDropped},
		{"a stamp too old for BTC", new(quoteFilter), Quote{Price: 5, Stamp: ago(26 * time.Second)}, feeds.Outdated},
		{"neither stamp nor number", &neither, Quote{Price: 5}, feeds.NotDropped},
		{"the same again without stamp or number", &neither, Quote{Price: 5}, feeds.NotDropped},
		{"a number only", &neither, Quote{Price: 5, Seq: 3}, feeds.NotDropped},
		{"an earlier number only", &neither, Quote{Price: 5, Seq: 2}, feeds.OutOfOrder},
	} {
		if got := c.by.check(c.quote, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.story, got, c.want)
		}
	}
}
