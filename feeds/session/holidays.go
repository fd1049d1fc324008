package session

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"duplex/core"
)

// holiday is a trade date that is closed or closes early.
type holiday struct {
	closed bool
	close  time.Duration // since midnight in New York, if not closed
	name   string
}

// holidays is the content of a file. Days are keyed by date, as 2006-01-02.
type holidays struct {
	first, last         int // years covered
	firstLine, lastLine int // the lines that declare these two
	days                [core.Feeds]map[string]holiday
}

// byteOrderMark is at the begin of a file that some editors write.
const byteOrderMark = "\ufeff"

// readHolidays parses the format that holidays.txt describes. Anything else is an error
// that names the line.
func readHolidays(r io.Reader) (*holidays, error) {
	h := &holidays{}
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if n == 1 {
			text = strings.TrimPrefix(text, byteOrderMark)
		}
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := h.line(words, n); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	if h.first == 0 {
		return nil, fmt.Errorf("no year is covered")
	}
	return h, nil
}

// replace adds the years of another file. A year of both files keeps only the days of the
// other file. It returns an error if the years would have a gap.
func (h *holidays) replace(by *holidays) error {
	switch {
	case by.first > h.last+1:
		return fmt.Errorf("line %d: year %d leaves a gap after %d", by.firstLine, by.first, h.last)
	case by.last < h.first-1:
		return fmt.Errorf("line %d: year %d leaves a gap before %d", by.lastLine, by.last, h.first)
	}
	for f := range h.days {
		maps.DeleteFunc(h.days[f], func(date string, _ holiday) bool { return by.covers(yearOf(date)) })
		if h.days[f] == nil {
			h.days[f] = map[string]holiday{}
		}
		maps.Copy(h.days[f], by.days[f])
	}
	h.first, h.last = min(h.first, by.first), max(h.last, by.last)
	return nil
}

// yearOf is the year of a parsed date.
func yearOf(date string) int {
	y, _ := strconv.Atoi(date[:4]) // time.Parse has accepted four digits
	return y
}

func (h *holidays) line(words []string, n int) error {
	if words[0] == "year" {
		return h.year(words[1:], n)
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

// year parses the declaration of a covered year.
func (h *holidays) year(words []string, n int) error {
	if len(words) != 1 {
		return fmt.Errorf("want year YYYY")
	}
	y, err := strconv.Atoi(words[0])
	switch {
	case err != nil || y < 1970 || y > 9999:
		return fmt.Errorf("%q is no year", words[0])
	case h.first == 0:
		h.first, h.firstLine = y, n
	case y != h.last+1:
		return fmt.Errorf("year %d does not follow %d", y, h.last)
	}
	h.last, h.lastLine = y, n
	return nil
}

func (h *holidays) covers(year int) bool { return h.first != 0 && year >= h.first && year <= h.last }

// readDay parses the CLOSE column.
func readDay(text, name string) (holiday, error) {
	if text == "closed" {
		return holiday{closed: true, name: name}, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return holiday{}, fmt.Errorf("%q is neither closed nor a time HH:MM", text)
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

// readFeeds parses the FEEDS column.
func readFeeds(names string) ([]core.Feed, error) {
	if names == "all" {
		return core.FeedsWithSessions(), nil
	}
	var list []core.Feed
	for name := range strings.SplitSeq(names, ",") {
		all := core.FeedsWithSessions()
		i := slices.IndexFunc(all, func(f core.Feed) bool { return f.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no feed with sessions", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// weekday reports whether a date is Monday to Friday.
func weekday(d time.Time) bool { return d.Weekday() != time.Saturday && d.Weekday() != time.Sunday }
