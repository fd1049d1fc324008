package session

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

// told keeps what a Keeper submits, a line each.
type told struct {
	mu    sync.Mutex
	lines map[core.Feed][]string
	now   func() time.Time
	fail  int // of the next submits
}

func (s *told) submit(_ context.Context, cmd core.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return errors.New("no")
	}
	c := cmd.(*core.SetSession)
	line := fmt.Sprintf("%s shut", s.now().Format("Mon 15:04:05"))
	if c.Open {
		line = fmt.Sprintf("%s open", s.now().Format("Mon 15:04:05"))
	}
	if c.Until != 0 {
		line += time.Unix(0, c.Until).In(s.now().Location()).Format(" until Mon 15:04")
	}
	if s.lines == nil {
		s.lines = map[core.Feed][]string{}
	}
	s.lines[c.Feed] = append(s.lines[c.Feed], line)
	return nil
}

// from makes a clock that starts at a New York time and runs with the world's.
func from(t *testing.T, c *Calendar, text string) func() time.Time {
	begun, start := time.Now(), ny(t, c, text)
	return func() time.Time { return start.Add(time.Since(begun)) }
}

func TestKeeperTellsEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		s := told{now: from(t, c, "2026-04-01 12:00:00")}
		k := NewKeeper(c, s.submit)
		k.Now = s.now
		ctx, cancel := context.WithTimeout(t.Context(), 5*24*time.Hour)
		defer cancel()
		if err := k.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"Wed 12:00:00 open until Wed 17:00",
			"Wed 17:00:00 shut",
			"Wed 18:00:00 open until Thu 17:00",
			"Thu 17:00:00 shut", // Good Friday, weekend
			"Sun 18:00:00 open until Mon 17:00",
		}
		for _, f := range []core.Feed{core.Gold, core.WTI} {
			if !slices.Equal(s.lines[f], want) {
				t.Errorf("%s: %q", f, s.lines[f])
			}
		}
		if !slices.Equal(s.lines[core.BTC], []string{"Wed 12:00:00 open"}) {
			t.Errorf("BTC: %q", s.lines[core.BTC])
		}
	})
}

func TestKeeperWithoutCalendar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told{now: time.Now, fail: 4}
		if err := NewKeeper(nil, s.submit).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for f := range core.Feed(core.Feeds) {
			if len(s.lines[f]) != 1 {
				t.Errorf("%s: %q", f, s.lines[f])
			}
		}
	})
}

func TestKeeperShutsWhatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		s := told{now: from(t, c, "2027-12-31 16:59:00")}
		k := NewKeeper(c, s.submit)
		k.Now = s.now
		if err := k.Run(t.Context()); !errors.Is(err, ErrYear) {
			t.Fatal(err)
		}
		if got := s.lines[core.Gold]; !slices.Equal(got, []string{"Fri 16:59:00 open until Fri 17:00", "Fri 17:00:00 shut"}) {
			t.Errorf("%q", got)
		}
	})
}

// A machine that slept through a close tells it within a minute of waking.
func TestKeeperAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		begun := time.Now()
		start := ny(t, c, "2026-03-04 12:00:00")
		s := told{now: func() time.Time {
			gone := time.Since(begun)
			if gone > 10*time.Second {
				gone += 5 * time.Hour
			}
			return start.Add(gone)
		}}
		k := NewKeeper(c, s.submit)
		k.Now = s.now
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if err := k.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if got := s.lines[core.WTI]; len(got) != 2 || got[1] != "Wed 17:01:00 shut" {
			t.Errorf("%q", got)
		}
	})
}

func TestKeeperStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		always := func(ctx context.Context, _ core.Command) error { return ctx.Err() }
		if err := NewKeeper(nil, always).Run(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
