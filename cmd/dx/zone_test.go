package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"duplex/schemas"
)

// TestTimesHaveAZone checks that every command that shows times names their zone: UTC, or with --local that
// of this machine, which TestMain sets, and that they show the same times.
func TestTimesHaveAZone(t *testing.T) {
	p := start(t, t.TempDir())
	p.devFile()
	market := p.series(p.marketFor(2*time.Minute, func(m schemas.Market) bool { return m.YesAsk > 0 && !m.Paused }))
	for _, line := range []string{"agent create bot", "order buy yes 1 @1 --series " + market, "order buy yes 1 --worst 99 --series " + market, "forecast 50% --series " + market} {
		if code, out, errs := runTrading(strings.Fields(line)...); code != 0 {
			t.Fatalf("%s: exit %d\n%s%s", line, code, out, errs)
		}
	}
	stamp := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	for command, heading := range map[string]string{
		"orders --all": "TIME (ZONE)", "fills": "TIME (ZONE)", "history": "TIME (ZONE)", "ledger": "TIME (ZONE)", "forecasts": "TIME (ZONE)", "rounds --limit 1 --series " + market: "CLOSES (ZONE)",
		"agent activity bot": "TIME (ZONE)", "agent show bot": " ZONE\n", "agent mandate bot": " ZONE\n",
	} {
		shown := map[string]time.Time{}
		for zone, flag := range map[string]string{"UTC": "", "EST": " --local"} {
			code, out, errs := runCommand(strings.Fields(command + flag)...)
			at, err := time.Parse(time.DateTime, stamp.FindString(out))
			if code != 0 || err != nil || !strings.Contains(out, strings.ReplaceAll(heading, "ZONE", zone)) {
				t.Errorf("%s%s: exit %d\n%s%s", command, flag, code, out, errs)
			}
			shown[zone] = at
		}
		if got := shown["UTC"].Sub(shown["EST"]); !strings.HasPrefix(command, "rounds") && got != 5*time.Hour {
			t.Errorf("%s: the zones are %v apart", command, got)
		}
	}
	for flag, want := range map[string]string{"": `^\d\d:\d\d:\d\d\.\d{3}Z  `, "--local": `^\d\d:\d\d:\d\d\.\d{3}-05:00  `} {
		if code, out, errs := runCommand(strings.Fields("watch user --count 1 " + flag)...); code != 0 || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("watch %s: exit %d\n%s%s", flag, code, out, errs)
		}
	}
}
