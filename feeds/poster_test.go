package feeds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
)

// spoken is a source that does what it is told.
type spoken struct {
	name string
	feed core.Feed
	run  func(ctx context.Context, out func(core.Price, time.Time)) error
}

func (s spoken) Name() string    { return s.name }
func (s spoken) Feed() core.Feed { return s.feed }
func (s spoken) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	return s.run(ctx, out)
}

// steady quotes one price ten times a second, a little beside the second.
func steady(name string, f core.Feed, price core.Price) Source {
	return spoken{name, f, func(ctx context.Context, out func(core.Price, time.Time)) error {
		for sleep(ctx, 97*time.Millisecond) {
			out(price, time.Now())
		}
		return ctx.Err()
	}}
}

// inbox stands for the sequencer and remembers when which tick came.
type inbox struct {
	mu    sync.Mutex
	ticks []core.IndexTick
	at    []time.Time
}

func (b *inbox) submit(_ context.Context, cmd core.Command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ticks = append(b.ticks, cmd.(*core.PostIndex).Tick)
	b.at = append(b.at, time.Now())
	return nil
}

// play runs a Poster for so long in a world whose time passes by itself.
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
		time.Sleep(300 * time.Millisecond) // begin amid a second
		begun := time.Now().Unix()
		var b inbox
		p := play(t, 5*time.Second, b.submit, steady("b", core.BTC, 101), steady("a", core.BTC, 100))
		if len(b.ticks) != 5 {
			t.Fatalf("%d ticks in 5 s", len(b.ticks))
		}
		for i, tick := range b.ticks {
			if tick.Second != begun+1+int64(i) || !b.at[i].Equal(time.Unix(tick.Second, 0)) {
				t.Errorf("second %d posted at %s", tick.Second, b.at[i])
			}
			if tick.Price != 100 || tick.Count != 2 || tick.Manual || tick.Sources[0].Name != "a" {
				t.Errorf("tick %+v", tick)
			}
		}
		if s := p.Stats(core.BTC); s.Posted != 5 || s.Slow+s.Failed+s.Blank != 0 {
			t.Errorf("stats %+v", s)
		}
		for _, s := range p.States() {
			if !s.Fresh || s.Age > 100*time.Millisecond || s.Up {
				t.Errorf("state %+v", s)
			}
		}
	})
}

// What matters to a round: when the clock strikes a boundary, the second before
// it has long been sequenced.
func TestWindowIsCompleteAtTheBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		var b inbox
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

func TestSlowSubmitLosesItsSecondAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		var b inbox
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
		if s := p.Stats(core.BTC); s.Posted != 10 || s.Slow != 0 {
			t.Errorf("BTC %+v", s)
		}
		// The last hangs when time is up, and so counts as nothing.
		if s := p.Stats(core.Gold); s.Posted != 5 || s.Slow != 4 {
			t.Errorf("gold %+v", s)
		}
		for i, tick := range b.ticks {
			if b.at[i].Unix() != tick.Second {
				t.Errorf("second %d posted at %s", tick.Second, b.at[i])
			}
		}
	})
}

// Even a submit that does not keep its word about ctx holds up only its lane.
func TestStubbornSubmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(500 * time.Millisecond)
		var b inbox
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
		if s := p.Stats(core.Gold); s.Slow == 0 {
			t.Errorf("gold %+v", s)
		}
	})
}

func TestRefusedTicksAreCounted(t *testing.T) {
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
		begun := time.Now()
		var runs []time.Duration
		broken := spoken{"x", core.BTC, func(context.Context, func(core.Price, time.Time)) error {
			runs = append(runs, time.Since(begun))
			if len(runs) == 2 {
				panic("garbage")
			}
			return errors.New("refused")
		}}
		p := play(t, 5*time.Minute, func(context.Context, core.Command) error { return nil }, broken)
		for i := 1; i < len(runs); i++ {
			wait := min(firstWait<<(i-1), longWait)
			if got := runs[i] - runs[i-1]; got < wait/2 || got > wait {
				t.Errorf("wait %d was %s, want %s to %s", i, got, wait/2, wait)
			}
		}
		if s := p.States()[0]; s.Runs != uint64(len(runs)) || s.Up || s.Err == nil || s.Fresh {
			t.Errorf("state %+v", s)
		}
		if s := p.Stats(core.BTC); s.Blank < 299 || s.Posted != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestAValueStartsTheWaitAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		flaky := spoken{"x", core.BTC, func(_ context.Context, out func(core.Price, time.Time)) error {
			n++
			out(5, time.Now())
			return errors.New("cut off")
		}}
		play(t, time.Minute, func(context.Context, core.Command) error { return nil }, flaky)
		if n < 100 {
			t.Errorf("run %d times in a minute", n)
		}
	})
}

func TestGarbageIsDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		liar := spoken{"x", core.BTC, func(ctx context.Context, out func(core.Price, time.Time)) error {
			now := time.Now()
			out(5, now)
			out(0, now)
			out(6, now.Add(-time.Second))
			out(7, now.Add(time.Hour))
			<-ctx.Done()
			return ctx.Err()
		}}
		var b inbox
		p := play(t, 1500*time.Millisecond, b.submit, liar)
		s := p.States()[0]
		if got := fmt.Sprint(s.Source.Counts, s.Future, s.Source.Price); got != "[1 1 1 0] 1 5" {
			t.Errorf("taken, zero, time travel, unknown; future; price: %s", got)
		}
		if len(b.ticks) != 1 || b.ticks[0].Price != 5 {
			t.Errorf("ticks %+v", b.ticks)
		}
	})
}

// A wall clock that is set back posts nothing twice; set forward, nothing
// between.
func TestClockThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		clock := func() time.Time {
			now := time.Now()
			switch gone := now.Sub(begun); {
			case gone > 20*time.Second:
				return now.Add(time.Hour)
			case gone > 10*time.Second:
				return now.Add(-5 * time.Second)
			}
			return now
		}
		talks := spoken{"a", core.Gold, func(ctx context.Context, out func(core.Price, time.Time)) error {
			for sleep(ctx, 97*time.Millisecond) {
				out(7, clock())
			}
			return ctx.Err()
		}}
		var b inbox
		p, err := NewPoster(b.submit, talks)
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

func TestSourcesOfOneName(t *testing.T) {
	if _, err := NewPoster(nil, steady("a", core.BTC, 1), steady("a", core.BTC, 2)); err == nil {
		t.Error("two sources of one name and feed")
	}
	if _, err := NewPoster(nil, steady("a", core.BTC, 1), steady("a", core.WTI, 2)); err != nil {
		t.Error(err)
	}
	if _, err := NewPoster(nil, steady("a", core.Feeds, 1)); err == nil {
		t.Error("a feed there is not")
	}
}
