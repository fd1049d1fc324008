package manual

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/feed"
)

func at(second int64) time.Time { return time.Unix(second, 250_000_000) }

func TestPost(t *testing.T) {
	var d Oracle
	for _, c := range []struct {
		story  string
		feed   core.Feed
		source string
		price  core.Price
		second int64
		want   core.Price
		count  uint8
	}{
		{"the first price is the index", core.BTC, "a", 100, 10, 100, 1},
		{"two sources have their mean", core.BTC, "b", 103, 11, 101, 2},
		{"a source changes its price", core.BTC, "a", 101, 11, 102, 2},
		{"feeds are independent", core.Gold, "a", 7, 11, 7, 1},
		{"a stale source does not count", core.BTC, "b", 200, 17, 200, 1},
		{"a post with an earlier time counts as the latest", core.BTC, "b", 201, 16, 201, 1},
	} {
		tick, err := d.Post(c.feed, c.source, c.price, at(c.second))
		if err != nil || tick.Price != c.want || tick.Count != c.count || !tick.Manual || tick.Feed != c.feed {
			t.Errorf("%s: %+v, %v", c.story, tick, err)
		}
		if tick.Second != max(c.second, 10) && c.second != 16 || c.second == 16 && tick.Second != 17 {
			t.Errorf("%s: second %d", c.story, tick.Second)
		}
	}
}

func TestPostRejects(t *testing.T) {
	var d Oracle
	for _, c := range []struct {
		feed   core.Feed
		source string
		price  core.Price
		want   error
	}{
		{core.Feeds, "a", 1, ErrFeed},
		{core.BTC, "", 1, ErrSource},
		{core.BTC, strings.Repeat("x", 65), 1, ErrSource},
		{core.BTC, "a", 0, ErrPrice},
	} {
		if _, err := d.Post(c.feed, c.source, c.price, at(10)); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	for _, s := range []string{"a", "b", "c"} {
		d.Post(core.BTC, s, 100, at(10))
	}
	if tick, err := d.Post(core.BTC, "c", 200, at(10)); err != nil || tick.Count != 2 {
		t.Errorf("an outlier counts: %+v, %v", tick, err)
	}
	if _, err := d.Post(core.BTC, "d", 200, at(10)); !errors.Is(err, ErrNoIndex) {
		t.Errorf("two groups far apart: %v", err)
	}
}

// TestConcurrentPosts checks that every post returns a tick and that seconds never fall.
func TestConcurrentPosts(t *testing.T) {
	var d Oracle
	var ring feed.Ring
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := d.Post(core.WTI, "a", core.Price(100+i), at(int64(10+i%3))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tick, err := d.Post(core.WTI, "a", 500, at(1))
	if err != nil || tick.Second != 12 || !ring.Put(tick) {
		t.Errorf("%+v, %v", tick, err)
	}
}

// TestStates checks the age and the freshness of each source.
func TestStates(t *testing.T) {
	var d Oracle
	if _, err := d.Post(core.Gold, "a", 100, at(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Post(core.BTC, "b", 200, at(20)); err != nil {
		t.Fatal(err)
	}
	got := d.States(at(26))
	if len(got) != 2 || got[0].Source.Name != "b" || got[0].Age != 6*time.Second || got[0].Fresh || got[1].Feed != core.Gold || got[1].Age != 16*time.Second || got[1].Fresh {
		t.Errorf("%+v", got)
	}
	if got = d.States(at(25)); !got[0].Fresh || !got[1].Fresh || !got[0].Up {
		t.Errorf("%+v", got)
	}
}
