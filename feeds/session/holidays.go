package session

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"duplex/core"
)

// holiday is a trade date unlike others.
type holiday struct {
	closed bool
	close  time.Duration // since midnight in New York, if not closed
	name   string
}

// holidays is a file of them. Days are keyed by date, as 2006-01-02.
type holidays struct {
	first, last int // years covered
	days        [core.Feeds]map[string]holiday
}

// readHolidays reads the format that holidays.txt describes. It is strict: what
// it does not understand is an error with the line's number.
func readHolidays(r io.Reader) (*holidays, error) {
	h := &holidays{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := h.line(words); err != nil {
			return nil, fmt.Errorf("session: holidays, line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("session: holidays: %w", err)
	}
	if h.first == 0 {
		return nil, fmt.Errorf("session: holidays: no year is covered")
	}
	return h, nil
}

func (h *holidays) line(words []string) error {
	if words[0] == "year" {
		return h.year(words[1:])
	}
	if len(words) < 4 {
		return fmt.Errorf("want DATE FEEDS CLOSE NAME, have %q", words)
	}
	date, err := time.Parse(time.DateOnly, words[0])
	if err != nil {
		return err
	}
	if !h.covers(date.Year()) {
		return fmt.Errorf("%s is outside the years declared above it", words[0])
	}
	if !weekday(date) {
		return fmt.Errorf("%s is a %s, no trade date", words[0], date.Weekday())
	}
	day, err := readDay(words[2], strings.Join(words[3:], " "))
	if err != nil {
		return err
	}
	return h.add(words[0], words[1], day)
}

// year declares one more covered year.
func (h *holidays) year(words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("want year YYYY")
	}
	y, err := strconv.Atoi(words[0])
	switch {
	case err != nil || y < 1970 || y > 9999:
		return fmt.Errorf("%q is no year", words[0])
	case h.first == 0:
		h.first, h.last = y, y
	case y != h.last+1:
		return fmt.Errorf("year %d does not follow %d", y, h.last)
	default:
		h.last = y
	}
	return nil
}

func (h *holidays) covers(year int) bool { return h.first != 0 && year >= h.first && year <= h.last }

// readDay reads the CLOSE column.
func readDay(text, name string) (holiday, error) {
	if text == "closed" {
		return holiday{closed: true, name: name}, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return holiday{}, err
	}
	early := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	if early == 0 || early >= closeHour*time.Hour {
		return holiday{}, fmt.Errorf("%s is no early close", text)
	}
	return holiday{close: early, name: name}, nil
}

func (h *holidays) add(date, names string, day holiday) error {
	list, err := readFeeds(names)
	if err != nil {
		return err
	}
	for _, f := range list {
		if h.days[f] == nil {
			h.days[f] = map[string]holiday{}
		}
		if _, twice := h.days[f][date]; twice {
			return fmt.Errorf("%s appears twice for %s", date, f)
		}
		h.days[f][date] = day
	}
	return nil
}

// readFeeds reads the FEEDS column.
func readFeeds(names string) ([]core.Feed, error) {
	if names == "all" {
		return []core.Feed{core.Gold, core.WTI}, nil
	}
	var list []core.Feed
	for name := range strings.SplitSeq(names, ",") {
		switch name {
		case core.Gold.String():
			list = append(list, core.Gold)
		case core.WTI.String():
			list = append(list, core.WTI)
		default:
			return nil, fmt.Errorf("%q is no feed with sessions", name)
		}
	}
	return list, nil
}

// weekday tells whether a date is Monday to Friday.
func weekday(d time.Time) bool { return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday }
