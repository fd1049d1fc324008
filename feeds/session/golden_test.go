package session

import (
	"strings"
	"testing"

	"duplex/core"
)

// TestGoldenDays compares the boundaries after New York noon of some days with values
// worked out by hand, in UTC, for gold and WTI.
func TestGoldenDays(t *testing.T) {
	c := load(t)
	for _, row := range []struct{ story, day, want string }{
		{"a Friday in winter", "2026-01-09", "session_close Fri 01-09 22:00, session_open Sun 01-11 23:00"},
		{"a Friday in summer", "2026-07-10", "session_close Fri 07-10 21:00, session_open Sun 07-12 22:00"},
		{"a Tuesday's break", "2026-06-09", "session_close Tue 06-09 21:00, session_open Tue 06-09 22:00, session_close Wed 06-10 21:00"},
		{"a Sunday", "2027-08-08", "session_open Sun 08-08 22:00, session_close Mon 08-09 21:00"},
		{"daylight saving time begins, 2026", "2026-03-06", "session_close Fri 03-06 22:00, session_open Sun 03-08 22:00, session_close Mon 03-09 21:00"},
		{"daylight saving time ends, 2026", "2026-10-30", "session_close Fri 10-30 21:00, session_open Sun 11-01 23:00, session_close Mon 11-02 22:00"},
		{"daylight saving time begins, 2027", "2027-03-12", "session_close Fri 03-12 22:00, session_open Sun 03-14 22:00, session_close Mon 03-15 21:00"},
		{"daylight saving time ends, 2027", "2027-11-05", "session_close Fri 11-05 21:00, session_open Sun 11-07 23:00, session_close Mon 11-08 22:00"},
		{"Good Friday 2026", "2026-04-02", "holiday Thu 04-02 21:00, session_open Sun 04-05 22:00"},
		{"Good Friday 2027", "2027-03-25", "holiday Thu 03-25 21:00, session_open Sun 03-28 22:00"},
		{"Juneteenth, an early Friday", "2026-06-19", "holiday Fri 06-19 17:00, session_open Sun 06-21 22:00"},
		{"Thanksgiving and the day after", "2026-11-26", "holiday Thu 11-26 19:30, session_open Thu 11-26 23:00, holiday Fri 11-27 19:45, session_open Sun 11-29 23:00"},
		{"Christmas Eve to the Sunday after", "2026-12-24", "holiday Thu 12-24 18:45, session_open Sun 12-27 23:00"},
		{"over New Year", "2026-12-31", "holiday Thu 12-31 22:00, session_open Sun 01-03 23:00"},
	} {
		for _, f := range []core.Feed{core.Gold, core.WTI} {
			next, err := c.Next(f, ny(t, c, row.day+" 12:00:00"), 1+strings.Count(row.want, ","))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range next {
				got = append(got, string(b.Kind)+" "+b.At.UTC().Format("Mon 01-02 15:04"))
			}
			if text := strings.Join(got, ", "); text != row.want {
				t.Errorf("%s, %s: %s\nwant %s", row.story, f, text, row.want)
			}
		}
	}
}
