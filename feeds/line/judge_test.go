package line

import (
	"testing"
	"time"

	"duplex/core"
	"duplex/feeds"
)

func TestJudge(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	var btc, gold, count, neither judge
	gold.feed = core.Gold
	for _, c := range []struct {
		story string
		by    *judge
		quote Quote
		want  feeds.Drop
	}{
		{"a first price", &btc, Quote{Price: 5, Stamp: ago(2 * time.Second), Seq: 9}, feeds.Sound},
		{"the same again", &btc, Quote{Price: 5, Stamp: ago(2 * time.Second), Seq: 9}, feeds.OutOfOrder},
		{"a later one of the same moment", &btc, Quote{Price: 5, Stamp: ago(2 * time.Second), Seq: 10}, feeds.Sound},
		{"a later time with an earlier count", &btc, Quote{Price: 5, Stamp: ago(time.Second), Seq: 9}, feeds.OutOfOrder},
		{"a later count with an earlier time", &btc, Quote{Price: 5, Stamp: ago(3 * time.Second), Seq: 11}, feeds.OutOfOrder},
		{"a count gone", &btc, Quote{Price: 5, Stamp: ago(time.Second)}, feeds.OutOfOrder},
		{"no price", &btc, Quote{Stamp: ago(0), Seq: 12}, feeds.Zero},
		{"what is no price says why", &btc, Quote{Drop: feeds.Negative, Stamp: ago(0), Seq: 12}, feeds.Negative},
		{"and moves nothing", &btc, Quote{Price: 5, Stamp: ago(time.Second), Seq: 11}, feeds.Sound},
		{"clocks may differ", &btc, Quote{Price: 5, Stamp: ago(-10 * time.Second), Seq: 12}, feeds.Sound},
		{"but not so much", &count, Quote{Price: 5, Stamp: ago(-10*time.Second - 1)}, feeds.Future},
		{"a far future moves nothing", &count, Quote{Price: 5, Stamp: 1<<63 - 1}, feeds.Future},
		{"as old as can be", &count, Quote{Price: 5, Stamp: ago(15 * time.Second)}, feeds.Sound},
		{"older", new(judge), Quote{Price: 5, Stamp: ago(15*time.Second + 1)}, feeds.Outdated},
		{"gold stays fresh for longer", &gold, Quote{Price: 5, Stamp: ago(25 * time.Second)}, feeds.Sound},
		{"but not for good", new(judge), Quote{Price: 5, Stamp: ago(26 * time.Second)}, feeds.Outdated},
		{"neither time nor count", &neither, Quote{Price: 5}, feeds.Sound},
		{"is never out of order", &neither, Quote{Price: 5}, feeds.Sound},
		{"a count alone", &neither, Quote{Price: 5, Seq: 3}, feeds.Sound},
		{"does not fall", &neither, Quote{Price: 5, Seq: 2}, feeds.OutOfOrder},
	} {
		if got := c.by.hear(c.quote, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.story, got, c.want)
		}
	}
}
