package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"duplex/core"
	"duplex/feeds"
)

const (
	// lookAgain is how long a Keeper trusts a timer. Timers stand still while a
	// machine sleeps and know nothing of a clock that is set; the wall clock does.
	lookAgain = time.Minute
	// submitFor is how long one submit may take, retryAfter the pause after one
	// that failed.
	submitFor  = 5 * time.Second
	retryAfter = 500 * time.Millisecond
)

// Keeper tells the core when sessions open and end.
type Keeper struct {
	// Now is the clock; time.Now unless set before Run.
	Now func() time.Time

	calendar *Calendar
	submit   feeds.Submit
}

// NewKeeper prepares a Keeper. Without a calendar every feed is always open, as
// in a simulated venue.
func NewKeeper(calendar *Calendar, submit feeds.Submit) *Keeper {
	return &Keeper{Now: time.Now, calendar: calendar, submit: submit}
}

// Run submits each feed's session as it is now, and then each change as it
// comes, until ctx ends; what always trades is submitted once, and if nothing
// else is left Run returns nil. What fails is submitted again.
//
// Returns ErrYear once the calendar has run out; the feeds concerned are shut.
func (k *Keeper) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	var errs [core.Feeds]error
	for f := range core.Feed(core.Feeds) {
		wg.Go(func() { errs[f] = k.keep(ctx, f) })
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

// keep follows one feed.
func (k *Keeper) keep(ctx context.Context, f core.Feed) error {
	var told *core.SetSession
	for {
		now := k.Now()
		set, until, lost := k.session(f, now)
		if told == nil || *set != *told {
			if k.tell(ctx, set) != nil {
				if !sleep(ctx, retryAfter) {
					return nil
				}
				continue
			}
			told = set
		}
		if lost != nil || until.IsZero() {
			return lost
		}
		if !sleep(ctx, min(until.Sub(k.Now()), lookAgain)) {
			return nil
		}
	}
}

// session is a feed's session at a moment, as the core is told: an open one with
// its end, 0 for never.
func (k *Keeper) session(f core.Feed, at time.Time) (set *core.SetSession, until time.Time, err error) {
	open := true
	if k.calendar != nil {
		open, until, err = k.calendar.At(f, at)
	}
	set = &core.SetSession{Feed: f, Open: open}
	if open && !until.IsZero() {
		set.Until = until.UnixNano()
	}
	return set, until, err
}

func (k *Keeper) tell(ctx context.Context, set *core.SetSession) error {
	ctx, cancel := context.WithTimeout(ctx, submitFor)
	defer cancel()
	return k.submit(ctx, set)
}

// sleep waits; false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
