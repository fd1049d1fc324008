package session

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a time zone database

	"duplex/core"
)

// A session ends at 17:00 and that of the next trade date begins at 18:00, New York time.
const (
	closeHour = 17
	openHour  = 18
)

//go:embed holidays.txt
var embeddedHolidays string

// ErrYear means that the holidays do not cover a year.
var ErrYear = errors.New("session: year not covered by the holidays")

// Kind is the kind of a Boundary, as the schedule shows it.
type Kind string

const (
	Open  Kind = "session_open"
	Close Kind = "session_close"
	// Holiday is a close that the holidays caused: an early one, or the last
	// before a trade date that is left out.
	Holiday Kind = "holiday"
	// CalendarEnd is the end of the calendar, which is no Boundary. What follows it is not
	// known, and the feeds with sessions stay closed until a calendar of later years is
	// loaded.
	CalendarEnd Kind = "calendar_end"
)

// Boundary is a time at which a session opens or closes.
type Boundary struct {
	Kind Kind
	At   time.Time
	Name string // of the holiday
}

// session is one session.
type session struct {
	open, close time.Time
	kind        Kind // of the close
	name        string
}

// Calendar has the sessions of the covered years. It is immutable.
type Calendar struct {
	zone        *time.Location
	first, last int
	sessions    [core.Feeds][]session // none for a feed that always trades
}

// Load returns the calendar of the holidays embedded in the program.
func Load() (*Calendar, error) { return LoadWith(nil) }

// LoadWith returns the calendar of the embedded holidays and those of a file in the format
// of holidays.txt (docs/rules/prices-sources.md#holidays). A year that the file declares
// replaces all days of the embedded year, or extends the calendar. A nil file adds nothing.
//
// An error names the bad line. The covered years must have no gap.
func LoadWith(file io.Reader) (*Calendar, error) {
	h, err := readHolidays(strings.NewReader(embeddedHolidays))
	if err != nil {
		return nil, fmt.Errorf("session: holidays.txt: %w", err)
	}
	if file != nil {
		more, err := readHolidays(file)
		if err == nil {
			err = h.replace(more)
		}
		if err != nil {
			return nil, err
		}
	}
	return newCalendar(h)
}

// Parse returns the calendar of the given holidays only.
func Parse(r io.Reader) (*Calendar, error) {
	h, err := readHolidays(r)
	if err != nil {
		return nil, err
	}
	return newCalendar(h)
}

func newCalendar(h *holidays) (*Calendar, error) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	c := &Calendar{zone: zone, first: h.first, last: h.last}
	for _, f := range core.FeedsWithSessions() {
		c.sessions[f] = buildSessions(h, f, zone)
	}
	return c, nil
}

// buildSessions returns the sessions of a feed for every trade date of the covered years.
func buildSessions(h *holidays, f core.Feed, zone *time.Location) []session {
	var out []session
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
		s := session{open: clock(eve, openHour*time.Hour, zone), close: clock(d, closeHour*time.Hour, zone), kind: Close}
		if found {
			s.close, s.kind, s.name = clock(d, special.close, zone), Holiday, special.name
		}
		out = append(out, s)
	}
	return out
}

// day is midnight UTC of a date; UTC has no daylight saving time.
func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// clock is the time at which the clocks of a zone show a time of day on a date.
func clock(date time.Time, since time.Duration, zone *time.Location) time.Time {
	y, m, d := date.Date()
	return time.Date(y, m, d, 0, int(since/time.Minute), 0, 0, zone)
}

// At reports whether a feed trades at t, and until when that does not change. A zero until
// means that it never changes.
//
// It returns false and ErrYear if t, or the next opening, is in a year that is not covered.
func (c *Calendar) At(f core.Feed, t time.Time) (open bool, until time.Time, err error) {
	if !f.HasSessions() {
		return true, time.Time{}, nil
	}
	if year := t.In(c.zone).Year(); year < c.first || year > c.last {
		return false, time.Time{}, fmt.Errorf("%w: %d", ErrYear, year)
	}
	list := c.sessions[f]
	i := c.firstEndingAfter(f, t)
	if i == len(list) {
		return false, time.Time{}, fmt.Errorf("%w: %d", ErrYear, c.last+1)
	}
	if s := list[i]; !t.Before(s.open) {
		return true, s.close, nil
	}
	return false, list[i].open, nil
}

// Next returns the next n boundaries of a feed after from, in order; none for a feed that
// always trades. If the covered years end first, it returns fewer and ErrYear.
func (c *Calendar) Next(f core.Feed, from time.Time, n int) ([]Boundary, error) {
	if !f.HasSessions() || n <= 0 {
		return nil, nil
	}
	if year := from.In(c.zone).Year(); year < c.first {
		return nil, fmt.Errorf("%w: %d", ErrYear, year)
	}
	var out []Boundary
	for _, s := range c.sessions[f][c.firstEndingAfter(f, from):] {
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

// End is the time at which the last session of the calendar closes, the earliest among the
// feeds with sessions. From then on they are closed until a calendar of later years is
// loaded.
func (c *Calendar) End() time.Time {
	var end time.Time
	for _, list := range c.sessions {
		if n := len(list); n > 0 && (end.IsZero() || list[n-1].close.Before(end)) {
			end = list[n-1].close
		}
	}
	return end
}

// firstEndingAfter is the index of the first session that ends after t.
func (c *Calendar) firstEndingAfter(f core.Feed, t time.Time) int {
	list := c.sessions[f]
	return sort.Search(len(list), func(i int) bool { return list[i].close.After(t) })
}
