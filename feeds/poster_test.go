package feeds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/internal/backoff"
)

// scriptedSource is a source whose Run is a function of the test.
type scriptedSource struct {
	name string
	feed core.Feed
	run  func(ctx context.Context, out func(core.Price, time.Time)) error
}

func (s scriptedSource) Name() string    { return s.name }
func (s scriptedSource) Feed() core.Feed { return s.feed }
func (s scriptedSource) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	return s.run(ctx, out)
}

// steady sends one price about ten times a second, never at a whole second.
func steady(name string, f core.Feed, price core.Price) Source {
	return scriptedSource{name, f, func(ctx context.Context, out func(core.Price, time.Time)) error {
		for backoff.Sleep(ctx, 97*time.Millisecond) {
			out(price, time.Now())
		}
		return ctx.Err()
	}}
}

// recordedSubmits replaces the sequencer and records each tick with its time.
type recordedSubmits struct {
	mu    sync.Mutex
	ticks []core.IndexTick
	at    []time.Time
}

func (b *recordedSubmits) submit(_ context.Context, cmd core.Command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ticks = append(b.ticks, cmd.(*core.PostIndex).Tick)
	b.at = append(b.at, time.Now())
	return nil
}

// play runs a Poster for the virtual time d.
func play(t *testing.T, d time.Duration, submit Submit, sources ...Source) *Poster {
	t.Helper()
	p, err := NewPoster(submit, sources...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	p.Run(ctx)
	return p
}

func TestTickOfASecondIsPostedAsItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // start within a second
		start := time.Now().Unix()
		var b recordedSubmits
		p := play(t, 5*time.Second, b.submit, steady("b", core.BTC, 101), steady("a", core.BTC, 100))
		if len(b.ticks) != 5 {
			t.Fatalf("%d ticks in 5 s", len(b.ticks))
		}
		for i, tick := range b.ticks {
			if tick.Second != start+1+int64(i) || !b.at[i].Equal(time.Unix(tick.Second, 0)) {
				t.Errorf("second %d posted at %s", tick.Second, b.at[i])
			}
			if tick.Price != 100 || tick.Count != 2 || tick.Manual || tick.Sources[0].Name != "a" {
				t.Errorf("tick %+v", tick)
			}
		}
		if s := p.Stats(core.BTC); s.Posted != 5 || s.Late+s.Failed+s.Gaps[feed.Silent] != 0 {
			t.Errorf("stats %+v", s)
		}
		for _, s := range p.States() {
			if !s.Fresh || s.Age > 100*time.Millisecond || s.Up {
				t.Errorf("state %+v", s)
			}
		}
	})
}

// TestWindowIsCompleteAtTheBoundary checks that each tick is sequenced before its second
// ends.
func TestWindowIsCompleteAtTheBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		var b recordedSubmits
		slow := func(ctx context.Context, cmd core.Command) error {
			time.Sleep(400 * time.Millisecond)
			return b.submit(ctx, cmd)
		}
		play(t, 65*time.Second, slow, steady("a", core.Gold, 7))
		for i, tick := range b.ticks {
			if !b.at[i].Before(time.Unix(tick.Second+1, 0)) {
				t.Errorf("second %d sequenced at %s", tick.Second, b.at[i])
			}
		}
		if len(b.ticks) != 65 {
			t.Errorf("%d ticks", len(b.ticks))
		}
	})
}

func TestSlowSubmitLosesOnlyItsSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		var b recordedSubmits
		n := 0
		hangs := func(ctx context.Context, cmd core.Command) error {
			if cmd.(*core.PostIndex).Tick.Feed == core.Gold {
				if n++; n%2 == 0 {
					<-ctx.Done()
					return ctx.Err()
				}
			}
			return b.submit(ctx, cmd)
		}
		p := play(t, 10*time.Second, hangs, steady("a", core.BTC, 100), steady("a", core.Gold, 7))
		if s := p.Stats(core.BTC); s.Posted != 10 || s.Late != 0 {
			t.Errorf("BTC %+v", s)
		}
		// The last submit hangs when ctx ends and is not counted.
		if s := p.Stats(core.Gold); s.Posted != 5 || s.Late != 4 {
			t.Errorf("gold %+v", s)
		}
		for i, tick := range b.ticks {
			if b.at[i].Unix() != tick.Second {
				t.Errorf("second %d posted at %s", tick.Second, b.at[i])
			}
		}
	})
}

// TestSubmitThatIgnoresItsContext checks that a submit that does not return when ctx ends
// delays only its own feed.
func TestSubmitThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		var b recordedSubmits
		stubborn := func(ctx context.Context, cmd core.Command) error {
			if cmd.(*core.PostIndex).Tick.Feed == core.Gold {
				time.Sleep(3500 * time.Millisecond)
			}
			return b.submit(ctx, cmd)
		}
		p := play(t, 9*time.Second, stubborn, steady("a", core.BTC, 100), steady("a", core.Gold, 7))
		if s := p.Stats(core.BTC); s.Posted != 9 {
			t.Errorf("BTC %+v", s)
		}
		if s := p.Stats(core.Gold); s.Late == 0 {
			t.Errorf("gold %+v", s)
		}
	})
}

func TestRejectedTicksAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		full := errors.New("full")
		p := play(t, 3*time.Second, func(context.Context, core.Command) error { return full }, steady("a", core.WTI, 7))
		if s := p.Stats(core.WTI); s.Failed != 3 || s.LastErr != full {
			t.Errorf("%+v", s)
		}
	})
}

func TestFailingSourceIsRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var runs []time.Duration
		broken := scriptedSource{"x", core.BTC, func(context.Context, func(core.Price, time.Time)) error {
			runs = append(runs, time.Since(start))
			if len(runs) == 2 {
				panic("garbage")
			}
			return errors.New("refused")
		}}
		p := play(t, 5*time.Minute, func(context.Context, core.Command) error { return nil }, broken)
		for i := 1; i < len(runs); i++ {
			wait := min(minBackoff<<(i-1), maxBackoff)
			if got := runs[i] - runs[i-1]; got < wait/2 || got > wait {
				t.Errorf("wait %d was %s, want %s to %s", i, got, wait/2, wait)
			}
		}
		if s := p.States()[0]; s.Runs != uint64(len(runs)) || s.Up || s.Err == nil || s.Fresh {
			t.Errorf("state %+v", s)
		}
		if s := p.Stats(core.BTC); s.Gaps[feed.Silent] < 299 || s.Posted != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestLogOfSources checks the log of a feed with a source that is away for a while, one that loses its
// connection often and one that never answers.
func TestLogOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		away := scriptedSource{"away", core.BTC, func(ctx context.Context, out func(core.Price, time.Time)) error {
			for backoff.Sleep(ctx, 970*time.Millisecond) {
				if at := time.Since(start); at > 20*time.Second && at < 60*time.Second {
					return errors.New("connection reset")
				}
				out(1000, time.Now())
			}
			return ctx.Err()
		}}
		flaky := scriptedSource{"flaky", core.Gold, func(_ context.Context, out func(core.Price, time.Time)) error {
			out(1000, time.Now())
			return errors.New("cut off")
		}}
		mute := scriptedSource{"mute", core.Gold, func(context.Context, func(core.Price, time.Time)) error { return errors.New("refused") }}
		p, err := NewPoster(func(context.Context, core.Command) error { return nil }, away, flaky, mute)
		if err != nil {
			t.Fatal(err)
		}
		var logs bytes.Buffer
		p.Log = slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == "after_s" {
				return slog.Attr{}
			}
			return a
		}}))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		p.Run(ctx)
		want := `msg="source up" feed=BTC source=away
msg="source up" feed=gold source=flaky
msg="source down" feed=BTC source=away err="connection reset"
msg="index gone" feed=BTC reason=silent
msg="source down" feed=gold source=mute err=refused
msg="source up" feed=BTC source=away
msg="index back" feed=BTC
`
		if got := logs.String(); got != want {
			t.Errorf("the log is\n%s", got)
		}
	})
}

func TestPriceResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		flaky := scriptedSource{"x", core.BTC, func(_ context.Context, out func(core.Price, time.Time)) error {
			n++
			out(5, time.Now())
			return errors.New("cut off")
		}}
		play(t, time.Minute, func(context.Context, core.Command) error { return nil }, flaky)
		if n < 100 {
			t.Errorf("%d runs in a minute, want at least 100", n)
		}
	})
}

func TestBadValuesAreDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := scriptedSource{"x", core.BTC, func(ctx context.Context, out func(core.Price, time.Time)) error {
			now := time.Now()
			out(5, now)
			out(0, now)
			out(6, now.Add(-time.Second))
			out(7, now.Add(time.Hour))
			<-ctx.Done()
			return ctx.Err()
		}}
		var b recordedSubmits
		p := play(t, 1500*time.Millisecond, b.submit, bad)
		s := p.States()[0]
		if got := fmt.Sprint(s.Source.Counts, s.FutureValues, s.Source.Price); got != "[1 1 1 0] 1 5" {
			t.Errorf("accepted, zero, time travel, unknown; future; price: %s", got)
		}
		if len(b.ticks) != 1 || b.ticks[0].Price != 5 {
			t.Errorf("ticks %+v", b.ticks)
		}
	})
}

// TestClockIsSet checks that no second is posted twice after the clock is set back, and
// no skipped second after it is set forward.
func TestClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := func() time.Time {
			now := time.Now()
			switch elapsed := now.Sub(start); {
			case elapsed > 20*time.Second:
				return now.Add(time.Hour)
			case elapsed > 10*time.Second:
				return now.Add(-5 * time.Second)
			}
			return now
		}
		src := scriptedSource{"a", core.Gold, func(ctx context.Context, out func(core.Price, time.Time)) error {
			for backoff.Sleep(ctx, 97*time.Millisecond) {
				out(7, clock())
			}
			return ctx.Err()
		}}
		var b recordedSubmits
		p, err := NewPoster(b.submit, src)
		if err != nil {
			t.Fatal(err)
		}
		p.Now = clock
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		p.Run(ctx)
		seconds := func(a, b core.IndexTick) int { return int(a.Second - b.Second) }
		if !slices.IsSortedFunc(b.ticks, seconds) || len(slices.CompactFunc(slices.Clone(b.ticks), func(a, b core.IndexTick) bool { return a.Second == b.Second })) != len(b.ticks) {
			t.Errorf("seconds do not rise: %+v", b.ticks)
		}
		if n := len(b.ticks); n < 20 || n > 30 {
			t.Errorf("%d ticks", n)
		}
	})
}

// TestLimitsOfAFeed lets one source of two jump to five times the price. The index leaves
// it out and counts the jumps; with a minimum of two sources the feed has no index.
func TestLimitsOfAFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for least, want := range []struct{ posted, gaps uint64 }{{10, 0}, {10, 0}, {5, 5}} {
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
			started := time.Now()
			wild := scriptedSource{"b", core.BTC, func(ctx context.Context, out func(core.Price, time.Time)) error {
				for backoff.Sleep(ctx, 97*time.Millisecond) {
					price := core.Price(1002)
					if time.Since(started) > 5*time.Second {
						price = 5000
					}
					out(price, time.Now())
				}
				return ctx.Err()
			}}
			var b recordedSubmits
			p, err := NewPoster(b.submit, steady("a", core.BTC, 1000), wild)
			if err != nil {
				t.Fatal(err)
			}
			p.Limits[core.BTC] = feed.Limit{MinSources: uint8(least), JumpPct: 10}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			p.Run(ctx)
			cancel()
			for i, tick := range b.ticks {
				if calm := i < 5; calm && (tick.Price != 1001 || tick.Count != 2) || !calm && (tick.Price != 1000 || tick.Count != 1) {
					t.Errorf("at least %d, tick %d: %+v", least, i, tick)
				}
			}
			if s := p.Stats(core.BTC); s.Posted != want.posted || s.Gaps[feed.TooFew] != want.gaps {
				t.Errorf("at least %d: %+v", least, s)
			}
			if s := p.States(); s[0].Source.Jumps != 0 || s[1].Source.Jumps != 5 {
				t.Errorf("at least %d: %+v", least, s)
			}
		}
	})
}

func TestSourceNamesAreUnique(t *testing.T) {
	if _, err := NewPoster(nil, steady("a", core.BTC, 1), steady("a", core.BTC, 2)); err == nil {
		t.Error("NewPoster accepts two sources of one feed and name")
	}
	if _, err := NewPoster(nil, steady("a", core.BTC, 1), steady("a", core.WTI, 2)); err != nil {
		t.Error(err)
	}
	if _, err := NewPoster(nil, steady("a", core.Feeds, 1)); err == nil {
		t.Error("NewPoster accepts an unknown feed")
	}
}
