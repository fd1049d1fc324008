package server

import (
	"context"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds"
	"duplex/feeds/session"
)

// startPrices starts the session scheduler and the price sources.
func (v *Venue) startPrices() error {
	var ctx context.Context
	ctx, v.stopPrices = context.WithCancel(context.Background())
	if v.options.Virtual != nil {
		return nil
	}
	submit := func(ctx context.Context, cmd core.Command) error {
		_, err := v.engine.SubmitSystem(ctx, cmd, func(s *venue.Venue) bool { return hasEffect(s, cmd) })
		return err
	}
	sessions := session.NewScheduler(v.options.Calendar, submit)
	sessions.Log, sessions.Now = v.options.Log, v.options.Now
	v.background.Go(func() { sessions.Run(ctx) })
	if len(v.options.Sources) == 0 {
		return nil
	}
	v.engine.Read(func(x *venue.Venue, _ *view.View) {
		for _, s := range v.options.Sources {
			if c, ok := s.(feeds.Continuer); ok {
				if tick, known, _, _ := x.Index(s.Feed()); known {
					c.Continue(tick.Price)
				}
			}
		}
	})
	poster, err := feeds.NewPoster(submit, v.options.Sources...)
	if err != nil {
		return &OptionError{"Sources", err}
	}
	poster.Limits, poster.Now, poster.Log = v.options.Limits, v.options.Now, v.lifecycle()
	v.poster = poster
	v.background.Go(func() { poster.Run(ctx) })
	return nil
}

// hasEffect reports whether the venue has the effect of a tick or a session already, because
// another member of several has sent it.
func hasEffect(s *venue.Venue, cmd core.Command) bool {
	switch c := cmd.(type) {
	case *core.PostIndex:
		last, present, _, _ := s.Index(c.Tick.Feed)
		return present && last.Second >= c.Tick.Second
	case *core.SetSession:
		open, until := s.Session(c.Feed)
		return open == c.Open && until == c.Until
	}
	return false
}

// indexStats returns the counts of the index seconds of a feed.
func (v *Venue) indexStats(f core.Feed) feeds.Stats {
	if v.poster == nil {
		return feeds.Stats{}
	}
	return v.poster.Stats(f)
}

// minSourcesRule returns the part of the limits that is a rule of the core. One source is
// the default, which the rule stores as 0.
func minSourcesRule(limits [core.Feeds]feed.Limit) (rule [core.Feeds]uint8) {
	for f, l := range limits {
		if l.MinSources > 1 {
			rule[f] = l.MinSources
		}
	}
	return rule
}

// sessionHours lists the next boundaries of the calendar for the schedule. A boundary that
// two feeds share is listed once, because a window does not name its feed.
type sessionHours struct{ calendar *session.Calendar }

func (h sessionHours) Boundaries(from int64) (out []core.Window) {
	add := func(kind session.Kind, at time.Time) {
		if w := (core.Window{Kind: string(kind), Start: at.UnixNano(), End: at.UnixNano()}); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for _, f := range core.FeedsWithSessions() {
		next, err := h.calendar.Next(f, time.Unix(0, from), 4)
		for _, b := range next {
			add(b.Kind, b.At)
		}
		if err != nil { // the calendar has fewer
			add(session.CalendarEnd, h.calendar.End())
		}
	}
	return out
}

func (h sessionHours) End() int64 { return h.calendar.End().UnixNano() }
