package arena

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestLongFigures measures 1,000 rounds of 60 s, in five seeds of which two run at the same time: with
// three built-in seats, and with three processes over REST, each of which looks every five seconds and
// buys a contract of each round. It needs DX_LONG=1.
func TestLongFigures(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip("it takes minutes: DX_LONG=1")
	}
	overREST := make([]Seat, 3)
	for i := range overREST {
		overREST[i] = Seat{Name: fmt.Sprint("rest", i+1), Command: "env DX_TEST_AGENT=rest " + os.Args[0]}
	}
	for name, seats := range map[string][]Seat{
		"built-in":  {{Name: "random", Kind: "random"}, {Name: "mid", Kind: "mid"}, {Name: "fair", Kind: "fair"}},
		"over REST": overREST,
	} {
		c := testConfig(t, func(c *Config) { c.Seeds, c.Rounds, c.Seats = "1..5", 200, seats })
		begun := time.Now()
		r := mustRun(t, c, Options{Dir: t.TempDir(), Jobs: 2})
		took := time.Since(begun)
		calls := 0.0
		for i := range r.Seats {
			s := &r.Seats[i]
			calls += s.Calls.Mean * 5
			if s.Stalls > 0 || s.ExitStatus != nil || s.Fills.Mean == 0 {
				t.Errorf("%s: %+v, want fills, no stall and no exit", name, s)
			}
		}
		if !r.Reproducible {
			t.Errorf("%s: not reproducible", name)
		}
		t.Logf("%s: 1,000 rounds in %.1f s, %.0f calls", name, took.Seconds(), calls)
	}
}
