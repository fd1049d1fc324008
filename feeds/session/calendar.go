package session

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // New York everywhere, also where the system has no zones

	"duplex/core"
)

// A session ends at 17:00 and the next trade date's begins at 18:00, New York
// (contract oracle, Sessions).
const (
	closeHour = 17
	openHour  = 18
)

//go:embed holidays.txt
var ownHolidays string

// ErrYear says that the holidays do not cover the year asked about.
var ErrYear = errors.New("session: year not covered by the holidays")

// Kind of a boundary, as the schedule shows it (contract oracle, Sessions).
type Kind string

const (
	Open  Kind = "session_open"
	Close Kind = "session_close"
	// Holiday is a close that the holidays caused: an early one, or the last
	// before a trade date that is left out.
	Holiday Kind = "holiday"
)

// Boundary is a moment at which a session opens or ends.
type Boundary struct {
	Kind Kind
	At   time.Time
	Name string // of the holiday
}

// stretch is one session.
type stretch struct {
	open, close time.Time
	kind        Kind // of the close
	name        string
}

// Calendar knows the sessions of the covered years. It does not change.
type Calendar struct {
	zone        *time.Location
	first, last int
	sessions    [core.Feeds][]stretch // none for a feed that always trades
}

// Load makes the calendar of the holidays that came with the program.
func Load() (*Calendar, error) { return Parse(strings.NewReader(ownHolidays)) }

// Parse makes the calendar of an operator's own holidays; holidays.txt tells the
// format.
func Parse(r io.Reader) (*Calendar, error) {
	h, err := readHolidays(r)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	c := &Calendar{zone: zone, first: h.first, last: h.last}
	for _, f := range []core.Feed{core.Gold, core.WTI} {
		c.sessions[f] = sessions(h, f, zone)
	}
	return c, nil
}

// sessions lays out every trade date of the covered years.
func sessions(h *holidays, f core.Feed, zone *time.Location) []stretch {
	var out []stretch
	for d := day(h.first, time.January, 1); d.Year() <= h.last; d = d.AddDate(0, 0, 1) {
		if !weekday(d) {
			continue
		}
		special, found := h.days[f][d.Format(time.DateOnly)]
		if special.closed {
			if n := len(out); n > 0 && out[n-1].kind == Close {
				out[n-1].kind, out[n-1].name = Holiday, special.name
			}
			continue
		}
		eve := d.AddDate(0, 0, -1)
		s := stretch{open: clock(eve, openHour*time.Hour, zone), close: clock(d, closeHour*time.Hour, zone), kind: Close}
		if found {
			s.close, s.kind, s.name = clock(d, special.close, zone), Holiday, special.name
		}
		out = append(out, s)
	}
	return out
}

// day is a date, at midnight UTC so that counting days meets no change of clocks.
func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// clock is the moment at which the clocks of a zone show a time of a date.
func clock(date time.Time, since time.Duration, zone *time.Location) time.Time {
	y, m, d := date.Date()
	return time.Date(y, m, d, 0, int(since/time.Minute), 0, 0, zone)
}

// At tells whether a feed trades at t, and until when that stays so: when the
// open stretch ends, or the shut one does. A zero until means for good.
//
// Returns ErrYear, and shut, if t or the end of its shut stretch lies in a year
// that is not covered.
func (c *Calendar) At(f core.Feed, t time.Time) (open bool, until time.Time, err error) {
	if alwaysOpen(f) {
		return true, time.Time{}, nil
	}
	if year := t.In(c.zone).Year(); year < c.first || year > c.last {
		return false, time.Time{}, fmt.Errorf("%w: %d", ErrYear, year)
	}
	list := c.sessions[f]
	i := c.ending(f, t)
	if i == len(list) {
		return false, time.Time{}, fmt.Errorf("%w: %d", ErrYear, c.last+1)
	}
	if s := list[i]; !t.Before(s.open) {
		return true, s.close, nil
	}
	return false, list[i].open, nil
}

// Next lists the n boundaries of a feed after a moment, in order; none for a feed
// that always trades. Where the covered years end first it gives those there are
// and ErrYear.
func (c *Calendar) Next(f core.Feed, from time.Time, n int) ([]Boundary, error) {
	if alwaysOpen(f) || n <= 0 {
		return nil, nil
	}
	if year := from.In(c.zone).Year(); year < c.first {
		return nil, fmt.Errorf("%w: %d", ErrYear, year)
	}
	var out []Boundary
	for _, s := range c.sessions[f][c.ending(f, from):] {
		if s.open.After(from) {
			out = append(out, Boundary{Kind: Open, At: s.open})
		}
		out = append(out, Boundary{Kind: s.kind, At: s.close, Name: s.name})
		if len(out) >= n {
			return out[:n], nil
		}
	}
	return out, fmt.Errorf("%w: %d", ErrYear, c.last+1)
}

// ending is the first session that ends after t.
func (c *Calendar) ending(f core.Feed, t time.Time) int {
	list := c.sessions[f]
	return sort.Search(len(list), func(i int) bool { return list[i].close.After(t) })
}

// alwaysOpen tells whether a feed has no sessions to keep.
func alwaysOpen(f core.Feed) bool { return f != core.Gold && f != core.WTI }
