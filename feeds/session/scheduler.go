package session

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"duplex/core"
	"duplex/feeds"
	"duplex/internal/backoff"
)

const (
	// recheckInterval is the longest sleep before a Scheduler reads the wall clock again.
	// Timers stop while a machine sleeps and ignore changes of the clock.
	recheckInterval = time.Minute
	// submitTimeout bounds one submit; retryDelay is the pause after a failed one.
	submitTimeout = 5 * time.Second
	retryDelay    = 500 * time.Millisecond
	// Warnings start warnBefore the end of the calendar and repeat every remindEvery.
	warnBefore  = 60 * 24 * time.Hour
	remindEvery = 24 * time.Hour
)

// Scheduler submits the opening and the close of each session to the sequencer.
type Scheduler struct {
	// Now is the clock; time.Now unless set before Run.
	Now func() time.Time
	// Log receives a warning once a day when the calendar ends soon or has ended; it
	// discards unless set before Run.
	Log *slog.Logger

	calendar *Calendar
	submit   feeds.Submit
}

// NewScheduler returns a Scheduler. With a nil calendar every feed is always open, as in a
// simulated venue.
func NewScheduler(calendar *Calendar, submit feeds.Submit) *Scheduler {
	return &Scheduler{Now: time.Now, Log: slog.New(slog.DiscardHandler), calendar: calendar, submit: submit}
}

// Run submits the current session of each feed and then every change until ctx ends. It
// submits a feed that always trades once, and returns if there is no other. It repeats a
// submit that fails.
//
// A feed is closed at times that the calendar does not cover. Run continues then, because
// other feeds do not depend on it and a wrong clock can be corrected.
func (k *Scheduler) Run(ctx context.Context) {
	var feeds sync.WaitGroup
	for f := range core.Feed(core.Feeds) {
		feeds.Go(func() { k.follow(ctx, f) })
	}
	if k.calendar != nil {
		feeds.Go(func() { k.remind(ctx) })
	}
	feeds.Wait()
}

// follow submits the sessions of one feed.
func (k *Scheduler) follow(ctx context.Context, f core.Feed) {
	var last *core.SetSession
	for {
		now := k.Now()
		set, until, known := k.session(f, now)
		if last == nil || *set != *last {
			if k.send(ctx, set) != nil {
				if !backoff.Sleep(ctx, retryDelay) {
					return
				}
				continue
			}
			last = set
		}
		wait := recheckInterval
		if known {
			if until.IsZero() {
				return // it always trades
			}
			wait = min(until.Sub(k.Now()), recheckInterval)
		}
		if !backoff.Sleep(ctx, wait) {
			return
		}
	}
}

// session returns the command for a feed's session at a time, and when it changes. known
// is false, and the session closed, if the calendar does not cover that time.
func (k *Scheduler) session(f core.Feed, at time.Time) (set *core.SetSession, until time.Time, known bool) {
	open := true
	if k.calendar != nil {
		var err error
		if open, until, err = k.calendar.At(f, at); err != nil {
			return &core.SetSession{Feed: f}, time.Time{}, false // ErrYear is its only error
		}
	}
	set = &core.SetSession{Feed: f, Open: open}
	if open && !until.IsZero() {
		set.Until = until.UnixNano()
	}
	return set, until, true
}

func (k *Scheduler) send(ctx context.Context, set *core.SetSession) error {
	ctx, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	return k.submit(ctx, set)
}

// remind logs once a day that the calendar ends soon or has ended.
func (k *Scheduler) remind(ctx context.Context) {
	names := core.FeedNames(core.FeedsWithSessions())
	var last time.Time
	for ended := false; ; {
		now, end := k.Now(), k.calendar.End()
		switch over := !now.Before(end); {
		case over && (!ended || now.Sub(last) >= remindEvery):
			k.Log.Error("the holiday calendar has ended: "+names+" are closed until later years are loaded with --holidays", "end", end)
			last, ended = now, true
		case !over && end.Sub(now) <= warnBefore && now.Sub(last) >= remindEvery:
			k.Log.Warn("the holiday calendar ends soon: load later years with --holidays, or "+names+" close", "end", end, "days", int(end.Sub(now)/(24*time.Hour)))
			last, ended = now, false
		}
		if !backoff.Sleep(ctx, recheckInterval) {
			return
		}
	}
}
