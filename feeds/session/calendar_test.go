package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"duplex/core"
)

func load(t *testing.T) *Calendar {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ny parses a New York time.
func ny(t *testing.T, c *Calendar, text string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation("2006-01-02 15:04:05", text, c.zone)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestAt(t *testing.T) {
	c := load(t)
	for _, row := range []struct{ story, at, want string }{
		{"a Wednesday noon", "2026-03-04 12:00:00", "open until Wed 03-04 17:00 EST"},
		{"the last moment before the break", "2026-03-04 16:59:59", "open until Wed 03-04 17:00 EST"},
		{"the break begins at its second", "2026-03-04 17:00:00", "shut until Wed 03-04 18:00 EST"},
		{"and ends at its second", "2026-03-04 18:00:00", "open until Thu 03-05 17:00 EST"},
		{"Friday closes for the week", "2026-03-06 17:00:00", "shut until Sun 03-08 18:00 EDT"},
		{"the weekend on which daylight saving time begins", "2026-03-07 12:00:00", "shut until Sun 03-08 18:00 EDT"},
		{"Sunday opens", "2026-03-08 18:00:00", "open until Mon 03-09 17:00 EDT"},
		{"the weekend on which daylight saving time ends", "2026-10-30 17:30:00", "shut until Sun 11-01 18:00 EST"},
		{"and after it", "2026-11-01 18:00:00", "open until Mon 11-02 17:00 EST"},
		{"Good Friday also closes the evening before", "2026-04-02 18:00:00", "shut until Sun 04-05 18:00 EDT"},
		{"the Thursday before it closes at the usual time", "2026-04-02 16:00:00", "open until Thu 04-02 17:00 EDT"},
		{"an early close", "2026-01-19 12:00:00", "open until Mon 01-19 14:30 EST"},
		{"after it, until the evening", "2026-01-19 14:30:00", "shut until Mon 01-19 18:00 EST"},
		{"an early Friday, until Sunday", "2026-06-19 13:00:00", "shut until Sun 06-21 18:00 EDT"},
		{"Christmas", "2026-12-24 13:45:00", "shut until Sun 12-27 18:00 EST"},
		{"New Year, into the next file year", "2026-12-31 17:00:00", "shut until Sun 01-03 18:00 EST"},
		{"the first morning covered", "2026-01-01 00:00:00", "shut until Thu 01-01 18:00 EST"},
		{"the last close covered", "2027-12-31 16:00:00", "open until Fri 12-31 17:00 EST"},
	} {
		for _, f := range []core.Feed{core.Gold, core.WTI} {
			open, until, err := c.At(f, ny(t, c, row.at).UTC())
			got := fmt.Sprintf("%s until %s", map[bool]string{true: "open", false: "shut"}[open], until.Format("Mon 01-02 15:04 MST"))
			if err != nil || got != row.want {
				t.Errorf("%s, %s: %s, %v; want %s", row.story, f, got, err, row.want)
			}
		}
	}
}

// TestSessionsAreTwentyThreeHours checks that every session without an early close lasts 23
// hours: daylight saving time begins and ends on a Sunday morning, outside all sessions.
func TestSessionsAreTwentyThreeHours(t *testing.T) {
	c := load(t)
	early := 0
	for i, s := range c.sessions[core.Gold] {
		if d := s.close.Sub(s.open); d != 23*time.Hour {
			early++
			if s.kind != Holiday || d > 21*time.Hour {
				t.Errorf("%s to %s", s.open, s.close)
			}
		}
		if i > 0 && s.open.Sub(c.sessions[core.Gold][i-1].close) < time.Hour {
			t.Errorf("%s opens within the break", s.open)
		}
	}
	if n := len(c.sessions[core.Gold]); n != 261+261-6 || early != 17 {
		t.Errorf("%d sessions, %d of them early", n, early)
	}
}

func TestBTCAlwaysTrades(t *testing.T) {
	c := load(t)
	for _, at := range []string{"2026-12-25 12:00:00", "2031-01-01 00:00:00"} {
		if open, until, err := c.At(core.BTC, ny(t, c, at)); !open || !until.IsZero() || err != nil {
			t.Errorf("%s: %v until %s, %v", at, open, until, err)
		}
	}
	if b, err := c.Next(core.BTC, time.Now(), 5); len(b) != 0 || err != nil {
		t.Errorf("the next changes of BTC are %v, %v, want none", b, err)
	}
}

func TestYearNotCovered(t *testing.T) {
	c := load(t)
	for _, at := range []string{"2025-12-31 23:59:59", "2028-01-01 00:00:00", "2027-12-31 17:00:00"} {
		if open, _, err := c.At(core.Gold, ny(t, c, at)); open || !errors.Is(err, ErrYear) {
			t.Errorf("%s: open %v, %v", at, open, err)
		}
	}
	if b, err := c.Next(core.WTI, ny(t, c, "2027-12-30 12:00:00"), 9); !errors.Is(err, ErrYear) || len(b) != 3 {
		t.Errorf("the next changes of WTI are %v, %v, want three and then ErrYear", b, err)
	}
	if _, err := c.Next(core.WTI, ny(t, c, "2025-06-01 12:00:00"), 1); !errors.Is(err, ErrYear) {
		t.Error(err)
	}
}

func TestNext(t *testing.T) {
	c := load(t)
	for _, row := range []struct {
		from string
		want []string
	}{
		{"2026-03-05 12:00:00", []string{"session_close Thu 03-05 17:00", "session_open Thu 03-05 18:00", "session_close Fri 03-06 17:00", "session_open Sun 03-08 18:00"}},
		{"2026-03-05 17:00:00", []string{"session_open Thu 03-05 18:00", "session_close Fri 03-06 17:00"}},
		{"2026-04-02 12:00:00", []string{"holiday Thu 04-02 17:00 Good Friday", "session_open Sun 04-05 18:00"}},
		{"2026-11-26 00:00:00", []string{"holiday Thu 11-26 14:30 Thanksgiving", "session_open Thu 11-26 18:00", "holiday Fri 11-27 14:45 Day after Thanksgiving", "session_open Sun 11-29 18:00"}},
		{"2026-12-24 00:00:00", []string{"holiday Thu 12-24 13:45 Christmas Eve", "session_open Sun 12-27 18:00"}},
	} {
		got, err := c.Next(core.Gold, ny(t, c, row.from), len(row.want))
		if err != nil || len(got) != len(row.want) {
			t.Fatalf("from %s: %v, %v", row.from, got, err)
		}
		for i, b := range got {
			if s := strings.TrimSpace(fmt.Sprint(b.Kind, " ", b.At.Format("Mon 01-02 15:04"), " ", b.Name)); s != row.want[i] {
				t.Errorf("from %s, %d: %s, want %s", row.from, i, s, row.want[i])
			}
		}
	}
}

// TestNextAgreesWithAt checks that At and Next return the same boundaries.
func TestNextAgreesWithAt(t *testing.T) {
	c := load(t)
	at := ny(t, c, "2026-01-01 00:00:00")
	for range 900 {
		open, until, err := c.At(core.WTI, at)
		next, nextErr := c.Next(core.WTI, at, 1)
		if err != nil || nextErr != nil {
			t.Fatal(err, nextErr)
		}
		if !next[0].At.Equal(until) || open == (next[0].Kind == Open) {
			t.Fatalf("at %s: open %v until %s, next %v", at, open, until, next[0])
		}
		at = until
	}
}

func TestParseRejects(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no year"},
		{"2026-01-01 all closed X", "line 1: 2026-01-01 is outside"},
		{"year 2026\nyear 2028", "line 2: year 2028 does not follow 2026"},
		{"year soon", "no year"},
		{"year 2026 2027", "want year YYYY"},
		{"year 2026\n2027-01-01 all closed X", "outside"},
		{"year 2026\n2026-01-03 all closed X", "Saturday"},
		{"year 2026\n2026-13-01 all closed X", "month"},
		{"year 2026\n2026-01-02 all closed", "want DATE"},
		{"year 2026\n2026-01-02 BTC closed X", `"BTC" is no feed`},
		{"year 2026\n2026-01-02 all shut X", "shut"},
		{"year 2026\n2026-01-02 all 17:00 X", "no early close"},
		{"year 2026\n2026-01-02 gold closed X\n2026-01-02 all 12:00 Y", "line 3: 2026-01-02 appears twice for gold"},
		{"year 2026\n# " + strings.Repeat("x", 1<<17), "line 2: "},
		{"year 2026\n2026-01-02 all 9:00 X", "line 2: "},
		{"year 26", `line 1: "26" is no year`},
	} {
		if _, err := Parse(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// TestLoadWith checks that the years of a file replace or extend the embedded ones.
func TestLoadWith(t *testing.T) {
	c, err := LoadWith(strings.NewReader("# ours\n\nyear 2027\n2027-07-05 gold 13:00 Independence Day (observed)\r\nyear 2028\n2028-01-03 all closed A day off\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ story, feed, at, want string }{
		{"an embedded year that the file does not name", "gold", "2026-11-26 12:00:00", "open until 11-26 14:30"},
		{"a replaced year has none of its embedded days", "gold", "2027-11-25 16:00:00", "open until 11-25 17:00"},
		{"and those of the file", "gold", "2027-07-05 12:00:00", "open until 07-05 13:00"},
		{"for the feeds it names", "WTI", "2027-07-05 16:00:00", "open until 07-05 17:00"},
		{"from year to year", "WTI", "2027-12-31 17:00:00", "shut until 01-03 18:00"},
		{"the year it adds", "gold", "2028-12-29 16:00:00", "open until 12-29 17:00"},
	} {
		open, until, err := c.At(map[string]core.Feed{"gold": core.Gold, "WTI": core.WTI}[row.feed], ny(t, c, row.at))
		got := fmt.Sprintf("%s until %s", map[bool]string{true: "open", false: "shut"}[open], until.Format("01-02 15:04"))
		if err != nil || got != row.want {
			t.Errorf("%s: %s, %v; want %s", row.story, got, err, row.want)
		}
	}
	if want := ny(t, c, "2028-12-29 17:00:00"); !c.End().Equal(want) {
		t.Errorf("End is %s, want %s", c.End(), want)
	}
	if before, err := LoadWith(strings.NewReader("year 2025")); err != nil || before.first != 2025 || before.last != 2027 {
		t.Errorf("a file of 2025 gives %+v, %v, want the years 2025 to 2027", before, err)
	}
	for text, want := range map[string]string{
		"year 2029": "line 1: year 2029 leaves a gap after 2027",
		"# years long gone\nyear 2023\nyear 2024": "line 3: year 2024 leaves a gap before 2026",
		"year 2028\n2027-01-04 all closed X":      "line 2: 2027-01-04 is outside the years declared above it",
		"":                                        "no year is covered",
	} {
		if _, err := LoadWith(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestEnd(t *testing.T) {
	c := load(t)
	if want := ny(t, c, "2027-12-31 17:00:00"); !c.End().Equal(want) {
		t.Errorf("End is %s, want %s", c.End(), want)
	}
}

func TestFeedsMayDiffer(t *testing.T) {
	c, err := Parse(strings.NewReader("year 2026 # one\n2026-01-02 gold 12:00 Half a day"))
	if err != nil {
		t.Fatal(err)
	}
	at := ny(t, c, "2026-01-02 13:00:00")
	gold, _, _ := c.At(core.Gold, at)
	wti, _, _ := c.At(core.WTI, at)
	if gold || !wti {
		t.Errorf("gold %v, WTI %v", gold, wti)
	}
}
