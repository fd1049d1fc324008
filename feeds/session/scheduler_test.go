package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
)

// inbox replaces the sequencer and records each command of a Scheduler as a line.
type inbox struct {
	mu    sync.Mutex
	lines map[core.Feed][]string
	now   func() time.Time
	fail  int // number of next submits that fail
}

func (s *inbox) submit(_ context.Context, cmd core.Command) error {
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

// run runs a Scheduler for a virtual time.
func (s *inbox) run(t *testing.T, c *Calendar, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	k := NewScheduler(c, s.submit)
	k.Now = s.now
	if k.Run(ctx); ctx.Err() == nil {
		t.Error("Run returned before ctx ended")
	}
}

// from returns a clock that starts at a New York time.
func from(t *testing.T, c *Calendar, text string) func() time.Time {
	started, start := time.Now(), ny(t, c, text)
	return func() time.Time { return start.Add(time.Since(started)) }
}

func TestSchedulerSubmitsEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		s := inbox{now: from(t, c, "2026-04-01 12:00:00")}
		s.run(t, c, 5*24*time.Hour)
		want := []string{
			"Wed 12:00:00 open until Wed 17:00",
			"Wed 17:00:00 shut",
			"Wed 18:00:00 open until Thu 17:00",
			"Thu 17:00:00 shut", // Good Friday, weekend
			"Sun 18:00:00 open until Mon 17:00",
		}
		for _, f := range []core.Feed{core.Gold, core.WTI} {
			if !slices.Equal(s.lines[f], want) {
				t.Errorf("the scheduler submits for %s %q, want %q", f, s.lines[f], want)
			}
		}
		if !slices.Equal(s.lines[core.BTC], []string{"Wed 12:00:00 open"}) {
			t.Errorf("BTC: %q", s.lines[core.BTC])
		}
	})
}

func TestSchedulerWithoutCalendar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inbox{now: time.Now, fail: 4}
		NewScheduler(nil, s.submit).Run(t.Context())
		for f := range core.Feed(core.Feeds) {
			if len(s.lines[f]) != 1 {
				t.Errorf("without a calendar the scheduler submits for %s %q, want one line", f, s.lines[f])
			}
		}
	})
}

// TestSchedulerAtTheEndOfTheCalendar checks that the feeds with sessions close at the end
// of the calendar and that Run continues.
func TestSchedulerAtTheEndOfTheCalendar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		s := inbox{now: from(t, c, "2027-12-31 16:59:00")}
		s.run(t, c, 90*24*time.Hour)
		for f, want := range map[core.Feed][]string{
			core.BTC:  {"Fri 16:59:00 open"},
			core.Gold: {"Fri 16:59:00 open until Fri 17:00", "Fri 17:00:00 shut"},
			core.WTI:  {"Fri 16:59:00 open until Fri 17:00", "Fri 17:00:00 shut"},
		} {
			if !slices.Equal(s.lines[f], want) {
				t.Errorf("the scheduler submits for %s %q, want %q", f, s.lines[f], want)
			}
		}
	})
}

// TestSchedulerAfterTheClockIsCorrected checks that the feeds open again after a clock that
// was beyond the calendar is corrected.
func TestSchedulerAfterTheClockIsCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		started := time.Now()
		s := inbox{now: func() time.Time {
			if elapsed := time.Since(started); elapsed > 10*time.Second {
				return ny(t, c, "2026-03-04 12:00:00").Add(elapsed)
			}
			return ny(t, c, "2030-03-04 12:00:00")
		}}
		s.run(t, c, 2*time.Minute)
		if got := s.lines[core.Gold]; !slices.Equal(got, []string{"Mon 12:00:00 shut", "Wed 12:01:00 open until Wed 17:00"}) {
			t.Errorf("the scheduler submits %q, want that it corrects itself within a minute", got)
		}
	})
}

// TestSchedulerWarnsOfTheEnd checks that the log has one warning a day from 60 days before
// the end of the calendar, and one error a day after it.
func TestSchedulerWarnsOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		var log bytes.Buffer
		s := inbox{now: from(t, c, "2027-10-20 12:00:00")}
		k := NewScheduler(c, s.submit)
		k.Now = s.now
		k.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String("time", s.now().In(c.zone).Format("2006-01-02 15:04"))
			}
			return a
		}}))
		ctx, cancel := context.WithTimeout(t.Context(), 75*24*time.Hour)
		defer cancel()
		k.Run(ctx)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		warned, ended := 0, 0
		for _, l := range lines {
			warned += strings.Count(l, "level=WARN")
			ended += strings.Count(l, "level=ERROR")
		}
		if warned != 60 || ended != 3 || len(lines) != 63 {
			t.Errorf("%d warnings and %d errors in\n%s", warned, ended, &log)
		}
		for i, want := range map[int]string{
			0:  `time="2027-11-01 18:00" level=WARN msg="the holiday calendar ends soon: load later years with --holidays, or gold and WTI close" end=2027-12-31T17:00:00.000-05:00 days=60`,
			60: `time="2027-12-31 17:00" level=ERROR msg="the holiday calendar has ended`,
		} {
			if !strings.HasPrefix(lines[i], want) {
				t.Errorf("line %d: %s", i, lines[i])
			}
		}
	})
}

// TestSchedulerAfterSleep checks that a close during the sleep of the machine is submitted
// within a minute of its wake-up.
func TestSchedulerAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := load(t)
		started := time.Now()
		start := ny(t, c, "2026-03-04 12:00:00")
		s := inbox{now: func() time.Time {
			elapsed := time.Since(started)
			if elapsed > 10*time.Second {
				elapsed += 5 * time.Hour
			}
			return start.Add(elapsed)
		}}
		s.run(t, c, 2*time.Minute)
		if got := s.lines[core.WTI]; len(got) != 2 || got[1] != "Wed 17:01:00 shut" {
			t.Errorf("the scheduler submits %q, want that it closes WTI within a minute", got)
		}
	})
}

func TestSchedulerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		always := func(ctx context.Context, _ core.Command) error { return ctx.Err() }
		NewScheduler(nil, always).Run(ctx)
	})
}
