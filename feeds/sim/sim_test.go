package sim

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
)

func TestSameSeedSameWorld(t *testing.T) {
	a, b, c := New(7), New(7), New(8)
	for range 100 {
		b.Step(300 * time.Millisecond)
		c.Step(300 * time.Millisecond)
	}
	a.Step(30 * time.Second)
	x, y, z := a.Step(time.Minute), b.Step(time.Minute), c.Step(time.Minute)
	if !reflect.DeepEqual(x, y) {
		t.Error("the quotes of one seed depend on the lengths of the Steps")
	}
	if reflect.DeepEqual(x, z) {
		t.Error("two seeds have the same quotes")
	}
}

// TestSeedOne compares the first quotes of seed 1 with golden values.
func TestSeedOne(t *testing.T) {
	var got []string
	for _, q := range New(1).Step(200 * time.Millisecond) {
		got = append(got, fmt.Sprintf("%s %s %s %d", q.After, q.Feed, q.Source, q.Price))
	}
	want := []string{
		"100ms BTC sim-a 6499873000000", "100ms BTC sim-c 6499792000000", "100ms gold sim-a 239999000000",
		"200ms BTC sim-a 6499615000000", "200ms BTC sim-b 6499628000000", "200ms BTC sim-c 6499651000000",
		"200ms BTC sim-d 6499637000000", "200ms gold sim-a 240000000000", "200ms WTI sim-a 7800300000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("quotes are\n%q\nwant\n%q", got, want)
	}
}

func TestSourcesOfAFeedAgree(t *testing.T) {
	w := New(3)
	w.Step(10 * time.Minute)
	for _, s := range w.sources {
		if s.walk.price != w.sources[first(w, s.feed)].walk.price {
			t.Errorf("%s of %s has a different walk", s.name, s.feed)
		}
	}
	names := map[core.Feed][]string{}
	for _, s := range w.Sources() {
		names[s.Feed()] = append(names[s.Feed()], s.Name())
	}
	want := map[core.Feed][]string{core.BTC: {"sim-a", "sim-b", "sim-c", "sim-d"}, core.Gold: {"sim-a"}, core.WTI: {"sim-a"}}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("sources %v", names)
	}
}

func first(w *World, f core.Feed) int {
	return slices.IndexFunc(w.sources, func(s *source) bool { return s.feed == f })
}

// playIndex computes the index of a world, second by second.
func playIndex(seed uint64, seconds int64, outages time.Duration) (prices [core.Feeds][]core.Price, blanks int) {
	w := New(seed)
	w.Outages(outages)
	var x feed.Index
	for s := int64(1); s <= seconds; s++ {
		for _, q := range w.Step(time.Second) {
			x.Update(q.Feed, q.Source, q.Price, (s-1)*core.NsPerSec+int64(q.After))
		}
		for f := range core.Feed(core.Feeds) {
			tick, gap := x.Tick(f, s*core.NsPerSec)
			if gap != feed.NoGap {
				blanks++
			}
			prices[f] = append(prices[f], tick.Price)
		}
	}
	return prices, blanks
}

func TestPricesMoveEverySecond(t *testing.T) {
	prices, blanks := playIndex(11, 3600, 0)
	if blanks > 2 { // a single source may not quote in the first second
		t.Errorf("%d seconds without an index", blanks)
	}
	for f, p := range prices {
		moved := 0
		for i := 1; i < len(p); i++ {
			if p[i] != p[i-1] {
				moved++
			}
		}
		if moved < len(p)*9/10 {
			t.Errorf("%s moved in %d of %d seconds", core.Feed(f), moved, len(p))
		}
	}
}

// TestOutcomesAreBalanced checks that rounds of a minute end above their strike about half
// of the time, and rarely at it.
func TestOutcomesAreBalanced(t *testing.T) {
	const rounds = 400
	prices, _ := playIndex(5, rounds*60+1, 0)
	for f, p := range prices {
		yes, ties, sum := 0, 0, 0.0
		for i := 1; i+60 < len(p); i += 60 {
			var last core.Price
			for _, q := range p[i+50 : i+60] {
				last += q
			}
			last /= 10
			switch {
			case last > p[i]:
				yes++
			case last == p[i]:
				ties++
			}
			r := math.Log(float64(p[i+60-1]) / float64(p[i]))
			sum += r * r
		}
		// The standard deviation of 400 coin flips is 10; 40 is four of them.
		if yes < rounds/2-40 || yes > rounds/2+40 || ties > rounds/100 {
			t.Errorf("%s: %d of %d YES, %d ties", core.Feed(f), yes, rounds, ties)
		}
		if sigma := math.Sqrt(sum / rounds); sigma < 0.0004 || sigma > 0.003 {
			t.Errorf("%s: standard deviation %.3f %% in a minute", core.Feed(f), sigma*100)
		}
	}
}

func TestOutages(t *testing.T) {
	_, without := playIndex(5, 3600, 0)
	prices, with := playIndex(5, 3600, 2*time.Minute)
	if with <= without {
		t.Error("no source fell silent")
	}
	if slices.Contains(prices[core.BTC][1:], 0) {
		t.Error("all four sources of BTC were silent together, which does not happen with this seed")
	}
}

func TestWalkIsBounded(t *testing.T) {
	w := newWalk(1, core.WTI)
	w.sigma = ppb / 10
	for range 100_000 {
		w.step()
		if w.price <= w.start/4 || w.price >= w.start*4 {
			t.Fatalf("price %d", w.price)
		}
	}
}

// TestRunQuotesLikeStep checks that Run by wall time quotes the same prices as Step.
func TestRunQuotesLikeStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := map[string][]core.Price{}
		for _, q := range New(9).Step(10 * time.Second) {
			want[q.Feed.String()+q.Source] = append(want[q.Feed.String()+q.Source], q.Price)
		}
		var wg sync.WaitGroup
		for _, s := range New(9).Sources() {
			wg.Go(func() { checkRun(t, s, want[s.Feed().String()+s.Name()]) })
		}
		wg.Wait()
	})
}

func checkRun(t *testing.T, s feeds.Source, want []core.Price) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+stepLength/2)
	defer cancel()
	var got []core.Price
	err := s.Run(ctx, func(p core.Price, at time.Time) {
		if !at.Equal(time.Now()) {
			t.Errorf("quote at %s has the time %s", time.Now(), at)
		}
		got = append(got, p)
	})
	if err != context.DeadlineExceeded {
		t.Error(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s of %s: %d quotes, want %d", s.Name(), s.Feed(), len(got), len(want))
	}
}

// TestPosterCoversEverySecond runs the sources through a Poster and checks that every
// second has a tick.
func TestPosterCoversEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rings [core.Feeds]feed.Ring
		var mu sync.Mutex
		p, err := feeds.NewPoster(func(_ context.Context, cmd core.Command) error {
			mu.Lock()
			defer mu.Unlock()
			tick := cmd.(*core.PostIndex).Tick
			if !rings[tick.Feed].Put(tick) {
				t.Errorf("Put rejected %+v", tick)
			}
			return nil
		}, New(1).Sources()...)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now().Unix()
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second+stepLength/2)
		defer cancel()
		p.Run(ctx)
		for f := range rings {
			if _, covered := rings[f].TWAP(start+70, 60); covered != 60 {
				t.Errorf("%s: %d of 60 s covered", core.Feed(f), covered)
			}
			if n := rings[f].FreshAt(start + 70); n == 0 || n > 4 {
				t.Errorf("%s: %d fresh", core.Feed(f), n)
			}
		}
	})
}
