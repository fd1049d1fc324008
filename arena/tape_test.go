package arena

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/replica"
)

// writeTape writes a recording of a random walk, a price each second from second 1 on, and returns its path and the
// prices.
func writeTape(t *testing.T, seconds int) (path string, prices []core.Price) {
	t.Helper()
	var rows strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	cents := 6_000_000
	for s := range seconds {
		cents += r.IntN(2001) - 1000
		fmt.Fprintf(&rows, "%d,BTC,walk,%d.%02d\n", int64(s+1)*core.NsPerSec, cents/100, cents%100)
		prices = append(prices, core.Price(cents)*1_000_000)
	}
	path = filepath.Join(t.TempDir(), "tape.csv")
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, prices
}

// indexOf returns the prices of the index in a bundle.
func indexOf(t *testing.T, dir string) (prices []core.Price) {
	t.Helper()
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = analyze(dir, m, func(_ *replayBundle, out *replica.Result) error {
		for i := range out.Applied {
			if c, ok := out.Applied[i].Command.(*core.PostIndex); ok {
				prices = append(prices, c.Tick.Price)
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return prices
}

// TestTape tests a run on recorded prices. Each seed plays a window of its own, whose prices are those of the tape,
// and the manifests and the report say which.
func TestTape(t *testing.T) {
	const seconds = (2+2)*60 + 60 // of two rounds of 60 s
	path, prices := writeTape(t, 3*seconds+10)
	config := func(seeds string) *Config {
		c := testConfig(t, func(c *Config) { c.Rounds, c.Seats = 2, c.Seats[:1] })
		c.Tape, c.Seeds = path, seeds
		return c
	}
	four := config("1..4")
	if err := four.Complete(); err == nil || !strings.Contains(err.Error(), "3 windows of 300 seconds") || !strings.Contains(err.Error(), "4 seeds") {
		t.Errorf("four seeds of a tape with three windows: %v", err)
	}
	c := config("7,9,20")
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := mustRun(t, c, Options{Dir: dir})
	for place, seed := range []string{"7", "9", "20"} {
		m, err := readManifest(filepath.Join(dir, seed))
		if err != nil {
			t.Fatal(err)
		}
		first := slices.Index(prices, indexOf(t, filepath.Join(dir, seed))[0])
		if want := (window{place, int64(first+1) * core.NsPerSec, seconds}); m.Tape == nil || *m.Tape != want || first/seconds != place {
			t.Errorf("seed %s plays %+v from second %d of the tape, want window %d", seed, m.Tape, first, place)
		}
		played := indexOf(t, filepath.Join(dir, seed))
		if len(played) > seconds || !slices.Equal(played, prices[first:first+len(played)]) {
			t.Errorf("seed %s plays %d prices that are not those of the tape from second %d on", seed, len(played), first)
		}
	}
	if r.Tape == nil || r.Tape.Source != "walk" || r.Tape.Windows != 3 || r.Tape.SHA256 != c.TapeHash || r.About.Simulated || r.Lines()[0] != "BTC index of tape walk, synthetic maker and noise: says nothing about a real market." {
		t.Errorf("the report has the tape %+v, and says %q", r.Tape, r.Lines()[0])
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, nil); err != nil { // the bundle needs no tape
		t.Error(err)
	}
	if err := edit(filepath.Join(dir, "9", manifestName), `"window": 1`, `"window": 2`); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(dir, nil); err == nil || !strings.Contains(err.Error(), "window 2") {
		t.Errorf("a seed with the window of another one: %v", err)
	}
}

// TestMarketOfMinutes tests that on a tape of minutes nobody quotes in the last minute of a round, when the prices that
// decide it are known, and that somebody does before.
func TestMarketOfMinutes(t *testing.T) {
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, "%d,BTC,walk,%d.00\n", int64(i+1)*60*core.NsPerSec, 60_000+i%7)
	}
	path := filepath.Join(t.TempDir(), "minutes.csv")
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, func(c *Config) {
		c.Hand, c.Tape, c.Series, c.Rounds, c.Seats = true, path, "btc-5m", 2, []Seat{{Name: "agent"}}
	})
	set, err := newEnvironmentSettings(c, core.NsPerSec, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEnvironment(set, 0)
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for e.ended == "" {
		if err := e.play([]action{hold}); err != nil {
			t.Fatal(err)
		}
		switch s := e.seats[0].seen; {
		case s.secs > 0 && s.secs <= 62 && (s.bid != 0 || s.ask != 0):
			t.Fatalf("%d s before the close the market is %d to %d", s.secs, s.bid, s.ask)
		case s.bid != 0 && s.ask != 0:
			quoted++
		}
	}
	if quoted < 200 {
		t.Errorf("the market is quoted in %d seconds", quoted)
	}
}
